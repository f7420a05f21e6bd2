"""A Slurm cluster of its own on this machine, for benchmarks: munged, slurmctld and many slurmd in one directory. Needs root.
"""

import os
import signal
import subprocess
import tempfile
import time

CONF = """ClusterName=bench
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={d}/run/munge.socket
StateSaveLocation={d}/state
SlurmdSpoolDir={d}/spool/%n
SlurmctldPidFile={d}/run/slurmctld.pid
SlurmdPidFile={d}/run/slurmd-%n.pid
SlurmctldLogFile={d}/log/slurmctld.log
SlurmdLogFile={d}/log/slurmd-%n.log
SlurmctldDebug=info
LogTimeFormat=iso8601_ms
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
GresTypes=gpu
SchedulerType=sched/backfill
DefMemPerCPU=1000
MessageTimeout=60
NodeName=DEFAULT CPUs=64 Boards=1 SocketsPerBoard=2 CoresPerSocket=32 ThreadsPerCore=1 RealMemory=1000000 Gres=gpu:h100:8 State=UNKNOWN
{nodes}
PartitionName=main Nodes=ALL Default=YES MaxTime=60 DefaultTime=10 State=UP
"""


class Slurm:
    def __init__(self, names, more=""):
        self.names = names
        self.nodes = len(names)
        self.d = tempfile.mkdtemp(prefix="weft-slurm-bench-")
        self.processes = []
        for folder in ("state", "run", "log", "spool", "ran", "dev"):
            os.mkdir(f"{self.d}/{folder}")
        os.chmod(self.d, 0o755)
        port = 20000 + os.getpid() % 20000
        lines = [f"NodeName={node} NodeHostname=localhost NodeAddr=127.0.0.1 Port={port + 1 + i}"
                 for i, node in enumerate(names)]
        with open(f"{self.d}/slurm.conf", "w", encoding="utf-8") as file:
            file.write(CONF.format(d=self.d, port=port, nodes="\n".join(lines)) + more)
        for i in range(8):
            os.mknod(f"{self.d}/dev/gpu{i}", 0o020666, os.makedev(1, 3))
        with open(f"{self.d}/gres.conf", "w", encoding="utf-8") as file:
            file.write(f"AutoDetect=off\nName=gpu Type=h100 File={self.d}/dev/gpu[0-7]\n")
        with open(f"{self.d}/job.sh", "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\ndate +%s%N > {self.d}/ran/$SLURM_JOB_ID\n")
        self.environment = {**os.environ, "SLURM_CONF": f"{self.d}/slurm.conf", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}

    def spawn(self, *command):
        process = subprocess.Popen(command, env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.processes.append(process)

    def ask(self, *command):
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=60, check=False).stdout

    def wait(self, seconds, condition, what):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise RuntimeError(f"{what}: not within {seconds} s; see {self.d}/log")
            time.sleep(0.2)

    def start_controller(self):
        key = f"{self.d}/munge.key"
        with open(key, "wb") as file:
            file.write(os.urandom(128))
        os.chmod(key, 0o400)
        run = f"{self.d}/run"
        self.spawn("munged", "-F", "--force", f"--key-file={key}", f"--socket={run}/munge.socket",
                   f"--pid-file={run}/munged.pid", f"--log-file={self.d}/log/munged.log",
                   f"--seed-file={run}/munged.seed", "--num-threads=2")
        self.wait(5, lambda: os.path.exists(f"{run}/munge.socket"), "munged")
        self.spawn("slurmctld", "-D", "-c", "-f", f"{self.d}/slurm.conf")
        self.wait(20, lambda: "is UP" in self.ask("scontrol", "ping"), "slurmctld")

    def start(self):
        self.start_controller()
        for node in self.names:
            self.spawn("slurmd", "-D", "-N", node, "-f", f"{self.d}/slurm.conf")
        idle = lambda: len(self.ask("sinfo", "-h", "-N", "-t", "idle", "-o", "%N").split()) == self.nodes
        self.wait(90, idle, "idle nodes")

    def stop(self):
        for process in reversed(self.processes[2:]):  # slurmd before slurmctld
            process.send_signal(signal.SIGKILL)
        for process in reversed(self.processes[:2]):
            process.terminate()
        for process in self.processes:
            process.wait()

    def log(self):
        with open(f"{self.d}/log/slurmctld.log", encoding="utf-8", errors="replace") as file:
            return file.read()
