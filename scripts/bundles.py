#!/usr/bin/env python3
"""scripts/bundles.py --write FOLDER --max N [--entry NAME] FILE...: groups sources that may be compiled as one unit, at
most N per unit, and writes each group to FOLDER as a source that includes them. Prints what is to be compiled, as a CMake
list: those, and the files that stay by themselves. With --entry every source has a function of that name, which becomes
NAME_<name of the source>; no file then stays by itself.

Most of the time a file takes goes into the headers it includes, so builds that compile everything anew (what users run,
the tests, the sanitizers, clang-tidy) take several files at a time, as one source that includes them. That works where
no file's private name (in an unnamed namespace, or static) is a name that another file has or sees in a header of ours.
A private name that clashes is renamed by a macro while its file is included, after the headers of that file; this is done
only for a name that occurs in none of those headers, and never as a member or with a qualifier. Files that clash
otherwise go to another group. Names are found by their position in the text, as clang-format lays it out: a miss is a
compiler error, not a wrong program.
"""

import functools
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PLACES = [ROOT / "src", ROOT / "tests", ROOT]
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)
# A name that a line without indentation declares: a type's, a macro's; a function's, a variable's, an alias's.
DECLARED = re.compile(
    r"^(?:#define\s+(\w+)|(?:template <.*>\s+)?(?:class|struct|union|enum(?: class)?)\s+(?:\[\[\w+\]\]\s+)?(\w+)\b(?!::)"
    r"(?=[^();=]*[{;])|(?!namespace|using namespace|#|//|\}|return\b|(?:TYPED_)?TEST|INSTANTIATE_)"
    r"[^\s(=;{][^(=;{]*?(\w+)\s*(?=[(=;{]|\[))", re.MULTILINE)
USING = re.compile(r"^using ([\w:]+::(\w+));$", re.MULTILINE)
COMMENT_OR_TEXT = re.compile(r'//[^\n]*|"(?:[^"\\\n]|\\.)*"')
RAW_TEXT = re.compile(r'R"(\w*)\(.*?\)\1"', re.DOTALL)
# Functions that libraries find by the type of their argument: overloads for different types do not clash.
HOOKS = {"PrintTo", "to_json", "from_json", "swap", "begin", "end"}
DEFAULT_MAX = 25


def names(text):
    return {next(filter(None, found)) for found in DECLARED.findall(USING.sub("", text))}


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
    static = set(re.findall(r"^(?:static|using)\b[^(=;{]*?(\w+)\s*(?=[(=;{]|\[)", USING.sub("", "\n".join(shown)),
                            re.MULTILINE))
    static |= set(re.findall(r"^#define\s+(\w+)", text, re.MULTILINE))
    return (names("\n".join(private)) | static) - HOOKS, outside - static


def aliases(text):
    """Names that `using space::name;` brings in, with what they mean: they hide what another file means by them."""
    return {name: full for full, name in USING.findall(text)}


@functools.lru_cache(maxsize=None)
def read(path):
    return RAW_TEXT.sub('""', path.read_text(errors="replace"))


@functools.lru_cache(maxsize=None)
def find(name, beside):
    for place in [beside, *PLACES]:
        if (place / name).is_file():
            return (place / name).resolve()
    return None


@functools.lru_cache(maxsize=None)
def included(path):
    """The headers of ours that a file names."""
    return [found for name in INCLUDE.findall(read(path)) if (found := find(name, path.parent)) is not None]


@functools.lru_cache(maxsize=None)
def headers(path):
    """Every header of ours that a file reaches."""
    seen, todo = set(), [path]
    while todo:
        for found in included(todo.pop()):
            if found not in seen:
                seen.add(found)
                todo.append(found)
    return frozenset(seen)


@functools.lru_cache(maxsize=None)
def header_names(path):
    return frozenset(names(read(path)))


@functools.lru_cache(maxsize=None)
def tokens(path):
    return frozenset(re.findall(r"\w+", COMMENT_OR_TEXT.sub("", read(path))))


