#!/usr/bin/env python3
"""Emitted kernels, run by the strict stand-in, compute what the recorded programs mean.

nki_emit_cases writes the kernels. It is taken from the first argument, NKI_EMIT_CASES, the build's binary folder or the
current one, and compiled by this script where none of them has it.
"""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import traceback

import numpy as np

import nki
import nki.language as nl

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
UNIT_ROUNDOFF = {"nl.float32": 2.0**-24, "nl.float16": 2.0**-11, "nl.bfloat16": 2.0**-8}
SMALLEST = {"nl.float32": 2.0**-149, "nl.float16": 2.0**-24, "nl.bfloat16": 2.0**-133}


# ---- the cases


def find_program(folder):
    candidates = sys.argv[1:2] + [os.environ.get("NKI_EMIT_CASES", "")]
    candidates += [os.path.join(f, "nki_emit_cases") for f in (os.environ.get("NKI_BIN_DIR", ""), os.getcwd())]
    for path in candidates:
        if path and os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    program = os.path.join(folder, "nki_emit_cases")
    includes = [os.path.join(ROOT, *f) for f in (("include",), ("sim", "include"), ("kernels", "include"))]
    print("compiling nki_emit_cases", flush=True)
    subprocess.run([os.environ.get("CXX", "g++"), "-std=c++20", "-O1", *("-I" + i for i in includes), "-o", program,
                    os.path.join(HERE, "emit_cases.cpp")], check=True)
    return program


def load(path):
    name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def random_input(rng, argument):
    dtype = getattr(nl, argument["dtype"][3:])
    return nki.Host(rng.standard_normal(argument["shape"]), dtype)


def run(path, case, seed):
    """The kernel, its inputs and its outputs by name."""
    with open(path, encoding="utf-8") as file:
        problems = nki.lint(file.read())
    assert not problems, "\n".join(problems)
    os.environ["NEURON_PLATFORM_TARGET_OVERRIDE"] = case["target"]
    kernel = getattr(load(path), case["kernel"])
    rng = np.random.default_rng(seed)
    inputs = [random_input(rng, a) for a in case["inputs"]]
    outputs = kernel(*inputs)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    assert len(outputs) == len(case["outputs"])
    for output, expected in zip(outputs, case["outputs"]):
        assert list(output.shape) == expected["shape"], (output.shape, expected)
    return kernel, [i.values for i in inputs], [np.asarray(o) for o in outputs]


# ---- what they mean


def check_matmul(case, inputs, outputs):
    lhs, rhs = (i.astype(np.float64) for i in inputs)
    if case["inputs"][0]["name"] == "lhsT":
        lhs = lhs.T
    exact = lhs @ rhs
    # Every product and every sum rounds once to float32, in whatever order; then the output rounds.
    error = (lhs.shape[1] + 1) * 2.0**-24 * (np.abs(lhs) @ np.abs(rhs))
    dtype = case["outputs"][0]["dtype"]
    bound = error + UNIT_ROUNDOFF[dtype] * (np.abs(exact) + error) + SMALLEST[dtype]
    worst = np.max(np.abs(outputs[0].astype(np.float64) - exact) / bound)
    assert worst <= 1, f"the error is {worst:.3g} times its bound"


def check_views(case, inputs, outputs):
    x = inputs[0]
    turned, halves, corners, filled, gram, narrow, cast, copied = outputs
    assert np.array_equal(turned, x.T)
    expected = np.full((64, 2, 50), 1.5, np.float32)
    expected[:, 0, :48], expected[:, 1, :48] = x[:, 0::2], x[:, 1::2]
    assert np.array_equal(halves, expected)
    assert np.array_equal(corners, x.reshape(64, 4, 24)[:, :, 3:13].transpose(0, 2, 1))
    expected = np.full((4, 8), -3)
    for row in range(4):
        for column in range(row, 4):
            expected[: max(row, 1), column * 2] = 7
    assert np.array_equal(filled, expected)
    wide = x.astype(np.float64)
    bound = 3 * 65 * 2.0**-24 * 3 * (np.abs(wide).T @ np.abs(wide[:, :48]))
    assert np.all(np.abs(gram - 3 * wide.T @ wide[:, :48]) <= bound)
    assert np.array_equal(narrow, x.T.astype(np.float16))
    assert np.array_equal(cast, nki.Host(x, nl.bfloat16).values)
    assert np.array_equal(copied, x)


