#!/usr/bin/env python3
"""tests/reference_test.py WEFT: tests of scripts/reference.py, on a copy of the pages that it generates.

The pages of the repository must be current (`reference.py --check` passes); a changed or missing line must be reported.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
WEFT = ""

# Prints the help of the executable with one more command.
EXTENDED = """#!/bin/sh
if [ "$*" = help ]; then
  "{weft}" help | sed 's/^  version .*/&\\n  brew            Make coffee/'
else
  exec "{weft}" "$@"
fi
"""


class Reference(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.root = pathlib.Path(temporary.name)
        (self.root / "scripts").mkdir()
        shutil.copy(ROOT / "scripts" / "reference.py", self.root / "scripts")
        shutil.copy(ROOT / "README.md", self.root)
        shutil.copytree(ROOT / "docs" / "reference", self.root / "docs" / "reference")

    def run_script(self, *arguments, weft=None):
        command = [sys.executable, str(self.root / "scripts" / "reference.py"), *arguments, weft or WEFT]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def edit_readme(self, old, new):
        path = self.root / "README.md"
        text = path.read_text(encoding="utf-8")
        self.assertIn(old, text)
        path.write_text(text.replace(old, new), encoding="utf-8")

    def test_pages_of_the_repository_are_current(self):
        done = self.run_script("--check")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_stale_readme_fails_and_is_repaired(self):
        before = (self.root / "README.md").read_bytes()
        self.edit_readme("[`weft sim life`]", "[`weft sim lives`]")
        done = self.run_script("--check")
        self.assertEqual(done.returncode, 1)
        self.assertIn("README.md is out of date", done.stderr)
        self.assertEqual(self.run_script().returncode, 0)
        self.assertEqual((self.root / "README.md").read_bytes(), before)

    def test_stale_page_fails(self):
        (self.root / "docs" / "reference" / "commands.md").write_text("old\n", encoding="utf-8")
        done = self.run_script("--check")
        self.assertEqual(done.returncode, 1)
        self.assertIn("docs/reference/commands.md is out of date", done.stderr)

    def test_readme_without_markers_fails(self):
        self.edit_readme("<!-- end of commands -->\n", "")
        done = self.run_script("--check")
        self.assertEqual(done.returncode, 1)
        self.assertIn("must have these two lines once", done.stderr)

    def test_listed_command_without_a_page_fails(self):
        script = self.root / "weft"
        script.write_text(EXTENDED.format(weft=WEFT), encoding="utf-8")
        script.chmod(0o755)
        done = self.run_script("--check", weft=str(script))
        self.assertEqual(done.returncode, 1)
        self.assertIn("no command or topic is named `brew`", done.stderr)


if __name__ == "__main__":
    WEFT = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
