#!/usr/bin/env python3
"""Runs clang-tidy on the sources of src/ (tests and benchmarks aside), skipping what has not changed since it passed.

What a file's verdict depends on (the file, the headers of ours that it reaches, .clang-tidy, the compiler command) is
hashed; what passed leaves an empty file of that name in the user's cache (WEFT_TIDY_CACHE, else ~/.cache/weft/tidy), so
that clones share it as they share ccache's. Needs build/dev/compile_commands.json: `cmake --preset dev` makes it.

Nine tenths of the time goes into the headers of others, so files are checked a bundle at a time (bundles.py), as one
source that includes them. A bundle that does not pass is checked again file by file: what is reported, and what passes,
is always a file by itself.
"""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

from bundles import bundles

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCES = ROOT / "src"
BUNDLES = ROOT / "build" / "tidy"
PASSED = pathlib.Path(os.environ.get("WEFT_TIDY_CACHE") or pathlib.Path.home() / ".cache" / "weft" / "tidy")
INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)

def reached(source):
    """The file and every header under src/ that it includes, directly or not."""
    seen, todo = {}, [source]
    while todo:
        path = todo.pop()
        if path in seen or not path.is_file():
            continue
        seen[path] = path.read_bytes()
        todo.extend(SOURCES / name.decode() for name in INCLUDE.findall(seen[path]))
    return [seen[path] for path in sorted(seen)]


def fingerprint(source, command, tool_version):
    digest = hashlib.sha256()
    # Where the tree lies does not matter.
    for part in [tool_version, command.replace(str(ROOT), "").encode(), (ROOT / ".clang-tidy").read_bytes(), *reached(source)]:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()


def main():
    tool = shutil.which("clang-tidy-14") or shutil.which("clang-tidy")
    if tool is None:
        sys.exit("lint: clang-tidy is not installed")
    database = ROOT / "build" / "dev" / "compile_commands.json"
    if not database.is_file():
        sys.exit("lint: no build/dev/compile_commands.json; run: cmake --preset dev")
    tool_version = subprocess.run([tool, "--version"], check=True, capture_output=True).stdout

    entries = json.loads(database.read_text())
    BUNDLES.mkdir(parents=True, exist_ok=True)
    PASSED.mkdir(parents=True, exist_ok=True)

    work, total = [], 0
    for entry in entries:
        source = pathlib.Path(entry["file"])
        if SOURCES not in source.parents or source.stem.endswith(("_test", "_bench")) or not source.is_file():
            continue
        total += 1
        stamp = PASSED / fingerprint(source, entry["command"], tool_version)
        if not stamp.is_file():
            work.append((source, stamp))

    # A bundle is compiled as its first file is.
    commands = {entry["file"]: entry for entry in entries}
    jobs_of = {str(job[0]): job for job in work}
    groups = [[jobs_of[path] for path in group] for group in bundles(sorted(jobs_of))]
    for number, group in enumerate(groups):
        first = commands[str(group[0][0])]
        bundle = BUNDLES / f"bundle{number}.cc"
        bundle.write_text("".join(f'#include "{job[0].relative_to(SOURCES)}"  // NOLINT(bugprone-suspicious-include)\n' for job in group))
        entries.append({**first, "file": str(bundle), "command": first["command"].replace(first["file"], str(bundle))})
    (BUNDLES / "compile_commands.json").write_text(json.dumps(entries))

    def tidy(source):
        # The commands are GCC's; clang does not know all of its warnings.
        return subprocess.run(
            [tool, "-p", str(BUNDLES), "--quiet", "--extra-arg=-Wno-unknown-warning-option", str(source)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)

    def run(numbered):
        number, group = numbered
        whole = len(group) > 1 and tidy(BUNDLES / f"bundle{number}.cc").returncode == 0
        problems = []
        for source, stamp in group:
            done = None if whole else tidy(source)
            if done is None or done.returncode == 0:
                stamp.touch()
            else:
                problems.append(done.stdout if done.stdout.strip() else done.stderr)
        return problems

    jobs = int(os.environ.get("JOBS") or len(os.sched_getaffinity(0)))
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for problems in pool.map(run, enumerate(groups)):
            for problem in problems:
                failed += 1
                print(problem.replace(f"{ROOT}/", ""), flush=True)
    print(f"clang-tidy: {total} files, {len(work)} checked now, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