def emitted_cases(folder):
    rolled = None  # of the last case with loops
    for file in sorted(f for f in os.listdir(folder) if f.endswith(".json")):
        with open(os.path.join(folder, file), encoding="utf-8") as stream:
            case = json.load(stream)
        path = os.path.join(folder, file[:-5] + ".py")

        def test(path=path, case=case, seed=int(file[5:8])):
            nonlocal rolled
            if case["what"] != "flat":
                kernel, inputs, outputs = run(path, case, seed)
                # What a random program means is said by the flat program that follows.
                if case["what"] != "random":
                    {"matmul": check_matmul, "views": check_views}[case["what"]](case, inputs, outputs)
                rolled = (seed, outputs, kernel.last_run.counts)
            else:
                kernel, _, outputs = run(path, case, rolled[0])
                assert kernel.last_run.counts == rolled[2], "the flat program runs other instructions"
                for a, b in zip(rolled[1], outputs):
                    assert np.array_equal(a, b), "the flat program computes something else"

        with open(path, encoding="utf-8") as stream:
            title = " ".join(line[2:].strip() for line in stream if line.startswith(("# problem", "# params", "#        ")))
        yield f"{file[:-5]} {case['what']} {case['target']} {title}", test


# ---- what the stand-in refuses

KERNEL = """
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def kernel(x):
    out = nl.ndarray((64, 64), dtype=nl.float32, buffer=nl.shared_hbm)
    a = nl.ndarray((64, 64), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=a, src=x)
{body}
    nisa.dma_copy(dst=out, src=a)
    return out
"""

