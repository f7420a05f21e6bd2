#!/usr/bin/env python3
"""Holds the sources to cmake/Rooms.cmake: which room may include which, and how long a file may be.

Fails when a file of src/<room>/ includes a header of a room that is not declared for it, when a quoted include does not
name a room, when a folder of src/ is not in the list, when the list itself is out of order, or when a file has grown
beyond the hard limit, or when two files define a type of one name. Files over the soft limit are only named.

Usage: tests/layers.py [ROOT]
"""

import pathlib
import re
import sys

SOFT_LIMIT = {".h": 400, ".cc": 600}
HARD_LIMIT = 1000
ROOM = re.compile(r"^weft_room\(([^)]*)\)", re.MULTILINE)
NAMESPACE = re.compile(r"^(?:inline )?namespace ?([\w:]*) ?\{$")
TYPE = re.compile(r"^(?:template <.*> ?)?(?:struct|class|enum class) (\w+)\b(?!::)(?!.*;\s*(?://.*)?$)")
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]*)"')


def read_rooms(path, problems):
    """room -> the rooms it may include, itself among them."""
    rooms = {}
    for match in ROOM.finditer(path.read_text()):
        name, *allowed = match.group(1).split()
        if allowed == ["ALL"]:
            allowed = list(rooms)
        if name in rooms:
            problems.append(f"cmake/Rooms.cmake: {name} is listed twice")
        for other in allowed:
            if other not in rooms:
                problems.append(f"cmake/Rooms.cmake: {name} may not depend on {other}, which is not listed before it")
        rooms[name] = {name, *allowed}
    if not rooms:
        problems.append("cmake/Rooms.cmake: no rooms found")
    return rooms


def types_of(lines):
    """Types that a file defines outside of anonymous namespaces, each with the namespace it stands in. By line: nothing
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


def check_file(path, label, room, rooms, problems, notes):
    lines = path.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, start=1):
        match = INCLUDE.match(line)
        if not match:
            continue
        target = match.group(1)
        other = target.split("/")[0] if "/" in target else ""
        if other not in rooms:
            problems.append(f'{label}:{number}: "{target}" does not name a room; our headers are "room/file.h", '
                            "all others go in <>")
        elif other not in rooms[room]:
            problems.append(f'{label}:{number}: {room} may not include "{target}" (cmake/Rooms.cmake)')
        elif not (path.parents[1] / target).is_file():
            problems.append(f'{label}:{number}: there is no src/{target}')
    if len(lines) > HARD_LIMIT:
        problems.append(f"{label}: {len(lines)} lines; no file may have more than {HARD_LIMIT}")
    elif len(lines) > SOFT_LIMIT[path.suffix]:
        notes.append(f"{label}: {len(lines)} lines, over {SOFT_LIMIT[path.suffix]}")


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent).resolve()
    problems, notes, count = [], [], 0
    rooms = read_rooms(root / "cmake" / "Rooms.cmake", problems)
    types = {}
    for entry in sorted((root / "src").iterdir()):
        label = f"src/{entry.name}"
        if not entry.is_dir():
            problems.append(f"{label}: a file outside any room")
            continue
        if entry.name not in rooms:
            problems.append(f"{label}: a room that is not listed in cmake/Rooms.cmake")
            continue
        for path in sorted(entry.rglob("*")):
            if path.suffix in SOFT_LIMIT and path.is_file():
                count += 1
                if path.parent != entry:
                    problems.append(f"{path.relative_to(root)}: a room has no folders of its own")
                    continue
                label = path.relative_to(root).as_posix()
                check_file(path, label, entry.name, rooms, problems, notes)
                for name, number in types_of(path.read_text(encoding="utf-8").splitlines()):
                    other = types.setdefault(name, label)
                    if other != label:
                        problems.append(f"{label}:{number}: {name} is also defined in {other}: the linker takes either")

    for note in notes:
        print(f"layers: long file: {note}")
    for problem in problems:
        print(problem)
    print(f"layers: {count} files in {len(rooms)} declared rooms, {len(problems)} problems")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
