#!/usr/bin/env python3
"""Use nki as an application would: from an installed copy, or from its source tree."""

import argparse
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "hygiene"))
import project  # noqa: E402

GREETING = "nki consumer ok"
CONSUMER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "consumer")
# The core must come without any of these.
OPTIONAL_PACKAGES = ("Eigen3", "xsimd", "fmt", "nlohmann_json", "CLI11", "ZLIB", "GTest", "benchmark")


def call(*command, **options):
    """Run a command, show it, stop when it fails; its output."""
    print("+", *command, flush=True)
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                            **options)
    print(result.stdout, flush=True)
    if result.returncode:
        sys.exit(f"{command[0]} ended with {result.returncode}")
    return result.stdout


def greet(program):
    if GREETING not in call(program):
        sys.exit(f"{program} did not say '{GREETING}'")


class Packaging:
    def __init__(self, nki):
        self.nki = nki
        self.work = os.path.join(nki.binary_dir, "tests", "packaging")
        self.prefix = os.path.join(self.work, "prefix")

    def fresh(self, name):
        """An empty folder to build in."""
        folder = os.path.join(self.work, name)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        return folder

    def build(self, folder, *settings):
        """Configure, build and run the consumer project."""
        call(self.nki.cmake, "-S", CONSUMER, "-B", folder, "-G", self.nki.generator, "-DCMAKE_BUILD_TYPE=Debug",
             f"-DCMAKE_CXX_COMPILER={self.nki.compiler}", *settings)
        call(self.nki.cmake, "--build", folder)
        greet(os.path.join(folder, "consumer"))

    def without_packages(self):
        return [f"-DCMAKE_DISABLE_FIND_PACKAGE_{package}=ON" for package in OPTIONAL_PACKAGES]

    def install(self):
        """Install, then move the copy: nothing in it may remember where it was put first."""
        first = self.fresh("first_prefix")
        shutil.rmtree(self.prefix, ignore_errors=True)
        call(self.nki.cmake, "--install", self.nki.binary_dir, "--prefix", first)
        os.rename(first, self.prefix)
        for folder, _, names in os.walk(self.prefix):
            for name in names:
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8", errors="replace") as file:
                    text = file.read() if name.endswith((".hpp", ".h", ".cmake", ".pc")) else ""
                for place in (self.nki.source_dir, first):
                    if place in text:
                        sys.exit(f"{os.path.relpath(path, self.prefix)} holds a path of the machine: {place}")

    def find_package(self):
        self.build(self.fresh("find_package"), "-DNKI_WAY=find_package", f"-DCMAKE_PREFIX_PATH={self.prefix}",
                   *self.without_packages())

    def all_headers(self):
        """One source with every installed header, linked with every component."""
        include = os.path.join(self.prefix, "include")
        spelled = sorted(os.path.relpath(os.path.join(folder, name), include)
                         for folder, _, names in os.walk(include) for name in names)
        folder = self.fresh("all_headers")
        source = os.path.join(folder, "all.cpp")
        with open(source, "w", encoding="utf-8") as file:
            file.writelines(f"#include <{name}>\n" for name in spelled)
            file.write(f'#include <cstdio>\nint main() {{ std::puts("{GREETING}"); }}\n')
        components = ";".join([module["name"] for module in self.nki.modules] + ["nki"])
        self.build(folder, "-DNKI_WAY=find_package", f"-DCMAKE_PREFIX_PATH={self.prefix}",
                   f"-DNKI_COMPONENTS={components}", f"-DNKI_SOURCE={source}", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON")
        with open(os.path.join(folder, "compile_commands.json"), encoding="utf-8") as file:
            flags = json.load(file)[0]["command"].split()
        if "-ffp-contract=off" not in flags:
            sys.exit("nki::exec does not pass -ffp-contract=off on")
        ours = [flag for flag in flags if flag.startswith(("-W", "-march", "-O", "-fvisibility", "-fsanitize"))]
        if ours:
            sys.exit(f"flags that are not the application's business reach it: {' '.join(ours)}")

    def pkg_config(self):
        folder = self.fresh("pkg_config")
        pc_dir = os.path.join(self.prefix, "share", "pkgconfig")
        flags = call("pkg-config", "--cflags", "nki", env={**os.environ, "PKG_CONFIG_PATH": pc_dir}).split()
        program = os.path.join(folder, "consumer")
        call(self.nki.compiler, "-std=c++20", *flags, os.path.join(CONSUMER, "main.cpp"), "-o", program)
        greet(program)

    def add_subdirectory(self):
        self.build(self.fresh("add_subdirectory"), "-DNKI_WAY=add_subdirectory",
                   f"-DNKI_TREE={self.nki.source_dir}", *self.without_packages())

    def fetch_content(self):
        self.build(self.fresh("fetch_content"), "-DNKI_WAY=fetch_content", f"-DNKI_TREE={self.nki.source_dir}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("manifest")
    parser.add_argument("way", choices=["install", "find_package", "all_headers", "pkg_config", "add_subdirectory",
                                        "fetch_content"])
    options = parser.parse_args()
    getattr(Packaging(project.Project(options.manifest)), options.way)()


if __name__ == "__main__":
    main()
