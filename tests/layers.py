#!/usr/bin/env python3
"""Checks the sources against cmake/Modules.cmake: which module may include which, which sub-module of it, and how long
files and how large folders may be.

Fails when a file of src/<module>/ includes a header of a module that is not declared for it, or a header of a sub-module
that is not declared for its own; when a quoted include does not name a module; when a folder is not in the list or the
list names one that does not exist; when the list is out of order (so there is no cycle); when a module with sub-modules
has files outside them; when headers include each other in a cycle; when a folder has more than 60 files (tests not
counted) or a file more than 1000 lines; or when two files define a type of one name. Files over the soft limit are only named.

Usage: tests/layers.py [ROOT]
"""

import pathlib
import re
import sys

SOFT_LIMIT = {".h": 400, ".cc": 600}
HARD_LIMIT = 1000
FOLDER_LIMIT = 60
LIST = "cmake/Modules.cmake"
ENTRY = re.compile(r"^[ \t]*weft_(module|submodule)\(([^)]*)\)", re.MULTILINE)
NAMESPACE = re.compile(r"^(?:inline )?namespace ?([\w:]*) ?\{$")
TYPE = re.compile(r"^(?:template <.*> ?)?(?:struct|class|enum class) (\w+)\b(?!::)(?!.*;\s*(?://.*)?$)")
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]*)"')


class Layers:
    """The list: module -> the modules it may include, and (module, sub-module) -> the sub-modules it may include, itself
    among them in both."""

    def __init__(self, path, problems):
        self.modules, self.submodules = {}, {}
        for kind, words in ENTRY.findall(path.read_text()):
            if kind == "module":
                self.add_module(words.split(), problems)
            else:
                self.add_submodule(words.split(), problems)
        if not self.modules:
            problems.append(f"{LIST}: no modules found")

    def add_module(self, words, problems):
        name, *allowed = words
        if allowed == ["ALL"]:
            allowed = list(self.modules)
        if name in self.modules:
            problems.append(f"{LIST}: {name} is listed twice")
        for other in allowed:
            if other not in self.modules:
                problems.append(f"{LIST}: {name} may not depend on {other}, which is not listed before it")
        self.modules[name] = {name, *allowed}

    def add_submodule(self, words, problems):
        module, name, *allowed = words
        if module not in self.modules:
            problems.append(f"{LIST}: {module}/{name} is listed before its module")
        if (module, name) in self.submodules:
            problems.append(f"{LIST}: {module}/{name} is listed twice")
        for other in allowed:
            if (module, other) not in self.submodules:
                problems.append(f"{LIST}: {module}/{name} may not depend on {module}/{other}, "
                                "which is not listed before it")
        self.submodules[module, name] = {name, *allowed}

    def has_submodules(self, module):
        return any(module == other for other, _ in self.submodules)


def types_of(lines):
    """Types that a file defines outside of anonymous namespaces, each with the namespace it is in. By line: nothing
    inside a namespace is indented, and each closes with a comment that names it."""
    open_spaces, found = [], []
    for number, line in enumerate(lines, start=1):
        match = NAMESPACE.match(line)
        if match:
            open_spaces.append(match.group(1))
        elif line.startswith("}  // namespace") and open_spaces:
            open_spaces.pop()
        match = TYPE.match(line)
        if match and "" not in open_spaces:
            found.append(("::".join([*open_spaces, match.group(1)]), number))
    return found


def check_include(target, source, label, module, submodule, layers, problems):
    other, *rest = target.split("/")
    if not rest or other not in layers.modules:
        problems.append(f'{label}: "{target}" does not name a module; our headers are "module/file.h", all others go in <>')
    elif other not in layers.modules[module]:
        problems.append(f'{label}: {module} may not include "{target}" ({LIST})')
    elif not (source / target).is_file():
        problems.append(f"{label}: there is no src/{target}")
    elif other == module and submodule and rest[0] not in layers.submodules.get((module, submodule), {submodule}):
        problems.append(f'{label}: {module}/{submodule} may not include "{target}" ({LIST})')


