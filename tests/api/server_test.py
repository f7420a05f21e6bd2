#!/usr/bin/python3
"""The server itself, end to end: certificates that change while it runs, requests in absolute form, headers without a
value, streams per user, the reason of a removed reservation, a provider that fails for a while, and memory that no other
user can read.
Usage: server_test.py EXECUTABLE [PATTERN...]
"""

import hashlib
import json
import os
import pathlib
import shutil
import signal
import ssl
import subprocess
import tempfile
import time
import unittest

import lab as lab_module
from certificates import Authority, der_of
from lab import Lab, needs, needs_program, run_tests


def wait_until(holds):
    while not holds():
        time.sleep(0.02)


def fingerprint(path):
    return hashlib.sha256(der_of(path)).hexdigest()


class ApiCertificateFiles(unittest.TestCase):
    """The access file names other files under `tls`, and SIGHUP."""

    def setUp(self):
        self.authority = Authority()
        self.lab = Lab()
        self.own = fingerprint(self.lab.ca)  # self-signed

    def tearDown(self):
        self.lab.close()
        self.authority.close()

    def presented(self):
        return hashlib.sha256(ssl.PEM_cert_to_DER_cert(
            ssl.get_server_certificate(("127.0.0.1", self.lab.port)))).hexdigest()

    def read_again(self, access, line):
        """Writes the access file, sends SIGHUP, and waits for a new line of the log that has these words."""
        before = self.lab.log().count(line)
        self.lab.write_access(access)
        self.lab.process.send_signal(signal.SIGHUP)
        wait_until(lambda: self.lab.log().count(line) > before)

    def client(self, certificate=None):
        context = ssl.create_default_context(cafile=str(self.authority.pem))
        if certificate:
            context.load_cert_chain(*certificate)
        return context

    def whoami(self, certificate):
        connection = lab_module.http.client.HTTPSConnection("127.0.0.1", self.lab.port, timeout=60,
                                                            context=self.client(certificate))
        connection.request("GET", "/api/v1/session")
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, body

    def test_paths_change(self):
        first, second = self.authority.issue(), self.authority.issue()
        ada = self.authority.issue("/CN=ada", "DNS:ada", "clientAuth")
        self.assertEqual(self.presented(), self.own)
        # From the self-signed certificate to a file, and on to another.
        for pem, key in (first, second):
            self.read_again(f"tls: {{certificate: {pem}, key: {key}}}\n",
                            f"TLS certificate {pem} read again, sha256:{fingerprint(pem)}")
            self.assertEqual(self.presented(), fingerprint(pem))
        # The CA of clients alone.
        self.assertEqual(self.whoami(ada)[0], 401)
        pem, key = second
        self.read_again(f"tls: {{certificate: {pem}, key: {key}, client_ca: {self.authority.pem}}}\n",
                        f"TLS certificate {pem} read again")
        status, body = self.whoami(ada)
        self.assertEqual((status, json.loads(body)["session"]["user"]), (200, "ada"), body)
        # And back to the one that the server has made.
        self.read_again("", f"read again, sha256:{self.own}")
        self.assertEqual(self.presented(), self.own)

    def test_what_is_not_valid_changes_nothing(self):
        pem, key = self.authority.issue()
        other = self.authority.issue()[1]
        self.read_again(f"tls: {{certificate: {pem}, key: {key}}}\n", f"TLS certificate {pem} read again")
        kept = f"the former certificate stays in use, {pem}, sha256:{fingerprint(pem)}"
        new, new_key = pathlib.Path(self.authority.folder, "new.pem"), pathlib.Path(self.authority.folder, "new.key")
        for certificate, its_key, more in ((new, new_key, ""), (pem, other, ""),
                                           (pem, key, f", client_ca: {self.authority.folder}/absent")):
            self.read_again(f"tls: {{certificate: {certificate}, key: {its_key}{more}}}\n", kept)
            self.assertEqual(self.presented(), fingerprint(pem))
        # The files of the access file appear: no further signal is needed.
        self.read_again(f"tls: {{certificate: {new}, key: {new_key}}}\n", kept)
        later = self.authority.issue()
        shutil.copy(later[1], new_key)
        shutil.copy(later[0], new)
        wait_until(lambda: self.presented() == fingerprint(later[0]))


