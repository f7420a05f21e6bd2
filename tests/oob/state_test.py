#!/usr/bin/env python3
"""The state folder of `weft oob`: one that cannot be written or that others may write, a journal that was cut, core
dumps, and progress.
state_test.py EXECUTABLE [PATTERN...]
"""

import json
import os
import pathlib
import pty
import shutil
import stat
import subprocess
import threading
import unittest

from small_bmc import SYSTEM, Bmcs, lab
from redfish_dump_server import DumpServer

needs, needs_program, run_tests = lab.needs, lab.needs_program, lab.run_tests
ANYONE = 65534  # a user without rights


class SlowServer(DumpServer):
    """Answers reads of the system only after `seconds`, and holds them until `gate` is set, if there is one."""

    gate = None

    def __init__(self, *arguments, gate=None, **options):
        self.gate = gate
        super().__init__(*arguments, **options)
        handler = self.RequestHandlerClass

        class Handler(handler):
            def do_GET(self):
                if self._place() == SYSTEM and self.server.gate is not None:
                    self.server.gate.wait(60)
                super().do_GET()

        self.RequestHandlerClass = Handler


class StateCase(unittest.TestCase):
    def setUp(self):
        needs_program("openssl")

    def use(self, *arguments, **options):
        bmcs = Bmcs(*arguments, **options)
        self.addCleanup(bmcs.close)
        bmcs.write_files(defaults=f"ca: {bmcs.certificate}")
        return bmcs

    def everything_is_read_and_nothing_changed(self, bmcs, why, **more):
        """Reads work, with a warning; a change is refused before any request."""
        _, err = bmcs.run("status", **more)
        self.assertRegex(err, f"not journaled: .*{why}")
        bmcs.run("inventory", "--probe", **more)
        bmcs.run("power off", "box001", "--dry-run", **more)
        for server in bmcs.servers:
            server.clear()
        _, err = bmcs.run("power off", "box001", "--yes", "--reason", "test", code=4, **more)
        self.assertRegex(err, f"{why}(.|\n)*nothing was sent")
        self.assertIn("--state DIR or WEFT_STATE", err)
        self.assertEqual([list(server.requests) for server in bmcs.servers], [[]])


