"""A Kubernetes control plane of its own on this machine, for benchmarks: etcd, kube-apiserver and kube-scheduler with their
defaults, as `make kubernetes` built them, in one directory. Kubelets are simulated: one process reports nodes as ready, and
each pod that is bound to one as running and then as succeeded. No container runs.
"""

import collections
import http.client
import json
import multiprocessing
import os
import socket
import ssl
import subprocess
import tempfile
import time

CERTIFICATES = """set -e
key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1"; }
sign() {
  key "$1.key"
  openssl req -new -key "$1.key" -subj "$2" -out "$1.csr"
  printf '%s\\n' "$3" > "$1.ext"
  openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile "$1.ext" -out "$1.crt"
}
key ca.key
key sa.key
openssl ec -in sa.key -pubout -out sa.pub
openssl req -x509 -new -key ca.key -days 2 -subj /CN=bench-ca -out ca.crt
sign server /CN=kube-apiserver subjectAltName=IP:127.0.0.1
sign admin /O=system:masters/CN=admin extendedKeyUsage=clientAuth
sign scheduler /CN=system:kube-scheduler extendedKeyUsage=clientAuth
"""
KUBECONFIG = """apiVersion: v1
kind: Config
current-context: x
clusters: [{{name: c, cluster: {{server: 'https://127.0.0.1:{port}', certificate-authority: {d}/ca.crt}}}}]
users: [{{name: u, user: {{client-certificate: {d}/{user}.crt, client-key: {d}/{user}.key}}}}]
contexts: [{{name: x, context: {{cluster: c, user: u, namespace: bench}}}}]
"""
MERGE = "application/merge-patch+json"
POD_COUNT = 110  # per node, the kubelet's default


def programs():
    cache = os.environ.get("WEFT_CACHE") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "weft")
    return os.path.join(cache, "kubernetes-1.20.2", "bin")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Api:
    """One connection of the administrator."""

    def __init__(self, directory, port):
        context = ssl.create_default_context(cafile=f"{directory}/ca.crt")
        context.load_cert_chain(f"{directory}/admin.crt", f"{directory}/admin.key")
        self.connection = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=600)

    def send(self, method, path, body=None, kind="application/json"):
        self.connection.request(method, path, None if body is None else json.dumps(body), {"Content-Type": kind})
        response = self.connection.getresponse()
        text = response.read()
        if response.status >= 300:
            raise RuntimeError(f"{method} {path}: {response.status} {text[:300]}")
        return json.loads(text) if text.startswith(b"{") else text

    def watch(self, path):
        """Events of a watch, as objects."""
        self.connection.request("GET", path)
        response = self.connection.getresponse()
        while line := response.readline():
            yield json.loads(line)


def status_of(pod, phase):
    running = phase == "Running"
    state = {"running": {"startedAt": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}} if running else {
        "terminated": {"exitCode": 0, "reason": "Completed"}}
    return {"status": {"phase": phase, "containerStatuses": [
        {"name": container["name"], "image": "x", "imageID": "", "ready": running, "restartCount": 0, "state": state}
        for container in pod["spec"]["containers"]]}}


def run_kubelets(directory, port, started):
    """Of all nodes: gives each pod that was bound the states of a kubelet whose containers end at once."""
    api = Api(directory, port)
    done = collections.defaultdict(set)
    for event in Api(directory, port).watch("/api/v1/namespaces/bench/pods?watch=1&fieldSelector=spec.nodeName!="):
        pod = event["object"]
        uid = pod.get("metadata", {}).get("uid")
        if event["type"] not in ("ADDED", "MODIFIED") or "nodeName" not in pod["spec"] or uid in done:
            continue
        done[uid] = True
        path = f"/api/v1/namespaces/bench/pods/{pod['metadata']['name']}/status"
        for phase in ("Running", "Succeeded"):
            api.send("PATCH", path, status_of(pod, phase), MERGE)
            if phase == "Running":
                started.put(time.time())


