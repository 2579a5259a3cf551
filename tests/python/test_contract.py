#!/usr/bin/env python3
"""What a script outside the project may rely on: nki-sim's JSON, exit codes, and answers to bad input.

usage: test_contract.py [NKI_SIM]        (else $NKI_BIN_DIR/nki-sim)
"""

import json
import math
import os
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCHEMAS = os.path.join(ROOT, "docs", "schema")
NKI_SIM = None

SMALL = ["matmul", "--shape", "m=96,n=200,k=130"]
TRN2 = ["--hw", "trn2"]


# --- a validator of the part of JSON Schema that docs/schema uses -----------------------------------------------------

class Schemas:
    KNOWN = {"$schema", "title", "description", "type", "properties", "required", "additionalProperties", "items", "enum",
             "const", "anyOf", "pattern", "minimum", "maximum", "if", "then", "else", "$ref", "$defs", "$id"}

    def __init__(self):
        self.files = {}

    def load(self, name):
        if name not in self.files:
            with open(os.path.join(SCHEMAS, name), encoding="utf-8") as file:
                self.files[name] = json.load(file)
        return self.files[name]

    def resolve(self, reference, home):
        file, _, pointer = reference.partition("#")
        home = file or home
        node = self.load(home)
        for part in pointer.strip("/").split("/"):
            node = node[part] if part else node
        return node, home

    def errors(self, value, schema, home, path="$"):
        unknown = set(schema) - self.KNOWN
        if unknown:
            return [f"{path}: the schema uses {unknown}, which this validator does not know"]
        if "$ref" in schema:
            target, where = self.resolve(schema["$ref"], home)
            return self.errors(value, target, where, path)
        out = []
        if "type" in schema:
            types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
            if not any(self.is_type(value, t) for t in types):
                return [f"{path}: {value!r} is not of type {types}"]
        if "const" in schema and not self.equal(value, schema["const"]):
            out.append(f"{path}: {value!r} is not {schema['const']!r}")
        if "enum" in schema and not any(self.equal(value, e) for e in schema["enum"]):
            out.append(f"{path}: {value!r} is none of {schema['enum']}")
        if "pattern" in schema and isinstance(value, str) and not re.search(schema["pattern"], value):
            out.append(f"{path}: {value!r} does not match {schema['pattern']}")
        if "minimum" in schema and self.is_type(value, "number") and value < schema["minimum"]:
            out.append(f"{path}: {value} is below {schema['minimum']}")
        if "anyOf" in schema and all(self.errors(value, s, home, path) for s in schema["anyOf"]):
            out.append(f"{path}: {value!r} fits none of its alternatives")
        if isinstance(value, dict):
            for key in schema.get("required", []):
                if key not in value:
                    out.append(f"{path}: '{key}' is missing")
            for key, item in value.items():
                if key in schema.get("properties", {}):
                    out += self.errors(item, schema["properties"][key], home, f"{path}.{key}")
                elif isinstance(schema.get("additionalProperties"), dict):
                    out += self.errors(item, schema["additionalProperties"], home, f"{path}.{key}")
                elif "properties" in schema and "additionalProperties" not in schema:
                    out.append(f"{path}: '{key}' is not described")  # outsiders may meet new keys, we may not
        if isinstance(value, list) and "items" in schema:
            for i, item in enumerate(value):
                out += self.errors(item, schema["items"], home, f"{path}[{i}]")
        if "if" in schema:
            # Only the properties that the condition names matter here.
            holds = all(k in value and not self.errors(value[k], s, home) for k, s in schema["if"]["properties"].items())
            branch = schema.get("then" if holds else "else", {})
            out += [f"{path}: '{key}' is missing" for key in branch.get("required", []) if key not in value]
        return out

    @staticmethod
    def equal(a, b):
        return a == b and isinstance(a, bool) == isinstance(b, bool)

    @staticmethod
    def is_type(value, name):
        if name == "number":
            return isinstance(value, (int, float)) and not isinstance(value, bool)
        if name == "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        return isinstance(value, {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}[name])


schemas = Schemas()


def refuse_constant(text):
    raise ValueError(f"{text} is not JSON")


