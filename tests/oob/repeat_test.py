#!/usr/bin/env python3
"""`weft oob status --watch` and `weft oob sensors --watch`: printed again after a change, and only then.
repeat_test.py EXECUTABLE [PATTERN...]
"""

import queue
import signal
import subprocess
import threading
import unittest

from small_bmc import SYSTEM, Bmcs, small_tree
from lab import run_tests

LIMIT = 120  # seconds: for a machine that is busy with something else


class Watched:
    """A running command, and its lines as they come."""

    def __init__(self, bmcs, *words):
        self.process = subprocess.Popen(
            bmcs.line(*words[:1], str(bmcs.folder / "cluster.yaml"), "@box", *words[1:], "--watch", "--interval", "1s"),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=bmcs.variables())
        self.lines = queue.Queue()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line.rstrip())

    def until(self, wanted):
        """The lines up to one that has `wanted`."""
        seen = []
        while not seen or wanted not in seen[-1]:
            seen.append(self.lines.get(timeout=LIMIT))
        return seen

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(LIMIT)
        self.reader.join(LIMIT)
        self.process.stderr.close()
        self.process.stdout.close()
        return code


class Repeat(unittest.TestCase):
    def use(self):
        bmcs = Bmcs()
        self.addCleanup(bmcs.close)
        bmcs.trust("--yes")
        return bmcs

    def test_status_after_a_change(self):
        bmcs = self.use()
        watched = Watched(bmcs, "status")
        first = watched.until("box001")
        self.assertTrue(any(line.startswith("20") and line.endswith("Z") for line in first), first)
        reads = len(bmcs.servers[0].received("GET", SYSTEM))
        while len(bmcs.servers[0].received("GET", SYSTEM)) < reads + 2:  # two more rounds, with nothing new
            watched.reader.join(0.05)
        tree = small_tree()
        tree[SYSTEM]["PowerState"] = "Off"
        bmcs.servers[0].tree.changes[SYSTEM] = tree[SYSTEM]
        second = watched.until("box001")
        self.assertIn("off", second[-1])
        self.assertNotIn("Sweep", "\n".join(first + second), "durations are never the same twice")
        self.assertEqual(watched.stop(), 0)
        self.assertTrue(watched.lines.empty() or watched.lines.get() == "")

    def test_sensors(self):
        bmcs = self.use()
        watched = Watched(bmcs, "sensors")
        watched.until("Sensor")
        self.assertIn(watched.stop(), (0, 3))

    def test_only_tables(self):
        _, err = self.use().run("status", "--watch", "-o", "ndjson", code=2)
        self.assertIn("--watch prints tables", err)
        _, err = self.use().run("status", "--watch", "--interval", "1ms", code=2)
        self.assertIn("1 s to 1 h", err)


if __name__ == "__main__":
    run_tests()