PSUM = "p = nl.ndarray((64, 64), dtype=nl.float32, buffer=nl.psum)\n"
REFUSED = [
    # lines of the body, and words of the error
    ("a[0:65, :]", "no part of 0:64"),
    ("a[0:0, :]", "no part of 0:64"),
    ("a[:, -1]", "not in 0..63"),
    ("a[0:64:2, :]", "one after the other"),
    ("a.permute((1, 0))", "partition dimension"),
    ("a.reshape_dim(0, (2, 32))", "partition dimension"),
    ("a.reshape_dim(1, (3, 21))", "does not have the 64 elements"),
    ("a.ap(pattern=[[32, 64], [1, 64]])", "the first step is 64"),
    ("a.ap(pattern=[[64, 64], [1, 65]])", "leaves its partition"),
    ("x.ap(pattern=[[64, 64], [1, 65]])", "reaches elements"),
    ("nisa.dma_copy(dst=x, src=a)", "only read"),
    ("nisa.dma_copy(dst=a, src=x, mask=None)", "no parameter 'mask'"),
    ("nisa.dma_copy(a)", "missing a required argument: 'src'"),
    ("nisa.dma_copy(dst=a[:, 0:32], src=x)", "elements in dst"),
    ("nisa.dma_copy(dst=a, src=x, engine=nisa.engine.sync)", "goes with dge_mode.hwdge"),
    ("nisa.dma_copy(dst=a, src=x, dge_mode=nisa.dge_mode.hwdge, engine=nisa.engine.vector)", "sync or scalar"),
    ("nisa.dma_copy(dst=a, src=x, engine='sync')", "a member of nisa.engine"),
    ("b = nl.ndarray((64, 64), dtype=nl.bfloat16, buffer=nl.sbuf)\n"
     "nisa.dma_copy(dst=b, src=x, dge_mode=nisa.dge_mode.hwdge, engine=nisa.engine.sync)", "do not convert"),
    (PSUM + "nisa.dma_copy(dst=p, src=x)", "does not reach PSUM"),
    (PSUM + "nisa.tensor_copy(dst=p, src=a, engine=nisa.engine.gpsimd)", "GpSimd does not reach PSUM"),
    (PSUM + "nisa.tensor_copy(dst=a, src=p)", "that nothing has written"),
    ("nisa.tensor_copy(dst=a, src=x)", "in SBUF or PSUM"),
    ("nisa.tensor_copy(dst=a[0:32, :], src=a[16:48, :])", "they start at 0, 32, 64, 96"),
    ("nisa.tensor_copy(dst=a[0:32, :], src=a)", "same partitions"),
    ("nisa.nc_matmul(dst=a, stationary=a, moving=a)", "dst is in PSUM"),
    (PSUM + "nisa.nc_matmul(dst=p, stationary=a, moving=a, accumulate=True)", "no nc_matmul wrote last"),
    (PSUM + "nisa.memset(dst=p, value=0.0)\nnisa.nc_matmul(dst=p, stationary=a, moving=a, accumulate=True)",
     "no nc_matmul wrote last"),
    (PSUM + "nisa.nc_matmul(dst=p, stationary=a, moving=a)\nnisa.memset(dst=p[:, 0:1], value=0.0)\n"
     "nisa.nc_matmul(dst=p, stationary=a, moving=a)", "no nc_matmul wrote last"),
    (PSUM + "nisa.nc_matmul(dst=p, stationary=a, moving=a[:, 0:32])", "dst is [64, 32]"),
    (PSUM + "nisa.nc_matmul(dst=p, stationary=a, moving=a[0:32, :])", "64 partitions in stationary, 32 in moving"),
    (PSUM + "nisa.nc_matmul(dst=p, stationary=a, moving=a, accumulate=1)", "None, True or False"),
    (PSUM + "nisa.nc_matmul(dst=p, stationary=p, moving=a)", "stationary is in SBUF"),
    (PSUM + "b = nl.ndarray((64, 64), dtype=nl.bfloat16, buffer=nl.sbuf)\nnisa.memset(dst=b, value=0.0)\n"
     "nisa.nc_matmul(dst=p, stationary=a, moving=b)", "does not go with"),
    ("w = nl.ndarray((64, 600), dtype=nl.float32, buffer=nl.sbuf)\nnisa.memset(dst=w, value=0.0)\n"
     "p = nl.ndarray((64, 600), dtype=nl.float32, buffer=nl.psum)\nnisa.nc_matmul(dst=p, stationary=a, moving=w)",
     "the most is 512"),
    ("p = nl.ndarray((64, 600), dtype=nl.float32, buffer=nl.psum)\n"
     "nisa.nc_matmul(dst=p[:, 500:564], stationary=a, moving=a)", "one bank"),
    ("nisa.nc_transpose(dst=a, data=a, engine=nisa.engine.vector)", "at most 32 x 32"),
    ("nisa.nc_transpose(dst=a, data=a, engine=nisa.engine.tensor)", "from SBUF to PSUM"),
    ("nisa.memset(dst=a, value=0)", "a float, not 0"),
    ("nl.ndarray((129, 1), dtype=nl.float32, buffer=nl.sbuf)", "129 partitions"),
    ("nl.ndarray((1, 1), dtype='float32', buffer=nl.sbuf)", "dtype is one of nl's"),
    ("nl.ndarray((1, 1), dtype=nl.float32, buffer='sbuf')", "buffer is nl.sbuf"),
    ("nl.arange(4)", "slice tensors"),
    ("big = nl.ndarray((128, 60000), dtype=nl.float32, buffer=nl.sbuf)\nnisa.memset(dst=big[0:1, 0:1], value=0.0)",
     "SBUF is full"),
    ("keep = []\nfor i in range(9):\n    p = nl.ndarray((1, 1), dtype=nl.float32, buffer=nl.psum)\n"
     "    nisa.memset(dst=p, value=0.0)\n    keep = keep + [p]\n"
     "for i in range(9):\n    nisa.memset(dst=keep[i], value=1.0)", "PSUM is full: 9 of 8 banks"),
    ("if a:\n    return a", "no truth value"),
    ("return a", "nl.shared_hbm"),
    ("return out", "that nothing has written"),
]
ACCEPTED = [
    "b = a[0:32, 0:64:2].reshape_dim(1, (4, 8)).permute((0, 2, 1))\nnisa.memset(dst=b, value=1.0)",
    "for i in range(100):\n    b = nl.ndarray((128, 40000), dtype=nl.float32, buffer=nl.sbuf)\n"
    "    nisa.memset(dst=b[0:1, 0:1], value=0.0)",
    PSUM + "nisa.nc_matmul(dst=p[:, 0:40], stationary=a, moving=a[:, 0:40])\n"
    "nisa.nc_matmul(dst=p, stationary=a, moving=a)\nnisa.tensor_copy(dst=a, src=p)",
    "nisa.tensor_copy(dst=a[32:64, :], src=a[0:32, nl.ds(0, 64)], engine=nisa.engine.gpsimd)",
]
LINTED = [
    ("b = a is None", "'is' is not in the subset"),
    ("b = nl.arange(4)", "no nl.arange"),
    ("nisa.dma_copy(dst=a, src=x, mask=None)", "no parameter 'mask'"),
    ("nisa.tensor_copy(dst=a, src=x, dtype=nl.float32)", "no parameter 'dtype'"),
    ("b = nl.ndarray((1, 1), dtype=nl.float32, buffer='sbuf')", "object of nl or nisa"),
    ("for i in [1, 2]:\n    pass", "runs over range"),
    ("a[0:1, 0:1] = x", "only variables are assigned"),
    ("b = 3000000000", "does not fit 32 bits"),
    ("b = [i for i in range(3)]", "ListComp is not in the subset"),
    ("b = lambda i: i", "Lambda is not in the subset"),
    ("import os", "Import is not in the subset"),
    ("b = sorted(a)", "does not call sorted"),
    ("b = q", "'q' is not defined"),
    ("min = 3", "'min' hides a name"),
    ("nisa.activation(dst=a, src=a)", "no nisa.activation"),
    ("try:\n    pass\nfinally:\n    pass", "Try is not in the subset"),
]


