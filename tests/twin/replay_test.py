#!/usr/bin/env python3
"""What `weft serve` did with the local engine, recorded from its journal and replayed by the twin: facts that do not
depend on time. Usage: replay_test.py EXECUTABLE [PATTERN...]
"""

import hashlib
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "api"))

import lab  # noqa: E402
from local_run import LocalRun  # noqa: E402


def hashes(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


def by_name(rows, key):
    return {row[key]: row for row in rows}


class Replay(unittest.TestCase):
    def test_what_happened_is_recorded_and_replayed(self):
        run = LocalRun(lab.EXECUTABLE)
        try:
            kills = {"quiet": 0, "early": 1, "often": 2}
            quiet = run.submit("quiet", 3, steps=150, step_time=0.05, checkpoint_steps=20)
            early = run.submit("early", 3, steps=200, step_time=0.05, checkpoint_steps=20)
            often = run.submit("often", 4, steps=400, step_time=0.05, checkpoint_steps=20)
            run.kill_rank(early, 1)
            run.kill_rank(often, 0, after_steps=20)
            run.kill_rank(often, 3, after_steps=40)
            while_it_runs, _ = run.record()  # the server holds the journal open
            self.assertIn("recording: 1", while_it_runs.read_text())
            for job in (quiet, early, often):
                run.wait(job)
            shown = {run.names[job]: run.job(job) for job in run.names}
            run.stop()
            self.check_replay(run, kills, shown)
            self.check_errors(run)
        finally:
            run.close()

    def check_replay(self, run, kills, shown):
        journal = run.state / "journal"
        before = hashes(journal)
        recording, notes = run.record()
        self.assertIn("journal of weft serve", notes)
        document = run.replay(recording)
        self.assertEqual(run.replay(run.state, *run.until(120)), document)  # the state directory itself is the same source
        self.assertEqual(hashes(journal), before)
        jobs = by_name(document["jobs"], "job")
        self.assertEqual(sorted(jobs), sorted(kills))
        for name, count in kills.items():
            self.assertEqual(jobs[name]["recorded_interruptions"], count)
            self.assertEqual(jobs[name]["replayed_interruptions"], count)
            self.assertEqual(jobs[name]["recorded_attempts"], shown[name]["attempt"])
            self.assertEqual(jobs[name]["recorded_attempts"], count + 1)
            self.assertEqual(jobs[name]["replayed_attempts"], count + 1)
            self.assertGreater(jobs[name]["recorded_end_s"], 0)
            self.assertGreater(jobs[name]["replayed_end_s"], 0)
        measures = by_name(document["replay"], "measure")
        for column in ("recorded", "replayed"):
            productive = measures["Productive GPU-hours"][column]
            held = measures["GPU-hours held by jobs"][column]
            self.assertGreater(productive, 0)
            self.assertLess(productive, held)
            share = measures["Productive share of what jobs held"][column]
            self.assertAlmostEqual(share, productive / held, places=6)
            self.assertLessEqual(measures["Goodput"][column], share)
            self.assertEqual(measures["Interruptions of jobs"][column], sum(kills.values()))
        # What held GPUs lies between the first start and the end of each job.
        longest = max(job["recorded_end_s"] for job in jobs.values())
        self.assertLess(measures["GPU-hours held by jobs"]["recorded"], 80 * longest / 3600)

    def check_errors(self, run):
        missing = run.weft("twin", "record", run.cluster, run.folder / "absent", check=False)
        self.assertEqual(missing.returncode, 2, missing.stderr)
        empty = run.folder / "empty"
        empty.mkdir()
        none = run.weft("twin", "record", run.cluster, empty, check=False)
        self.assertEqual(none.returncode, 2, none.stderr)
        self.assertIn("is not the state directory", none.stderr)
        self.assertEqual(list(empty.iterdir()), [])
        other = run.folder / "other.yaml"
        other.write_text(run.cluster.read_text().replace("count: 12", "count: 13"))
        changed = run.weft("twin", "replay", other, run.state, check=False)
        self.assertNotEqual(changed.returncode, 0)
        self.assertIn("belongs to another cluster", changed.stderr)
        early = run.weft("twin", "record", run.cluster, run.state, "--until", "2001-01-01", check=False)
        self.assertEqual(early.returncode, 2)
        self.assertIn("it reaches from", early.stderr)
        # The recording of the one cluster, on the other.
        recording, _ = run.record()
        self.assertEqual(run.weft("twin", "replay", other, recording).returncode, 0)
        again = run.weft("twin", "record", run.cluster, recording, check=False)
        self.assertEqual(again.returncode, 2)
        self.assertIn("is a recording already", again.stderr)


if __name__ == "__main__":
    lab.run_tests()