class OobState(StateCase):
    def test_read_only_folder(self):
        """As a user without rights, since root may write anywhere."""
        needs(os.geteuid() == 0, "root")
        bmcs = self.use()
        bmcs.run("status")  # makes the folder
        os.chmod(bmcs.folder, 0o755)
        for path in (bmcs.state, *bmcs.state.iterdir()):
            os.chmod(path, 0o555 if path.is_dir() else 0o444)
        credentials = bmcs.folder / "credentials.yaml"
        os.chown(credentials, ANYONE, ANYONE)
        self.everything_is_read_and_nothing_changed(bmcs, "Permission denied", user=ANYONE, group=ANYONE,
                                                    extra_groups=[])

    def test_folder_without_permission(self):
        needs(os.geteuid() == 0, "root")
        bmcs = self.use()
        bmcs.run("status")
        os.chmod(bmcs.folder, 0o755)
        os.chmod(bmcs.state, 0o700)
        os.chown(bmcs.folder / "credentials.yaml", ANYONE, ANYONE)
        self.everything_is_read_and_nothing_changed(bmcs, "Permission denied", user=ANYONE, group=ANYONE,
                                                    extra_groups=[])

    def test_folder_that_cannot_be_made(self):
        needs(os.geteuid() == 0, "root")
        bmcs = self.use()
        os.chmod(bmcs.folder, 0o755)
        os.chown(bmcs.folder / "credentials.yaml", ANYONE, ANYONE)
        self.everything_is_read_and_nothing_changed(bmcs, "Permission denied", user=ANYONE, group=ANYONE,
                                                    extra_groups=[])

    def test_full_file_system(self):
        needs(os.geteuid() == 0, "root")
        bmcs = self.use()
        bmcs.state.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k,mode=0700", "tmpfs", str(bmcs.state)],
                                 capture_output=True, check=False)
        needs(mounted.returncode == 0, "mounts")
        self.addCleanup(subprocess.run, ["umount", str(bmcs.state)], check=True)
        with open(bmcs.state / "filler", "wb") as filler:
            try:
                while filler.write(b"x" * 4096):
                    filler.flush()
            except OSError:
                pass
            try:
                filler.close()
            except OSError:
                pass
        self.everything_is_read_and_nothing_changed(bmcs, "No space left")

    def test_open_operations_are_listed_from_a_folder_that_is_read_only(self):
        bmcs = self.use()
        line = [lab.EXECUTABLE, "oob", "power", "--open", "--state", str(bmcs.folder / "nowhere")]
        subprocess.run(line, env=bmcs.variables(), check=True, capture_output=True)
        self.assertFalse((bmcs.folder / "nowhere").exists())

    def test_folder_that_others_may_write_is_refused(self):
        bmcs = self.use()
        bmcs.run("status")
        for mode in (0o770, 0o707):
            os.chmod(bmcs.state, mode)
            _, err = bmcs.run("status", code=4)
            self.assertIn(f"chmod go-w {bmcs.state}", err)
        os.chmod(bmcs.state, 0o700)
        os.chmod(bmcs.folder, 0o777)
        _, err = bmcs.run("status", code=4)
        self.assertIn(f"chmod go-w {bmcs.folder}", err)
        os.chmod(bmcs.folder, 0o1777)  # as /tmp
        bmcs.run("status")

    def test_credentials_in_a_folder_that_others_may_write_are_refused(self):
        bmcs = self.use()
        folder = bmcs.folder / "shared"
        folder.mkdir()
        shutil.copy2(bmcs.folder / "credentials.yaml", folder)
        os.chmod(folder, 0o775)
        _, err = bmcs.run("status", "--credentials", f"file:{folder}/credentials.yaml", code=4, credentials=False)
        self.assertIn(f"chmod go-w {folder}", err)

    def test_folder_of_another_user_is_refused(self):
        needs(os.geteuid() == 0, "root")
        bmcs = self.use()
        bmcs.run("status")
        os.chown(bmcs.state, ANYONE, ANYONE)
        _, err = bmcs.run("status", code=4)
        self.assertIn("belongs to", err)
        self.assertIn(f"chown {bmcs.state}", err)

    def test_no_core_dumps(self):
        """While it waits for a BMC: the limit is zero, and /proc belongs to root, as for what cannot be dumped."""
        gate = threading.Event()
        bmcs = self.use(server=SlowServer, gate=gate)
        self.addCleanup(gate.set)
        line = bmcs.line("status", str(bmcs.folder / "cluster.yaml"), "@box")
        options = {}
        if os.geteuid() == 0:
            os.chmod(bmcs.folder, 0o755)
            os.chown(bmcs.folder / "credentials.yaml", ANYONE, ANYONE)
            options = {"user": ANYONE, "group": ANYONE, "extra_groups": []}
        with subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=bmcs.variables(),
                              **options) as run:
            while not bmcs.servers[0].received("POST"):
                self.assertIsNone(run.poll())
            limits = pathlib.Path(f"/proc/{run.pid}/limits").read_text(encoding="ascii")
            self.assertRegex(limits, r"Max core file size +0 ")
            self.assertEqual(os.stat(f"/proc/{run.pid}/environ").st_uid, 0)
            gate.set()
            self.assertEqual(run.wait(60), 0)


