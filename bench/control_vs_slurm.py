#!/usr/bin/env python3
"""bench/control_vs_slurm.py CONTROL_BENCH [NODES [JOBS]]: the control plane's benchmark beside Slurm, in the same run.

Starts munged, slurmctld and NODES slurmd of this machine in a directory of its own (as root: slurmd needs it), submits
JOBS one-node jobs with sbatch, one after another, and reads from slurmctld's log when each was submitted and when it got
its node. Then the same with held jobs (submission alone), and as one job array. Slurm's figures include its RPCs, its
clients' processes and the jobs, which really run on this machine; control_bench is the controller in one process with
its journal on disk, and its jobs run nowhere. Compare orders of magnitude.
"""

import os
import re
import shutil
import subprocess
import sys
import time

from private_slurm import Slurm


def moment(stamp):
    seconds, milliseconds = stamp.split(".")
    return time.mktime(time.strptime(seconds, "%Y-%m-%dT%H:%M:%S")) + int(milliseconds) / 1e3


def percentile(values, part):
    values = sorted(values)
    return values[int(part * (len(values) - 1))]


def figures(name, submitted, started, count, seconds):
    waits = [started[job] - submitted[job] for job in submitted if job in started]
    print(f"{name}: {count / seconds:.0f} submissions/s ({seconds:.2f} s), "
          f"time to start p50 {1e3 * percentile(waits, 0.5):.0f} ms, p99 {1e3 * percentile(waits, 0.99):.0f} ms, "
          f"max {1e3 * max(waits):.0f} ms; all started {max(started.values()) - min(submitted.values()):.2f} s after "
          "the first submission")


def measure(slurm, jobs):
    ran = lambda: len(os.listdir(f"{slurm.d}/ran"))
    submit = ["sbatch", "-N1", "-n1", "-o", "/dev/null"]
    began = time.monotonic()
    for _ in range(jobs):
        subprocess.run([*submit, f"{slurm.d}/job.sh"], env=slurm.environment, stdout=subprocess.DEVNULL, check=True)
    taken = time.monotonic() - began
    slurm.wait(180, lambda: ran() == jobs, "jobs")
    log = slurm.log()
    submitted, usec = {}, []
    for stamp, job, took in re.findall(r"^\[(\S+)\] _slurm_rpc_submit_batch_job: JobId=(\d+) .*?usec=(\d+)", log, re.M):
        submitted[int(job)] = moment(stamp)
        usec.append(int(took))
    started = {int(job): moment(stamp) for stamp, job in
               re.findall(r"^\[(\S+)\] sched(?:/backfill)?: (?:Allocate|_start_job: Started|Started) JobId=(\d+)", log, re.M)}
    if len(submitted) != jobs or len(started) != jobs:
        raise RuntimeError(f"slurmctld logged {len(submitted)} submissions and {len(started)} starts of {jobs}")
    figures(f"Slurm, {slurm.nodes} slurmd, {jobs} sbatch one after another", submitted, started, jobs, taken)
    print(f"  slurmctld's own time per submission: p50 {percentile(usec, 0.5) / 1e3:.2f} ms, "
          f"p99 {percentile(usec, 0.99) / 1e3:.2f} ms")
    began = time.monotonic()
    for _ in range(jobs):
        subprocess.run([*submit, "--hold", f"{slurm.d}/job.sh"], env=slurm.environment, stdout=subprocess.DEVNULL,
                       check=True)
    taken = time.monotonic() - began
    slurm.ask("scancel", "--state=PENDING", "--user=root")
    print(f"Slurm, {jobs} sbatch --hold, so that nothing runs beside: {jobs / taken:.0f} submissions/s")
    began = time.monotonic()
    subprocess.run([*submit, f"--array=0-{jobs - 1}", f"{slurm.d}/job.sh"], env=slurm.environment,
                   stdout=subprocess.DEVNULL, check=True)
    taken = time.monotonic() - began
    slurm.wait(180, lambda: ran() == 2 * jobs, "array tasks")
    print(f"Slurm, one array of {jobs} tasks: submitted in {1e3 * taken:.0f} ms, the last ran "
          f"{time.monotonic() - began:.1f} s later")


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    nodes = int(sys.argv[2]) if len(sys.argv) > 2 else 64
    jobs = min(1000, int(sys.argv[3]) if len(sys.argv) > 3 else 1000)  # MaxArraySize
    print(subprocess.run(["slurmctld", "-V"], capture_output=True, text=True, check=True).stdout.strip(), flush=True)
    slurm = Slurm([f"n{i}" for i in range(nodes)])
    try:
        slurm.start()
        measure(slurm, jobs)
    finally:
        slurm.stop()
    shutil.rmtree(slurm.d)
    print(flush=True)
    subprocess.run([sys.argv[1]], check=True)


main()
