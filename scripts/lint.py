#!/usr/bin/env python3
"""scripts/lint.py [--all]: runs clang-tidy on the sources of src/ (tests and benchmarks aside).

Checks what has changed since the commit named in scripts/lint-baseline, for which the whole tree passed: each source
whose code has changed, and for each such header one source that includes it. --all checks every source (a changed header can bring a
finding to a source that is as it was), and names the commit in scripts/lint-baseline when all pass and nothing is left
uncommitted.

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
BASELINE = ROOT / "scripts" / "lint-baseline"
PASSED = pathlib.Path(os.environ.get("WEFT_TIDY_CACHE") or pathlib.Path.home() / ".cache" / "weft" / "tidy")
INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)
# A comment, or a text that could look like one. A quote after a digit or letter separates digits: 10'000.
COMMENT_OR_TEXT = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Za-z])\'(?:\\.|[^\'\\\n])+\'', re.DOTALL)
READ_COMMENT = re.compile(r"NOLINT|namespace|=\s*\*/|clang-format")  # those that clang-tidy reads


def reached_paths(source):
    """The file and every header under src/ that it includes, directly or not."""
    seen, todo = set(), [source]
    while todo:
        path = todo.pop()
        if path in seen or not path.is_file():
            continue
        seen.add(path)
        todo.extend(SOURCES / name.decode() for name in INCLUDE.findall(path.read_bytes()))
    return seen


def fingerprint(source, command, tool_version):
    digest = hashlib.sha256()
    # Where the tree lies does not matter.
    for part in [tool_version, command.replace(str(ROOT), "").encode(), (ROOT / ".clang-tidy").read_bytes(), 
                 *(path.read_bytes() for path in sorted(reached_paths(source)))]:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()


def git(*arguments):
    done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False)
    return done.stdout.split("\n")[:-1] if done.returncode == 0 else None


def code_of(text):
    """A source without white space and comments, except those that clang-tidy reads."""
    def kept(match):
        found = match.group(0)
        return found if not found.startswith(("//", "/*")) or READ_COMMENT.search(found) else ""
    return re.sub(r"\s+", "", COMMENT_OR_TEXT.sub(kept, text))


def changed_code(baseline, names):
    """Those of the files whose code has changed; comments have no findings."""
    changed = []
    for name in names:
        old = subprocess.run(["git", "-C", str(ROOT), "show", f"{baseline}:{name}"], capture_output=True, check=False)
        new = ROOT / name
        if old.returncode != 0 or not new.is_file() or code_of(old.stdout.decode()) != code_of(new.read_text()):
            changed.append(name)
    return changed


def changed_sources(sources):
    """The sources to check for what has changed since the baseline; all where that cannot be told."""
    baseline = BASELINE.read_text().split()[0] if BASELINE.is_file() else ""
    tracked = git("diff", "--name-only", baseline, "--", "src", ".clang-tidy") if baseline else None
    untracked = git("ls-files", "--others", "--exclude-standard", "--", "src")
    if tracked is None or untracked is None or ".clang-tidy" in tracked:
        print("clang-tidy: no baseline to compare with, so every source is checked")
        return sources
    changed = {ROOT / name for name in changed_code(baseline, tracked) + untracked}
    wanted = [source for source in sources if source in changed]
    covered = set()
    for source in wanted:
        covered |= reached_paths(source)
    for header in sorted(path for path in changed if path.suffix == ".h" and path.is_file()):
        if header in covered:
            continue
        own = header.with_suffix(".cc")
        name = str(header.relative_to(SOURCES)).encode()
        users = [own] if own in sources else [s for s in sources if name in INCLUDE.findall(s.read_bytes())]
        if users:
            wanted.append(users[0])
            covered |= reached_paths(users[0])
    return wanted


def main():
    check_all = sys.argv[1:] == ["--all"]
    if sys.argv[1:] and not check_all:
        sys.exit(__doc__)
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

    commands = {pathlib.Path(entry["file"]): entry for entry in entries}
    sources = [source for source in commands
               if SOURCES in source.parents and not source.stem.endswith(("_test", "_bench")) and source.is_file()]
    wanted = sources if check_all else changed_sources(sources)
    work = []
    for source in wanted:
        entry = commands[source]
        stamp = PASSED / fingerprint(source, entry["command"], tool_version)
        if not stamp.is_file():
            work.append((source, stamp))

    # A bundle is compiled as its first file is.
    jobs_of = {str(job[0]): job for job in work}
    groups = [[jobs_of[path] for path in group] for group in bundles(sorted(jobs_of), 10)]
    for number, group in enumerate(groups):
        first = commands[group[0][0]]
        bundle = BUNDLES / f"bundle{number}.cc"
        bundle.write_text("".join(f'#include "{job[0].relative_to(SOURCES)}"  // NOLINT(bugprone-suspicious-include)\n' for job in group))
        entries.append({**first, "file": str(bundle), "command": first["command"].replace(first["file"], str(bundle))})
    (BUNDLES / "compile_commands.json").write_text(json.dumps(entries))

    def tidy(source):
        # The commands are GCC's; clang does not know all of its warnings and parameters.
        return subprocess.run(
            [tool, "-p", str(BUNDLES), "--quiet", "--extra-arg=-Wno-unknown-warning-option",
             "--extra-arg=-Wno-unused-command-line-argument", str(source)],
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
    print(f"clang-tidy: {len(wanted)} of {len(sources)} files, {len(work)} checked now, {failed} failed")
    if check_all and not failed and git("status", "--porcelain", "--", "src", ".clang-tidy") == []:
        BASELINE.write_text(git("rev-parse", "HEAD")[0] + "\n")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