class ApiServerRequests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lab = Lab(roles="roles: [{role: operator, users: [ada]}]\n")
        cls.ada, cls.bob = cls.lab.token("ada"), cls.lab.token("bob", ["x"])

    @classmethod
    def tearDownClass(cls):
        cls.lab.close()

    def ask(self, line, headers, token):
        lines = [line, *headers, f"Authorization: Bearer {token}", "Connection: close", "", ""]
        answer = self.lab.raw("\r\n".join(lines).encode("ascii"))
        head, _, body = answer.partition(b"\r\n\r\n")
        return int(head.split()[1]), body

    def test_an_absolute_target_is_served(self):
        path = f"https://127.0.0.1:{self.lab.port}/api/v1/nodes/train001"
        status, body = self.ask(f"GET {path} HTTP/1.1", [f"Host: 127.0.0.1:{self.lab.port}"], self.ada)
        self.assertEqual(status, 200, body)
        self.assertEqual(json.loads(body), self.lab.http("GET", "/nodes/train001", token=self.ada).json)
        self.assertEqual(self.ask(f"GET {path} HTTP/1.1", [], self.ada)[0], 400)  # RFC 9112, section 3.2: Host
        plain = path.replace("https:", "http:")  # RFC 9110, section 7.4
        self.assertEqual(self.ask(f"GET {plain} HTTP/1.1", ["Host: x"], self.ada)[0], 421)

    def test_an_empty_condition_is_an_error(self):
        job = self.lab.submit()
        for name in ("If-Match", "If-None-Match", "Idempotency-Key", "Origin"):
            status, body = self.ask(f"POST /api/v1/jobs/{job}/hold HTTP/1.1",
                                    ["Host: x", f"{name}:", "Content-Length: 0"], self.ada)
            self.assertEqual(status, 400, name)
            self.assertEqual([error["header"] for error in json.loads(body)["errors"]], [name])
        self.assertEqual(self.lab.audit(operation="job.hold"), [])

    def test_streams_of_one_user_are_limited(self):
        streams = []

        def follow(token):
            connection = self.lab.connect()
            connection.request("GET", "/api/v1/events", headers={"Authorization": f"Bearer {token}"})
            streams.append(connection.getresponse())  # owns the socket
            return streams[-1]
        try:
            for _ in range(64):
                self.assertEqual(follow(self.ada).status, 200)
            refused = follow(self.ada)
            self.assertEqual((refused.status, refused.headers["content-type"]), (429, "application/problem+json"))
            self.assertIn("ada follows the events with 64 streams", json.loads(refused.read())["detail"])
            operator = self.lab.token("ada2", ["x"])
            self.assertIn(follow(operator).status, (200, 403))  # with or without the role: not 429
        finally:
            for stream in streams:
                stream.close()
        wait_until(lambda: follow(self.ada).status == 200)
        streams[-1].close()

    def test_the_reason_of_a_removal_is_an_event(self):
        reservation = {"name": "dimm", "nodes": "train001", "in": "2h", "for": "1h"}
        self.assertEqual(self.lab.local("POST", "/reservations", reservation).status, 201)
        since = self.lab.local("GET", "/server").headers["weft-sequence"]
        removed = self.lab.local("POST", "/reservations/dimm/remove", {"reason": "the DIMM is fine"})
        self.assertEqual(removed.status, 200, removed)
        connection = self.lab.connect()
        connection.request("GET", f"/api/v1/events?since={since}", headers={"Authorization": f"Bearer {self.ada}"})
        answer = connection.getresponse()
        events = []
        while not any(event["kind"] == "reservation_ended" for event in events):
            line = answer.readline().decode()
            self.assertTrue(line, "the stream has ended")
            if line.startswith("data:"):
                events.append(json.loads(line[len("data:"):]))
        connection.close()
        self.assertTrue(events[-1]["text"].endswith(": the DIMM is fine"), events[-1])


