#!/usr/bin/env python3
"""Every text file of the tree: no path of one machine, no mark of an unfinished merge, no stray test source."""

import argparse
import os
import re

import project

SKIPPED_FOLDERS = {".git", ".cache", ".nki-tune", "__pycache__"}
TEST_FOLDERS = ("tests/differential/", "tests/golden/", "tests/timing/")
HOME = re.compile(r"(?<![\w.$}/-])(?:/(?:home|root|Users)/\w|[A-Z]:\\Users\\)")
MERGE_MARK = re.compile(r"^(?:<{7}|>{7}) ")
# Folders that hold projects on many machines, so that their names say nothing about this one.
COMMON = {"/", "/home", "/mnt", "/opt", "/root", "/srv", "/tmp", "/usr", "/usr/local", "/usr/src", "/var", "/var/tmp"}


def text_files(root):
    """(path, shown path) of the files that belong to the project; build trees are left out."""
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS
                            and not os.path.exists(os.path.join(folder, name, "CMakeCache.txt")))
        if folder == root and "build" in folders:
            folders.remove("build")
        for name in sorted(names):
            path = os.path.join(folder, name)
            if os.path.isfile(path):
                yield path, os.path.relpath(path, root)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("manifest")
    nki = project.Project(parser.parse_args().manifest)

    here = sorted({nki.source_dir, os.path.dirname(nki.source_dir)} - COMMON)
    paths = re.compile("|".join([HOME.pattern] + [rf"(?<![\w.]){re.escape(path)}(?![\w-])" for path in here]))

    problems = []
    count = 0
    for path, shown in text_files(nki.source_dir):
        try:
            with open(path, encoding="utf-8") as file:
                lines = file.read().splitlines()
        except UnicodeDecodeError:
            continue
        count += 1
        for number, line in enumerate(lines, 1):
            match = paths.search(line)
            if match:
                problems.append(f"{shown}:{number}: a path of one machine: {match[0]}")
            if MERGE_MARK.match(line):
                problems.append(f"{shown}:{number}: a mark of an unfinished merge")
        if shown.startswith("tests/") and shown.endswith("_test.cpp") and not shown.startswith(TEST_FOLDERS) \
                and not re.match(r"tests/unit/[^/]+/", shown):
            problems.append(f"{shown}: no test program holds this file; move it to tests/unit/<module>/")
    project.finish(problems, f"{count} text files are clean")


if __name__ == "__main__":
    main()
