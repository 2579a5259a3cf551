#!/usr/bin/env python3
"""Check timeline files by hand: check_timeline.py FILE.html|FILE.svg|FILE.json ...

With the parsers of Python, which know nothing of the writers: a page is HTML whose elements close and which names no
outside address, its data are columns of one length; a picture is XML; a trace is JSON whose slices nest and whose
arrows start and end inside slices.
"""

import html.parser
import json
import os
import re
import sys
import xml.etree.ElementTree

VOID = {"meta", "input", "br", "link", "img", "hr"}


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.problems, self.scripts, self.ids = [], [], [], set()

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        for name in ("src", "href", "action", "data"):
            if name in attrs:
                self.problems.append(f"<{tag}> has {name}={attrs[name]}")
        if "id" in attrs:
            if attrs["id"] in self.ids:
                self.problems.append(f"the id {attrs['id']} stands twice")
            self.ids.add(attrs["id"])
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open[-1] != tag:
            self.problems.append(f"</{tag}> closes {self.open[-1:]} at {self.getpos()}")
        else:
            self.open.pop()

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts.append(data)


def check_html(text):
    page = Page()
    page.feed(text)
    page.close()
    problems = page.problems + [f"<{tag}> stays open" for tag in page.open]
    rest = text.replace("http://www.w3.org/2000/svg", "")
    problems += [f"an outside address: {m}" for m in re.findall(r"https?://\S{0,40}|@import", rest)]
    if len(text.encode()) >= 10_000_000:
        problems.append("10 MB or more")
    data = json.loads(page.scripts[0])
    bars = len(data["t"])
    for column in ("site", "ops", "d", "i", "at", "row", "lane"):
        if len(data[column]) != bars:
            problems.append(f"column {column} has {len(data[column])} of {bars} values")
    producers = data["waits"][4::5]
    if any(p >= bars for p in producers):
        problems.append("a producer that is not on the page")
    return problems, f"{bars} bars, {len(producers)} dependences"


def check_svg(text):
    root = xml.etree.ElementTree.fromstring(text)
    names = [child.tag.rsplit("}", 1)[-1] for child in root]
    problems = [f"no <{name}>" for name in ("title", "desc") if name not in names]
    return problems, f"{sum(1 for _ in root.iter())} elements"


def check_json(text):
    events = json.loads(text)["traceEvents"]
    problems, threads, flows = [], {}, {}
    for e in events:
        if e["ph"] == "X":
            threads.setdefault(e["tid"], []).append((e["ts"], e["ts"] + e["dur"], e["name"]))
        elif e["ph"] in "sf":
            flows.setdefault(e["id"], []).append(e)
    for tid, slices in threads.items():
        slices.sort()
        for before, after in zip(slices, slices[1:]):
            if before[1] > after[0] + 2e-6:
                problems.append(f"thread {tid}: {before} crosses {after}")
    for number, ends in flows.items():
        if [e["ph"] for e in ends] != ["s", "f"] or ends[0]["ts"] > ends[1]["ts"]:
            problems.append(f"arrow {number} has a wrong start or end")
    named = {e["tid"] for e in events if e.get("name") == "thread_name"}
    problems += [f"thread {tid} has no name" for tid in threads if tid not in named]
    return problems, f"{sum(map(len, threads.values()))} slices, {len(flows)} arrows"


def main():
    checks = {".html": check_html, ".svg": check_svg, ".json": check_json}
    failed = False
    for path in sys.argv[1:] or sys.exit(__doc__):
        with open(path, encoding="utf-8") as file:
            problems, found = checks[os.path.splitext(path)[1]](file.read())
        for problem in problems[:20]:
            print(f"{path}: {problem}")
        print(f"{path}: {found}, {len(problems)} problem(s)")
        failed = failed or bool(problems)
    sys.exit(failed)


if __name__ == "__main__":
    main()