def source(body):
    return KERNEL.format(body="\n".join("    " + line for line in body.split("\n")))


def call(folder, text):
    path = os.path.join(folder, "kernel.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.environ["NEURON_PLATFORM_TARGET_OVERRIDE"] = "trn2"
    return load(path).kernel(np.ones((64, 64), np.float32))


def stand_in_cases(folder):
    def refused(body, words):
        try:
            call(folder, source(body))
        except Exception as error:  # the kind is part of the text's test
            assert words in str(error), f"the error is: {error}"
        else:
            raise AssertionError("it was accepted")

    def linted(text, words):
        problems = nki.lint(text)
        assert any(words in p for p in problems), problems

    for body, words in REFUSED:
        yield "refused: " + body.replace("\n", "; "), lambda body=body, words=words: refused(body, words)
    for body in ACCEPTED:
        yield "accepted: " + body.replace("\n", "; "), lambda body=body: call(folder, source(body))
    for body, words in LINTED:
        yield "linted: " + body.replace("\n", "; "), lambda body=body, words=words: linted(source(body), words)
    plain = source("pass")
    for before, after, words in (("(x)", "(x, *, y=1)", "parameters are plain"), ("@nki.jit", "@nki.jit(mode=1)", "@nki.jit"),
                                 ("import nki\n", "import numpy\n", "a kernel imports"), ("(x)", "(x, y=[])", "a default is")):
        yield f"linted: {after.strip()}", lambda b=before, a=after, w=words: linted(plain.replace(b, a, 1), w)
    yield "linted: nothing", lambda: linted(plain + "\nx = 1\n", "only imports and kernels")

    def rounds_like_hardware():
        # Ties go to the even neighbour; a carry reaches the exponent, and infinity.
        values = np.array([1 + 2**-8, 1 + 3 * 2**-8, 2 - 2**-9, 3.4e38, -0.0, 1e-40], np.float32)
        expected = np.array([1, 1 + 2**-6, 2, np.inf, -0.0, 1e-40], np.float32)
        expected[-1] = np.array([np.float32(1e-40).view(np.uint32) + 0x7FFF >> 16 << 16], np.uint32).view(np.float32)[0]
        got = nki.Host(values, nl.bfloat16).values
        assert np.array_equal(got, expected) and np.signbit(got[4]), got
        e4m3 = nki.Host([17, 19, 247, 249, 2**-10, 3 * 2**-10], nl.float8_e4m3).values
        assert np.array_equal(e4m3, np.array([16, 20, 240, np.inf, 0, 2**-8], np.float32)), e4m3

    yield "dtypes round to nearest, ties to even", rounds_like_hardware


def main():
    passed, failed = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        program = find_program(folder)
        subprocess.run([program, folder], check=True)
        scratch = os.path.join(folder, "scratch")
        os.mkdir(scratch)
        sys.dont_write_bytecode = True
        for cases in (stand_in_cases(scratch), emitted_cases(folder)):
            for name, test in cases:
                try:
                    test()
                    passed += 1
                except Exception:
                    failed += 1
                    print(f"FAILED {name}")
                    traceback.print_exc(limit=-3)
    print(f"{passed} passed" + (f", {failed} failed" if failed else ""))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
