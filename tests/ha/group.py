"""A lab of real etcd members and `weft serve` processes with one journal in it, for the tests of tests/ha. Members and
servers are killed, stopped and cut off from each other; a small TCP proxy per server stands between it and etcd.
"""

import base64
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "api"))

import lab as api_lab  # noqa: E402
from lab import find_ports, needs_program, run_tests  # noqa: E402,F401

LIMIT_S = 90  # for conditions; not part of what is tested

CLUSTER = """weft: 1
name: ha
pools:
  - {name: train, role: training, server: hgx-h100, count: 3, per_rack: 1}
tenants:
  - {name: team-a}
"""


def wait_until(holds, what, limit=LIMIT_S):
    end = time.monotonic() + limit
    while time.monotonic() < end:
        value = holds()
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError(f"not within {limit} s: {what}")


def encode(text):
    return base64.b64encode(text.encode()).decode()


class Member:
    """One etcd process; its data stay when it is killed."""

    def __init__(self, folder, name, client, peer, cluster, options):
        self.folder, self.name, self.client, self.process = folder, name, client, None
        self.words = ["etcd", "--name", name, "--data-dir", str(folder / name), "--unsafe-no-fsync",
                      "--listen-peer-urls", f"http://127.0.0.1:{peer}",
                      "--initial-advertise-peer-urls", f"http://127.0.0.1:{peer}",
                      "--initial-cluster", cluster, "--initial-cluster-token", str(folder)]
        if not any("--listen-client-urls" in option for option in options):
            self.words += ["--listen-client-urls", f"http://127.0.0.1:{client}",
                           "--advertise-client-urls", f"http://127.0.0.1:{client}"]
        self.words += options
        self.start()

    def start(self):
        log = open(self.folder / f"{self.name}.log", "ab")
        self.process = subprocess.Popen(self.words, stdout=log, stderr=log, env=dict(os.environ, ETCDCTL_API="3"))
        log.close()

    def kill(self):
        self.process.kill()
        self.process.wait()


class Etcd:
    def __init__(self, members=3, options=()):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="weft_etcd_"))
        ports = find_ports(2 * members)
        names = [f"m{i}" for i in range(members)]
        cluster = ",".join(f"{name}=http://127.0.0.1:{ports + members + i}" for i, name in enumerate(names))
        self.members = [Member(self.folder, name, ports + i, ports + members + i, cluster, list(options))
                        for i, name in enumerate(names)]

    def call(self, path, body, member=None, timeout=5):
        targets = [member] if member else self.members
        problem = None
        for target in targets:
            request = urllib.request.Request(f"http://127.0.0.1:{target.client}{path}", json.dumps(body).encode())
            try:
                with urllib.request.urlopen(request, timeout=timeout) as answer:
                    return json.loads(answer.read())
            except OSError as error:
                problem = error
        raise problem

    def works(self):
        try:
            return self.call("/v3/kv/range", {"key": encode("x")}, timeout=2)
        except OSError:
            return None

    def wait(self):
        return wait_until(self.works, "etcd answers")

    def close(self):
        for member in self.members:
            member.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


class Proxy:
    """Between one server and one member. cut() drops every byte, as a network that is cut does."""

    def __init__(self, target):
        self.target, self.is_cut, self.pairs = target, False, []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self.target), timeout=5)
            except OSError:
                client.close()
                continue
            server.settimeout(None)
            self.pairs.append((client, server))
            for source, sink in ((client, server), (server, client)):
                threading.Thread(target=self.copy, args=(source, sink), daemon=True).start()

    def copy(self, source, sink):
        try:
            while data := source.recv(65536):
                while self.is_cut:
                    time.sleep(0.05)
                sink.sendall(data)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        self.is_cut = False
        self.listener.close()
        for pair in self.pairs:
            for end in pair:
                end.close()


