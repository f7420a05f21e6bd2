#!/usr/bin/env python3
"""Tests of scripts/skips.py and of the list that it reads, tests/permitted_skips.txt."""

import contextlib
import fnmatch
import io
import os
import pathlib
import re
import sys
import tempfile
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.dont_write_bytecode = True  # the source tree stays as it is
sys.path.insert(0, str(ROOT / "scripts"))
import skips  # noqa: E402  (the path above comes first)

# As ctest and GoogleTest 1.12 write them: a process with several tests, one with a single test, a script.
LOG = """Start testing: Nov 16 16:00 UTC
----------------------------------------------------------
1/3 Testing: page_test.0
1/3 Test: page_test.0
Command: "build/page_test"
Output:
----------------------------------------------------------
[==========] Running 3 tests from 2 test suites.
[----------] 2 tests from Page
[ RUN      ] Page.Draws
tests/page_test.cc:33: Skipped
prerequisite missing: program no-such-browser

[  SKIPPED ] Page.Draws (0 ms)
[ RUN      ] Page.Fine
[       OK ] Page.Fine (3 ms)
[----------] 1 test from Seeds/Wire
[ RUN      ] Seeds/Wire.Works/1
no newline at the end[       OK ] Seeds/Wire.Works/1 (2 ms)
[==========] 3 tests from 2 test suites ran. (5 ms total)
[  PASSED  ] 2 tests.
[  SKIPPED ] 1 test, listed below:
[  SKIPPED ] Page.Draws
<end of output>
2/3 Test: e2e.Seeds/Wire.Works/2
Output:
----------------------------------------------------------
[ RUN      ] Seeds/Wire.Works/2
tests/wire_test.cc:9: Skipped
prerequisite missing: quantum entanglement

[  SKIPPED ] Seeds/Wire.Works/2 (0 ms)
<end of output>
3/3 Test: layers
Output:
----------------------------------------------------------
layers: 900 files in 30 modules, 0 problems
<end of output>
"""
LIST = """# browsers
Page.*              program no-such-browser
*/Wire.Works/*      quantum entanglement  # containers
"""


def run(log, permitted):
    """Exit status and output of the script."""
    with tempfile.TemporaryDirectory() as folder:
        log_path, list_path = pathlib.Path(folder, "LastTest.log"), pathlib.Path(folder, "list.txt")
        if log is not None:
            log_path.write_text(log, encoding="utf-8")
        list_path.write_text(permitted, encoding="utf-8")
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            code = skips.main(["--list", str(list_path), str(log_path)])
    return code, out.getvalue()


