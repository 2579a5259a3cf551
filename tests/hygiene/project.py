"""What the test scripts share: the build's manifest, its compile command, running things in parallel."""

import concurrent.futures
import json
import os
import shlex
import subprocess
import sys


class Project:
    """The manifest that CMake wrote, as attributes."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.__dict__.update(json.load(file))

    def headers(self):
        """(module, header) for each public header."""
        return [(module, header) for module in self.modules for header in module["headers"]]

    def compile_flags(self):
        """The flags with which the build compiles a source that includes every header."""
        with open(os.path.join(self.binary_dir, "compile_commands.json"), encoding="utf-8") as file:
            rows = json.load(file)
        row = next(row for row in rows if os.path.samefile(row["file"], self.flags_of))
        words = row["arguments"] if "arguments" in row else shlex.split(row["command"])
        words = words[words.index(self.compiler) + 1:]
        flags = []
        skip = False
        for word in words:
            if skip:
                skip = False
            elif word in ("-o", "-c", "-MF", "-MT"):
                skip = True
            elif word not in ("-MD", "-MMD"):
                flags.append(word)
        return flags


def run(command, text=None):
    """Exit code and whole output of a command, in English and without colours."""
    result = subprocess.run(command, input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            errors="replace", check=False, env={**os.environ, "LC_ALL": "C"})
    return result.returncode, result.stdout


def in_parallel(function, items):
    """[function(item) for item in items], on all cores this process may use."""
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return list(pool.map(function, items))


def finish(problems, success):
    """Print the problems, or what was checked, and leave with the matching exit code."""
    for problem in problems:
        print(problem)
    if problems:
        sys.exit(f"{len(problems)} problem(s)")
    print(success)
