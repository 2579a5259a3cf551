#!/usr/bin/env python3
"""What a script outside the project may rely on: nki-tune's JSON, exit codes, and answers to bad input.

usage: test_tune_contract.py [NKI_TUNE]        (else $NKI_BIN_DIR/nki-tune)
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from test_contract import ROOT, Schemas

NKI_TUNE = None
schemas = Schemas()

SMALL = ["matmul", "--shape", "m=96,n=200,k=130"]
TRN2 = ["--hw", "trn2"]
# A slice of the space that takes a moment.
PINS = ["--pin", "out_queue=scalar,evacuate=vector,panel_bufs=1,bufs=2"]


def tune(*arguments):
    done = subprocess.run([NKI_TUNE, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=600)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


class Contract(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tmp = folder.name

    def call(self, *arguments, code=0):
        """One JSON object, valid by its schema, with this exit code."""
        got, out, err = tune(*arguments, "--json")
        self.assertEqual(got, code, out[:2000] + err)
        self.assertEqual(out.count("\n"), 1)
        value = json.loads(out)
        self.assertEqual(value["ok"], code == 0)
        file = value["schema"].split("/")[0][len("nki."):] + ".schema.json"
        self.assertEqual(schemas.errors(value, schemas.load(file), file), [])
        return value

    def refused(self, *arguments, code=2, klass=None, says=()):
        error = self.call(*arguments, code=code)["error"]
        if klass:
            self.assertEqual(error["class"], klass)
        for word in [says] if isinstance(says, str) else says:
            self.assertIn(word, json.dumps(error))
        self.assertTrue(error["hint"], error)
        return error

    # --- space --------------------------------------------------------------------------------------------------------

    def test_space(self):
        value = self.call("space", "matmul", "--case", "S01", *TRN2)
        self.assertEqual(value["case"], "S01")
        product = 1
        for p in value["parameters"]:
            product *= len(p["values"])
        self.assertEqual(product, value["cartesian"])
        rejected = sum(c["rejected"] for c in value["constraints"])
        self.assertEqual(rejected + value["legal"], value["cartesian"])
        self.assertGreater(value["default"]["body_us"], value["bound_us"])
        self.assertAlmostEqual(value["default"]["latency_us"], value["default"]["body_us"] + value["default"]["launch_us"])
        self.assertFalse(value["default"]["moved"])

    def test_pins_shrink_the_space(self):
        all_of_it = self.call("space", *SMALL, *TRN2)
        part = self.call("space", *SMALL, *TRN2, *PINS)
        self.assertLess(part["legal"], all_of_it["legal"])
        self.assertEqual(part["pins"], {"out_queue": "scalar", "evacuate": "vector", "panel_bufs": 1, "bufs": 2})
        for p in part["parameters"]:
            if p["name"] in part["pins"]:
                self.assertEqual(p["values"], [part["pins"][p["name"]]])

    def test_an_empty_space_names_what_rejects(self):
        for command in ("space", "run"):
            value = self.call(command, "matmul", "--shape", "m=2048,n=4096,k=512", *TRN2, "--pin", "tiles_m=4,tiles_n=4", code=3)
            self.assertEqual(value["error"]["class"], "illegal")
            self.assertEqual(value["legal"], 0)
            banks = [c for c in value["constraints"] if "PSUM" in c["name"]][0]
            self.assertEqual(banks["rejected"], value["cartesian"])
            self.assertIn(f"'{banks['name']}' rejects {banks['rejected']}", value["error"]["got"])

    # --- run ----------------------------------------------------------------------------------------------------------

    def check_run(self, value):
        counts = value["counts"]
        self.assertEqual(sum(v for k, v in counts.items() if k != "given_up"), value["cartesian"])
        self.assertLessEqual(counts["given_up"], counts["pruned_bound"])
        best, default = value["best"], value["default"]
        for side in (best, default):
            self.assertAlmostEqual(side["latency_us"], side["body_us"] + side["launch_us"])
            self.assertLessEqual(side["band"]["lo"], side["body_us"])
            self.assertGreaterEqual(side["band"]["hi"], side["body_us"])
            self.assertLessEqual(side["bound_us"], side["own_bound_us"] + 1e-9)
            self.assertLessEqual(side["own_bound_us"], side["body_us"])
        self.assertLessEqual(best["latency_us"], default["latency_us"])
        self.assertAlmostEqual(value["gap"], best["body_us"] / value["bound_us"] - 1)
        differ = [k for k in best["params"] if best["params"][k] != default["params"][k]]
        self.assertEqual(sorted(c["parameter"] for c in value["changes"]), sorted(differ))

    def test_run(self):
        value = self.call("run", *SMALL, *TRN2, *PINS)
        self.check_run(value)
        self.assertEqual((value["certificate"], value["regret"], value["stop_reason"]), ("optimum", 0, "exhausted: optimum proven"))
        self.assertEqual((value["seed"], value["strategy"], value["journal"]), (0, "exhaustive", None))
        self.assertEqual(value["counts"]["untried"], 0)
        self.assertTrue(value["verified"]["passed"])
        self.assertLess(value["verified"]["rel_l2"], value["verified"]["tolerance"])
        for name, pinned in value["pins"].items():
            self.assertEqual(value["best"]["params"][name], pinned)

    def test_results_do_not_depend_on_threads_or_on_the_run(self):
        def result(*flags):
            value = self.call("run", *SMALL, *TRN2, *PINS, "--verify", "off", *flags)
            del value["seconds"], value["threads"]
            return json.dumps(value)
        once = result("-j", "1")
        for flags in (["-j", "1"], ["-j", "2"], ["-j", "5"]):
            self.assertEqual(result(*flags), once)

    def test_budgets_are_kept(self):
        for evals in (1, 7, 40):
            value = self.call("run", *SMALL, *TRN2, "--verify", "off", "--budget", f"{evals}evals")
            self.check_run(value)
            counts = value["counts"]
            self.assertEqual(counts["evaluated"] + counts["given_up"] + counts["failed"], evals)
            self.assertEqual(value["certificate"], "none")
            self.assertGreater(counts["untried"], 0)
        value = self.call("run", *SMALL, *TRN2, "--verify", "off", "--budget", "gap=10000%")
        self.assertEqual(value["certificate"], "gap")
        begin = time.monotonic()
        self.call("run", "matmul", "--case", "S13", *TRN2, "--verify", "off", "--budget", "0.5s,100000evals")
        self.assertLess(time.monotonic() - begin, 60)

    def test_require(self):
        fast = [*SMALL, *TRN2, *PINS, "--verify", "off"]
        self.call("run", *fast, "--require", "gap=100000%,regret=0")
        self.refused("run", *fast, "--require", "gap=0.001%", code=5, klass="require", says="gap")
        self.refused("run", *fast, "--budget", "1evals", "--require", "regret=0", code=5, klass="require")

    def test_a_default_of_the_user(self):
        value = self.call("run", *SMALL, *TRN2, *PINS, "--verify", "off", "--default", "tiles_k=1,lhs_queue=gpsimd")
        self.assertEqual(value["default"]["params"]["tiles_k"], 1)
        self.assertEqual(value["default"]["params"]["lhs_queue"], "gpsimd")
        self.check_run(value)
        self.refused("run", "matmul", "--shape", "m=1024,n=2048,k=512", *TRN2, "--default", "tiles_m=4,tiles_n=4", code=3,
                     klass="illegal", says="PSUM")
        self.refused("run", *SMALL, *TRN2, "--pin", "bufs=2", "--default", "bufs=3", says="bufs=2")

    def test_output_dir(self):
        folder = os.path.join(self.tmp, "a", "b")
        value = self.call("run", *SMALL, *TRN2, *PINS, "--output-dir", folder)
        self.assertEqual(sorted(os.listdir(folder)), ["kernel.py", "result.json", "timeline.html", "trace.json"])
        self.assertEqual(sorted(value["files"]), sorted(os.path.join(folder, f) for f in os.listdir(folder)))
        with open(os.path.join(folder, "result.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file), value)
        with open(os.path.join(folder, "trace.json"), encoding="utf-8") as file:
            self.assertTrue(json.load(file))
        with open(os.path.join(folder, "kernel.py"), encoding="utf-8") as file:
            compile(file.read(), "kernel.py", "exec")
        with open(os.path.join(folder, "timeline.html"), encoding="utf-8") as file:
            self.assertIn("</html>", file.read())

    def test_output_that_cannot_be_written(self):
        self.refused("run", *SMALL, *TRN2, *PINS, "--output-dir", "/dev/null/x", code=8, klass="cannot_write")

    def test_every_target(self):
        for hw in ("trn1", "trn3"):
            value = self.call("run", *SMALL, "--hw", hw, *([] if hw == "trn1" else PINS))
            self.check_run(value)
            self.assertTrue(value["verified"]["passed"])
        self.refused("run", *SMALL, "--hw", "trn1", *PINS, code=3, klass="illegal", says="queues")

    def test_text(self):
        code, out, err = tune("run", *SMALL, *TRN2, *PINS)
        self.assertEqual(code, 0, err)
        self.assertNotIn("\033", out + err)
        for word in ("default", "winner", "optimum proven", "--param tiles_m=", "verified", "saves", "Next:"):
            self.assertIn(word, out)
        self.assertIn("seed 0", err)
        self.assertEqual(tune("run", *SMALL, *TRN2, *PINS, "-q")[2], "")
        # What it prints can be pasted back.
        params = re.search(r"--param (\S+)", out)[1]
        pasted = self.call("run", *SMALL, *TRN2, "--default", params, "--budget", "1evals", "--verify", "off")
        self.assertEqual(pasted["changes"], [])

    def test_an_interrupt_leaves_the_best_so_far(self):
        for flags in ([], ["--json"]):
            process = subprocess.Popen([NKI_TUNE, "run", "matmul", "--case", "S08", *TRN2, *flags],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            time.sleep(2)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=120)
            self.assertEqual(process.returncode, 130, err)
            if flags:
                value = json.loads(out)
                self.assertEqual(schemas.errors(value, schemas.load("tune_run.schema.json"), "tune_run.schema.json"), [])
                self.assertEqual((value["stop_reason"], value["certificate"]), ("interrupted", "none"))
                self.assertEqual(value["error"]["class"], "interrupted")
                if value["best"]:
                    self.check_run(value)

    # --- mistakes -----------------------------------------------------------------------------------------------------

    def test_unknown_names(self):
        self.refused("rnu", *SMALL, *TRN2, says="run")
        self.refused("run", "matmull", *TRN2, says="matmul")
        self.refused("run", *SMALL, "--hw", "trn4", says="trn2")
        self.refused("run", *SMALL, *TRN2, "--strategy", "exhaustiv", says="exhaustive")
        self.refused("run", *SMALL, *TRN2, "--pin", "tile_k=1", says="tiles_k")
        self.refused("run", *SMALL, *TRN2, "--pin", "keep=left", says=("none", "lhs", "rhs"))
        self.refused("run", *SMALL, *TRN2, "--default", "tiles_k=3", says="tiles_k")
        self.refused("run", *SMALL, *TRN2, "--bugdet", "5s", says="--budget")
        self.refused("run", *SMALL, *TRN2, "--require", "gpa=5%", says="gap")
        self.refused("run", *SMALL, *TRN2, "--verify", "yes", says="auto")

    def test_values_that_make_no_sense(self):
        for bad in ("5", "5x", "0evals", "-1s", "gap=", "", "1e400s"):
            self.refused("run", *SMALL, *TRN2, "--budget", bad)
        for bad in ("-1", "x", "9223372036854775808"):
            self.refused("run", *SMALL, *TRN2, "--seed", bad)
        for bad in ("0", "-1", "x", "100000"):
            self.refused("run", *SMALL, *TRN2, "-j", bad)
        self.refused("run", "program.json", *TRN2, says="kernel")

    def test_missing_parts_are_named(self):
        self.refused(says="command")
        for command in ("space", "run"):
            self.refused(command, says="TARGET")
            self.refused(command, *SMALL, says="--hw trn2")
            self.refused(command, "matmul", *TRN2, says="m (")

    def test_what_later_versions_bring(self):
        for command in "show best export import replay bench plan merge verify diff".split():
            self.refused(command, "x", says="not in this version")
        for flag in (["--journal", "f"], ["--resume"], ["--fresh"], ["--warm-from", "f"], ["--strategy", "gp"]):
            self.refused("run", *SMALL, *TRN2, *flag, says="not in this version")

    def test_the_schemas_are_schemas(self):
        try:
            import jsonschema
        except ImportError:
            self.skipTest("jsonschema is not installed")
        for name in ("tune_run", "tune_space"):
            with open(os.path.join(ROOT, "docs", "schema", name + ".schema.json"), encoding="utf-8") as file:
                jsonschema.Draft202012Validator.check_schema(json.load(file))


if __name__ == "__main__":
    arguments = sys.argv[1:]
    if arguments and not arguments[0].startswith("-") and os.path.exists(arguments[0]):
        NKI_TUNE = os.path.abspath(arguments.pop(0))
    else:
        NKI_TUNE = os.path.join(os.environ.get("NKI_BIN_DIR", os.path.join(ROOT, "build", "release", "bin")), "nki-tune")
    unittest.main(argv=[sys.argv[0], *arguments])
