#!/usr/bin/env python3
"""scripts/bundles.py --write FOLDER --max N FILE...: groups sources that may be compiled as one unit, at most N per
unit, and writes each group to FOLDER as a source that includes them. Prints what is to be compiled, as a CMake list:
those, and the files that stay by themselves.

Most of the time a file takes goes into the headers it includes, so builds that compile everything anew (what users run,
the tests, the sanitizers, clang-tidy) take several files at a time, as one source that includes them. That works where
no file's private name (in an unnamed namespace, or static) is a name that another file has or sees in a header of ours.
Names are found by their place in the text, as clang-format lays it out: a miss is an error of the compiler, not a wrong
program.
"""

import functools
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PLACES = [ROOT / "src", ROOT / "tests", ROOT]
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)
# A name that a line without indentation declares: a function's, a variable's, a type's, an alias's, a macro's.
DECLARED = re.compile(
    r"^(?:#define\s+(\w+)|(?!namespace|using namespace|#|//|\}|return\b|(?:TYPED_)?TEST|INSTANTIATE_)"
    r"[^\s(=;{][^(=;{]*?(\w+)\s*(?=[(=;{]|\[))", re.MULTILINE)
DEFAULT_MAX = 25


def names(text):
    return {first or second for first, second in DECLARED.findall(text)}


def split(text):
    """The names that a source keeps to itself, and those it shows."""
    private, shown, depth = [], [], False
    for block in re.split(r"^(namespace \{|\}  // namespace)$", text, flags=re.MULTILINE):
        if block == "namespace {":
            depth = True
        elif block == "}  // namespace":
            depth = False
        else:
            (private if depth else shown).append(block)
    outside = names("\n".join(shown))
    static = set(re.findall(r"^(?:static|using)\b[^(=;{]*?(\w+)\s*(?=[(=;{]|\[)", "\n".join(shown), re.MULTILINE))
    static |= set(re.findall(r"^#define\s+(\w+)", text, re.MULTILINE))
    return names("\n".join(private)) | static, outside - static


def aliases(text):
    """Names that `using space::name;` brings in: they hide what another file means by them."""
    return set(re.findall(r"^using [\w:]+::(\w+);$", text, re.MULTILINE))


@functools.lru_cache(maxsize=None)
def read(path):
    return path.read_text(errors="replace")


def find(name, beside):
    for place in [beside, *PLACES]:
        if (place / name).is_file():
            return (place / name).resolve()
    return None


@functools.lru_cache(maxsize=None)
def headers(path):
    """Every header of ours that a file reaches."""
    seen, todo = set(), [path]
    while todo:
        current = todo.pop()
        for name in INCLUDE.findall(read(current)):
            found = find(name, current.parent)
            if found is not None and found not in seen:
                seen.add(found)
                todo.append(found)
    return frozenset(seen)


@functools.lru_cache(maxsize=None)
def header_names(path):
    return frozenset(names(read(path)))


def bundles(sources, max_files=DEFAULT_MAX):
    """Groups sources of one folder, in their order; files of different folders stay apart."""
    groups = []
    for source in sources:
        source = pathlib.Path(source).resolve()
        private, shown = split(read(source))
        seen = set(shown)
        for header in headers(source):
            seen |= header_names(header)
        # End-to-end tests take names from several helpers, and two helpers may have one name each.
        hiding = aliases(read(source)) if ROOT / "tests" == source.parent else set()
        for group in groups:
            if len(group) >= max_files or group[0][0].parent != source.parent:
                continue
            if all(not (private & other or private & (sees - seen) or other & (seen - sees)
                        or hiding & sees or hides & seen)
                   for _, other, sees, hides in group):
                group.append((source, private, seen, hiding))
                break
        else:
            groups.append([(source, private, seen, hiding)])
    return [[str(member[0]) for member in group] for group in groups]


def write(path, text):
    """Leaves a file alone that is as it should be: its time would have it compiled again."""
    if not path.is_file() or path.read_text() != text:
        path.write_text(text)


def main():
    if len(sys.argv) < 5 or sys.argv[1] != "--write" or sys.argv[3] != "--max":
        sys.exit(__doc__)
    folder, max_files = pathlib.Path(sys.argv[2]), int(sys.argv[4])
    folder.mkdir(parents=True, exist_ok=True)
    compiled = []
    for number, group in enumerate(bundles(sys.argv[5:], max_files)):
        base = next((place for place in PLACES[:2] if place in pathlib.Path(group[0]).parents), None)
        if len(group) == 1 or base is None:
            compiled += group
            continue
        bundle = folder / f"{number}.cc"
        write(bundle, "".join(f'#include "{pathlib.Path(path).relative_to(base)}"\n' for path in group))
        compiled.append(str(bundle))
    print(";".join(compiled), end="")


if __name__ == "__main__":
    main()
