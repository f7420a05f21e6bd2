#!/usr/bin/env python3
"""Prints line coverage of src/ by module and by file from the counters that a run of build/coverage left behind."""

import collections
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "coverage"
SOURCES = ROOT / "src"


def main():
    hits = collections.defaultdict(lambda: collections.defaultdict(int))  # file -> line -> times run
    counters = sorted(BUILD.rglob("*.gcda"))
    if not counters:
        sys.exit("coverage: no counters; run the tests of the coverage preset first")
    for counter in counters:
        output = subprocess.run(["gcov", "--json-format", "--stdout", str(counter)], cwd=BUILD, check=True,
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
        for document in filter(None, output.splitlines()):
            for entry in json.loads(document)["files"]:
                path = (BUILD / entry["file"]).resolve()
                if SOURCES not in path.parents or path.stem.endswith(("_test", "_bench")):
                    continue
                for line in entry["lines"]:
                    hits[path.relative_to(SOURCES).as_posix()][line["line_number"]] += line["count"]

    def show(name, files):
        lines = sum(len(hits[file]) for file in files)
        covered = sum(1 for file in files for count in hits[file].values() if count > 0)
        print(f"{100.0 * covered / max(lines, 1):6.1f}%  {covered:6} of {lines:6}  {name}")

    for module in sorted({file.split("/")[0] for file in hits}):
        files = sorted(file for file in hits if file.startswith(f"{module}/"))
        for file in files:
            show(file, [file])
        show(f"{module}/", files)
        print()
    show("total", list(hits))


if __name__ == "__main__":
    main()
