"""Every block of the README is true: commands run, C++ and Python are parts of what is built and emitted, messages are
what the programs say, and the CMake lines build a project."""

import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN = os.environ.get("NKI_BIN_DIR", os.path.join(ROOT, "build", "release", "bin"))


def run(command, **keywords):
    return subprocess.run(command, capture_output=True, text=True, timeout=300, **keywords)


def example_output(name):
    done = run([os.path.join(BIN, name)], cwd=ROOT)
    assert done.returncode == 0, f"{name} ended with {done.returncode}: {done.stderr}"
    return done.stdout


def check_commands(block, folder):
    commands = open(os.path.join(ROOT, "bootstrap")).read()
    for line in block.splitlines():
        words = line.split("#")[0].split()
        if words[0] == "./bootstrap":
            assert f"command_{words[1]}()" in commands, f"bootstrap has no command {words[1]}"
            continue
        done = run([os.path.join(BIN, words[0])] + words[1:], cwd=folder)
        assert done.returncode == 0, f"`{line}` ended with {done.returncode}: {done.stderr}"
        assert done.stdout or "-o" in words, f"`{line}` printed nothing"


def check_cmake(block, folder):
    shutil.copytree(os.path.join(ROOT, "tests", "packaging", "consumer"), folder, dirs_exist_ok=True)
    text = block.replace("find_package(nki 0.1 REQUIRED COMPONENTS core sim)", f'add_subdirectory("{ROOT}" nki)')
    assert text != block, "the README no longer shows find_package"
    with open(os.path.join(folder, "CMakeLists.txt"), "w") as out:
        out.write(text)
    for command in (["cmake", "-S", folder, "-B", folder + "/b", "-G", "Ninja"], ["cmake", "--build", folder + "/b"],
                    [folder + "/b/my_kernel"]):
        done = run(command)
        assert done.returncode == 0, f"{command} ended with {done.returncode}: {done.stdout}{done.stderr}"


def main():
    text = open(os.path.join(ROOT, "README.md")).read()
    blocks = re.findall(r"^```(\w+)\n(.*?)^```", text, re.M | re.S)
    assert len(blocks) >= 7, f"only {len(blocks)} blocks"
    sources = "".join(open(os.path.join(ROOT, "examples", f)).read()
                      for f in sorted(os.listdir(os.path.join(ROOT, "examples"))) if f.endswith(".cpp"))
    passed = 0
    for kind, block in blocks:
        with tempfile.TemporaryDirectory() as folder:
            if kind == "sh":
                check_commands(block, folder)
            elif kind == "cpp":
                assert block in sources, "the C++ block is no part of an example"
            elif kind == "python":
                assert block in example_output("example_01_first_kernel"), "the Python block is no part of what example 01 emits"
            elif kind == "text":
                said = re.sub(r"at \S*examples/", "at examples/", example_output("example_02_deliberate_mistake"))
                assert block.strip() in said, f"example 02 says\n{said}"
            elif kind == "cmake":
                check_cmake(block, folder)
            else:
                raise AssertionError(f"a block of kind {kind} is checked by nothing")
        passed += 1
    for link in re.findall(r"\]\(([^)]+)\)", text):
        assert os.path.exists(os.path.join(ROOT, link)), f"the README links {link}, which is not there"
    print(f"{passed} passed, 0 failed")


if __name__ == "__main__":
    sys.exit(main())
