#!/usr/bin/env python3
"""Lints the files of assets/, each with the tools of its language, and compares them with the sources that name them.

    tests/assets_test.py [FOLDER]      FOLDER: the repository

A placeholder (@NAME@, see src/base/asset.h) is read as NAME; a line that is one is left out. A tool that is absent skips
its check (tests/permitted_skips.txt). A kind of file without a check fails: it gets one, or a place in UNCHECKED.
"""

import ast
import html.parser
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
ROOT = ROOT if ROOT.is_dir() else ROOT.parent.parent
ASSETS = ROOT / "assets"
USE = re.compile(r'\basset<"([^"]+)">')
LINES = re.compile(r"^@[A-Z][A-Z0-9_]*@\n", re.MULTILINE)
PLACEHOLDER = re.compile(r"@([A-Z][A-Z0-9_]*)@")
UNCHECKED = {".md", ".tmpl"}  # prose; Go templates, which amtool reads in the tests of the monitoring
# A script that is rendered behind another is linted behind it.
AFTER = {"render/slurm/database-password.sh": "render/slurm/make-keys.sh"}
# ShellCheck's findings that do not hold: variables that only the lines of a placeholder read.
EXCLUDED = {"render/slurm/batch.bash": ["SC2034"]}
YAML_CHECK = """
import sys, yaml
class Loader(yaml.SafeLoader):
    pass
def mapping(loader, node):
    keys = [loader.construct_object(key) for key, _ in node.value]
    for key in keys:
        if keys.count(key) > 1:
            raise yaml.YAMLError(f"line {node.start_mark.line + 1}: {key!r} twice in one mapping")
    return loader.construct_mapping(node, deep=True)
Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, mapping)
for path in sys.argv[1:]:
    try:
        with open(path, encoding="utf-8") as file:
            list(yaml.load_all(file, Loader))
    except yaml.YAMLError as error:
        print(f"{path}: {error}")
"""


class Missing(Exception):
    """What a check needs and this machine lacks, as base/test_prerequisites.h writes it."""


def need(program):
    found = shutil.which(program)
    if not found:
        raise Missing(f"program {program}")
    return found


def output_of(command, folder):
    """What a linter says; it says nothing of a good file."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    said = (done.stdout + done.stderr).strip()
    return said or (f"{command[0]} ends with exit code {done.returncode}" if done.returncode else "")


def readable(text):
    return PLACEHOLDER.sub(r"\1", LINES.sub("", text))


def check_names(_folder, files):
    """Every file is used, and every use has its file."""
    sources = [path for path in (ROOT / "src").rglob("*") if path.suffix in (".cc", ".h")]
    used = {name: path for path in sources for name in USE.findall(re.sub(r"//.*", "", path.read_text(encoding="utf-8")))}
    problems = [f"{used[name].relative_to(ROOT)}: there is no assets/{name}" for name in sorted(used.keys() - set(files))]
    problems += [f"assets/{name}: no source names it" for name in sorted(set(files) - used.keys())]
    for name in files:
        text = (ASSETS / name).read_text(encoding="utf-8")
        problems += [] if text.endswith("\n") else [f"assets/{name}: does not end with a newline"]
    return problems


def check_kinds(_folder, files):
    known = UNCHECKED.union(*(kinds for _, kinds, _ in CHECKS))
    return [f"assets/{name}: no check for this kind of file" for name in files if pathlib.Path(name).suffix not in known]


def check_shell(folder, files):
    shellcheck = need("shellcheck")
    problems = []
    for name in files:
        shell = "bash" if name.endswith(".bash") else "sh"
        if name in AFTER:
            (folder / name).write_text((folder / AFTER[name]).read_text() + "\n" + (folder / name).read_text())
        exclude = [f"--exclude={code}" for code in EXCLUDED.get(name, [])]
        command = [shellcheck, f"--shell={shell}", "--severity=warning", "--format=gcc", *exclude, name]
        problems.append(output_of(command, folder))
    return problems


def check_python(folder, files):
    problems = []
    for name in files:
        try:
            ast.parse((folder / name).read_text(encoding="utf-8"), name)
        except SyntaxError as error:
            problems.append(f"{name}:{error.lineno}: {error.msg}")
    return problems


def check_json(folder, files):
    problems = []
    for name in files:
        try:
            json.loads((folder / name).read_text(encoding="utf-8"))
        except json.JSONDecodeError as error:
            problems.append(f"{name}:{error.lineno}: {error.msg}")
    return problems


def check_yaml(folder, files):
    for python in ("/usr/bin/python3", sys.executable):
        if not subprocess.run([python, "-c", "import yaml"], capture_output=True, check=False).returncode:
            return [output_of([python, "-c", YAML_CHECK, *files], folder)]
    raise Missing("python yaml")


def check_ansible(folder, files):
    """Tasks are read with the playbooks that import them."""
    ansible = need("ansible-playbook")
    (folder / "inventory").write_text("localhost\n")
    books = [name for name in files if "/ansible/" in name and "/tasks/" not in name]
    done = subprocess.run([ansible, "--syntax-check", "-i", "inventory", *books], cwd=folder, capture_output=True, text=True,
                          check=False)
    return [(done.stdout + done.stderr).strip()] if done.returncode else []


def check_javascript(folder, files):
    node = need("node")
    return [output_of([node, "--check", name], folder) for name in files]


def check_css(folder, files):
    """No tool of the build reads CSS; the browser of the page tests does."""
    texts = {name: re.sub(r"/\*.*?\*/", "", (folder / name).read_text(encoding="utf-8"), flags=re.DOTALL) for name in files}
    return [f"{name}: braces do not match" for name, text in texts.items() if text.count("{") != text.count("}")]


class Page(html.parser.HTMLParser):
    """Tags that do not match, and what the policy of the server's pages refuses: scripts and styles inside a page."""

    VOID = {"meta", "link", "br", "hr", "img", "input"}

    def __init__(self):
        super().__init__()
        self.open = []
        self.problems = []

    def handle_starttag(self, tag, attrs):
        if tag not in self.VOID:
            self.open.append(tag)
        inside = tag == "style" or (tag == "script" and "src" not in dict(attrs))
        if inside or any(name == "style" or name.startswith("on") for name, _ in attrs):
            self.problems.append(f"line {self.getpos()[0]}: a script or style inside the page")
        if any(re.match(r"(?i)(https?:)?//|data:|javascript:", value or "") for _, value in attrs):
            self.problems.append(f"line {self.getpos()[0]}: a URL of another place")

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"line {self.getpos()[0]}: </{tag}> does not match")


