#!/usr/bin/env python3
"""bench/engine_vs_kubernetes.py WEFT [NODES [JOBS [ROUNDS]]]: jobs through `weft serve --engine kubernetes` beside
Kubernetes alone.

Starts a real etcd, kube-apiserver and kube-scheduler of this machine with their defaults (`make kubernetes` builds them), and,
in turn, ROUNDS times: creates JOBS pods of one GPU through the API, over one connection, which the default scheduler binds;
and submits as many jobs of one GPU with one call of `weft job submit`. Kubelets are simulated, and no container runs: a pod is
reported as running and at once as succeeded. Time is from the first submission until the last pod runs.
"""

import os
import shutil
import subprocess
import sys
import time

from private_kubernetes import Api, Kubernetes

CLUSTER = """weft: 1
name: bench
pools:
  - {{name: train, role: training, server: hgx-h100, count: {nodes}, per_rack: 1}}
"""
JOB = "job: 1\nname: one\nnodes: 1\ngpus_per_node: 1\ncommand: [/bin/true]\n"
IMAGE = "registry.example/true:1"


def wait_for(cluster, began, jobs):
    moments = [cluster.started.get(timeout=600) for _ in range(jobs)]
    return max(moments) - began


def run_alone(cluster, jobs, number):
    api = Api(cluster.d, cluster.port)
    began = time.time()
    for i in range(jobs):
        api.send("POST", "/api/v1/namespaces/bench/pods", {
            "metadata": {"name": f"alone-{number}-{i}"},
            "spec": {"restartPolicy": "Never", "containers": [
                {"name": "one", "image": IMAGE, "command": ["/bin/true"],
                 "resources": {"limits": {"nvidia.com/gpu": "1"}}}]}})
    submitted = time.time() - began
    return submitted, wait_for(cluster, began, jobs)


def run_through(cluster, weft, jobs):
    files = []
    for i in range(jobs):
        files.append(f"{cluster.d}/jobs/{i}.job.yaml")
        with open(files[-1], "w", encoding="utf-8") as file:
            file.write(JOB)
    began = time.time()
    subprocess.run([weft, "job", "submit", "-q", "--directory", "/", "--socket", f"{cluster.d}/s", *files],
                   stdout=subprocess.DEVNULL, check=True)
    submitted = time.time() - began
    return submitted, wait_for(cluster, began, jobs)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    weft = os.path.abspath(sys.argv[1])
    nodes, jobs, rounds = [int(sys.argv[i]) if len(sys.argv) > i else value for i, value in ((2, 16), (3, 1000), (4, 1))]
    cluster = Kubernetes([f"train{i + 1:03}" for i in range(nodes)], 8)
    server = None
    try:
        os.mkdir(f"{cluster.d}/jobs")
        with open(f"{cluster.d}/cluster.yaml", "w", encoding="utf-8") as file:
            file.write(CLUSTER.format(nodes=nodes))
        cluster.start()
        with open(f"{cluster.d}/weft.log", "w", encoding="utf-8") as log:
            server = subprocess.Popen([weft, "serve", f"{cluster.d}/cluster.yaml", "--engine", "kubernetes", "--kubeconfig",
                                       f"{cluster.d}/admin.kubeconfig", "--image", IMAGE, "--socket", f"{cluster.d}/s",
                                       "--state", f"{cluster.d}/weft"], stdout=log, stderr=log)
        status = [weft, "status", "-o", "json", "--socket", f"{cluster.d}/s"]
        usable = f'"usable_nodes": {nodes}'
        cluster.wait(120, lambda: usable in subprocess.run(status, capture_output=True, text=True, check=False).stdout,
                     "weft serve")
        for number in range(rounds):
            alone = run_alone(cluster, jobs, number)
            through = run_through(cluster, weft, jobs)
            print(f"{jobs} jobs on {nodes} simulated kubelets: Kubernetes alone {alone[1]:.1f} s (submitted in "
                  f"{alone[0]:.1f} s), through weft {through[1]:.1f} s (submitted in {through[0]:.1f} s): "
                  f"{100 * (through[1] / alone[1] - 1):+.1f} %", flush=True)
        with open(f"/proc/{server.pid}/stat", encoding="utf-8") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        used = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        print(f"processor time of weft serve: {used:.1f} s")
    finally:
        if server:
            server.kill()
        cluster.stop()
    shutil.rmtree(cluster.d)


if __name__ == "__main__":
    main()
