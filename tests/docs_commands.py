#!/usr/bin/env python3
"""Runs the commands that a document shows, and compares their output with the output that it shows.

    tests/docs_commands.py [--update] WEFT DOCUMENT...

WEFT is the executable under test. Each document runs in a temporary folder of its own, with a copy of examples/; the
fenced blocks of a document run in order, each as one bash script. A block names its language:

    ```sh         commands, one per line
    ```console    commands after `$ `, each followed by the output that it prints; without output, only the exit code
                  is checked. A line `...` stands for any number of lines, `...` inside a line for any text
    others        not commands: yaml, text, csv. A line in them that begins with `weft ` or `$ ` is an error

A command continues on the next line after a backslash. One that ends in `&` runs until the end of its block; the next
command starts when it has printed a line. Comments directly before a block change what is done with it:

    <!-- not run: REASON -->              the commands cannot run in a test
    <!-- exit N -->                       every command of the block ends with exit code N instead of 0
    <!-- exit N: COMMAND -->              the commands of the block that begin with these words do
    <!-- file: NAME -->                   the block is written to this file, for the commands after it
    <!-- data: PATH as NAME -->           a file of WEFT_TEST_DATA (../shared) that the block reads. Where it is absent,
                                          the block is skipped (tests/permitted_skips.txt)

Commands in prose (`weft show cables`) are not run: the command and its options must exist. Outputs are compared after
NORMALIZED has replaced what differs from run to run. With --update the output shown is replaced by what was printed.
"""

import argparse
import dataclasses
import difflib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BLOCK_TIMEOUT = 600  # seconds; for a block that hangs

# What differs from run to run, and what stands for it in a comparison.
NORMALIZED = [
    (re.compile(r"^(Operation: +)[0-9a-f]{16}$"), r"\1ID"),
    (re.compile(r"^(Time taken: +)\d+\.\d+ s$"), r"\1TIME"),
    (re.compile(r"\bport \d{4,5}$"), "port PORT"),
]

FENCE = re.compile(r"^( *)(`{3,})(.*)$")
DIRECTIVE = re.compile(r"^ *<!-- *(not run|exit|file|data)\b *(.*?) *--> *$")
COMMENT = re.compile(r"^ *<!--.*--> *$")
COMMAND_IN_TEXT = re.compile(r"^ *(\$ |weft )")
INLINE = re.compile(r"(?<!`)`weft ([^`]+)`(?!`)")
OMITTED = "..."


class DocumentError(Exception):
    """A document that does not keep to the form above."""


@dataclasses.dataclass
class Command:
    line: int  # of the document, from 1
    text: str
    shown: list = dataclasses.field(default_factory=list)
    shown_line: int = 0  # of the first line shown

    @property
    def background(self):
        return re.search(r"(?<!&)& *(#.*)?$", self.text) is not None


@dataclasses.dataclass
class Block:
    line: int
    language: str
    indent: str = ""
    content: list = dataclasses.field(default_factory=list)
    commands: list = dataclasses.field(default_factory=list)
    not_run: str = ""
    exits: list = dataclasses.field(default_factory=list)  # (first words, code)
    file: str = ""
    data: list = dataclasses.field(default_factory=list)  # (path in the data folder, name)

    def expected_exit(self, text):
        matching = [(len(words), code) for words, code in self.exits if text.startswith(words)]
        return max(matching)[1] if matching else 0


def read_directive(block, kind, rest, line):
    if kind == "exit":
        match = re.fullmatch(r"(\d+)(?:: *(\S.*))?", rest)
        if not match:
            raise DocumentError(f"{line}: write `<!-- exit N -->` or `<!-- exit N: COMMAND -->`")
        block.exits.append((match[2] or "", int(match[1])))
        return
    rest = rest.removeprefix(":").strip()
    if not rest:
        raise DocumentError(f"{line}: `{kind}` must be followed by a colon and a text")
    if kind == "not run":
        block.not_run = rest
    elif kind == "file":
        block.file = rest
    else:
        source, word, name = rest.partition(" as ")
        block.data.append((source.strip(), name.strip() if word else pathlib.PurePath(source).name))


