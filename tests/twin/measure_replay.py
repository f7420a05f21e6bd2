#!/usr/bin/env python3
"""How far off the twin is from what the local engine really did: jobs in miniature whose ranks are killed at random, then
recorded and replayed. Prints the table of docs/validation.md. Takes several minutes.

Usage: measure_replay.py EXECUTABLE [KILLS [SEED]]
"""

import os
import random
import sys
import time

from local_run import LocalRun, wait_until


def main():
    executable = os.path.abspath(sys.argv[1])
    kills = int(sys.argv[2]) if len(sys.argv) > 2 else 12
    chance = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    run = LocalRun(executable)
    try:
        sizes = {run.submit("a", 4, steps=1500, step_time=0.1, checkpoint_steps=100): 4,
                 run.submit("b", 4, steps=3000, step_time=0.05, checkpoint_steps=300): 4,
                 run.submit("c", 3, steps=2000, step_time=0.1, checkpoint_steps=50): 3}
        for _ in range(kills):
            time.sleep(chance.uniform(5, 20))
            running = [job for job in sizes if run.job(job)["state"] not in ("done", "failed", "canceled")]
            if not running:
                break
            job = chance.choice(running)
            run.kill_rank(job, chance.randrange(sizes[job]))
        for job in sizes:
            wait_until(lambda job=job: run.job(job)["state"] == "done", "the jobs end", limit=1800)
        run.stop()
        recording, notes = run.record()
        print(notes)
        print(recording.read_text())
        print(run.weft("twin", "replay", run.cluster, recording).stdout)
        print(run.weft("twin", "replay", run.cluster, recording, "-o", "json").stdout)
    finally:
        run.close()


if __name__ == "__main__":
    main()
