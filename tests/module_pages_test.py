#!/usr/bin/env python3
"""Checks that docs/architecture.md, docs/modules/*.md and their pictures name files and functions that exist.

A path that ends in .h or .cc is relative to src/, on a page of module M also to src/M/; a path below tests/ is relative
to the repository. In the form `path` (`name`, `name`) each name must occur in the code of that file.
"""

import pathlib
import re
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
PATH = r"[\w./-]+\.(?:h|cc)"
QUOTED_PATH = re.compile(rf"`({PATH})`")
PATH_WITH_NAMES = re.compile(rf"`({PATH})`\s+\(([^()]*)\)")
PICTURE_PATH = re.compile(rf">({PATH})<")
NAME = re.compile(r"[A-Za-z_]\w*(?:::~?\w+)*")
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


def find_file(root, path, module):
    """The file that a page names, or None."""
    if path.startswith("tests/"):
        candidates = [root / path]
    else:
        candidates = [root / "src" / module / path] if module else []
        candidates.append(root / "src" / path)
    return next((file for file in candidates if file.is_file()), None)


def code_of(file):
    """The text of a source file without its comments."""
    return re.sub(r"//.*", "", file.read_text(encoding="utf-8"))


def check_page(root, page, module, problems):
    """Checks one page; returns how many paths and names it has."""
    text = page.read_text(encoding="utf-8")
    where = page.relative_to(root)
    paths = set(QUOTED_PATH.findall(text))
    for path in sorted(paths):
        if find_file(root, path, module) is None:
            problems.append(f"{where}: there is no file {path}")
    count = 0
    for path, inside in PATH_WITH_NAMES.findall(text):
        file = find_file(root, path, module)
        if file is None:
            continue
        code = code_of(file)
        for name in re.findall(r"`([^`]*)`", inside):
            count += 1
            if not NAME.fullmatch(name):
                problems.append(f"{where}: `{name}` after {path} is not a name")
            elif not all(re.search(rf"\b{part}\b", code) for part in re.split(r"::~?", name)):
                problems.append(f"{where}: {path} has no {name}")
    for target in LINK.findall(text):
        if not (page.parent / target).exists():
            problems.append(f"{where}: the link {target} leads nowhere")
    return len(paths), count


def check(root):
    """The problems of all pages, and a summary line."""
    problems = []
    overview = root / "docs" / "architecture.md"
    pages = sorted((root / "docs" / "modules").glob("*.md"))
    if not overview.is_file():
        problems.append("docs: there is no architecture.md")
    if not pages:
        problems.append("docs/modules: no pages found")
    paths = names = 0
    if overview.is_file():
        paths, names = check_page(root, overview, "", problems)
        linked = set(LINK.findall(overview.read_text(encoding="utf-8")))
        for page in pages:
            if f"modules/{page.name}" not in linked:
                problems.append(f"docs/architecture.md: no link to modules/{page.name}")
    for page in pages:
        module = page.stem
        if not (root / "src" / module).is_dir():
            problems.append(f"docs/modules/{page.name}: there is no module {module}")
        found, named = check_page(root, page, module, problems)
        if not found or not named:
            problems.append(f"docs/modules/{page.name}: names no file, or no function")
        paths += found
        names += named
        picture = root / "docs" / "img" / f"modules-{module}.svg"
        if not picture.is_file():
            problems.append(f"docs/img: there is no modules-{module}.svg")
            continue
        for path in PICTURE_PATH.findall(picture.read_text(encoding="utf-8")):
            if find_file(root, path, module) is None:
                problems.append(f"docs/img/modules-{module}.svg: there is no file {path}")
    return problems, f"{len(pages)} pages, {paths} files, {names} names, {len(problems)} problems"


FILES = {
    "docs/architecture.md": "Read `base/result.h` (`Result`) and [net](modules/net.md); `tests/x_test.cc`.\n",
    "docs/modules/net.md": "![](../img/modules-net.svg)\n`low/link.cc` (`Link::open`,\n`close`), `base/result.h`.\n",
    "docs/img/modules-net.svg": "<svg><text>low/link.cc</text><text>base/result.h</text></svg>\n",
    "src/base/result.h": "class Result {};\n",
    "src/net/low/link.cc": "bool Link::open() { return close(); }  // then retry\n",
    "tests/x_test.cc": "",
}


def check_files(files):
    """The problems of a tree with these files."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return check(root)[0]


class ModulePagesTest(unittest.TestCase):
    def fails(self, expected, changes):
        files = {name: text for name, text in (FILES | changes).items() if text is not None}
        self.assertEqual(check_files(files), [expected])

    def test_this_repository(self):
        problems, summary = check(ROOT)
        self.assertFalse(problems, "\n".join(["", *problems, summary]))

    def test_a_tree_that_keeps_the_rules(self):
        self.assertEqual(check_files(FILES), [])

    def test_no_pages(self):
        self.fails("docs/modules: no pages found",
                   {"docs/modules/net.md": None, "docs/architecture.md": "`base/result.h` (`Result`)\n"})
        self.assertEqual(len(check_files({"README.md": ""})), 2)

    def test_a_page_without_files(self):
        self.fails("docs/modules/net.md: names no file, or no function", {"docs/modules/net.md": "Nothing.\n"})
        self.fails("docs/modules/net.md: names no file, or no function", {"docs/modules/net.md": "`low/link.cc`\n"})

    def test_a_file_that_does_not_exist(self):
        more = FILES["docs/modules/net.md"]
        self.fails("docs/modules/net.md: there is no file low/none.h",
                   {"docs/modules/net.md": more + "`low/none.h` (`open`)\n"})
        self.fails("docs/architecture.md: there is no file low/link.cc",
                   {"docs/architecture.md": FILES["docs/architecture.md"] + "`low/link.cc`\n"})
        self.fails("docs/architecture.md: there is no file link.cc",
                   {"docs/architecture.md": FILES["docs/architecture.md"] + "`link.cc`\n"})
        self.fails("docs/img/modules-net.svg: there is no file low/none.cc",
                   {"docs/img/modules-net.svg": "<svg><text>low/none.cc</text></svg>\n"})

    def test_a_name_that_does_not_exist(self):
        more = FILES["docs/modules/net.md"]
        for name in ["lose", "Link::lose", "retry"]:  # `close` holds the first; the last is in a comment only
            self.fails(f"docs/modules/net.md: low/link.cc has no {name}",
                       {"docs/modules/net.md": more + f"`low/link.cc` (`open`, `{name}`)\n"})
        self.fails("docs/modules/net.md: `an open` after low/link.cc is not a name",
                   {"docs/modules/net.md": more + "`low/link.cc` (`an open`)\n"})

    def test_a_module_that_does_not_exist(self):
        text = FILES["docs/architecture.md"].replace("net.md", "far.md")
        self.fails("docs/modules/far.md: there is no module far",
                   {"docs/modules/net.md": None, "docs/modules/far.md": "`base/result.h` (`Result`)\n",
                    "docs/architecture.md": text, "docs/img/modules-far.svg": "<svg/>\n"})

    def test_links_and_pictures(self):
        self.fails("docs/architecture.md: no link to modules/net.md",
                   {"docs/architecture.md": "`base/result.h` (`Result`)\n"})
        self.fails("docs/modules/net.md: the link none.md leads nowhere",
                   {"docs/modules/net.md": FILES["docs/modules/net.md"] + "[x](none.md)\n"})
        self.fails("docs/img: there is no modules-net.svg",
                   {"docs/img/modules-net.svg": None, "docs/modules/net.md": "`low/link.cc` (`open`)\n"})


if __name__ == "__main__":
    unittest.main()