class Script(unittest.TestCase):
    def test_counts_and_names_permitted_skips(self):
        code, out = run(LOG, LIST)
        self.assertEqual(code, 0, out)
        self.assertEqual(out.splitlines(), [
            "    1  program no-such-browser  Page",
            "    1  quantum entanglement     Wire",
            "skips: 2 of 4 tests",
        ])

    def test_says_none(self):
        code, out = run("[ RUN      ] A.B\n[       OK ] A.B (0 ms)\n", "")
        self.assertEqual((code, out), (0, "skips: none of 1 tests\n"))

    def test_refuses_a_skip_that_is_not_listed(self):
        code, out = run(LOG, "Page.*  program no-such-browser\n")
        self.assertEqual(code, 1)
        self.assertIn("Seeds/Wire.Works/2: no skip of it is permitted", out)
        self.assertIn("skips: 2 of 4 tests, 1 problems", out)

    def test_refuses_another_prerequisite_than_the_listed_one(self):
        code, out = run(LOG, LIST.replace("quantum entanglement", "root"))
        self.assertEqual(code, 1)
        self.assertIn("skipped for `quantum entanglement`; permitted is `root`", out)

    def test_refuses_a_skip_without_the_fixed_message(self):
        code, out = run(LOG.replace("prerequisite missing: quantum entanglement", "too slow"), LIST)
        self.assertEqual(code, 1)
        self.assertIn("Seeds/Wire.Works/2: skipped without", out)

    def test_does_not_lend_one_test_the_message_of_another(self):
        log = LOG.replace("prerequisite missing: quantum entanglement\n", "")
        self.assertEqual(skips.read_log(log)[1], [("Page.Draws", "program no-such-browser"),
                                                  ("Seeds/Wire.Works/2", None)])

    def test_refuses_absent_empty_and_testless_logs(self):
        empty = "no tests in it"
        for log, message in ((None, "No such file"), ("", empty), ("layers: 0 problems\n", empty)):
            code, out = run(log, LIST)
            self.assertEqual(code, 1)
            self.assertIn(message, out)
            self.assertIn("skips: none of 0 tests", out)

    def test_refuses_a_skip_whose_prerequisite_is_here(self):
        for what in ("program sh", "program /bin/sh", "python json, sys"):
            code, out = run(LOG.replace("program no-such-browser", what), LIST.replace("program no-such-browser", what))
            self.assertEqual(code, 1, what)
            self.assertIn(f"Page.Draws: skipped for `{what}`, which is here", out)

    def test_looks_for_data_where_the_tests_do(self):
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.dict("os.environ", WEFT_TEST_DATA=folder):
            self.assertFalse(skips.is_present("data traces/openb"))
            pathlib.Path(folder, "traces", "openb").mkdir(parents=True)
            self.assertTrue(skips.is_present("data traces/openb"))

    def test_asks_the_probe_of_each_right(self):
        for what, probe in (("network namespaces", "can_make_networks"), ("UDP port 623", "can_listen"),
                            ("device files", "can_make_devices")):
            for answer in (True, False):
                with unittest.mock.patch.object(skips, probe, return_value=answer):
                    self.assertEqual(skips.is_present(what), answer, what)

    def test_knows_root(self):
        for user, expected in ((0, True), (1000, False)):
            with unittest.mock.patch("os.geteuid", return_value=user):
                self.assertEqual(skips.is_present("root"), expected)

    def test_probes_leave_nothing_behind(self):
        skips.is_present("network namespaces")
        self.assertFalse(list(pathlib.Path("/run/netns").glob(f"weft-skips{os.getpid()}*")))

    def test_refuses_a_list_without_prerequisites(self):
        code, out = run("[ RUN      ] A.B\n[       OK ] A.B (0 ms)\n", "A.B\n")
        self.assertEqual(code, 1)
        self.assertIn("line 1: A.B has no prerequisite", out)


TEST = re.compile(r"^(TEST|TEST_F|TEST_P|TYPED_TEST)\((\w+),\s*(\w+)\)", re.MULTILINE)


class Sources(unittest.TestCase):
    """The list and the sources agree."""

    @staticmethod
    def files():
        return [*ROOT.glob("src/**/*_test.cc"), *ROOT.glob("tests/*_test.cc")]

    def test_every_line_of_the_list_names_a_test(self):
        names = set()
        for path in self.files():
            for kind, suite, name in TEST.findall(path.read_text(encoding="utf-8")):
                names.add(f"Any/{suite}.{name}/0" if kind == "TEST_P" else f"{suite}.{name}")
        self.assertGreater(len(names), 1000)
        for path in ROOT.glob("tests/*/*_test.py"):  # run by unittest: tests/api/lab.py
            suite = ""
            for line in path.read_text(encoding="utf-8").splitlines():
                if line.startswith("class "):
                    suite = line.split()[1].split("(")[0].rstrip(":")
                elif line.startswith("    def test"):
                    names.add(f"{suite}.{line.split()[1].split('(')[0]}")
        names |= {f"Docs.{path.stem}" for path in ROOT.glob("docs/*.md")}  # tests/docs_commands.py
        assets = (ROOT / "tests" / "assets_test.py").read_text(encoding="utf-8")
        names |= {f"Assets.{name}" for name in re.findall(r'^    \("(\w+)", ', assets, re.MULTILINE)}
        permitted = skips.read_permitted((ROOT / "tests" / "permitted_skips.txt").read_text(encoding="utf-8"))
        self.assertGreater(len(permitted), 20)
        for pattern, _ in permitted:
            self.assertTrue(fnmatch.filter(names, pattern), pattern)

    def test_tests_skip_through_the_prerequisites_alone(self):
        raw = {path.relative_to(ROOT).as_posix() for path in self.files()
               if "GTEST_SKIP" in path.read_text(encoding="utf-8")}
        self.assertEqual(raw, set())


if __name__ == "__main__":
    unittest.main()