class Member:
    """A source in a group: its private names, the names it shows or sees, and which private names are renamed."""

    def __init__(self, source):
        self.source = source
        self.text = read(source)
        self.private, self.shown = split(self.text)
        self.seen = set(self.shown)
        for header in headers(source):
            self.seen |= header_names(header)
        self.aliases = aliases(self.text)
        # What is written in its namespace: its own text and the headers of its module.
        self.words = set(tokens(source)).union(*(tokens(header) for header in headers(source)
                                                 if module(header) == module(source)))
        self.renamed = set()
        self.verdicts = {}
        code = COMMENT_OR_TEXT.sub("", self.text)
        self.types = set(re.findall(r"^(?:class|struct|union|enum(?: class)?) (\w+)", code, re.MULTILINE))
        # Classes of headers whose members this source may name without an object: it defines or inherits them.
        self.classes = set(re.findall(r"^[^\s#}/].*?\b(\w+)::~?\w+\(", code, re.MULTILINE))
        for bases in re.findall(r"^\s*(?:class|struct) \w+(?: final)? : ([^{;]*)", code, re.MULTILINE):
            self.classes |= set(re.findall(r"\w+", bases))

    def renamable(self, name):
        if name not in self.verdicts:
            self.verdicts[name] = self.judge(name)
        return self.verdicts[name]

    def judge(self, name):
        hidden = name in self.types  # a type of an outer namespace that has this name cannot be meant here
        for header in headers(self.source):
            if (name in header_names(header) and not hidden) or (name in tokens(header) and self.classes & tokens(header)):
                return False
        return not re.search(rf"(?:\.|->|::)\s*{name}\b|^\s*#.*\b{name}\b|"
                             rf"\b(?:TYPED_)?TEST\w*\({name}\b|_TEST_SUITE\w*\([^;]*\b{name}\b",
                             COMMENT_OR_TEXT.sub("", self.text), re.MULTILINE)

    def clashes(self, other):
        """The private names of this source that must not be so named beside the other: the other has, sees or uses them
        with another meaning."""
        others = (other.private - other.renamed) | (other.seen - self.seen) | (other.aliases.keys() - self.aliases.keys())
        return self.private & (others | (other.seen & other.words)) - self.renamed

    def hides(self, other):
        """Whether a name that this source takes from another namespace means something else in the other."""
        return any(other.aliases.get(name, full) != full or
                   (name not in other.aliases and (name in other.seen - self.seen or name in other.seen & other.words)
                    and not self.shares(name, other))
                   for name, full in self.aliases.items())

    def shares(self, name, other):
        """Whether the other can mean only what this source means by a name: one header declares it, and both have it."""
        owners = [header for header in headers(other.source) if name in header_names(header)]
        return name not in other.shown and len(owners) == 1 and owners[0] in headers(self.source)


def fits(member, group, rename):
    """Whether a source can join a group; renames what must be, in it and in the group."""
    changes = []
    for other in group:
        if member.hides(other) or other.hides(member):
            return False
        mine = member.clashes(other)
        theirs = other.clashes(member) - (mine & other.private)  # one of two private names is enough
        theirs |= other.private & ((member.seen - other.seen) | (member.seen & member.words)) - other.renamed
        for owner, clashing in ((member, mine), (other, theirs)):
            if clashing and not (rename and all(owner.renamable(name) for name in clashing)):
                return False
            changes.append((owner, clashing))
    for owner, clashing in changes:
        owner.renamed |= clashing
    return True


@functools.lru_cache(maxsize=None)
def module(source):
    """What may share a unit: the files of a module, or of a folder outside src/."""
    if PLACES[0] in source.parents:
        return source.relative_to(PLACES[0]).parts[0]
    return source.parent


def group_members(sources, max_files, rename):
    groups = []
    for source in sources:
        member = Member(pathlib.Path(source).resolve())
        for group in groups:
            if len(group) < max_files and module(group[0].source) == module(member.source) and fits(member, group, rename):
                group.append(member)
                break
        else:
            groups.append([member])
    return groups


def bundles(sources, max_files=DEFAULT_MAX):
    """Groups sources that clash in no name, in their order."""
    return [[str(member.source) for member in group] for group in group_members(sources, max_files, rename=False)]


def lines(member, number, base, entry=None):
    """How a bundle includes a source."""
    include = f'#include "{member.source.relative_to(base)}"\n'
    if entry is not None:
        include = f"#define {entry} {entry}_{member.source.stem}\n{include}#undef {entry}\n"
    if not member.renamed:
        return include
    own = "".join(f"{line}\n" for line in re.findall(r'^#include [<"].*[>"]', read(member.source), re.MULTILINE))
    names_here = sorted(member.renamed)
    return (own + "".join(f"#define {name} {name}_of_{number}\n" for name in names_here) + include
            + "".join(f"#undef {name}\n" for name in names_here))


def write(path, text):
    """Leaves a file alone that is as it should be: its time would have it compiled again."""
    if not path.is_file() or path.read_text() != text:
        path.write_text(text)


def main():
    if len(sys.argv) < 5 or sys.argv[1] != "--write" or sys.argv[3] != "--max":
        sys.exit(__doc__)
    folder, max_files = pathlib.Path(sys.argv[2]), int(sys.argv[4])
    folder.mkdir(parents=True, exist_ok=True)
    entry, sources = (sys.argv[6], sys.argv[7:]) if sys.argv[5] == "--entry" else (None, sys.argv[5:])
    compiled = []
    for number, group in enumerate(group_members(sources, max_files, rename=True)):
        base = next((place for place in PLACES[:2] if place in group[0].source.parents), None)
        if (len(group) == 1 and entry is None) or base is None:
            compiled += [str(member.source) for member in group]
            continue
        bundle = folder / f"{number}.cc"
        write(bundle, "".join(lines(member, count, base, entry) for count, member in enumerate(group)))
        compiled.append(str(bundle))
    print(";".join(compiled), end="")


if __name__ == "__main__":
    main()