class Kubernetes:
    def __init__(self, nodes, gpus):
        self.d = tempfile.mkdtemp(prefix="weft-kube-bench-")
        self.names, self.gpus = nodes, gpus
        self.processes = []
        self.port = free_port()
        self.started = multiprocessing.Queue()  # moments when pods began to run

    def spawn(self, *command):
        with open(f"{self.d}/{os.path.basename(command[0])}.log", "w", encoding="utf-8") as log:
            self.processes.append(subprocess.Popen(command, stdout=log, stderr=log, cwd=self.d))

    def start(self):
        subprocess.run(["sh", "-c", CERTIFICATES], cwd=self.d, check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        for user in ("admin", "scheduler"):
            with open(f"{self.d}/{user}.kubeconfig", "w", encoding="utf-8") as file:
                file.write(KUBECONFIG.format(d=self.d, port=self.port, user=user))
        d, folder = self.d, programs()
        etcd, peer = [f"http://127.0.0.1:{free_port()}" for _ in range(2)]
        self.spawn(f"{folder}/etcd", "--name", "b", "--data-dir", f"{d}/etcd", "--listen-client-urls", etcd,
                   "--advertise-client-urls", etcd, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                   "--initial-cluster", f"b={peer}")
        self.spawn(f"{folder}/kube-apiserver", f"--etcd-servers={etcd}", "--bind-address=127.0.0.1",
                   "--advertise-address=127.0.0.1", f"--secure-port={self.port}", f"--cert-dir={d}/certs",
                   f"--tls-cert-file={d}/server.crt", f"--tls-private-key-file={d}/server.key",
                   f"--client-ca-file={d}/ca.crt", "--service-cluster-ip-range=10.0.0.0/16",
                   "--authorization-mode=Node,RBAC", "--service-account-issuer=https://127.0.0.1",
                   f"--service-account-key-file={d}/sa.pub", f"--service-account-signing-key-file={d}/sa.key",
                   "--endpoint-reconciler-type=none", "--disable-admission-plugins=ServiceAccount")
        self.wait(120, self.is_ready, "kube-apiserver")
        api = Api(d, self.port)
        api.send("POST", "/api/v1/namespaces", {"metadata": {"name": "bench"}})
        for node in self.names:
            self.add_node(api, node)
        self.spawn(f"{folder}/kube-scheduler", f"--kubeconfig={d}/scheduler.kubeconfig",
                   f"--authentication-kubeconfig={d}/scheduler.kubeconfig",
                   f"--authorization-kubeconfig={d}/scheduler.kubeconfig", "--bind-address=127.0.0.1",
                   f"--secure-port={free_port()}", "--port=0", f"--cert-dir={d}/certs-scheduler", "--leader-elect=false")
        kubelets = multiprocessing.Process(target=run_kubelets, args=(d, self.port, self.started))
        kubelets.start()
        self.processes.append(kubelets)

    def is_ready(self):
        try:
            api = Api(self.d, self.port)
            api.send("GET", "/readyz")
            api.send("GET", "/api/v1/namespaces/default")
            return True
        except (OSError, RuntimeError, http.client.HTTPException):
            return False

    def add_node(self, api, node):
        resources = {"cpu": "128", "memory": "2000Gi", "pods": str(POD_COUNT), "nvidia.com/gpu": str(self.gpus)}
        info = {field: "x" for field in ("machineID", "systemUUID", "kernelVersion", "osImage", "containerRuntimeVersion",
                                         "kubeletVersion", "kubeProxyVersion", "operatingSystem", "architecture")}
        api.send("POST", "/api/v1/nodes", {"metadata": {"name": node, "labels": {"kubernetes.io/hostname": node}}})
        api.send("PATCH", f"/api/v1/nodes/{node}/status", {"status": {
            "capacity": resources, "allocatable": resources,
            "nodeInfo": {**info, "bootID": f"boot-{node}"},
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]}}, MERGE)
        taints = api.send("GET", f"/api/v1/nodes/{node}")["spec"].get("taints")
        if taints:  # not-ready, set by admission; removed by a controller that does not run here
            api.send("PATCH", f"/api/v1/nodes/{node}", {"spec": {"taints": None}}, MERGE)

    def wait(self, seconds, condition, what):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise RuntimeError(f"{what}: not within {seconds} s; see {self.d}")
            time.sleep(0.2)

    def stop(self):
        for process in reversed(self.processes):
            process.kill()
        for process in self.processes:
            process.join() if isinstance(process, multiprocessing.Process) else process.wait()
