"""Results fit the terminal: every command that prints tables, at 80 and 120 columns and on a pipe.

    width_test.py PATH/TO/weft [PATTERN]     run the tests
    width_test.py PATH/TO/weft --table       print the widest line of every command, before (any width) and after

The width of a line is computed here, by Unicode's own tables, not by weft.
"""

import os
import pathlib
import pty
import re
import select
import subprocess
import sys
import tempfile
import unicodedata
import unittest

WEFT = os.path.abspath(sys.argv[1])
ESCAPE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
FOLDER = tempfile.TemporaryDirectory(prefix="weft_width_")
HERE = pathlib.Path(FOLDER.name)
# `weft check` is not here: its findings are lines as compilers print them, which the terminal wraps.
COMMANDS = [
    "show", "checklist", "failures", "trace recovery --to train001", "trace reach", "trace class", "rules",
    "explain RE007", "sim models", "sim collective --max-bytes 4MB", "sim nccl",
    "catalog list", "catalog list switches", "catalog list gpus", "catalog show h100-sxm",
    "context list", "help environment", "help formats", "help exit-codes", "diff out", "version",
]


def environment(**more):
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LD_LIBRARY_PATH", "ASAN_OPTIONS") if name in os.environ}
    return {**kept, "WEFT_CLUSTER": str(HERE / "cluster.yaml"), "WEFT_CONFIG": str(HERE / "none.yaml"),
            "WEFT_STATE": str(HERE / "state"), "LC_ALL": "C.UTF-8", **more}


def run(line, **variables):
    done = subprocess.run([WEFT, *line.split()], capture_output=True, text=True, cwd=HERE, check=False,
                          env=environment(**variables), stdin=subprocess.DEVNULL)
    return done


def columns(line):
    line = ESCAPE.sub("", line)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


def widest(text):
    return max(text.splitlines(), key=columns, default="")


def all_commands():
    help_text = run("show --help").stdout
    views = re.findall(r"^  ([a-z-]+) +\S", help_text.split("VIEW:")[1].split("\n\n")[0], re.MULTILINE)
    pictures = [view for view in views if view.startswith("svg") or view in ("effective", "page")]
    return COMMANDS + [f"show {view}" for view in views if view not in pictures]


def setUpModule():
    made = run("design --gpus 256 --gpu h100-sxm -f cluster.yaml")
    assert made.returncode == 0, made.stderr
    assert run("render cluster.yaml -o out").returncode == 0


class WidthTest(unittest.TestCase):
    def check(self, line, width):
        done = run(line, COLUMNS=str(width))
        self.assertIn(done.returncode, (0, 1), f"{line}: {done.stderr}")
        self.assertTrue(done.stdout, line)
        found = widest(done.stdout)
        self.assertLessEqual(columns(found), width, f"weft {line}:\n{found}")

    def test_fits_80_columns(self):
        for line in all_commands():
            with self.subTest(line):
                self.check(line, 80)

    def test_fits_120_columns(self):
        for line in all_commands():
            with self.subTest(line):
                self.check(line, 120)

    def test_nothing_is_cut_on_a_pipe_or_in_wide_and_machine_formats(self):
        for line in ("show cables", "show switches", "failures"):
            free = run(line).stdout
            self.assertGreater(columns(widest(free)), 80, line)
            self.assertNotIn("Not shown in this width", free)
            for form in ("wide", "json", "csv"):
                self.assertEqual(run(f"{line} -o {form}").stdout, run(f"{line} -o {form}", COLUMNS="60").stdout)

    def test_left_out_columns_are_named(self):
        text = run("show cables", COLUMNS="60").stdout
        self.assertIn("Not shown in this width: ", text)
        self.assertIn("`-o wide` shows all", " ".join(text.split()))
        for name in re.search(r"Not shown in this width: ([^;]*);", " ".join(text.split())).group(1).split(", "):
            self.assertIn(name, run("show cables -o wide").stdout.splitlines()[1])

    def test_odd_widths_are_no_error(self):
        free = run("show racks").stdout
        for width in ("", "0", "abc", "-5", "99999999999999999999"):
            done = run("show racks", COLUMNS=width)
            self.assertEqual((done.returncode, done.stdout), (0, free), width)
        self.assertEqual(run("show racks", COLUMNS="1").returncode, 0)

    def test_a_file_is_never_fitted(self):
        run("show cables -f a.txt", COLUMNS="60")
        run("show cables -f b.txt")
        self.assertEqual((HERE / "a.txt").read_text(), (HERE / "b.txt").read_text())


