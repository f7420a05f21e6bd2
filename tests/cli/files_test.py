#!/usr/bin/env python3
"""Files that commands of weft write: what they refuse to overwrite, and what an interruption leaves behind.
files_test.py EXECUTABLE [PATTERN...]
"""

import os
import pathlib
import pty
import select
import signal
import stat
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests/api"))

import lab  # noqa: E402  pylint: disable=wrong-import-position
from lab import run_tests  # noqa: E402  pylint: disable=wrong-import-position


class Folder(unittest.TestCase):
    """A test in a temporary folder of its own."""

    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="weft_files_")
        self.folder = pathlib.Path(self.temporary.name)

    def tearDown(self):
        self.temporary.cleanup()

    def weft(self, *words, code=0, text=None):
        done = subprocess.run([lab.EXECUTABLE, *words], cwd=self.folder, input=text, stdin=None if text else subprocess.DEVNULL,
                              capture_output=True, encoding="utf-8", check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def names(self):
        return sorted(entry.name for entry in self.folder.iterdir())


class Overwrite(Folder):
    def test_UnchangedDesignIsReplaced(self):
        self.weft("design", "--gpus", "64", "-f", "c.yaml")
        self.weft("design", "--gpus", "128", "-f", "c.yaml")
        self.assertIn("128 H100", (self.folder / "c.yaml").read_text(encoding="utf-8"))

    def test_EditedDesignIsRefused(self):
        file = self.folder / "c.yaml"
        self.weft("design", "--gpus", "64", "-f", "c.yaml")
        made = file.read_text(encoding="utf-8")
        checksum = made.splitlines()[-1]
        edits = [made.replace("name: cluster", "name: mine"), made + "# a note\n", made.replace(checksum, "# mine"),
                 "weft: 1\nname: other\n", made.replace("count: 8", "count:  8"), "\n"]
        for edited in edits:
            self.assertNotEqual(edited, made)
            file.write_text(edited, encoding="utf-8")
            error = self.weft("design", "--gpus", "128", "-f", "c.yaml", code=4).stderr
            self.assertIn("--force", error)
            self.assertIn("weft diff", error)
            self.assertEqual(file.read_text(encoding="utf-8"), edited)
        self.weft("design", "--gpus", "128", "-f", "c.yaml", "--force")
        self.assertIn("128 H100", file.read_text(encoding="utf-8"))

    def test_EmptyFileAndOtherLineEndsAreReplaced(self):
        file = self.folder / "c.yaml"
        file.write_text("", encoding="utf-8")
        self.weft("design", "--gpus", "64", "-f", "c.yaml")
        file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
        self.weft("design", "--gpus", "128", "-f", "c.yaml")

    def test_ResultsAreReplaced(self):
        self.weft("design", "--gpus", "64", "-f", "c.yaml")
        for _ in range(2):
            self.weft("show", "cables", "c.yaml", "-o", "csv", "-f", "cables.csv")
            (self.folder / "cables.csv").write_text("mine", encoding="utf-8")
        self.weft("show", "cables", "c.yaml", "-o", "csv", "-f", "cables.csv")
        self.assertNotEqual((self.folder / "cables.csv").read_text(encoding="utf-8"), "mine")

    def test_ResultNeverReplacesItsInput(self):
        self.weft("design", "--gpus", "64", "-f", "c.yaml")
        made = (self.folder / "c.yaml").read_bytes()
        os.symlink("c.yaml", self.folder / "link.yaml")
        for target in ["c.yaml", "./c.yaml", "link.yaml"]:
            error = self.weft("show", "cables", "c.yaml", "-o", "csv", "-f", target, code=4).stderr
            self.assertIn("is also read", error)
            self.assertEqual((self.folder / "c.yaml").read_bytes(), made)

    def test_ModeIsKept(self):
        file = self.folder / "c.yaml"
        self.weft("design", "--gpus", "64", "-f", "c.yaml")
        for mode in [0o600, 0o640, 0o664]:
            file.chmod(mode)
            self.weft("design", "--gpus", "64", "-f", "c.yaml")
            self.assertEqual(stat.S_IMODE(file.stat().st_mode), mode)


class Init(Folder):
    def test_Defaults(self):
        out = self.weft("init", "--yes").stdout
        self.assertEqual(self.names(), ["weft.yaml"])
        for line in ["weft show weft.yaml", "weft check weft.yaml", "weft render weft.yaml"]:
            self.assertIn(line, out)
        self.weft("show", "weft.yaml")
        self.assertNotIn("error", self.weft("check", "weft.yaml", code=1).stdout)  # advice at most
        self.weft("init", "--yes", code=4)
        # The same generator as `weft design`.
        made = self.weft("design", "--gpus", "64").stdout
        self.assertEqual((self.folder / "weft.yaml").read_text(encoding="utf-8"), made)

    def test_OptionsAnswer(self):
        self.weft("init", "--gpus", "128", "--gpu", "b200-sxm", "--network", "infiniband", "--data", "best",
                  "--scheduler", "slurm", "-f", "a.yaml")
        made = (self.folder / "a.yaml").read_text(encoding="utf-8")
        for part in ["128", "network: infiniband", "kind: slurm", "data: best"]:
            self.assertIn(part, made)

    def test_WithoutTerminal(self):
        error = self.weft("init", "--gpus", "64", code=2).stderr
        self.assertIn("--yes", error)
        for words in [["--gpus", "0"], ["--gpus", "many"], ["--gpu", "h1000"], ["--network", "token-ring"],
                      ["--scheduler", "cron"], ["--data", "fast"]]:
            self.weft("init", "--yes", *words, code=2)
        self.assertEqual(self.names(), [])

    def talk(self, answers, words=()):
        """Runs `weft init` on a terminal; each answer is typed when a question waits for it (it ends with ": ").
        Returns what was shown and the exit status as waitpid() has it."""
        child, terminal = pty.fork()
        if child == 0:
            os.chdir(self.folder)
            os.execv(lab.EXECUTABLE, [lab.EXECUTABLE, "init", *words])
        shown = b""
        waiting = list(answers)
        asked = 0
        while True:
            ready, _, _ = select.select([terminal], [], [], 60)
            if not ready:
                os.kill(child, signal.SIGKILL)
                break
            try:
                more = os.read(terminal, 4096)
            except OSError:
                more = b""
            if not more:
                break
            shown += more
            if shown.endswith(b"]: ") and shown.count(b"]: ") > asked and waiting:
                asked = shown.count(b"]: ")
                os.write(terminal, waiting.pop(0))
        _, status = os.waitpid(child, 0)
        os.close(terminal)
        return shown.decode(), status

    def test_QuestionsOnATerminal(self):
        shown, status = self.talk([b"h10-sxm\n", b"?\n", b"h200-sxm\n", b"none\n", b"0\n", b"256\n", b"ethernett\n",
                                   b"\n", b"fast\n", b"good\n", b"both\n"])
        self.assertEqual(status, 0, shown)
        self.assertIn("did you mean `h100-sxm`?", shown)
        self.assertIn("b200-sxm", shown)  # of the list
        self.assertIn("`none` is not an integer", shown)
        self.assertIn("did you mean `ethernet`?", shown)
        self.assertIn("`fast` is not one of good, better or best", shown)
        made = (self.folder / "weft.yaml").read_text(encoding="utf-8")
        for part in ["256 H200", "network: ethernet", "data: good", "kind: both"]:
            self.assertIn(part, made)
        self.weft("show", "weft.yaml")

    def test_AnInterruptionLeavesNothing(self):
        for answers in [[b"\x04"], [b"\n", b"\n", b"\x04"], [b"\x03"], [b"\n", b"\n", b"\n", b"\n", b"\x03"]]:
            shown, status = self.talk(answers)
            self.assertNotEqual(status, 0, shown)
            self.assertEqual(self.names(), [])

    def test_RefusesBeforeItAsks(self):
        (self.folder / "weft.yaml").write_text("mine", encoding="utf-8")
        shown, status = self.talk([])
        self.assertEqual(os.waitstatus_to_exitcode(status), 4)
        self.assertNotIn("]: ", shown)
        self.assertEqual((self.folder / "weft.yaml").read_text(encoding="utf-8"), "mine")


class Interrupted(Folder):
    def tree(self, folder):
        return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}

    def interrupt(self, out, count, sent):
        """Renders, and sends a signal once the temporary folder has `count` files (or the run has ended). Returns the
        exit code."""
        with subprocess.Popen([lab.EXECUTABLE, "render", "c.yaml", "-q", "-o", out], cwd=self.folder,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as render:
            while render.poll() is None:
                files = 0
                for folder, _, names in os.walk(self.folder):
                    if ".weft-" in folder:
                        files += len(names) + 1
                if files >= count:
                    render.send_signal(sent)
                    break
            return render.wait()

    def test_RenderLeavesNothingBehind(self):
        self.weft("design", "--gpus", "256", "-f", "c.yaml")
        for count in [1, 2, 20, 200]:
            for sent in [signal.SIGINT, signal.SIGTERM]:
                code = self.interrupt("a/b/out", count, sent)
                if code == 0:  # it was faster than this test: then it is all there
                    self.assertTrue((self.folder / "a/b/out/manifest.json").exists())
                    subprocess.run(["rm", "-r", "a"], cwd=self.folder, check=True)
                else:
                    self.assertEqual(code, -sent)
                self.assertEqual(self.names(), ["c.yaml"])

    def test_RenderKeepsTheOldTree(self):
        self.weft("design", "--gpus", "128", "-f", "c.yaml")
        self.weft("render", "c.yaml", "-o", "out")
        before = self.tree(self.folder / "out")
        self.weft("design", "--gpus", "256", "-f", "c.yaml")
        self.weft("render", "c.yaml", "-o", "new")
        after = self.tree(self.folder / "new")
        for count in [1, 50, 400]:
            code = self.interrupt("out", count, signal.SIGINT)
            now = self.tree(self.folder / "out")
            self.assertIn(code, [0, -signal.SIGINT])
            self.assertTrue(now in (before, after))
            if now == before:
                self.assertEqual(code, -signal.SIGINT)
            self.assertEqual(self.names(), ["c.yaml", "new", "out"])


class LargeYaml(Folder):
    """Files of 50 MB: below 3 s, or refused by their size."""

    SIZE = 50_000_000

    def shapes(self):
        yield "wide", "weft: 1\n" + "".join(f"k{i}: 1\n" for i in range(self.SIZE // 12))
        yield "deep", "weft: 1\npools: [" + ",".join(["[" * 60 + "]" * 60] * (self.SIZE // 121)) + "]\n"
        yield "line", "weft: 1\nname: [" + "a, " * (self.SIZE // 3) + "]\n"
        yield "scalar", "weft: 1\nname: " + "a" * self.SIZE + "\n"

    def test_IsRefusedByItsSize(self):
        file = self.folder / "large.yaml"
        (self.folder / "c.yaml").write_text(lab.CLUSTER, encoding="utf-8")
        for shape, text in self.shapes():
            file.write_text(text, encoding="utf-8")
            for words in [["show", "large.yaml"], ["fmt", "large.yaml"], ["render", "c.yaml", "-o", "o", "--job", "large.yaml"],
                          ["sim", "life", "c.yaml", "large.yaml"], ["show", "c.yaml", "--catalog", "large.yaml"],
                          ["show", "bom", "c.yaml", "--prices", "large.yaml"], ["job", "submit", "large.yaml"],
                          ["pipeline", "check", "large.yaml"],
                          ["oob", "status", "c.yaml", "--endpoints", "large.yaml"]]:
                with self.subTest(shape=shape, words=words):
                    done = subprocess.run([lab.EXECUTABLE, *words], cwd=self.folder, stdin=subprocess.DEVNULL,
                                          capture_output=True, encoding="utf-8", check=False)
                    self.assertIn(done.returncode, [2, 5], done.stderr)
                    self.assertIn("is larger than", done.stderr)
            if shape != "wide":
                continue
            self.assertIn("is larger than 16 MiB", self.weft("show", "-", code=2, text=text).stderr)


if __name__ == "__main__":
    run_tests()