class Server:
    """One `weft serve`; SIGKILL, SIGSTOP and start() as often as a test wants."""

    def __init__(self, group, name):
        self.group, self.name, self.process = group, name, None
        self.folder = group.folder / name
        self.socket = self.folder / "weft.sock"
        self.folder.mkdir()
        self.proxies = [Proxy(member.client) for member in group.etcd.members] if group.proxied else []
        ports = [proxy.port for proxy in self.proxies] or [member.client for member in group.etcd.members]
        self.store = "etcd://" + ",".join(f"127.0.0.1:{port}" for port in ports) + "/weft"
        self.start()

    def start(self):
        log = open(self.folder / "log", "ab")
        self.process = subprocess.Popen(
            [api_lab.EXECUTABLE, "serve", str(self.group.folder / "cluster.yaml"), "--state", str(self.folder / "state"),
             "--socket", str(self.socket), "--engine-state", str(self.group.folder / "engine"), "--no-cgroups",
             "--store", self.store, "--advertise", self.name] + self.group.options, stdout=log, stderr=log)
        log.close()

    def log(self):
        return (self.folder / "log").read_text(errors="replace")

    def http(self, method, path, body=None, headers=None, timeout=20):
        connection = api_lab._UnixConnection(str(self.socket), timeout)  # pylint: disable=protected-access
        try:
            text = None if body is None else json.dumps(body)
            connection.request(method, path, text, dict(headers or {}, **({"Content-Type": "application/json"} if text else {})))
            answer = connection.getresponse()
            return api_lab.Response(answer.status, answer.getheaders(), answer.read())
        finally:
            connection.close()

    def health(self):
        """The text of /healthz; "" if it does not answer."""
        try:
            return self.http("GET", "/healthz", timeout=10).text
        except (OSError, http.client.HTTPException):
            return ""

    def leads(self):
        return self.health().startswith(("ok: leader", "leader"))

    def cut(self, is_cut):
        for proxy in self.proxies:
            proxy.is_cut = is_cut

    def kill(self):
        self.process.kill()
        self.process.wait()

    def close(self):
        self.process.send_signal(signal.SIGCONT)
        self.kill()
        for proxy in self.proxies:
            proxy.close()


class Group:
    """Servers of one cluster file and one engine."""

    def __init__(self, etcd, servers=3, proxied=False, options=()):
        self.etcd, self.proxied, self.options = etcd, proxied, list(options)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="weft_ha_"))
        (self.folder / "cluster.yaml").write_text(CLUSTER)
        self.starts = self.folder / "starts"
        self.starts.mkdir()
        self.servers = [Server(self, f"s{i}") for i in range(servers)]
        self.keys = 0
        self.acknowledged = {}

    def leader(self):
        """A server that says that it leads; waits for one."""
        return wait_until(lambda: next((server for server in self.servers if server.process.poll() is None
                                        and server.leads()), None), "a server leads")

    def leader_besides(self, old):
        return wait_until(lambda: next((server for server in self.servers if server is not old
                                        and server.process.poll() is None and server.leads()), None),
                          "another server leads")

    def submit(self, server, key=None):
        """A job that notes each start of it in a file of its own; returns its number, or None if not acknowledged."""
        self.keys += key is None
        key = key or f"k{self.keys}"
        script = (f'f={self.starts}/$WEFT_JOB_ID.$WEFT_ATTEMPT; (set -C; echo $$ > $f) || echo $$ > $f.twice.$$; sleep 0.2')
        try:
            answer = server.http("POST", "/api/v1/jobs", {"text": json.dumps(
                {"job": 1, "name": "note", "tenant": "team-a", "nodes": 1, "command": ["sh", "-c", script]}),
                "directory": str(self.folder)},
                {"Idempotency-Key": key}, timeout=3)
        except (OSError, http.client.HTTPException):
            return None
        if answer.status not in (200, 201):
            return None
        number = answer.json["answer"]["job"]
        known = self.acknowledged.setdefault(key, number)
        assert known == number, f"the submission {key} is jobs {known} and {number}"
        return number

    def jobs(self, server):
        answer = server.http("GET", "/api/v1/jobs?all=1&ended=2000")
        return {job["job"]: job["state"] for job in answer.json["jobs"]}

    def check_all_done(self):
        """Every acknowledged job ends, and no attempt of one was started twice."""
        server = self.leader()

        def all_done():
            try:
                jobs = self.jobs(server)
            except (OSError, http.client.HTTPException, ValueError, KeyError):
                return False
            lost = set(self.acknowledged.values()) - set(jobs)
            assert not lost, f"acknowledged jobs are lost: {sorted(lost)}"
            return all(jobs[number] == "done" for number in self.acknowledged.values())

        wait_until(all_done, "all jobs are done")
        twice = [path.name for path in self.starts.iterdir() if ".twice." in path.name]
        assert not twice, f"attempts that were started twice: {twice}"
        started = {path.name.split(".")[0] for path in self.starts.iterdir()}
        missing = [number for number in self.acknowledged.values() if str(number) not in started]
        assert not missing, f"done, but never started: {missing}"

    def close(self):
        for server in self.servers:
            server.close()
        shutil.rmtree(self.folder, ignore_errors=True)