def read_commands(block):
    lines = list(enumerate(block.content, start=block.line + 1))
    command = None
    while lines:
        number, line = lines.pop(0)
        if block.language == "sh" and (not line.strip() or line.lstrip().startswith("#")):
            continue
        if block.language == "console" and not line.startswith("$ "):
            if command is None:
                raise DocumentError(f"{number}: output without a command: a command begins with `$ `")
            command.shown.append(line)
            continue
        command = Command(number, line.removeprefix("$ ") if block.language == "console" else line)
        while command.text.endswith("\\") and lines:
            number, more = lines.pop(0)
            command.text += "\n" + more
        command.shown_line = number + 1
        block.commands.append(command)


def read_blocks(text):
    """The fenced blocks of a document, in order."""
    blocks, directives, block, fence = [], [], None, ""
    for number, line in enumerate(text.splitlines(), start=1):
        match = FENCE.match(line)
        if block is not None:
            if match and match[2].startswith(fence) and not match[3].strip():
                blocks.append(block)
                block = None
            else:
                block.content.append(line.removeprefix(block.indent))
            continue
        directive = DIRECTIVE.match(line)
        if directive:
            directives.append((directive[1], directive[2], number))
            continue
        if match:
            language = match[3].strip()
            if not language:
                raise DocumentError(f"{number}: a block without a language: write ```sh, ```console, ```text or ```yaml")
            block, fence = Block(number, language, match[1]), match[2]
            for kind, rest, at in directives:
                read_directive(block, kind, rest, at)
            directives = []
        elif directives:
            raise DocumentError(f"{directives[0][2]}: no block directly after `{directives[0][0]}`")
        elif re.match(r"^(\t| {4,})(\$ |weft )", line):
            raise DocumentError(f"{number}: a command in an indented block: use ```sh or ```console")
    if block is not None:
        raise DocumentError(f"{block.line}: a block without an end")
    if directives:
        raise DocumentError(f"{directives[0][2]}: no block after `{directives[0][0]}`")
    for block in blocks:
        if block.language in ("sh", "console"):
            read_commands(block)
            if block.file:
                raise DocumentError(f"{block.line}: a block of commands cannot be a file")
            for words, _ in block.exits:
                if not any(command.text.startswith(words) for command in block.commands):
                    raise DocumentError(f"{block.line}: no command begins with `{words}`")
            continue
        if block.not_run or block.exits or block.data:
            raise DocumentError(f"{block.line}: a block of `{block.language}` has no commands to run")
        for number, line in enumerate(block.content, start=block.line + 1):
            if COMMAND_IN_TEXT.match(line):
                raise DocumentError(f"{number}: a command in a block of `{block.language}`: use ```sh or ```console")
    return blocks


def read_inline(text):
    """(line, words after `weft`) for each command in prose."""
    lines, fence = [], ""
    for line in text.splitlines():
        match = FENCE.match(line)
        if fence:
            lines.append("")
            if match and match[2].startswith(fence) and not match[3].strip():
                fence = ""
        else:
            fence = match[2] if match else ""
            lines.append("" if match or COMMENT.match(line) else line)
    prose = "\n".join(lines)
    return [(prose.count("\n", 0, match.start()) + 1, match[1].split()) for match in INLINE.finditer(prose)]


def normalize(line):
    for pattern, replacement in NORMALIZED:
        line = pattern.sub(replacement, line)
    return line.rstrip()


def trim(lines):
    """Without empty lines at the end."""
    end = len(lines)
    while end > 0 and not lines[end - 1].strip():
        end -= 1
    return lines[:end]


def line_matches(shown, printed):
    pattern = ".*".join(re.escape(part) for part in normalize(shown).split(OMITTED))
    return re.fullmatch(pattern, normalize(printed)) is not None


def split_shown(shown):
    """The runs of lines between lines `...`; the first and the last touch the ends of the output."""
    runs = [[]]
    for line in shown:
        if line.strip() == OMITTED:
            runs.append([])
        else:
            runs[-1].append(line)
    return runs


def output_matches(shown, printed):
    shown, printed = trim(shown), trim(printed)
    runs = split_shown(shown)

    def fits(run, at):
        return at >= 0 and at + len(run) <= len(printed) and all(map(line_matches, run, printed[at:]))

    if not fits(runs[0], 0):
        return False
    if len(runs) == 1:
        return len(printed) == len(shown)
    position = len(runs[0])
    for run in runs[1:-1]:
        position = next((at for at in range(position, len(printed) + 1) if fits(run, at)), None)
        if position is None:
            return False
        position += len(run)
    last = len(printed) - len(runs[-1])
    return last >= position and fits(runs[-1], last)


