"""`weft serve` with the local engine and jobs in miniature (examples/tiny_train.py), whose ranks are killed: what is
recorded from it, the twin replays. For tests/twin/replay_test.py and tests/twin/measure_replay.py.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
LIMIT_S = 300  # for conditions; not part of what is tested

CLUSTER = """weft: 1
name: replay
pools:
  - {name: train, role: training, server: hgx-h100, count: 12, per_rack: 4}
"""

JOB = """job: 1
name: NAME
nodes: NODES
command: [python3, SCRIPT, --steps, "STEPS", --step-time, "STEP_TIME", --checkpoint-steps, "CHECKPOINT_STEPS"]
checkpoint:
  volumes: [FOLDER/NAME-checkpoints]
restart:
  backoff: 1s
  max_failures: 50
"""


def wait_until(holds, what, limit=LIMIT_S):
    end = time.monotonic() + limit
    while time.monotonic() < end:
        value = holds()
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError(f"not within {limit} s: {what}")


class LocalRun:
    """A server with a state directory of its own."""

    def __init__(self, executable):
        self.executable = executable
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="weft_replay_"))
        self.state = self.folder / "state"
        self.cluster = self.folder / "cluster.yaml"
        self.cluster.write_text(CLUSTER)
        self.environment = dict(os.environ, WEFT_SOCKET=str(self.folder / "serve.sock"))
        self.names = {}
        self.last = None  # when the recording is taken
        self.server = None
        self.start()

    def start(self):
        with open(self.folder / "serve.log", "ab") as log:
            self.server = subprocess.Popen([self.executable, "serve", self.cluster, "--state", self.state],
                                           stdout=log, stderr=log, env=self.environment)
        wait_until(lambda: self.weft("status", check=False).returncode == 0, "the server answers")

    def stop(self):
        if self.server is not None:
            self.server.send_signal(signal.SIGTERM)
            self.server.wait()
            self.server = None

    def close(self):
        if self.server is not None:  # its jobs would go on without it
            for job in self.names:
                self.weft("job", "cancel", job, check=False)
            wait_until(lambda: all(self.job(job)["state"] in ("done", "failed", "canceled") for job in self.names),
                       "the jobs end")
        self.stop()
        shutil.rmtree(self.folder)

    def weft(self, *words, check=True):
        done = subprocess.run([self.executable, *map(str, words)], capture_output=True, text=True, env=self.environment,
                              cwd=self.folder, check=False)
        if check and done.returncode != 0:
            raise AssertionError(f"weft {' '.join(map(str, words))}: exit {done.returncode}\n{done.stderr}")
        return done

    def submit(self, name, nodes, steps, step_time, checkpoint_steps):
        text = JOB
        for key, value in {"CHECKPOINT_STEPS": checkpoint_steps, "STEP_TIME": step_time, "STEPS": steps, "NODES": nodes,
                           "SCRIPT": SOURCE / "examples/tiny_train.py", "NAME": name, "FOLDER": self.folder}.items():
            text = text.replace(key, str(value))
        file = self.folder / f"{name}.job.yaml"
        file.write_text(text)
        answer = self.weft("job", "submit", file).stdout
        job = int(re.match(r"job (\d+): submitted", answer).group(1))
        self.names[job] = name
        return job

    def job(self, job):
        document = json.loads(self.weft("job", "show", job, "-o", "json").stdout)
        return document.get("job", document)

    def rank_process(self, job, task):
        """The process of a rank of the current attempt; None if it has not written its log yet."""
        done = self.weft("job", "logs", job, "--task", task, check=False)
        found = re.search(r"process (\d+)", done.stdout)
        return int(found.group(1)) if found else None

    def kill_rank(self, job, task, after_steps=0):
        """Kills a rank of the current attempt, after it has written a checkpoint `after_steps` beyond the one that it
        began with; 0: at once. Returns when the next attempt runs."""
        wait_until(lambda: self.job(job)["state"] == "running", f"job {job} runs")
        before = self.job(job)
        if after_steps:
            goal = before.get("checkpoint_step", 0) + after_steps  # no such key without a checkpoint
            wait_until(lambda: self.job(job).get("checkpoint_step", 0) >= goal, f"job {job} writes checkpoints")
        process = wait_until(lambda: self.rank_process(job, task), "the rank has a log")
        os.kill(process, signal.SIGKILL)
        wait_until(lambda: self.job(job)["attempt"] > before["attempt"] and self.job(job)["state"] == "running",
                   f"job {job} runs again")

    def wait(self, job):
        wait_until(lambda: self.job(job)["state"] == "done", f"job {job} is done")

    def record(self, more_seconds=120):
        """The recording, and the notes. It ends later than the last record: a job whose end is late in the replay must
        not be cut off."""
        file = self.folder / "recording.yaml"
        file.unlink(missing_ok=True)
        done = self.weft("twin", "record", self.cluster, self.state, "-f", file, *self.until(more_seconds))
        return file, done.stderr

    def until(self, more_seconds):
        if self.last is None:
            self.last = time.time()
        return "--until", time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.last + more_seconds))

    def replay(self, source, *words):
        return json.loads(self.weft("twin", "replay", self.cluster, source, "-o", "json", *words).stdout)