def check_file(path, label, module, submodule, layers, problems, notes):
    lines = path.read_text(encoding="utf-8").splitlines()
    source = path.parents[2 if submodule else 1]
    for number, line in enumerate(lines, start=1):
        match = INCLUDE.match(line)
        if match:
            check_include(match.group(1), source, f"{label}:{number}", module, submodule, layers, problems)
    if len(lines) > HARD_LIMIT:
        problems.append(f"{label}: {len(lines)} lines; no file may have more than {HARD_LIMIT}")
    elif len(lines) > SOFT_LIMIT[path.suffix]:
        notes.append(f"{label}: {len(lines)} lines, over {SOFT_LIMIT[path.suffix]}")
    return types_of(lines)


def headers_of(source):
    """Each header of ours, and the headers of ours that it includes."""
    headers = {}
    for path in sorted(source.rglob("*.h")):
        found = (INCLUDE.match(line) for line in path.read_text(encoding="utf-8").splitlines())
        headers[path.relative_to(source).as_posix()] = [match.group(1) for match in found if match]
    return headers


def check_cycles(headers, problems):
    """Reports each cycle of includes once, from the header at which a walk in alphabetical order enters it."""
    finished, chain = set(), []

    def walk(header):
        if header in chain:
            cycle = [*chain[chain.index(header):], header]
            problems.append(f"src/{header}: includes itself: {' -> '.join(cycle)}")
            return
        if header in finished:
            return
        chain.append(header)
        for other in headers.get(header, []):
            walk(other)
        chain.pop()
        finished.add(header)

    for header in headers:
        walk(header)


def check_folder(folder, label, module, submodule, layers, problems, notes, types):
    """Returns the number of files of ours in one folder."""
    files = [path for path in sorted(folder.iterdir()) if path.is_file() and path.suffix in SOFT_LIMIT]
    counted = [path for path in files if not path.name.endswith("_test.cc")]
    if len(counted) > FOLDER_LIMIT:
        problems.append(f"{label}: {len(counted)} files; no folder may have more than {FOLDER_LIMIT}, tests not counted")
    for path in files:
        name = f"{label}/{path.name}"
        if not submodule and layers.has_submodules(module) and path.name != "main.cc":
            problems.append(f"{name}: a file outside the sub-modules of {module}")
        for type_name, number in check_file(path, name, module, submodule, layers, problems, notes):
            other = types.setdefault(type_name, name)
            if other != name:
                problems.append(f"{name}:{number}: {type_name} is also defined in {other}: the linker takes either")
    return len(files)


def check_module(folder, layers, problems, notes, types):
    module = folder.name
    count = check_folder(folder, f"src/{module}", module, None, layers, problems, notes, types)
    for entry in sorted(path for path in folder.iterdir() if path.is_dir()):
        label = f"src/{module}/{entry.name}"
        if (module, entry.name) not in layers.submodules:
            problems.append(f"{label}: a sub-module that is not listed in {LIST}")
        count += check_folder(entry, label, module, entry.name, layers, problems, notes, types)
        for inner in sorted(path for path in entry.iterdir() if path.is_dir()):
            problems.append(f"{label}/{inner.name}: a sub-module has no folders of its own")
    return count


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent).resolve()
    problems, notes, types, count = [], [], {}, 0
    layers = Layers(root / LIST, problems)
    for entry in sorted((root / "src").iterdir()):
        if not entry.is_dir():
            problems.append(f"src/{entry.name}: a file outside any module")
        elif entry.name not in layers.modules:
            problems.append(f"src/{entry.name}: a module that is not listed in {LIST}")
        else:
            count += check_module(entry, layers, problems, notes, types)
    for folder in [*layers.modules, *("/".join(pair) for pair in layers.submodules)]:
        if not (root / "src" / folder).is_dir():
            problems.append(f"{LIST}: there is no src/{folder}")

    check_cycles(headers_of(root / "src"), problems)

    for note in notes:
        print(f"layers: long file: {note}")
    for problem in problems:
        print(problem)
    print(f"layers: {count} files in {len(layers.modules)} modules and {len(layers.submodules)} sub-modules, "
          f"{len(problems)} problems")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
