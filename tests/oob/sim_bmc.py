"""Simulated BMCs for tests: `weft oob sim` of a cluster of machines box001 and so on, and direct Redfish requests to
them.
"""

import base64
import http.client
import json
import os
import pathlib
import shutil
import signal
import ssl
import subprocess
import tempfile
import threading
import time

from small_bmc import ROOT, SYSTEM, lab

WAIT = 120  # seconds, far more than anything takes
PASSWORD = "Correct7Horse"
BASIC = "Basic " + base64.b64encode(f"admin:{PASSWORD}".encode()).decode()


def wait_until(true, what):
    end = time.monotonic() + WAIT
    while not true():
        assert time.monotonic() < end, f"waited {WAIT} s: {what()}"
        time.sleep(0.02)


class Simulator:
    """`faults` of box001, as KIND[:ARG]; `words`: more of the command line."""

    def __init__(self, *faults, words=(), count=1):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="weft_oob_sim_"))
        self.state = self.folder / "state"
        (self.folder / "cluster.yaml").write_text(
            "weft: 1\nname: small\npools:\n"
            f"  - {{name: box, role: training, server: hgx-h100, count: {count}, per_rack: 1}}\n", encoding="utf-8")
        (self.folder / "password").write_text(PASSWORD + "\n", encoding="utf-8")
        number = os.getpid() % 60000
        self.words = [lab.EXECUTABLE, "oob", "sim", str(self.folder / "cluster.yaml"), "@box", "--dir",
                      str(self.folder / "sim"), "--base", f"127.{130 + number % 80}.{number // 80 % 256}.1", "--password-file", str(self.folder / "password"),
                      "--report", str(self.folder / "report.json"), "--boot-time", "200ms", "--power-time", "100ms",
                      *(word for fault in faults for word in ("--fault", f"box001={fault}")), *words]
        self.process = subprocess.Popen(self.words, stderr=subprocess.PIPE, text=True, env=self.variables())
        said = self.process.stderr.readline()
        assert "BMC" in said, said
        self.address = said.split(" on ")[1].split(" to ")[0]  # of box001
        self.port = int(said.rsplit("port ", 1)[1].split(",")[0])
        self.context = ssl.create_default_context(cafile=self.folder / "sim/ca.pem")

    def variables(self):
        variables = {key: value for key, value in os.environ.items() if not key.startswith(("WEFT_", "XDG_"))}
        return variables | {"HOME": str(self.folder)}

    def line(self, *words):
        return [lab.EXECUTABLE, "oob", *words, "--endpoints", str(self.folder / "sim/endpoints.yaml"), "--state",
                str(self.state), "--syslog", "none", "--timeout", "30s", "--credentials",
                f"file:{self.folder}/sim/credentials.yaml"]

    def weft(self, command, *words, code=0):
        """The output of `weft oob COMMAND CLUSTER @box WORDS... -o json`."""
        line = self.line(*command.split(), str(self.folder / "cluster.yaml"), "@box", *words, "-o", "json")
        done = subprocess.run(line, capture_output=True, text=True, env=self.variables(), timeout=WAIT, check=False)
        assert done.returncode == code, f"{line}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
        return json.loads(done.stdout)

    def connection(self):
        return http.client.HTTPSConnection(self.address, self.port, timeout=WAIT, context=self.context)

    def request(self, method, path, body=None):
        """(status, JSON) of box001."""
        connection = self.connection()
        connection.request(method, path, None if body is None else json.dumps(body),
                           {"Authorization": BASIC, "Content-Type": "application/json"})
        reply = connection.getresponse()
        text = reply.read()
        connection.close()
        return reply.status, json.loads(text) if text else None

    def reset(self, kind="Nmi"):
        """Nmi writes one entry to the log, at once."""
        status, _ = self.request("POST", f"{SYSTEM}/Actions/ComputerSystem.Reset", {"ResetType": kind})
        assert status == 204, status

    def entries(self):
        """All entries of all logs, as `weft oob events` reads them."""
        return self.weft("events")["events"]

    def streams(self):
        """How many event streams were opened so far."""
        path = self.folder / "report.json"
        path.unlink(missing_ok=True)
        self.process.send_signal(signal.SIGUSR1)
        found = []

        def is_whole():
            try:
                found.append(json.loads(path.read_text(encoding="utf-8")))
            except (OSError, ValueError):
                return False
            return True
        wait_until(is_whole, lambda: "the report")
        return found[-1]["totals"]["streams"]

    def stop(self):
        """The exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(WAIT)

    def close(self):
        if self.process.poll() is None:
            self.stop()
        self.process.stderr.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Listener:
    """A client of its own of an event stream: the events that came so far, and whether it ended."""

    def __init__(self, simulator, last_id=None, query=""):
        self.connection = simulator.connection()
        headers = {"Authorization": BASIC, "Accept": "text/event-stream"}
        self.connection.request("GET", f"{ROOT}/EventService/SSE{query}", headers=headers |
                                ({} if last_id is None else {"Last-Event-ID": last_id}))
        self.reply = self.connection.getresponse()
        self.status, self.type = self.reply.status, self.reply.getheader("Content-Type")
        self.events, self.ids, self.is_over = [], [], False
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        try:
            for line in self.reply:
                name, _, value = line.decode().rstrip("\n").partition(": ")
                if name == "id":
                    self.ids.append(value)
                if name == "data":
                    self.events += json.loads(value)["Events"]
        except (OSError, http.client.HTTPException):
            pass
        self.is_over = True

    def wait_for(self, count):
        wait_until(lambda: len(self.events) >= count, lambda: f"{count} events: {self.events}")
        return self.events

    def wait_for_end(self):
        wait_until(lambda: self.is_over, lambda: "the stream ends")

    def close(self):
        if not self.is_over:
            self.connection.sock.shutdown(2)
        self.thread.join(WAIT)
        self.connection.close()