def updated_line(shown, printed):
    """The line to show; one that ends in `...` stays about as long as it is."""
    if line_matches(shown, printed):
        return shown
    if shown.endswith(OMITTED) and len(printed) > len(shown):
        return printed[:len(shown) - len(OMITTED)].rpartition(" ")[0] + " " + OMITTED
    return printed


def updated_output(shown, printed):
    """The output to show: each run of lines is replaced by the lines of the output that are most like it."""
    shown, printed = trim(shown), trim(printed)
    runs = split_shown(shown)
    if len(runs) == 1:
        return printed
    result, position = [], 0
    for index, run in enumerate(runs):
        if index > 0:
            result.append(OMITTED)
        room = range(position, max(position, len(printed) - len(run)) + 1)
        if index == 0:
            at = 0
        elif index == len(runs) - 1:
            at = max(position, len(printed) - len(run))
        else:
            at = max(room, key=lambda at, run=run: (
                sum(difflib.SequenceMatcher(None, a, b).ratio() for a, b in zip(run, printed[at:])), -at))
        result += map(updated_line, run, printed[at:])
        position = at + len(run)
    return result


def block_script(block, folder):
    """One bash script; output and exit code of command N are in files N.out and N.rc of the folder."""
    lines = ["set -o pipefail", "trap 'kill $(jobs -p) 2>/dev/null; wait' EXIT"]
    for index, command in enumerate(block.commands):
        out, code = folder / f"{index}.out", folder / f"{index}.rc"
        lines += ["{", command.text, f"}} >'{out}' 2>&1 </dev/null", "status=$?"]
        if command.background:
            lines += ["for ((i = 0; i < 1200; i++)); do",
                      f"  [[ -s '{out}' ]] && break",
                      "  kill -0 $! 2>/dev/null || { wait $!; status=$?; break; }",
                      "  sleep 0.05",
                      "done",
                      f"[[ -s '{out}' ]] || [[ $status != 0 ]] || status=none"]
        lines += [f"echo $status >'{code}'", f"[[ $status == {block.expected_exit(command.text)} ]] || exit 1"]
    return "\n".join(lines) + "\n"


