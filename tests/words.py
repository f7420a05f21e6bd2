#!/usr/bin/env python3
"""Holds what users read to the field's words: no word or phrase of tests/words.txt in help, messages, documents and
rendered files, and American spelling everywhere, in names and comments too.

Usage: tests/words.py [ROOT]

tests/words.txt has one rule per line: a regular expression, a tab, what to write instead. Lines before `[spelling]` apply
to what users read: string literals of src/ (tests not counted), assets/, README.md, CONTRIBUTING.md and docs/. Lines after
it apply to every text file of the repository. A line of a source with the comment `words: allow` is passed over.
"""

import pathlib
import re
import sys

SOURCES = {".cc", ".h"}
TEXTS = {".cc", ".h", ".py", ".sh", ".md", ".txt", ".cmake", ".yaml", ".yml", ".json", ".js", ".css", ".html", ".j2", ".in"}
EVERYWHERE = ["src", "assets", "tests", "bench", "docs", "scripts", "cmake", "catalog", "examples"]
SKIPPED = {"tests/words.txt", "tests/words_test.py"}
ALLOW = "words: allow"
TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<tag>\w*)\((?P<raw>.*?)\)(?P=tag)"|"(?P<text>(?:\\.|[^"\\\n])*)"|\'(?:\\.|[^\'\\\n])+\'',
    re.DOTALL)
INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[^\n]*", re.MULTILINE)


class Problem(Exception):
    pass


def read_rules(path):
    """The rules for users' texts, and those for every file: (pattern, what to write instead)."""
    parts = {"words": [], "spelling": []}
    part = parts["words"]
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if line == "[spelling]":
            part = parts["spelling"]
            continue
        pattern, tab, instead = line.partition("\t")
        if not tab or not instead.strip():
            raise Problem(f"{path.name}:{number}: expected a regular expression, a tab and what to write instead")
        try:
            part.append((re.compile(pattern, re.IGNORECASE), instead.strip()))
        except re.error as error:
            raise Problem(f"{path.name}:{number}: {error}") from error
    if not parts["words"] or not parts["spelling"]:
        raise Problem(f"{path.name}: no rules read")
    return parts["words"], parts["spelling"]


def needed(pattern):
    """Texts one of which is in whatever the pattern matches, in lower case: looking for them first is far quicker."""
    outside = re.sub(r"\\.|\[[^]]*\]|\([^()]*\)[?*+]?|.[?*+]", "|", pattern)
    longest = max(outside.split("|"), key=len).lower()
    if len(longest) >= 4:
        return [longest]
    group = re.search(r"\(([^()\\]*)\)(?![?*+])", pattern)
    return group.group(1).lower().split("|") if group else [longest]


def literals(source):
    """(line, text) of each string literal; neighbors that C++ joins are one, so that a phrase is found across them."""
    source = INCLUDE.sub(lambda match: " " * len(match.group(0)), source)
    run, start, end = "", 0, None
    for match in TOKEN.finditer(source):
        text = match.group("raw") if match.group("raw") is not None else match.group("text")
        if text is None:
            continue
        joined = end is not None and not source[end:match.start()].strip()
        if not joined and run:
            yield start, run
        if not joined:
            run, start = "", source.count("\n", 0, match.start()) + 1
        run += text
        end = match.end()
    if run:
        yield start, run


def files(root, folders):
    for folder in folders:
        for path in sorted((root / folder).rglob("*")) if (root / folder).is_dir() else []:
            if path.is_file() and path.relative_to(root).as_posix() not in SKIPPED:
                yield path
    yield from (path for path in (root / "README.md", root / "CONTRIBUTING.md") if path.is_file())


def users_texts(root):
    """(path, [(line, text)]) of what users read."""
    for path in files(root, ["src", "assets", "docs"]):
        if path.suffix in SOURCES:
            if path.stem.endswith("_test"):
                continue
            source = path.read_text()
            lines = source.splitlines()
            yield path, [(line, text) for line, text in literals(source) if ALLOW not in lines[line - 1]]
        elif path.suffix in TEXTS:
            yield path, list(enumerate(path.read_text().splitlines(), 1))


def all_texts(root):
    for path in files(root, EVERYWHERE):
        if path.suffix in TEXTS or path.name in ("Makefile", "CMakeLists.txt"):
            try:
                lines = path.read_text().splitlines()
            except UnicodeDecodeError:  # a fuzz corpus
                continue
            yield path, [(line, text) for line, text in enumerate(lines, 1) if ALLOW not in text]


def find(files_with_texts, rules, root):
    """Problems found, and the number of texts read."""
    found, count = [], 0
    rules = [(pattern, instead, needed(pattern.pattern)) for pattern, instead in rules]
    for path, texts in files_with_texts:
        count += len(texts)
        whole = "\n".join(text for _, text in texts).lower()
        for pattern, instead, some in rules:
            for line, text in texts if any(part in whole for part in some) else ():
                match = pattern.search(text)
                if match:
                    found.append((path, line, f"{path.relative_to(root)}:{line}: \"{match.group(0)}\": {instead}"))
    return [problem for _, _, problem in sorted(found)], count


def main(arguments):
    root = pathlib.Path(arguments[0] if arguments else pathlib.Path(__file__).resolve().parent.parent)
    try:
        words, spelling = read_rules(root / "tests" / "words.txt")
    except (OSError, Problem) as error:
        print(f"words: {error}", file=sys.stderr)
        return 2
    found, texts = find(users_texts(root), words, root)
    more, lines = find(all_texts(root), spelling, root)
    found += more
    if texts == 0 or lines == 0:
        print("words: nothing to read", file=sys.stderr)
        return 2
    for problem in found:
        print(problem)
    print(f"words: {texts} texts and {lines} lines, {len(words) + len(spelling)} rules, {len(found)} problems")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
