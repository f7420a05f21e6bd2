#!/usr/bin/env python3
"""Tests of clients/python/weft.py against a small server over TLS: python_client_test.py [TEST...]."""

import hashlib
import http.server
import json
import os
import pathlib
import re
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest

SOURCE = pathlib.Path(__file__).resolve().parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(SOURCE / "clients/python"))
import weft  # noqa: E402


def run_openssl(*words):
    subprocess.run(["openssl", *words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Certificates:
    """A CA, and a certificate for localhost that it signed."""

    def __init__(self, folder):
        self.ca, ca_key = f"{folder}/ca.pem", f"{folder}/ca.key"
        self.pem, self.key, request = f"{folder}/server.pem", f"{folder}/server.key", f"{folder}/server.csr"
        curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        run_openssl("req", "-x509", *curve, "-keyout", ca_key, "-out", self.ca, "-days", "2", "-subj", "/CN=test ca")
        run_openssl("req", *curve, "-keyout", self.key, "-out", request, "-subj", "/CN=localhost")
        extensions = pathlib.Path(folder, "extensions")
        extensions.write_text("subjectAltName=DNS:localhost\n")
        run_openssl("x509", "-req", "-in", request, "-CA", self.ca, "-CAkey", ca_key, "-CAcreateserial", "-days", "2",
                    "-extfile", str(extensions), "-out", self.pem)
        der = ssl.PEM_cert_to_DER_cert(pathlib.Path(self.pem).read_text())
        self.fingerprint = "sha256:" + hashlib.sha256(der).hexdigest()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def handle_request(self):
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        path = self.path.split("?")[0]
        seen = {"method": self.command, "target": self.path, "body": json.loads(body) if body else None,
                "headers": {name.lower(): value for name, value in self.headers.items()}}
        with self.server.lock:
            self.server.seen.append(seen)
            answers = self.server.answers.get(f"{self.command} {path}") or [(404, {"detail": f"no {path}"}, {})]
            answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if answer == "close":
            self.close_connection = True
            return
        status, content, headers = answer
        kind = "application/problem+json" if status >= 400 else "application/json"
        if isinstance(content, str):
            kind, content = headers.pop("kind", "text/plain"), content.encode()
        else:
            content = json.dumps(content).encode()
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = handle_request


class QuietServer(http.server.ThreadingHTTPServer):
    def handle_error(self, *_):  # a client that does not trust it
        pass


class Server:
    def __init__(self, certificates):
        self.http = QuietServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.http.lock, self.http.answers, self.http.seen = threading.Lock(), {}, []
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificates.pem, certificates.key)
        self.http.socket = context.wrap_socket(self.http.socket, server_side=True, do_handshake_on_connect=False)
        self.url = f"https://localhost:{self.http.server_address[1]}"
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()

    def set(self, request, *answers):
        self.http.answers[request] = [each if each == "close" else (each + ({},))[:3] for each in answers]

    def take(self):
        seen, self.http.seen = self.http.seen, []
        return seen

    def close(self):
        self.http.shutdown()
        self.http.server_close()


class ClientTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.certificates = Certificates(cls.folder.name)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def setUp(self):
        self.server = Server(self.certificates)
        self.addCleanup(self.server.close)
        self.home = tempfile.TemporaryDirectory()
        self.addCleanup(self.home.cleanup)
        kept = dict(os.environ)
        self.addCleanup(lambda: (os.environ.clear(), os.environ.update(kept)))
        for name in list(os.environ):
            if name.startswith(("WEFT_", "XDG_")):
                del os.environ[name]
        os.environ["HOME"] = self.home.name

    def client(self, **more):
        client = weft.Client(self.server.url, **{"token": "weft_t_id_secret", "ca": self.certificates.ca, **more})
        client._sleep = lambda _: None
        return client

    def write_config(self, text):
        path = pathlib.Path(self.home.name, ".config/weft/config.yaml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def write_login(self, server="", mode=0o600, **login):
        path = pathlib.Path(self.home.name, ".local/state/weft/credentials.json")
        path.parent.mkdir(parents=True, exist_ok=True)
        entry = {"server": server or self.server.url, "user": "ada", **login}
        path.write_text(json.dumps({"weft_credentials": 1, "logins": {"prod": entry}}))
        path.chmod(mode)
        return path

    # Certificates

    def test_a_certificate_of_the_ca_is_trusted(self):
        self.server.set("GET /api/v1/server", (200, {"server": {"cluster": "pod16"}}))
        self.assertEqual(self.client().server(), {"cluster": "pod16"})
        self.assertEqual(self.server.take()[0]["headers"]["authorization"], "Bearer weft_t_id_secret")

    def test_others_are_refused_and_get_nothing(self):
        for client in (self.client(ca=""), self.client(ca="", fingerprint="sha256:" + "0" * 64)):
            with self.assertRaises(weft.ServerUnavailable) as caught:
                client.submit("x", directory="/")
            self.assertTrue(caught.exception.untrusted)
            with self.assertRaises(weft.ServerUnavailable):
                next(client.events(since=1))
        self.assertEqual(self.server.take(), [])

    def test_a_certificate_for_another_host_is_refused(self):
        with self.assertRaises(weft.ServerUnavailable) as caught:
            weft.Client(self.server.url.replace("localhost", "127.0.0.1"), ca=self.certificates.ca).server()
        self.assertTrue(caught.exception.untrusted)
        self.assertEqual(self.server.take(), [])

    def test_a_pinned_certificate_needs_no_ca(self):
        self.server.set("GET /api/v1/server", (200, {"server": {}}))
        self.client(ca="", fingerprint=self.certificates.fingerprint).server()
        with self.assertRaisesRegex(weft.ServerUnavailable, self.certificates.fingerprint):
            self.client(ca="", fingerprint="a" * 64).server()

    def test_only_https(self):
        for url in ("http://localhost", "localhost", "https://", "https://u@h", "https://h/path", "ftp://h"):
            with self.assertRaises(ValueError, msg=url):
                weft.Client(url)
        with self.assertRaises(ValueError):
            weft.Client("https://h", token="two\r\nlines")
        with self.assertRaises(ValueError):
            weft.Client()

    def test_a_token_is_in_no_message(self):
        client = self.client()
        self.assertNotIn("secret", repr(client))
        with self.assertRaises(weft.WeftError) as caught:
            client.job(9)
        self.assertNotIn("secret", repr(caught.exception) + str(caught.exception))

    # Requests

    def test_a_submission_is_repeated_with_its_key(self):
        answer = {"answer": {"job": 7, "message": "submitted", "expected_start": "2026-11-18T20:00:00Z"}}
        self.server.set("POST /api/v1/jobs", "close", (503, {"detail": "restarting"}), (201, answer))
        submitted = self.client().submit("text", name="a.yaml", directory="/home/ada", tenant="research")
        self.assertEqual((submitted.job, submitted.expected_start), (7, "2026-11-18T20:00:00Z"))
        seen = self.server.take()
        self.assertEqual(len(seen), 3)
        self.assertEqual(len({each["headers"]["idempotency-key"] for each in seen}), 1)
        self.assertEqual(seen[0]["body"],
                         {"text": "text", "name": "a.yaml", "directory": "/home/ada", "tenant": "research"})

    def test_a_change_is_not_repeated(self):
        self.server.set("POST /api/v1/jobs/7/cancel", "close")
        with self.assertRaisesRegex(weft.ServerUnavailable, "localhost"):
            self.client().cancel(7, "no longer needed")
        self.assertEqual(len(self.server.take()), 1)

    def test_a_change_that_waits_for_approval(self):
        self.server.set("POST /api/v1/nodes/n1/drain", (202, {"approval": 12}))
        answer = self.client().drain("n1", "new firmware")
        self.assertEqual(answer.approval, "12")
        self.server.set("POST /api/v1/approvals/12/approve", (200, {"answer": {"message": "carried out"}}))
        self.assertEqual(self.client().approve("12").message, "carried out")

    def test_errors_have_their_places(self):
        self.server.set("POST /api/v1/jobs", (422, {
            "title": "Invalid job", "detail": "invalid job file", "request_id": "r1",
            "errors": [{"source": "job.yaml", "line": 3, "column": 5, "detail": "unknown key `gpu`"},
                       {"pointer": "/body/tenant", "detail": "no such tenant"}, 7]}))
        with self.assertRaises(weft.WeftError) as caught:
            self.client().submit("x", directory="/")
        error = caught.exception
        self.assertEqual((error.status, error.title, error.request_id), (422, "Invalid job", "r1"))
        self.assertEqual([str(place) for place in error.places],
                         ["job.yaml:3:5: unknown key `gpu`", "/body/tenant: no such tenant"])
        self.assertIn("job.yaml:3:5", str(error))

    def test_401_is_a_class_of_its_own(self):
        self.server.set("GET /api/v1/session", (401, {"detail": "x"}))
        with self.assertRaisesRegex(weft.NotSignedIn, "weft login"):
            self.client().session()
        self.assertEqual(len(self.server.take()), 1)

    def test_lists_go_on_page_after_page(self):
        self.server.set("GET /api/v1/jobs", (200, {"jobs": [{"job": 1}, {"job": 2}]}, {"weft-next-page": "p2"}),
                        (200, {"jobs": [{"job": 3}]}))
        self.assertEqual([row["job"] for row in self.client().jobs(all=True, state="failed")], [1, 2, 3])
        targets = [each["target"] for each in self.server.take()]
        self.assertEqual(targets, ["/api/v1/jobs?all=1&state=failed", "/api/v1/jobs?all=1&state=failed&page=p2"])

    def test_names_cannot_leave_their_segment(self):
        self.server.set("GET /api/v1/nodes/a%3Fb%23c%25", (200, {"node": {}}))
        self.client().node("a?b#c%")
        self.assertEqual(self.server.take()[0]["target"], "/api/v1/nodes/a%3Fb%23c%25")
        for name in ("", ".", ".."):
            with self.assertRaises(ValueError):
                self.client().node(name)

    def test_too_many_requests(self):
        self.server.set("GET /api/v1/queue", (429, {"detail": "x"}, {"Retry-After": "7"}), (200, {"queue": []}))
        client, pauses = self.client(), []
        client._sleep = pauses.append
        client.queue()
        self.assertEqual(pauses, [7.0])

    def test_a_response_that_is_not_json(self):
        self.server.set("GET /api/v1/server", (200, "<html>", {"kind": "application/json"}))
        with self.assertRaisesRegex(weft.WeftError, "invalid response"):
            self.client().server()

    # Events

    @staticmethod
    def stream(*events):
        text = ": heartbeat\n\n"
        for number, name, data in events:
            text += f"id: {number}\nevent: {name}\ndata: {json.dumps(data)}\n\n"
        return 200, text, {"kind": "text/event-stream"}

    def test_events_go_on_after_a_break(self):
        self.server.set("GET /api/v1/server", (200, {"server": {}}, {"weft-sequence": "40"}))
        self.server.set("GET /api/v1/events", self.stream((41, "job_started", {"text": "a"})), "close",
                        (503, {"detail": "x"}), self.stream((42, "job_ended", {"text": "b"}), (43, "x", {})))
        found = []
        for event in self.client().events(job=7):
            found.append((event.id, event.name))
            if event.id == 43:
                break
        self.assertEqual(found, [(41, "job_started"), (42, "job_ended"), (43, "x")])
        resumed = [each["headers"]["last-event-id"] for each in self.server.take() if "events" in each["target"]]
        self.assertEqual(resumed, ["40", "41", "41", "41"])

    def test_events_that_were_replaced(self):
        self.server.set("GET /api/v1/events", (410, {"detail": "replaced by a snapshot"}))
        with self.assertRaises(weft.WeftError) as caught:
            next(self.client().events(since=1))
        self.assertEqual(caught.exception.status, 410)

    def test_wait_reads_the_job_again(self):
        self.server.set("GET /api/v1/jobs/7", (200, {"job": {"state": "running"}}, {"weft-sequence": "5"}),
                        (200, {"job": {"state": "done"}}, {"weft-sequence": "6"}))
        self.server.set("GET /api/v1/events", self.stream((6, "job_ended", {})))
        self.assertEqual(self.client().wait(7)["state"], "done")

    # The configuration of weft

    def test_contexts(self):
        self.write_config("# mine\nweft_config: 1\ncurrent: prod   # the big one\ncontexts:\n"
                          f"  prod: {{server: {self.server.url}, ca: '{self.certificates.ca}'}}\n"
                          "  lab:\n"
                          f"    server: \"{self.server.url}\"\n"
                          f"    fingerprint: {self.certificates.fingerprint}\n"
                          "  here: {socket: /run/weft/weft.sock}\n")
        self.server.set("GET /api/v1/server", (200, {"server": {}}))
        for name in (None, "prod", "lab"):
            weft.from_context(name).server()
        self.assertEqual(repr(weft.from_context("here")), "weft.Client('/run/weft/weft.sock')")
        self.assertNotIn("authorization", self.server.take()[0]["headers"])
        os.environ["WEFT_TOKEN"] = "weft_t_id_secret"
        weft.from_context().server()
        self.assertEqual(self.server.take()[0]["headers"]["authorization"], "Bearer weft_t_id_secret")

    def test_invalid_configurations(self):
        for text in ("current: no\n", "current: [a]\n", "contexts: {a: {server: https://h}\n", "x\n",
                     "current: a\ncontexts: {a: {server: https://h, verify: false}}\n", "current: a\ncurrent: b\n",
                     "current: *a\n", "contexts:\n\tprod: {}\n"):
            self.write_config(text)
            with self.assertRaises(weft.ConfigError, msg=text):
                weft.from_context()
        pathlib.Path(self.home.name, ".config/weft/config.yaml").unlink()
        with self.assertRaisesRegex(weft.ConfigError, "weft login"):
            weft.from_context()

    def test_an_expired_login_is_refreshed_once(self):
        self.write_config(f"current: prod\ncontexts: {{prod: {{server: {self.server.url}, ca: {self.certificates.ca}}}}}\n")
        path = self.write_login(access_token="weft_a_1", refresh_token="weft_r_1", expires_ms=1)
        self.server.set("POST /login/refresh",
                        (200, {"access_token": "weft_a_2", "refresh_token": "weft_r_2", "expires_in": 900}))
        self.server.set("GET /api/v1/server", (200, {"server": {}}))
        threads = [threading.Thread(target=lambda: weft.from_context().server()) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        seen = self.server.take()
        self.assertEqual([each["body"] for each in seen if each["method"] == "POST"], [{"refresh_token": "weft_r_1"}])
        self.assertEqual({each["headers"].get("authorization") for each in seen if each["method"] == "GET"},
                         {"Bearer weft_a_2"})
        self.assertEqual(path.stat().st_mode & 0o777, 0o600)
        self.assertEqual(json.loads(path.read_text())["logins"]["prod"]["refresh_token"], "weft_r_2")

    def test_a_rejected_login_is_refreshed(self):
        self.write_config(f"current: prod\ncontexts: {{prod: {{server: {self.server.url}, ca: {self.certificates.ca}}}}}\n")
        path = self.write_login(access_token="weft_a_1", refresh_token="weft_r_1",
                                expires_ms=int(time.time() * 1000) + 900_000)
        self.server.set("GET /api/v1/server", (401, {"detail": "x"}), (200, {"server": {}}))
        self.server.set("POST /login/refresh",
                        (200, {"access_token": "weft_a_2", "refresh_token": "weft_r_2", "expires_in": 900}))
        weft.from_context(retries=0).server()
        self.assertEqual([each["headers"].get("authorization") for each in self.server.take()],
                         ["Bearer weft_a_1", None, "Bearer weft_a_2"])
        self.write_login(access_token="weft_a_1", refresh_token="weft_r_1", expires_ms=1)
        self.server.set("POST /login/refresh", (400, {"error": "invalid_grant"}))
        self.server.set("GET /api/v1/server", (401, {"detail": "x"}))
        with self.assertRaises(weft.NotSignedIn):
            weft.from_context().server()
        self.assertEqual(json.loads(path.read_text())["logins"], {})

    def test_a_login_of_another_server_is_not_sent(self):
        self.write_config(f"current: prod\ncontexts: {{prod: {{server: {self.server.url}, ca: {self.certificates.ca}}}}}\n")
        self.write_login(server="https://other:8443", access_token="weft_a_1")
        self.server.set("GET /api/v1/server", (200, {"server": {}}))
        weft.from_context().server()
        self.assertNotIn("authorization", self.server.take()[0]["headers"])
        self.write_login(mode=0o640, access_token="weft_a_1")
        with self.assertRaisesRegex(weft.ConfigError, "chmod 600"):
            weft.from_context().server()

    # The README

    def test_the_example_of_the_readme(self):
        readme = (SOURCE / "clients/python/README.md").read_text()
        example = re.search(r"```python\n(.*?)```", readme, re.S).group(1)
        pathlib.Path(self.home.name, "train.job.yaml").write_text("name: train\n")
        self.write_config(f"current: prod\ncontexts: {{prod: {{server: {self.server.url}, ca: {self.certificates.ca}}}}}\n")
        self.write_login(access_token="weft_a_1")
        self.server.set("POST /api/v1/jobs/check", (200, {"job_check": {"expected_start": "2026-11-18T20:00:00Z"}}))
        self.server.set("POST /api/v1/jobs", (201, {"answer": {"job": 7, "message": "submitted"}}))
        self.server.set("GET /api/v1/jobs/7", *((200, {"job": {"job": 7, "state": state}}) for state in
                                               ("queued", "running", "done")))
        self.server.set("GET /api/v1/server", (200, {"server": {"sequence": 40}}))
        self.server.set("GET /api/v1/events", self.stream((41, "part_running", {"text": "job 7 runs"}),
                                                          (42, "attempt_ended", {"text": "job 7 is done"})))
        self.server.set("GET /api/v1/jobs/7/logs", (200, "step 1\n"))
        environment = {**os.environ, "PYTHONPATH": str(SOURCE / "clients/python"), "PYTHONDONTWRITEBYTECODE": "1"}
        ran = subprocess.run([sys.executable, "-c", example], cwd=self.home.name, env=environment, timeout=60,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        self.assertEqual(ran.returncode, 0, ran.stdout)
        self.assertEqual(ran.stdout, "would start at 2026-11-18T20:00:00Z\njob 7 queued\n"
                         "41 job 7 runs\n42 job 7 is done\nstep 1\n")
        for name in re.findall(r"`(\w+)\((?:[\w=, ]*)\)`", readme):
            self.assertTrue(hasattr(weft.Client, name) or hasattr(weft, name), name)


if __name__ == "__main__":
    unittest.main()