class Runner:
    def __init__(self, weft, data):
        self.weft = pathlib.Path(weft).resolve()
        self.data = pathlib.Path(data)
        self.helps = {}
        self.commands = re.findall(r"^  (\S+(?: \S+)*)  +\S", self.ask("help").partition("Usage: ")[2]
                                   .partition("\nOptions of every command:\n")[0], re.M)

    def ask(self, *words):
        done = subprocess.run([self.weft, *words], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise DocumentError(f"weft {' '.join(words)}: {done.stderr}")
        return done.stdout

    def inline_problem(self, words):
        """Why a command in prose does not exist, or None."""
        named = [word for word in words if not word.startswith("-")]
        command = max((known for known in self.commands if named[:len(known.split())] == known.split()), key=len,
                      default=None)
        if command is None:
            group = named and any(known.split()[0] == named[0] for known in self.commands)
            return None if group and len(named) == 1 else f"there is no command `weft {' '.join(words)}`"
        if command not in self.helps:
            self.helps[command] = self.ask("help", *command.split())
        for word in words:
            option = re.match(r"--?[a-z][a-z-]*", word)
            if option and not re.search(rf"(?<![\w-]){re.escape(option[0])}(?![\w-])", self.helps[command]):
                return f"`weft {command}` has no option {option[0]}"
        return None

    def run(self, document, update=False):
        """(problems, counts, missing data) of a document; with `update` it is rewritten."""
        path = pathlib.Path(document)
        text = path.read_text(encoding="utf-8")
        counts = {"run": 0, "compared": 0, "not run": 0, "skipped": 0, "named": 0}
        missing = []
        try:
            blocks = read_blocks(text)
        except DocumentError as error:
            return [f"{path.name}:{error}"], counts, missing
        problems = []
        for line, words in read_inline(text):
            problem = self.inline_problem(words)
            counts["named"] += 1
            if problem:
                problems.append(f"{path.name}:{line}: {problem}")
        changes = []
        with tempfile.TemporaryDirectory(prefix="weft-docs-") as temporary:
            folder = pathlib.Path(temporary) / "work"
            (pathlib.Path(temporary) / "bin").mkdir()
            (pathlib.Path(temporary) / "bin" / "weft").symlink_to(self.weft)
            shutil.copytree(ROOT / "examples", folder / "examples")
            for block in blocks:
                self.run_block(path, block, folder, counts, missing, problems, changes)
        if update and changes:
            lines = text.splitlines()
            for start, count, new in reversed(changes):
                lines[start - 1:start - 1 + count] = new
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return problems, counts, missing

    def run_block(self, path, block, folder, counts, missing, problems, changes):
        if block.file:
            target = folder / block.file
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text("\n".join(block.content) + "\n", encoding="utf-8")
        if not block.commands:
            return
        if block.not_run:
            counts["not run"] += len(block.commands)
            return
        for source, name in block.data:
            if not (self.data / source).exists():
                missing.append(source)
                counts["skipped"] += len(block.commands)
                return
            if not (folder / name).exists():
                (folder / name).symlink_to((self.data / source).resolve())
        temporary = folder.parent
        logs = temporary / f"block-{block.line}"
        logs.mkdir()
        environment = {"PATH": f"{temporary / 'bin'}:{os.environ.get('PATH', '/usr/bin:/bin')}", "HOME": str(temporary),
                       "TMPDIR": str(temporary), "LC_ALL": "C.UTF-8", "TZ": "UTC", "TERM": "dumb"}
        shell = subprocess.Popen(["bash", "-c", block_script(block, logs)], cwd=folder, env=environment, text=True,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                 start_new_session=True)
        try:
            errors = shell.communicate(timeout=BLOCK_TIMEOUT)[1].splitlines()
        except subprocess.TimeoutExpired:
            os.killpg(shell.pid, signal.SIGKILL)
            shell.communicate()
            errors = [f"the block did not end in {BLOCK_TIMEOUT} s"]
        for index, command in enumerate(block.commands):
            where = f"{path.name}:{command.line}: {command.text}"
            code_file, out_file = logs / f"{index}.rc", logs / f"{index}.out"
            printed = out_file.read_text(encoding="utf-8", errors="replace").splitlines() if out_file.exists() else []
            code = code_file.read_text(encoding="utf-8").strip() if code_file.exists() else "none"
            counts["run"] += 1
            expected = block.expected_exit(command.text)
            if code != str(expected):
                problems.append("\n".join([f"{where}\nexit code {code}, not {expected}", *printed[-20:], *errors]))
                break  # as `set -e` does
            if not trim(command.shown):
                continue
            counts["compared"] += 1
            if not output_matches(command.shown, printed):
                shown = trim(command.shown)
                update = updated_output(shown, printed)
                diff = list(difflib.unified_diff(shown, update, "shown", "printed", n=1, lineterm=""))
                problems.append("\n".join([f"{where}\nprints something else than the document shows:", *diff[:60]]))
                changes.append((command.shown_line, len(shown), [(block.indent + line).rstrip() for line in update]))


def main():
    parser = argparse.ArgumentParser(description="Runs the commands that documents show and compares their output.")
    parser.add_argument("--update", action="store_true", help="replace the output shown by what was printed")
    parser.add_argument("weft")
    parser.add_argument("documents", nargs="+")
    options = parser.parse_args()
    runner = Runner(options.weft, os.environ.get("WEFT_TEST_DATA") or ROOT.parent / "shared")
    failed = False
    for document in options.documents:
        problems, counts, missing = runner.run(document, options.update)
        name = pathlib.Path(document).stem
        for problem in problems:
            print(problem, end="\n\n")
        for source in sorted({str(pathlib.PurePath(*pathlib.PurePath(source).parts[:2])) for source in missing}):
            # As GoogleTest writes it, for scripts/skips.py.
            print(f"[ RUN      ] Docs.{name}\nprerequisite missing: data {source}\n[  SKIPPED ] Docs.{name} (0 ms)")
        print(f"docs: {pathlib.Path(document).name}: {counts['run']} commands run, {counts['compared']} outputs compared, "
              f"{counts['not run']} not run, {counts['skipped']} skipped for lack of data, {counts['named']} named in prose; "
              f"{len(problems)} problems")
        failed = failed or bool(problems)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