def check_html(folder, files):
    problems = []
    for name in files:
        page = Page()
        page.feed((folder / name).read_text(encoding="utf-8"))
        page.close()
        problems += [f"{name}: {problem}" for problem in page.problems]
        problems += [f"{name}: <{tag}> is not closed" for tag in page.open]
    return problems


def check_zsh(folder, files):
    zsh = need("zsh")
    return [output_of([zsh, "-n", name], folder) for name in files]


def check_fish(folder, files):
    fish = need("fish")
    return [output_of([fish, "--no-execute", name], folder) for name in files]


# Name of the test, kinds of files (none: all files), check.
CHECKS = [
    ("Names", set(), check_names),
    ("Kinds", set(), check_kinds),
    ("Shell", {".sh", ".bash"}, check_shell),
    ("Python", {".py"}, check_python),
    ("Json", {".json"}, check_json),
    ("Yaml", {".yml", ".yaml"}, check_yaml),
    ("Ansible", {".yml"}, check_ansible),
    ("JavaScript", {".js"}, check_javascript),
    ("Css", {".css"}, check_css),
    ("Html", {".html"}, check_html),
    ("Zsh", {".zsh"}, check_zsh),
    ("Fish", {".fish"}, check_fish),
]


def main():
    files = sorted(str(path.relative_to(ASSETS)) for path in ASSETS.rglob("*") if path.is_file())
    failed = not files
    for test, kinds, check in CHECKS:
        chosen = [name for name in files if not kinds or pathlib.Path(name).suffix in kinds]
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            for name in chosen:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_text(readable((ASSETS / name).read_text(encoding="utf-8")), encoding="utf-8")
            # As GoogleTest writes it, for scripts/skips.py.
            print(f"[ RUN      ] Assets.{test}")
            try:
                problems = [problem for problem in check(folder, chosen) if problem]
            except Missing as missing:
                print(f"prerequisite missing: {missing}\n[  SKIPPED ] Assets.{test} (0 ms)")
                continue
        for problem in problems:
            print(problem)
        print(f"[  FAILED  ] Assets.{test}" if problems else f"[       OK ] Assets.{test}: {len(chosen)} files")
        failed = failed or bool(problems)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