class Terminal:
    """A pseudoterminal of some size with weft on it."""

    def __init__(self, line, rows, width, **variables):
        self.master, slave = pty.openpty()
        size = subprocess.run(["stty", "rows", str(rows), "cols", str(width)], stdin=slave, check=False)
        assert size.returncode == 0
        self.process = subprocess.Popen([WEFT, *line.split()], stdin=slave, stdout=slave, stderr=slave, cwd=HERE,
                                        env=environment(TERM="xterm", **variables), start_new_session=True)
        os.close(slave)

    def output(self):
        chunks = []
        while True:
            ready, _, _ = select.select([self.master], [], [], 60)
            assert ready, "no output in a minute"
            try:
                chunk = os.read(self.master, 65536)
            except OSError:
                break
            if not chunk:
                break
            chunks.append(chunk)
        self.process.wait()
        os.close(self.master)
        return b"".join(chunks).decode().replace("\r\n", "\n")


class PagerTest(unittest.TestCase):
    def test_tables_fit_the_terminal_itself(self):
        text = Terminal("show switches", 100, 72, WEFT_PAGER="cat").output()
        self.assertLessEqual(columns(widest(text)), 72)

    def test_long_results_go_through_the_pager_with_the_options_of_git(self):
        pager = f"tee {HERE}/paged >/dev/null; echo options $LESS"
        terminal = Terminal("show cables", 24, 80, WEFT_PAGER=pager)
        self.assertEqual(ESCAPE.sub("", terminal.output()).strip(), "options FRX")
        self.assertEqual(terminal.process.returncode, 0)
        self.assertEqual(ESCAPE.sub("", (HERE / "paged").read_text()), run("show cables", COLUMNS="80").stdout)

    def test_a_pager_that_is_left_early_is_no_error(self):
        terminal = Terminal("show cables", 24, 80, WEFT_PAGER="head -1")
        self.assertEqual(len(terminal.output().splitlines()), 1)
        self.assertEqual(terminal.process.returncode, 0)

    def test_without_the_pager_the_result_is_printed(self):
        whole = run("show cables", COLUMNS="80").stdout
        for options, pager in (("", "no-such-pager-of-weft"), ("--no-pager", "false")):
            text = Terminal(f"show cables {options}", 24, 80, WEFT_PAGER=pager).output()
            self.assertIn(whole.strip(), ESCAPE.sub("", text))

    def test_findings_keep_their_exit_code_behind_the_pager(self):
        expected = run("checklist").returncode
        terminal = Terminal("checklist", 10, 80, WEFT_PAGER="head -1")
        terminal.output()
        self.assertEqual(terminal.process.returncode, expected)


def print_table():
    setUpModule()
    print(f"{'command':40} {'any':>6} {'80':>4} {'120':>4}")
    for line in all_commands():
        widths = [columns(widest(run(line, **kind).stdout)) for kind in ({}, {"COLUMNS": "80"}, {"COLUMNS": "120"})]
        print(f"{line:40} {widths[0]:6} {widths[1]:4} {widths[2]:4}")


if __name__ == "__main__":
    if sys.argv[2:] == ["--table"]:
        print_table()
    else:
        patterns = [word for pattern in sys.argv[2:] for word in ("-k", pattern)]
        unittest.main(argv=sys.argv[:1] + patterns)
