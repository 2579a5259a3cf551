#!/usr/bin/env python3
"""Every C++ file is as clang-format writes it; with --fix, make it so."""

import argparse
import os

import project
import tree


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("manifest")
    parser.add_argument("--clang-format", required=True)
    parser.add_argument("--fix", action="store_true")
    options = parser.parse_args()
    nki = project.Project(options.manifest)

    files = [row for row in tree.text_files(nki.source_dir) if row[0].endswith((".hpp", ".cpp", ".h"))]

    def check(row):
        path, shown = row
        code, formatted = project.run([options.clang_format, path])
        if code:
            return f"{shown}: clang-format says\n{formatted}"
        with open(path, encoding="utf-8") as file:
            if file.read() == formatted:
                return None
        if options.fix:
            with open(path, "w", encoding="utf-8") as file:
                file.write(formatted)
            return None
        return f"{shown} is not formatted; the target nki_format does it"

    problems = [problem for problem in project.in_parallel(check, files) if problem]
    project.finish(problems, f"{len(files)} C++ files are formatted")


if __name__ == "__main__":
    main()