class ApiServerProvider(unittest.TestCase):
    """The OIDC provider fails for a while."""

    def test_a_device_login_outlasts_errors(self):
        with Lab(oidc=True) as lab:
            lab.issuer.control("mode", interval=1)
            begun = lab.http("POST", "/login/device", {}).json

            def poll():
                time.sleep(begun["interval"] + 0.05)  # sooner, it would be told to slow down
                return lab.http("POST", "/login/device/token", {"handle": begun["handle"]})
            asked = lab.issuer.control("stats").get("/token", 0)
            for status in (500, 503):
                lab.issuer.control("mode", fail=status)
                self.assertEqual(poll().json["error"], "authorization_pending")
            self.assertEqual(lab.issuer.control("stats").get("/token", 0), asked + 2)
            lab.issuer.control("mode", fail=0)
            lab.issuer.control("device", user_code=begun["user_code"], user="ada")
            answer = poll()
            self.assertEqual(answer.status, 200, answer)
            self.assertIn("access_token", answer.json)


class ApiServerMemory(unittest.TestCase):
    """Of a server whose memory its own user may not read, jobs still run: they are started by /proc/self/exe."""

    def is_readable(self, pid, user):
        """Whether a process of the same user with the same rights could attach to it: ptrace(2)."""
        return subprocess.run([*self.drop(user), "cat", f"/proc/{pid}/environ"], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, check=False).returncode == 0

    @staticmethod
    def drop(user):
        if os.geteuid() != 0:
            return []
        rights = "-sys_ptrace,-perfmon,-sys_admin"  # with which root reads any process: capabilities(7)
        words = ["setpriv", f"--bounding-set={rights}", f"--inh-caps={rights}"]
        return words if user == 0 else [*words, f"--reuid={user}", f"--regid={user}", "--clear-groups"]

    def check(self, user):
        if os.geteuid() == 0:
            needs_program("setpriv")
        with Lab(start=False) as lab, tempfile.TemporaryDirectory() as folder:
            for path in [pathlib.Path(folder), lab.folder, *lab.folder.rglob("*")]:
                os.chown(path, user, user)
            environment = {**os.environ, "HOME": folder}
            words = [lab_module.EXECUTABLE, "serve", str(lab.folder / "cluster.yaml"), "--state", str(lab.state),
                     "--socket", lab.socket]
            control = subprocess.Popen([*self.drop(user), "sleep", "1000"])
            wait_until(lambda: pathlib.Path(f"/proc/{control.pid}/comm").read_text(encoding="ascii") == "sleep\n")
            lab.process = subprocess.Popen([*self.drop(user), *words], env=environment, stdout=subprocess.DEVNULL,
                                           stderr=subprocess.DEVNULL)

            def is_ready():
                self.assertIsNone(lab.process.poll())
                try:
                    facts = lab.local("GET", "/server").json["server"]
                    return facts["nodes"] == facts["usable_nodes"]
                except (OSError, lab_module.http.client.HTTPException):
                    return False
            wait_until(is_ready)
            self.assertTrue(self.is_readable(control.pid, user), "the test itself: of another program")
            self.assertFalse(self.is_readable(lab.process.pid, user))
            control.kill()
            control.wait()
            text = ("job: 1\nname: canary\ntenant: team-a\nnodes: 1\n"
                    "command: [/bin/sh, -c, 'echo ran as $(id -u); exit 0']\n")
            path = pathlib.Path(folder, "job.yaml")
            path.write_text(text, encoding="ascii")
            path.chmod(0o644)
            words = [*self.drop(user), lab_module.EXECUTABLE, "job", "submit", str(path)]
            submitted = subprocess.run(words, cwd=folder, env={**environment, "WEFT_SOCKET": lab.socket},
                                       capture_output=True, check=False)
            self.assertEqual(submitted.returncode, 0, submitted)
            job = 1
            wait_until(lambda: lab.local("GET", f"/jobs/{job}").json["job"]["state"] in ("done", "failed"))
            state = lab.local("GET", f"/jobs/{job}").json["job"]["state"]
            self.assertEqual((state, lab.local("GET", f"/jobs/{job}/logs").text), ("done", f"ran as {user}\n"))

    def test_its_own_user_cannot_read_it(self):
        self.check(os.geteuid())

    def test_other_users_cannot_read_it(self):
        needs(os.geteuid() == 0, "root")
        self.check(65534)


if __name__ == "__main__":
    run_tests()
