#!/usr/bin/env python3
"""Compile one case twice: as it is, which must pass, and with NKI_ILLEGAL defined, which must fail with its texts.

A case says what the compiler has to print, one regular expression a line:

    // expect: NKI-E101: partition dimension
    // expect-gnu: '\\(256 <= 128\\)'          for this compiler only (gnu or clang)

The compiler must also name a line of the case itself, since that is the line a user would see: the one marked with
'// illegal line' at its end, or, without such a mark, any line between #ifdef NKI_ILLEGAL and #else or #endif.
"""

import argparse
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "hygiene"))
import project  # noqa: E402


def illegal_lines(lines):
    """Numbers of the lines that the compiler may blame."""
    marked = [number for number, line in enumerate(lines, 1) if re.search(r"//\s*illegal line\s*$", line)]
    if marked:
        return marked
    numbers, depth = [], 0
    for number, line in enumerate(lines, 1):
        if re.match(r"\s*#\s*(ifdef\s+NKI_ILLEGAL|if\s+defined\s*\(?\s*NKI_ILLEGAL)", line):
            depth = 1
        elif depth and re.match(r"\s*#\s*if", line):
            depth += 1
        elif depth and re.match(r"\s*#\s*endif", line) or depth == 1 and re.match(r"\s*#\s*el", line):
            depth -= 1
        elif depth:
            numbers.append(number)
    return numbers


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("manifest")
    parser.add_argument("case")
    options = parser.parse_args()
    nki = project.Project(options.manifest)
    name = os.path.basename(options.case)
    family = "clang" if "Clang" in nki.compiler_id else "gnu"

    with open(options.case, encoding="utf-8") as file:
        lines = file.read().splitlines()
    expected = []
    for line in lines:
        match = re.match(r"\s*//\s*expect(-gnu|-clang)?:\s*(.*\S)", line)
        if match and match[1] in (None, f"-{family}"):
            expected.append(match[2])
    if not any(re.match(r"\s*//\s*expect", line) for line in lines):
        sys.exit(f"{name} says nothing about the error; add a line '// expect: REGEX'")
    if not illegal_lines(lines):
        sys.exit(f"{name} has no line for NKI_ILLEGAL; use #ifdef NKI_ILLEGAL or mark one with '// illegal line'")

    command = [nki.compiler, *nki.compile_flags(), "-fsyntax-only", "-fdiagnostics-color=never", options.case]
    code, output = project.run(command)
    if code:
        print(output)
        sys.exit(f"{name} must compile without NKI_ILLEGAL")
    code, output = project.run([*command, "-DNKI_ILLEGAL"])
    print(output)
    if not code:
        sys.exit(f"{name} must not compile with NKI_ILLEGAL")

    problems = [f"the compiler did not print what matches: {regex}" for regex in expected
                if not re.search(regex, output, re.MULTILINE)]
    blamed = {int(number) for number in re.findall(rf"{re.escape(name)}:(\d+)", output)}
    own = sorted(blamed & set(illegal_lines(lines)))
    if own:
        print("".join(f"own line: {name}:{number}: {lines[number - 1].strip()}\n" for number in own), end="")
    else:
        problems.append(f"the compiler named no illegal line of {name}; it named {sorted(blamed) or 'none'}")
    project.finish(problems, f"{name}: refused, with {len(expected)} expected text(s)")


if __name__ == "__main__":
    main()
