#!/usr/bin/env python3
"""Every public header compiles as the first and only include of a source, and may be included twice."""

import argparse
import os

import project


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("manifest")
    parser.add_argument("--compiler", required=True)
    options = parser.parse_args()
    nki = project.Project(options.manifest)

    flags = nki.compile_flags()
    if os.path.realpath(options.compiler) != os.path.realpath(nki.compiler):
        # Another compiler knows other warnings; here it only has to accept the code.
        flags = [flag for flag in flags if not flag.startswith(("-W", "-fsanitize", "-fno-sanitize"))]

    def check(row):
        module, header = row
        spelled = os.path.relpath(header, module["base"])
        text = f"#include <{spelled}>\n#include <{spelled}>\n"
        code, output = project.run([options.compiler, *flags, "-fsyntax-only", "-x", "c++", "-"], text)
        return f"<{spelled}> does not compile alone:\n{output}" if code else None

    headers = nki.headers()
    problems = [problem for problem in project.in_parallel(check, headers) if problem]
    project.finish(problems, f"{len(headers)} headers compile alone with {os.path.basename(options.compiler)}")


if __name__ == "__main__":
    main()