def sim(*arguments, cwd=None, env=None):
    done = subprocess.run([NKI_SIM, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd,
                          timeout=600, env=env)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


class Contract(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.tmp = cls.folder.name

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def path(self, name):
        return os.path.join(self.tmp, name)

    def call(self, *arguments, code=0, schema=None):
        """Runs a command with --json; its object follows the schema it names, and says how it ended."""
        got, out, err = sim(*arguments, "--json")
        self.assertEqual(got, code, f"{arguments}: {out[:600]} {err}")
        self.assertEqual(out.count("\n"), 1, "one object on one line")
        value = json.loads(out, parse_constant=refuse_constant)
        name = re.fullmatch(r"nki\.([a-z_]+)/1", value["schema"])
        self.assertTrue(name, value["schema"])
        if schema:
            self.assertEqual(value["schema"], f"nki.{schema}/1")
        file = name[1] + ".schema.json"
        self.assertEqual(schemas.errors(value, schemas.load(file), file), [], arguments)
        self.assertEqual(value["ok"], code == 0)
        self.assertEqual("error" in value, code != 0)
        return value

    def refused(self, *arguments, code=2, says=(), klass=None, schema=None):
        """A call that is refused: the error object, and the same in text."""
        error = self.call(*arguments, code=code, schema=schema)["error"]
        got, out, err = sim(*arguments)
        self.assertEqual(got, code, err)
        self.assertTrue(err.startswith(f"error: {error['id']}: "), err)
        for word in [says] if isinstance(says, str) else says:
            self.assertIn(word, err)
        if klass:
            self.assertEqual(error["class"], klass)
        self.assertTrue(error["message"] and "nki internal" not in err, err)
        return error

    # --- what works -----------------------------------------------------------------------------------------------

    def test_list_shows_kernels_keys_and_cases(self):
        value = self.call("list", schema="list")
        matmul = {k["name"]: k for k in value["kernels"]}["matmul"]
        self.assertEqual([s["key"] for s in matmul["sizes"]], ["m", "n", "k"])
        cases = {c["id"]: c for c in matmul["cases"]}
        self.assertEqual(sorted(cases), [f"S{i:02d}" for i in range(1, 15)])
        self.assertEqual(cases["S01"]["shape"], {"m": 2048, "n": 6144, "k": 4096})
        self.assertEqual(cases["S01"]["attrs"]["layout"], "lhs")
        self.assertEqual(cases["S09"]["attrs"]["layout"], "lhsT")
        self.assertEqual(cases["S08"]["dtype"], {"lhs": "f32", "rhs": "f32", "out": "f32"})
        self.assertIn("S01", sim("list")[1])
        self.assertEqual(self.call("list", "matmul")["kernels"], value["kernels"])

    def test_version_and_help(self):
        self.assertEqual(self.call("--version", schema="version")["name"], "nki-sim")
        self.assertIn("nki-sim time matmul", self.call("--help", schema="help")["text"])
        for command in "list record check run time trace emit explain why".split():
            code, out, _ = sim(command, "--help")
            self.assertEqual(code, 0)
            self.assertIn(f"nki-sim {command}", out.split("Examples")[1])
            self.call(command, "--help", schema="help")

    def test_check(self):
        value = self.call("check", *SMALL, *TRN2, schema="check")
        self.assertEqual(value["violations"], [])
        capacity = value["capacity"]
        self.assertTrue(0 < capacity["sbuf_bytes_per_partition"] <= capacity["limit"])
        self.assertTrue(0 < capacity["psum_banks"] <= 8)
        self.assertTrue(value["live_ranges"])
        self.assertIn("Legal on trn2", sim("check", *SMALL, *TRN2)[1])

    def test_time(self):
        value = self.call("time", *SMALL, *TRN2, schema="time")
        self.assertAlmostEqual(value["latency_us"], value["body_us"] + value["launch_us"])
        self.assertEqual((value["clock_phase"], value["order"]), ("sweep", "program"))
        self.assertTrue(value["band"]["lo"] < value["body_us"] < value["band"]["hi"])
        self.assertTrue(0 < value["bound_us"] <= value["body_us"])
        self.assertEqual(value["shape"], {"m": 96, "n": 200, "k": 130})
        self.assertEqual(value["dma_bytes_written"], 96 * 200 * 2)
        self.assertEqual(self.call("time", *SMALL, *TRN2), value, "predictions are deterministic")
        bound = self.call("time", *SMALL, "--param", "tiles_k=1,bufs=3", *TRN2)
        self.assertEqual(bound["bound_us"], value["bound_us"], "the bound does not depend on the configuration")
        self.assertEqual((bound["params"]["tiles_k"], bound["params"]["bufs"]), (1, 3))

    def test_time_of_a_phase(self):
        value = self.call("time", *SMALL, *TRN2, "--clock", "phase=1200.5")
        self.assertEqual((value["clock_phase"], value["phases"]), (1200.5, 1))
        self.assertEqual(self.call("time", *SMALL, *TRN2, "--phases", "3")["phases"], 3)

    def test_uncalibrated_targets_say_so(self):
        targets = self.call("--version")["hw"]
        self.assertEqual([t["name"] for t in targets], ["trn1", "trn2", "trn3"])
        for target in targets:
            call = ["time", *SMALL, "--hw", target["name"]]
            self.assertEqual(self.call(*call)["calibrated"], target["calibrated"])
            self.assertEqual("uncalibrated" in sim(*call)[1], not target["calibrated"])

    def test_hardware_aliases_are_canonical_in_the_output(self):
        self.assertEqual(self.call("time", *SMALL, "--hw", "NC-v3")["hw"], "trn2")

    def test_baseline_gate(self):
        base = self.call("time", *SMALL, *TRN2)
        with open(self.path("same.json"), "w") as file:
            json.dump(base, file)
        value = self.call("time", *SMALL, *TRN2, "--baseline", self.path("same.json"), "--max-regress", "0.03")
        self.assertEqual((value["baseline_us"], value["regress"]), (base["body_us"], 0))
        with open(self.path("fast.json"), "w") as file:
            json.dump(dict(base, body_us=base["body_us"] / 1.05), file)
        gate = ["time", *SMALL, *TRN2, "--baseline", self.path("fast.json"), "--max-regress"]
        self.assertAlmostEqual(self.refused(*gate, "0.03", code=1, klass="gate") and
                               self.call(*gate, "0.03", code=1)["regress"], 0.05)
        self.call(*gate, "0.06")
        self.refused("time", "matmul", "--shape", "m=1,n=1,k=1", *TRN2, "--baseline", self.path("same.json"), says="shape")
        with open(self.path("foreign.json"), "w") as file:
            file.write("{}")
        self.refused("time", *SMALL, *TRN2, "--baseline", self.path("foreign.json"), code=4, klass="damaged_file")
        self.refused("time", *SMALL, *TRN2, "--baseline", self.path("absent.json"), says="absent.json")
        self.refused("time", *SMALL, *TRN2, "--max-regress", "0.1", says="--baseline")

    def test_run(self):
        for dist in ("normal", "uniform", "hostile", "const"):
            value = self.call("run", *SMALL, "--seed", "7", "--dist", dist, schema="run")
            self.assertTrue(value["passed"])
            self.assertLessEqual(value["rel_l2"], value["tolerance"])
            self.assertEqual((value["seed"], value["dist"]), (7, dist))
            self.assertEqual(value["outputs"], [{"name": "out", "shape": [96, 200], "dtype": "bf16", "first_bad": None}])
            self.assertEqual((value["undefined_reads"], value["unwritten_elements"]), (0, 0))
        same, other = self.call("run", *SMALL, "--seed", "7"), self.call("run", *SMALL, "--seed", "8")
        self.assertEqual(same["rel_l2"], self.call("run", *SMALL, "--seed", "7")["rel_l2"])
        self.assertNotEqual(same["rel_l2"], other["rel_l2"])
        self.assertIn("PASSED", sim("run", *SMALL)[1])

    def test_run_of_every_dtype_and_layout(self):
        for dtype in ("bf16", "f16", "f32", "float32", "lhs=f16,rhs=bf16,out=f32"):
            for layout in ("lhs", "lhsT"):
                value = self.call("run", "matmul", "--shape", "m=5,n=7,k=300", "--dtype", dtype, "--attr", f"layout={layout}")
                self.assertTrue(value["passed"], (dtype, layout))
        self.assertEqual(value["dtype"], {"lhs": "f16", "rhs": "bf16", "out": "f32"})

    def test_run_with_files(self):
        problem = ["matmul", "--shape", "m=2,n=3,k=2", "--attr", "layout=lhs"]
        write_npy(self.path("a.npy"), "<f4", (2, 2), struct.pack("<4f", 1, 2, 3, 4))
        write_npy(self.path("b.npy"), "<f4", (2, 3), struct.pack("<6f", 1, 0, 2, 0, 1, 3))
        files = ["--input", "lhs=" + self.path("a.npy"), "--input", "rhs=" + self.path("b.npy")]
        value = self.call("run", *problem, "--dtype", "f32", *files, "--output-dir", self.path("out"))
        self.assertEqual(value["files"], [self.path("out") + "/out.npy"])
        self.assertEqual(read_npy(value["files"][0]), ("<f4", (2, 3), struct.pack("<6f", 1, 2, 8, 3, 4, 18)))
        value = self.call("run", *problem, "--dtype", "bf16", *files, "--output-dir", self.path("out16"))
        view, raw = (read_npy(f) for f in value["files"])
        self.assertEqual(view, ("<f4", (2, 3), struct.pack("<6f", 1, 2, 8, 3, 4, 18)))
        self.assertEqual((raw[0], raw[1]), ("<u2", (2, 3)))
        self.assertEqual(b"".join(b"\0\0" + raw[2][i:i + 2] for i in range(0, 12, 2)), view[2], "bf16 is the upper half")
        # Raw elements come back in.
        again = self.call("run", "matmul", "--shape", "m=2,n=3,k=2", "--attr", "layout=lhs", "--input",
                          "rhs=" + value["files"][1])
        self.assertTrue(again["passed"])
        # Column-major files mean what they mean in NumPy.
        write_npy(self.path("af.npy"), "<f4", (2, 2), struct.pack("<4f", 1, 3, 2, 4), fortran=True)
        value = self.call("run", *problem, "--dtype", "f32", "--input", "lhs=" + self.path("af.npy"), *files[2:],
                          "--output-dir", self.path("outf"))
        self.assertEqual(read_npy(value["files"][0])[2], struct.pack("<6f", 1, 2, 8, 3, 4, 18))

    def test_a_recorded_program_goes_everywhere(self):
        p = self.path("p.json")
        recorded = self.call("record", *SMALL, *TRN2, "-o", p, schema="record")
        self.assertEqual(recorded["output"], p)
        fresh, loaded = self.call("time", *SMALL, *TRN2), self.call("time", p, *TRN2)
        self.assertEqual(loaded.pop("program"), p)
        self.assertEqual(fresh, loaded)
        self.assertTrue(self.call("run", p)["passed"])
        self.assertEqual(self.call("check", p, *TRN2)["violations"], [])
        self.assertEqual(sim("emit", p)[1], sim("emit", *SMALL)[1])
        self.call("explain", p, *TRN2)
        self.call("why", p, *TRN2)
        self.call("trace", p, *TRN2, "-o", self.path("p.svg"))
        self.assertEqual(self.call("record", p)["hash"], recorded["hash"])
        with open(p, encoding="utf-8") as file:
            self.assertEqual(json.load(file), self.call("record", *SMALL, *TRN2)["recorded"])
        self.refused("time", p, *TRN2, "--shape", "m=1,n=1,k=1", says="recorded program")

    def test_a_program_of_an_unknown_kernel(self):
        p = self.path("foreign_kernel.json")
        text = sim("record", *SMALL)[1]
        with open(p, "w") as file:
            file.write(text.replace('"matmul"', '"somebody_elses"', 1))
        self.assertEqual(self.call("time", p, *TRN2)["bound_us"], None)
        value = self.call("run", p)
        self.assertEqual((value["passed"], value["rel_l2"]), (True, None))
        self.call("why", p, *TRN2)
        self.call("explain", p, *TRN2)

    def test_emit(self):
        value = self.call("emit", *SMALL, *TRN2, schema="emit")
        self.assertIn("@nki.jit", value["source"])
        code, out, _ = sim("emit", *SMALL, *TRN2, "-o", "-")
        self.assertEqual((code, out), (0, value["source"]))
        self.call("emit", *SMALL, *TRN2, "-o", self.path("k.py"))
        with open(self.path("k.py"), encoding="utf-8") as file:
            self.assertEqual(file.read(), value["source"])

    def test_trace(self):
        for form, begin in (("html", "<!"), ("svg", "<"), ("perfetto", "{")):
            out = self.path("t." + form)
            value = self.call("trace", *SMALL, *TRN2, "--format", form, "-o", out, schema="trace")
            with open(out, encoding="utf-8") as file:
                text = file.read()
            self.assertTrue(text.startswith(begin), form)
            self.assertEqual(len(text.encode()), value["bytes"])
            if form == "perfetto":
                self.assertTrue(json.loads(text)["traceEvents"])
        self.refused("trace", *SMALL, *TRN2, "--format", "pdf", "-o", self.path("t"), says="html")
        self.refused("trace", *SMALL, *TRN2, says="-o")

    def test_explain_and_why(self):
        value = self.call("explain", *SMALL, *TRN2, schema="explain")
        self.assertTrue(value["legal"])
        self.assertIn("nc_matmul", value["text"])
        value = self.call("why", "matmul", "--case", "S05", *TRN2, schema="why")
        self.assertTrue(value["sentences"] and value["advice"])
        self.assertTrue(any(line["waiting"]["file"].endswith("matmul.hpp") for c in value["causes"] for line in c["lines"]))
        for trial in value["trials"]:
            self.assertGreater(trial["gain"], 0)

    def test_names_that_do_not_exist(self):
        self.refused("tiem", *SMALL, says="'time'")
        self.refused("time", "matmull", *TRN2, says="'matmul'")
        self.refused("time", "attention", *TRN2, says="matmul")
        self.refused("time", "matmul", "--shape", "M=1,n=1,k=1", *TRN2, says="'m'")
        self.refused("time", "matmul", "--shape", "rows=1,n=1,k=1", *TRN2, says="m, n, k")
        self.refused("time", *SMALL, "--hw", "tnr2", says="'trn2'")
        self.refused("time", *SMALL, *TRN2, "--dtype", "bf61", says="'bf16'")
        self.refused("time", *SMALL, *TRN2, "--dtype", "f8e4m3", says="bf16, f16, f32")
        self.refused("time", *SMALL, *TRN2, "--dtype", "lsh=bf16", says="'lhs'")
        self.refused("time", *SMALL, *TRN2, "--attr", "layuot=lhs", says="'layout'")
        self.refused("time", *SMALL, *TRN2, "--attr", "layout=lhst", says="'lhsT'")
        self.refused("time", *SMALL, *TRN2, "--param", "tile_k=2", says="'tiles_k'")
        self.refused("time", *SMALL, *TRN2, "--param", "tiles_k=3", says="1, 2, 4, 8")
        self.refused("time", *SMALL, *TRN2, "--parma", "tiles_k=2", says="'--param'")
        self.refused("time", "matmul", "--case", "S99", *TRN2, says="S01")
        self.refused("run", *SMALL, "--dist", "gauss", says="normal")
        self.refused("run", *SMALL, "--input", "lsh=x.npy", says="'lhsT'")

    def test_sizes_that_make_no_sense(self):
        for bad in ("0", "-1", "-0", "", "x", "1.5", "1e3", "0x10", " 1", "1 ", "+1", "99999999999999999999999", "2147483649",
                    "-99999999999999999999999", "1m"):
            self.refused("time", "matmul", "--shape", f"m={bad},n=1,k=1", *TRN2, says="m=")
        self.refused("time", "matmul", "--shape", "m=2147483648,n=2147483648,k=1", *TRN2, says="GiB")
        self.refused("time", "matmul", "--shape", "m=1,n=1", *TRN2, says="k (")
        self.refused("time", "matmul", *TRN2, says=("m (", "n (", "k (", "--shape"))
        self.refused("time", "matmul", "--shape", "m=1,m=2,n=1,k=1", *TRN2, says="once")
        for bad in ("m", "=1", "m=1,,n=1,k=1", ",", "m=1;n=1;k=1"):
            self.refused("time", "matmul", "--shape", bad, *TRN2)
        self.refused("time", "matmul", "--shape", "m=1,n=1,k=1", "--case", "S01", *TRN2, says="--case")

    def test_values_that_make_no_sense(self):
        for bad in ("0", "-1", "x", "100000"):
            self.refused("time", *SMALL, *TRN2, "--phases", bad)
        for bad in ("7", "phase=", "phase=x", "phase=-1", "phase=nan", "phase=1e999"):
            self.refused("time", *SMALL, *TRN2, "--clock", bad)
        for bad in ("-1", "x", "9223372036854775808"):
            self.refused("run", *SMALL, "--seed", bad)
        self.refused("time", *SMALL, *TRN2, "--hw", "trn1", says="once")
        self.refused("time", *SMALL, "--hw", says="--help")
        self.refused("time", *SMALL, *TRN2, "surplus", says="surplus")

    def test_missing_parts_are_named(self):
        self.refused(says="command")
        self.refused("time", says="TARGET")
        for command in ("time", "check", "why"):
            self.refused(command, *SMALL, says="--hw trn2")
        self.refused("trace", *SMALL, "-o", self.path("x.html"), says="--hw trn2")

    def test_commands_of_later_versions(self):
        for command in "catalog diff replay accuracy calibrate".split():
            self.refused(command, "x", says="not in this version")

    def test_illegal_configurations(self):
        big = ["matmul", "--shape", "m=1024,n=4096,k=512", *TRN2]
        error = self.refused("time", *big, "--param", "tiles_m=4,tiles_n=4", code=3, klass="illegal", says="PSUM")
        self.assertIn("it is legal", error["hint"])
        change = re.search(r"--param (\S+) ", error["hint"])[1]
        pinned = dict(p.split("=") for p in "tiles_m=4,tiles_n=4".split(","))
        pinned.update(p.split("=") for p in change.split(","))
        self.call("time", *big, "--param", ",".join(f"{k}={v}" for k, v in pinned.items()))
        self.refused("check", "matmul", "--shape", "m=64,n=64,k=64", "--dtype", "lhs=f32,rhs=bf16", *TRN2, code=3,
                     says="NKI-E210")

    def test_a_program_that_is_illegal_elsewhere(self):
        p = self.path("for_trn2.json")
        self.call("record", *SMALL, *TRN2, "-o", p)
        value = self.call("check", p, "--hw", "trn1", code=3)
        self.assertIn("NKI-E122", [v["id"] for v in value["violations"]])
        self.assertTrue(all(v["line"] > 0 for v in value["violations"]))
        self.refused("time", p, "--hw", "trn1", code=3, klass="illegal", says="matmul.hpp")

    def test_damaged_program_files(self):
        good = sim("record", *SMALL)[1]
        newer = good.replace("nki.program/1", "nki.program/2", 1)
        self.assertNotEqual(newer, good)
        damaged = {"empty": "", "cut": good[:len(good) // 2], "one_off": good[:-3], "newer": newer, "foreign": '{"a": 1}',
                   "list": "[]", "binary": "\x00\x01\x02", "deep": "[" * 100000, "not_json": "hello",
                   "huge_number": good.replace('"slots"', '"slots_"', 1)}
        for name, text in damaged.items():
            with open(self.path(f"bad_{name}.json"), "w", encoding="utf-8") as file:
                file.write(text)
            self.refused("time", self.path(f"bad_{name}.json"), *TRN2, code=4, klass="damaged_file", says=f"bad_{name}.json")
        self.refused("time", self.path("absent.json"), *TRN2, code=2, says="No such file")
        os.mkdir(self.path("folder.json"))
        self.refused("time", self.path("folder.json"), *TRN2, code=2)

    def test_programs_with_random_damage_never_crash(self):
        good = sim("record", *SMALL)[1]
        state = 12345
        for i in range(60):
            state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
            at = state % len(good)
            digit = re.compile(r"\d+").search(good, at)
            if not digit:
                continue
            value = [0, 1, -1, 2**31, 2**62, 2**63, 7][i % 7]
            with open(self.path("fuzz.json"), "w", encoding="utf-8") as file:
                file.write(good[:digit.start()] + str(value) + good[digit.end():])
            code, out, err = sim("check", self.path("fuzz.json"), *TRN2, "--json")
            self.assertIn(code, (0, 3, 4), f"seed step {i}: {out[:400]} {err}")
            json.loads(out)

    def test_damaged_npy_files(self):
        data = struct.pack("<4f", 1, 2, 3, 4)
        good = npy("<f4", (2, 2), data)
        header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }"
        cases = {
            "empty": b"", "cut": good[:-1], "long": good + b"\0", "magic": b"\x93NUMPX" + good[6:], "header": good[:20],
            "version": good[:6] + b"\x09" + good[7:], "big_endian": npy(">f4", (2, 2), data),
            "object": npy("|O", (2, 2), data), "half_type": npy("<f1", (2, 2), data),
            "length": good[:8] + b"\xff\xff" + good[10:],
            "evil_shape": raw_npy(header.replace("(2, 2)", "(4294967296, 4294967296, 4294967296)"), data),
            "negative": raw_npy(header.replace("(2, 2)", "(-2, -2)"), data),
            "float_shape": raw_npy(header.replace("(2, 2)", "(2.0, 2)"), data),
            "code": raw_npy("__import__('os').system('true')", data),
            "twice": raw_npy("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2, 2)}", data),
            "no_shape": raw_npy("{'descr': '<f4', 'fortran_order': False}", data),
            "records": raw_npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2, 2)}", data),
            "open_string": raw_npy("{'descr': '<f4", data),
        }
        problem = ["matmul", "--shape", "m=2,n=2,k=2"]
        for name, content in cases.items():
            file = self.path(f"bad_{name}.npy")
            with open(file, "wb") as out:
                out.write(content)
            self.refused("run", *problem, "--input", "rhs=" + file, code=4, klass="damaged_file", says=f"bad_{name}.npy")
        write_npy(self.path("shape.npy"), "<f4", (4,), data)
        self.refused("run", *problem, "--input", "rhs=" + self.path("shape.npy"), says="[2, 2]")
        write_npy(self.path("ints.npy"), "<i4", (2, 2), data)
        self.refused("run", *problem, "--input", "rhs=" + self.path("ints.npy"), says="i4")

    def test_outputs_that_cannot_be_written(self):
        nowhere = self.path("no/such/folder/x")
        for arguments in (["record", *SMALL], ["emit", *SMALL], ["trace", *SMALL, *TRN2]):
            self.refused(*arguments, "-o", nowhere, code=8, klass="cannot_write")
            self.refused(*arguments, "-o", self.tmp, code=8, klass="cannot_write")
        self.refused("run", *SMALL, "--output-dir", nowhere + "/y", code=8, klass="cannot_write")
        if os.path.exists("/dev/full"):
            self.refused("emit", *SMALL, "-o", "/dev/full", code=8)
            with open("/dev/full", "w") as full:
                done = subprocess.run([NKI_SIM, "list"], stdout=full, stderr=subprocess.PIPE, timeout=60)
            self.assertEqual(done.returncode, 8)
        # What was there stays until the new file is whole, and nothing is left beside it.
        self.assertFalse([f for f in os.listdir(self.tmp) if ".nki-" in f])

    def test_an_old_output_survives_a_failed_command(self):
        out = self.path("kept.py")
        with open(out, "w") as file:
            file.write("old")
        self.refused("emit", "matmul", "--shape", "m=0,n=1,k=1", "-o", out)
        with open(out) as file:
            self.assertEqual(file.read(), "old")

    def test_interrupts(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            for flags in ([], ["--json"]):
                process = subprocess.Popen([NKI_SIM, "run", "matmul", "--case", "S13", "--dtype", "f32", *flags],
                                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                time.sleep(1.0)
                process.send_signal(number)
                out, err = process.communicate(timeout=60)
                self.assertEqual(process.returncode, 130, err)
                self.assertIn(b"interrupted", err)
                if flags:
                    value = json.loads(out)
                    self.assertEqual((value["schema"], value["ok"], value["error"]["class"]), ("nki.run/1", False, "interrupted"))
                    self.assertEqual(schemas.errors(value, schemas.load("run.schema.json"), "run.schema.json"), [])

    def test_too_large_for_this_machine(self):
        self.refused("run", "matmul", "--shape", "m=131072,n=131072,k=131072", "--dtype", "f32", says="memory")

    def test_text_is_plain_without_a_terminal(self):
        for arguments in (["list"], ["time", *SMALL, *TRN2], ["why", *SMALL, *TRN2], ["--help"]):
            self.assertNotIn("\033", "".join(sim(*arguments)[1:]))

    def test_names_are_safe_in_json(self):
        error = self.call("time", 'mat"mul\\\n\u00e9', *TRN2, code=2)["error"]
        self.assertIn('mat"mul\\\n\u00e9', error["got"])
        code, out, _ = sim("time", "x" * 100000, *TRN2, "--json")
        self.assertEqual(code, 2)
        self.assertLess(len(out), 2000)

    # --- the schemas ----------------------------------------------------------------------------------------------

    def test_the_schemas_are_schemas(self):
        try:
            import jsonschema
        except ImportError:
            self.skipTest("jsonschema is not installed")
        bundle = {}
        for name in sorted(os.listdir(SCHEMAS)):
            bundle[name] = schemas.load(name)
            jsonschema.Draft202012Validator.check_schema(bundle[name])

        def inline(node, home):
            if isinstance(node, list):
                return [inline(x, home) for x in node]
            if not isinstance(node, dict):
                return node
            if "$ref" in node:
                return inline(*schemas.resolve(node["$ref"], home))
            return {k: inline(v, home) for k, v in node.items()}

        for command in (["time", *SMALL, *TRN2], ["run", *SMALL], ["check", *SMALL, *TRN2], ["time", "x"]):
            value = json.loads(sim(*command, "--json")[1])
            file = value["schema"].split("/")[0][len("nki."):] + ".schema.json"
            jsonschema.Draft202012Validator(inline(bundle[file], file)).validate(value)


# --- .npy files, by hand ----------------------------------------------------------------------------------------------

def raw_npy(header, data):
    text = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data


def npy(descr, shape, data, fortran=False):
    shown = "(" + "".join(f"{n}, " for n in shape) + ")"
    return raw_npy(f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shown}, }}", data)


def write_npy(path, descr, shape, data, fortran=False):
    with open(path, "wb") as file:
        file.write(npy(descr, shape, data, fortran))


def read_npy(path):
    with open(path, "rb") as file:
        content = file.read()
    assert content[:8] == b"\x93NUMPY\x01\x00", content[:8]
    length = struct.unpack("<H", content[8:10])[0]
    assert (10 + length) % 64 == 0, "NumPy aligns the data to 64 bytes"
    header = content[10:10 + length].decode()
    descr = re.search(r"'descr': '([^']*)'", header)[1]
    shape = tuple(int(n) for n in re.findall(r"\d+", re.search(r"\((.*?)\)", header)[1]))
    data = content[10 + length:]
    assert len(data) == math.prod(shape) * int(descr[2:])
    return descr, shape, data


if __name__ == "__main__":
    arguments = sys.argv[1:]
    if arguments and not arguments[0].startswith("-") and os.path.exists(arguments[0]):
        NKI_SIM = os.path.abspath(arguments.pop(0))
    else:
        NKI_SIM = os.path.join(os.environ.get("NKI_BIN_DIR", os.path.join(ROOT, "build", "release", "bin")), "nki-sim")
    unittest.main(argv=[sys.argv[0], *arguments])
