#!/usr/bin/env python3
"""bench/watch_slurm.py WEFT [NODES [JOBS [SECONDS]]]: what observing a large Slurm cluster costs, on both sides.

Starts slurmctld with NODES nodes (2,000; without slurmd: only lists are measured) and JOBS waiting jobs (5,000), lets `weft
serve --engine slurm --mode watch` observe it for SECONDS (60), and prints the calls per second that weft made, and the
processor time and memory of weft and slurmctld; before it, slurmctld alone for the same time. As root.
"""

import os
import shutil
import subprocess
import sys
import time

from private_slurm import Slurm

WRAPPER = """#!/bin/sh
echo {program} >> {d}/calls
exec /usr/bin/{program} "$@"
"""


def processor_time(pid, children=False):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    first = 13 if children else 11
    return (int(fields[first]) + int(fields[first + 1])) / os.sysconf("SC_CLK_TCK")


def memory(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        values = dict(line.split(":", 1) for line in file)
    return int(values["VmHWM"].split()[0]) / 1024


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    weft = os.path.abspath(sys.argv[1])
    nodes, jobs, seconds = [int(sys.argv[i]) if len(sys.argv) > i else value for i, value in ((2, 2000), (3, 5000), (4, 60))]
    slurm = Slurm([f"train{i + 1:03}" for i in range(nodes)], more="MaxArraySize=100001\nMaxJobCount=100000\nSlurmdTimeout=0\n")
    server = None
    try:
        subprocess.run([weft, "design", "--servers", str(nodes), "-q", "-f", f"{slurm.d}/cluster.yaml"], check=True)
        os.mkdir(f"{slurm.d}/bin")
        for program in ("squeue", "sinfo", "scontrol", "scancel", "sbatch"):
            with open(f"{slurm.d}/bin/{program}", "w", encoding="utf-8") as file:
                file.write(WRAPPER.format(program=program, d=slurm.d))
            os.chmod(f"{slurm.d}/bin/{program}", 0o755)
        slurm.start_controller()
        controller = slurm.processes[-1].pid
        for _ in range(jobs):
            subprocess.run(["sbatch", "--hold", "-N4", "--gres=gpu:8", "-o", "/dev/null", f"{slurm.d}/job.sh"],
                           env=slurm.environment, stdout=subprocess.DEVNULL, check=True)
        before = processor_time(controller)
        time.sleep(seconds)
        alone = processor_time(controller) - before
        environment = {**slurm.environment, "WEFT_SOCKET": f"{slurm.d}/s",
                       "PATH": f"{slurm.d}/bin:" + slurm.environment["PATH"]}
        with open(f"{slurm.d}/weft.log", "w", encoding="utf-8") as log:
            server = subprocess.Popen([weft, "serve", f"{slurm.d}/cluster.yaml", "--engine", "slurm", "--mode", "watch",
                                       "--state", f"{slurm.d}/weft"], env=environment, stdout=log, stderr=log)
        answers = lambda: subprocess.run([weft, "job", "list"], env=environment, capture_output=True,
                                         check=False).returncode == 0
        slurm.wait(120, answers, "weft serve")
        time.sleep(5)
        start = [processor_time(controller), processor_time(server.pid), processor_time(server.pid, True)]
        calls = os.path.getsize(f"{slurm.d}/calls")
        time.sleep(seconds)
        used = [processor_time(controller) - start[0], processor_time(server.pid) - start[1],
                processor_time(server.pid, True) - start[2]]
        with open(f"{slurm.d}/calls", encoding="utf-8") as file:
            file.seek(calls)
            made = len(file.readlines())
        percent = [100 * value / seconds for value in used]
        print(f"{nodes} nodes, {jobs} jobs, {seconds} s: {made / seconds:.2f} calls/s; processor: weft {percent[1]:.1f} %, the "
              f"commands it calls {percent[2]:.1f} %, slurmctld {percent[0]:.1f} % (alone {100 * alone / seconds:.1f} %); "
              f"memory: weft {memory(server.pid):.0f} MB, slurmctld {memory(controller):.0f} MB")
    finally:
        if server:
            server.kill()
        slurm.stop()
    shutil.rmtree(slurm.d)


main()