class OobJournalAnchor(StateCase):
    def note(self, bmcs, times):
        """Entries in the journal: refusals of an action."""
        for _ in range(times):
            bmcs.run("users", "box001", "--disable", "nobody", code=4)

    def verify(self, bmcs, code=0):
        line = [lab.EXECUTABLE, "oob", "journal", "--verify", "--state", str(bmcs.state), "-o", "json"]
        done = subprocess.run(line, env=bmcs.variables(), capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return json.loads(done.stdout)

    def test_journal_cut_at_the_end_of_a_line_is_found(self):
        bmcs = self.use()
        self.note(bmcs, 4)
        self.assertIn("entry 4", self.verify(bmcs)["verdict"]["anchor"])
        path = bmcs.state / "journal.ndjson"
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        path.write_text("".join(lines[:2]), encoding="utf-8")
        verdict = self.verify(bmcs, code=1)
        self.assertEqual(verdict["verdict"]["entries"], 2)
        self.assertRegex(verdict["problems"][0]["problem"], "entry 4 .* is missing")
        # Nothing is added to it, so that the evidence stays; reads go on.
        _, err = bmcs.run("users", "box001", "--disable", "nobody", "--yes", "--reason", "x", code=4)
        self.assertIn("entries were removed", err)
        _, err = bmcs.run("status")
        self.assertIn("entries were removed", err)
        self.assertEqual(path.read_text(encoding="utf-8"), "".join(lines[:2]))
        path.unlink()
        self.assertIn("is missing", self.verify(bmcs, code=1)["problems"][0]["problem"])
        path.write_text("".join(lines), encoding="utf-8")
        self.verify(bmcs)

    def test_anchor_may_lag_and_may_be_torn(self):
        bmcs = self.use()
        anchor = pathlib.Path(f"{bmcs.state}.anchor")
        self.note(bmcs, 2)
        self.assertEqual(stat.S_IMODE(anchor.stat().st_mode), 0o600)
        before = anchor.read_bytes()
        self.note(bmcs, 1)
        after = anchor.read_bytes()
        anchor.write_bytes(before)  # killed before the anchor was written
        self.assertIn("entry 2", self.verify(bmcs)["verdict"]["anchor"])
        changed = [i for i, (one, other) in enumerate(zip(before, after)) if one != other]
        for cut in range(changed[0], changed[-1] + 2, 5):  # killed in the middle of it
            anchor.write_bytes(after[:cut] + before[cut:])
            self.verify(bmcs)
        self.note(bmcs, 1)
        self.assertIn("entry 4", self.verify(bmcs)["verdict"]["anchor"])

    def test_killed_commands_raise_no_alarm(self):
        """The commands are killed at any moment; the journal stays intact and is never behind its anchor."""
        bmcs = self.use()
        line = bmcs.line("users", str(bmcs.folder / "cluster.yaml"), "box001", "--disable", "nobody")
        self.note(bmcs, 1)
        for i in range(24):
            with subprocess.Popen(line, env=bmcs.variables(), stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL) as run:
                journal, anchor = bmcs.state / "journal.ndjson", pathlib.Path(f"{bmcs.state}.anchor")
                size, known = journal.stat().st_size, anchor.read_bytes()
                while run.poll() is None:  # at the moment when one of the two has changed
                    if (journal.stat().st_size != size) if i % 2 else (anchor.read_bytes() != known):
                        break
                run.kill()
            self.assertEqual(self.verify(bmcs)["verdict"]["holds"], True)
        self.note(bmcs, 1)

    def test_without_a_place_for_the_anchor_the_journal_is_written(self):
        bmcs = self.use()
        env = {"WEFT_ANCHOR": str(bmcs.folder / "missing" / "anchor")}
        bmcs.run("users", "box001", "--disable", "nobody", code=4, env=env)
        self.assertEqual(len(bmcs.journal()), 1)
        other = {"WEFT_ANCHOR": str(bmcs.folder / "elsewhere")}
        bmcs.run("users", "box001", "--disable", "nobody", code=4, env=other)
        self.assertTrue((bmcs.folder / "elsewhere").exists())


class OobProgress(StateCase):
    def run_slowly(self, *words, terminal):
        """Standard error of a status that waits for a BMC until something is printed, or for three seconds."""
        gate = threading.Event()
        bmcs = self.use(server=SlowServer, gate=gate)
        self.addCleanup(gate.set)
        line = bmcs.line("sensors" if not words else words[0], str(bmcs.folder / "cluster.yaml"), "@box", *words[1:])
        ours, theirs = pty.openpty() if terminal else os.pipe()
        with subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=theirs, env=bmcs.variables()) as run:
            os.close(theirs)
            timer = threading.Timer(3, gate.set) if not terminal else None
            if timer:
                timer.start()
            seen = b""
            while True:
                try:
                    data = os.read(ours, 4096)
                except OSError:  # the end of a terminal
                    break
                if not data:
                    break
                seen += data
                if terminal:
                    gate.set()
            run.wait(60)
        os.close(ours)
        return seen.decode()

    def test_shown_on_a_terminal_and_cleared(self):
        seen = self.run_slowly("status", terminal=True)
        self.assertRegex(seen, r"^\rqueried 0 of 1")
        self.assertTrue(seen.endswith("\r"), seen)
        seen = self.run_slowly("inventory", "--probe", terminal=True)
        self.assertRegex(seen, r"^\r0 of 1 device")

    def test_silent_on_a_pipe_unless_verbose(self):
        self.assertEqual(self.run_slowly("status", terminal=False), "")
        self.assertIn("queried 0 of 1", self.run_slowly("status", "--verbose", terminal=False))


if __name__ == "__main__":
    run_tests()
