#!/usr/bin/env python3
"""The include rules of the public headers.

Who may include whom is what CMakeLists.txt declares with DEPENDS. The core includes the standard library only, and of
it nothing that is slow to compile.
"""

import argparse
import os
import re

import project

INCLUDE = re.compile(r'^\s*#\s*include\s*(<[^>]*>|"[^"]*")')
USING_NAMESPACE = re.compile(r"^\s*using\s+namespace\b")

# Not in the core: each costs more to compile than what it is wanted for.
SLOW = {"algorithm", "filesystem", "functional", "iostream", "regex"}

PACKAGE_OF_FOLDER = {"Eigen": "Eigen3", "unsupported": "Eigen3", "xsimd": "xsimd", "fmt": "fmt",
                     "nlohmann": "nlohmann_json"}
PACKAGE_OF_HEADER = {"thread": "Threads", "future": "Threads"}

STANDARD = set("""
    algorithm any array atomic barrier bit bitset cassert cctype cerrno cfenv cfloat charconv chrono cinttypes climits
    clocale cmath codecvt compare complex concepts condition_variable coroutine csetjmp csignal cstdarg cstddef cstdint
    cstdio cstdlib cstring ctime cuchar cwchar cwctype deque exception execution filesystem format forward_list fstream
    functional future initializer_list iomanip ios iosfwd iostream istream iterator latch limits list locale map memory
    memory_resource mutex new numbers numeric optional ostream queue random ranges ratio regex scoped_allocator
    semaphore set shared_mutex source_location span sstream stack stdexcept stop_token streambuf string string_view
    syncstream system_error thread tuple type_traits typeindex typeinfo unordered_map unordered_set utility valarray
    variant vector version
""".split())
SYSTEM = {"dlfcn.h", "fcntl.h", "sys/file.h", "sys/mman.h", "sys/stat.h", "sys/types.h", "sys/wait.h", "unistd.h"}


def find_cycle(graph):
    """A list of headers that include each other in a ring, or None."""
    done, path = set(), []

    def visit(header):
        if header in path:
            return path[path.index(header):] + [header]
        if header in done:
            return None
        path.append(header)
        for included in graph[header]:
            cycle = visit(included)
            if cycle:
                return cycle
        path.pop()
        done.add(header)
        return None

    for header in graph:
        cycle = visit(header)
        if cycle:
            return cycle
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("manifest")
    nki = project.Project(parser.parse_args().manifest)

    owner = {os.path.relpath(header, module["base"]): module for module, header in nki.headers()}
    graph = {}
    problems = []

    def check(module, place, target):
        allowed = {module["name"], *module["modules"]}
        if target.startswith("nki/"):
            if target not in owner:
                problems.append(f"{place}: there is no header <{target}>")
            elif owner[target]["name"] not in allowed:
                problems.append(f"{place}: {module['name']} may not include <{target}>, which belongs to "
                                f"{owner[target]['name']} (see DEPENDS in CMakeLists.txt)")
            return
        package = PACKAGE_OF_HEADER.get(target, PACKAGE_OF_FOLDER.get(target.split("/")[0]))
        if package and package not in module["packages"]:
            problems.append(f"{place}: {module['name']} may not include <{target}>: it does not depend on {package} "
                            "(see DEPENDS in CMakeLists.txt)")
        elif not package and target in SYSTEM and module["name"] == "core":
            problems.append(f"{place}: core includes the standard library only, not <{target}>")
        elif not package and target not in STANDARD | SYSTEM:
            problems.append(f"{place}: <{target}> is neither a C++20 standard header nor a package of "
                            "tests/hygiene/includes.py")
        elif module["name"] == "core" and target in SLOW:
            problems.append(f"{place}: core does not include <{target}>, which is slow to compile")

    for module, header in nki.headers():
        spelled = os.path.relpath(header, module["base"])
        shown = os.path.relpath(header, nki.source_dir)
        graph[spelled] = []
        with open(header, encoding="utf-8") as file:
            lines = file.read().splitlines()
        if "#pragma once" not in lines:
            problems.append(f"{shown}: there is no #pragma once")
        for number, line in enumerate(lines, 1):
            place = f"{shown}:{number}"
            if USING_NAMESPACE.match(line):
                problems.append(f"{place}: a header does not say 'using namespace'")
            match = INCLUDE.match(line)
            if not match:
                continue
            target = match[1][1:-1]
            if match[1][0] == '"':
                problems.append(f"{place}: includes are spelled with angle brackets and the full path, not {match[1]}")
                continue
            check(module, place, target)
            if target in owner:
                graph[spelled].append(target)

    cycle = find_cycle(graph)
    if cycle:
        problems.append("headers include each other in a ring: " + " -> ".join(cycle))

    for base in sorted({module["base"] for module in nki.modules}):
        for folder, _, names in os.walk(base):
            for name in names:
                spelled = os.path.relpath(os.path.join(folder, name), base)
                if spelled not in owner:
                    problems.append(f"{os.path.relpath(os.path.join(folder, name), nki.source_dir)}: no module of "
                                    "CMakeLists.txt holds this file")

    project.finish(problems, f"{len(graph)} headers follow the include rules")


if __name__ == "__main__":
    main()
