#!/usr/bin/env python3
"""bench/engine_vs_slurm.py WEFT [NODES [JOBS [ROUNDS [PARAMETERS]]]]: jobs through `weft serve --engine slurm` beside Slurm alone.

Starts Slurm with NODES slurmd of this machine (as root) and, in turn, ROUNDS times: submits JOBS jobs of one task and one
GPU with `sbatch`, one after another, and waits until all have ended; the same with one call of `weft job submit` for as many
files; and with `weft job submit` in a loop. All run the same program under srun. PARAMETERS are the SchedulerParameters of
slurm.conf for all three: batch_sched_delay=0, as `weft render` writes, unless given. Time is from the first submission to the
end of the last job as slurmctld logged it, so that all are measured by the same clock.

On a virtual machine, the same jobs through Slurm alone take up to a quarter more or less time from minute to minute. Therefore
many short rounds say more than one long round: the order changes from round to round, and the sums of all rounds are printed
at the end. The processor time that the whole machine used is printed beside the time.
"""

import os
import re
import shutil
import subprocess
import sys
import time

from private_slurm import Slurm

CLUSTER = """weft: 1
name: bench
pools:
  - {{name: train, role: training, server: hgx-h100, count: {nodes}, per_rack: 1}}
"""
JOB = "job: 1\nname: one\nnodes: 1\ngpus_per_node: 1\ncommand: [/bin/true]\n"


def moment(stamp):
    seconds, milliseconds = stamp.split(".")
    return time.mktime(time.strptime(seconds, "%Y-%m-%dT%H:%M:%S")) + int(milliseconds) / 1e3


def ended(slurm, offset, jobs):
    """The moments when jobs of slurmctld's log after `offset` ended, once there are so many."""
    found = []
    while len(found) < jobs:
        time.sleep(0.5)
        found = [moment(stamp) for stamp in
                 re.findall(r"^\[(\S+)\] _job_complete: JobId=\d+ done", slurm.log()[offset:], re.M)]
    return found


def processor_time():
    """Seconds that the processors of this machine worked, and that they were taken away (man 5 proc, /proc/stat)."""
    with open("/proc/stat", encoding="utf-8") as file:
        user, nice, system, _, _, irq, softirq, steal = [int(field) for field in file.readline().split()[1:9]]
    per_second = os.sysconf("SC_CLK_TCK")
    return (user + nice + system + irq + softirq) / per_second, steal / per_second


def run(slurm, command, jobs, calls):
    offset = len(slurm.log())
    before = processor_time()
    began = time.time()
    for _ in range(calls):
        subprocess.run(command, env=slurm.environment, stdout=subprocess.DEVNULL, check=True)
    submitted = time.time() - began
    whole = max(ended(slurm, offset, jobs)) - began
    worked, taken = [after - earlier for after, earlier in zip(processor_time(), before)]
    return submitted, whole, worked, taken


def print_round(title, results):
    alone = results["Slurm alone"]
    print(title)
    for how, (submitted, whole, worked, taken) in results.items():
        print(f"  {how:14}  {whole:6.1f} s ({100 * (whole / alone[1] - 1):+5.1f} %), submitted in {submitted:5.1f} s, processors "
              f"{worked:6.1f} s ({100 * (worked / alone[2] - 1):+5.1f} %), steal {taken:.1f} s", flush=True)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    weft = os.path.abspath(sys.argv[1])
    nodes, jobs, rounds = [int(sys.argv[i]) if len(sys.argv) > i else value for i, value in ((2, 16), (3, 1000), (4, 1))]
    parameters = sys.argv[5] if len(sys.argv) > 5 else "batch_sched_delay=0"
    slurm = Slurm([f"train{i + 1:03}" for i in range(nodes)], f"SchedulerParameters={parameters}\n")
    server = None
    try:
        with open(f"{slurm.d}/cluster.yaml", "w", encoding="utf-8") as file:
            file.write(CLUSTER.format(nodes=nodes))
        with open(f"{slurm.d}/job.yaml", "w", encoding="utf-8") as file:
            file.write(JOB)
        with open(f"{slurm.d}/alone.sh", "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\nsrun /bin/true\n")
        slurm.start()
        slurm.environment["WEFT_SOCKET"] = f"{slurm.d}/s"
        log = open(f"{slurm.d}/weft.log", "w", encoding="utf-8")
        server = subprocess.Popen([weft, "serve", f"{slurm.d}/cluster.yaml", "--engine", "slurm", "--state",
                                   f"{slurm.d}/weft"], env=slurm.environment, stdout=log, stderr=log)
        slurm.wait(120, lambda: f'"usable_nodes": {nodes}' in slurm.ask(weft, "status", "-o", "json"), "weft serve")
        sbatch = ["sbatch", "-N1", "-n1", "--gres=gpu:1", "-o", "/dev/null", f"{slurm.d}/alone.sh"]
        submit = [weft, "job", "submit", "-q", "--directory", "/tmp"]
        ways = [("Slurm alone", sbatch, jobs), ("weft, one call", submit + [f"{slurm.d}/job.yaml"] * jobs, 1),
                ("weft, a loop", submit + [f"{slurm.d}/job.yaml"], jobs)]
        measured = {how: [] for how, _, _ in ways}
        for number in range(rounds):
            for how, command, calls in ways[number % 3:] + ways[:number % 3]:
                measured[how].append(run(slurm, command, jobs, calls))
            print_round(f"round {number + 1}", {how: results[-1] for how, results in measured.items()})
        print_round(f"{jobs * rounds} jobs on {nodes} slurmd",
                    {how: [sum(column) for column in zip(*results)] for how, results in measured.items()})
        usage = os.times()
        with open(f"/proc/{server.pid}/stat", encoding="utf-8") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        own, children = [(int(fields[i]) + int(fields[i + 1])) / os.sysconf("SC_CLK_TCK") for i in (11, 13)]
        print(f"processor time of weft serve: {own:.1f} s, of the Slurm commands it called: {children:.1f} s "
              f"(all of this run's clients: {usage.children_user + usage.children_system:.1f} s)")
    finally:
        if server:
            server.kill()
        slurm.stop()
    shutil.rmtree(slurm.d)


main()
