#!/usr/bin/env python3
"""`weft oob trust`, and how a login is made: no password is sent before a certificate is accepted.
trust_test.py EXECUTABLE [PATTERN...]
"""

import concurrent.futures
import json
import os
import pty
import select
import socket
import ssl
import stat
import subprocess
import tempfile
import threading
import unittest

from small_bmc import PASSWORD, ROOT, SYSTEM, Bmcs, lab, small_tree
from redfish_dump_server import SESSIONS, DumpServer, make_certificate

needs_program, run_tests = lab.needs_program, lab.run_tests


def fingerprint_of(path):
    """As openssl computes it."""
    done = subprocess.run(["openssl", "x509", "-in", path, "-noout", "-fingerprint", "-sha256"], capture_output=True,
                          text=True, check=True)
    return "sha256:" + done.stdout.strip().rpartition("=")[2].replace(":", "").lower()


def login_requests(server):
    return [one for one in server.requests if one.login or one.method == "POST"]


class TrustCase(unittest.TestCase):
    def setUp(self):
        needs_program("openssl")

    def use(self, *arguments, **options):
        bmcs = Bmcs(*arguments, **options)
        self.addCleanup(bmcs.close)
        return bmcs

    def renew(self, bmcs, number=0):
        """Another certificate for a BMC: its fingerprint."""
        folder = tempfile.mkdtemp(dir=bmcs.folder)
        certificate, key = make_certificate(folder)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        bmcs.servers[number].context = context
        return fingerprint_of(certificate)


class OobTrust(TrustCase):
    def test_certificate_is_shown_and_nothing_is_accepted_without_confirmation(self):
        bmcs = self.use()
        out, err = bmcs.trust("-o", "json", code=4)
        row, = json.loads(out)["certificates"]
        self.assertEqual((row["device"], row["state"], row["fingerprint"]),
                         ("box001", "new", fingerprint_of(bmcs.certificate)))
        self.assertIn("CN = bmc", row["subject"])
        self.assertEqual(row["findings"], "is self-signed")
        self.assertRegex(row["from"] + row["until"], r"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ){2}$")
        self.assertIn("confirm with --yes", err)
        self.assertFalse((bmcs.state / "trusted-certificates").exists())
        self.assertEqual(bmcs.servers[0].requests, [])  # a handshake alone

    def test_accepted_certificate_is_used_by_other_commands(self):
        bmcs = self.use(2)
        status = bmcs.json("status", code=5)["devices"]
        self.assertEqual({one["cause"] for one in status}, {"certificate not trusted"})
        self.assertIn("weft oob trust", status[0]["error"])
        self.assertEqual([login_requests(server) for server in bmcs.servers], [[], []])
        bmcs.trust("--yes", "--reason", "first contact")
        self.assertEqual([one["state"] for one in bmcs.json("status")["devices"]], ["on", "on"])
        path = bmcs.state / "trusted-certificates"
        self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o600)
        noted = [(one["verb"], one["device"], one["detail"]["fingerprint"], one["detail"]["reason"])
                 for one in bmcs.journal()]
        self.assertEqual(noted, [("trust.accept", name, fingerprint_of(bmcs.certificate), "first contact")
                                 for name in ("box001", "box002")])
        findings = bmcs.json("audit", code=1)["findings"]
        self.assertNotIn("OB041", [one["rule"] for one in findings])

    def test_changed_certificate_is_refused_before_a_password_is_sent(self):
        bmcs = self.use()
        bmcs.trust("--yes")
        before = fingerprint_of(bmcs.certificate)
        after = self.renew(bmcs)
        for more in ([], ["--insecure"], ["--ca", bmcs.certificate]):
            row, = bmcs.json("status", *more, code=5)["devices"]
            self.assertEqual(row["cause"], "certificate changed")
            for text in (before, after, "weft oob trust"):
                self.assertIn(text, row["error"])
        self.assertEqual(login_requests(bmcs.servers[0]), [])
        out, err = bmcs.trust("--yes", "-o", "json", code=4)
        row, = json.loads(out)["certificates"]
        self.assertEqual((row["state"], row["fingerprint"], row["accepted"]), ("changed", after, before))
        self.assertIn("--replace", err)
        bmcs.trust("--yes", "--replace")
        self.assertEqual(bmcs.json("status")["devices"][0]["state"], "on")
        self.assertEqual([one["verb"] for one in bmcs.journal()], ["trust.accept", "trust.replace"])

    def test_fingerprint_must_be_equal(self):
        bmcs = self.use()
        _, err = bmcs.trust("--fingerprint", "sha256:" + "0" * 64, code=4)
        self.assertIn("does not have the given fingerprint", err)
        self.assertEqual(bmcs.journal(), [])
        colons = fingerprint_of(bmcs.certificate)[7:].upper()
        bmcs.trust("--fingerprint", ":".join(colons[i:i + 2] for i in range(0, 64, 2)))
        self.assertEqual(bmcs.journal()[0]["detail"]["compared"], True)
        self.assertEqual(bmcs.json("status")["devices"][0]["state"], "on")
        _, err = bmcs.trust("--fingerprint", "sha1:1234", code=2)
        self.assertIn("is not a SHA-256 fingerprint", err)

    def test_list_and_remove(self):
        bmcs = self.use(2)
        bmcs.trust("--yes")
        rows = json.loads(bmcs.trust("--list", "-o", "json")[0])["accepted"]
        self.assertEqual([(one["device"], one["address"]) for one in rows],
                         [(f"box00{i + 1}", f"127.0.0.1:{bmcs.servers[i].port}") for i in range(2)])
        bmcs.trust("box001", "--remove")
        rows = json.loads(bmcs.trust("--list", "-o", "json")[0])["accepted"]
        self.assertEqual([one["device"] for one in rows], ["box002"])
        self.assertEqual(bmcs.journal()[-1]["verb"], "trust.remove")
        self.assertEqual([one["state"] for one in bmcs.json("status", code=3)["devices"]], ["unreachable", "on"])

    def test_certificate_of_an_authority_needs_nothing(self):
        bmcs = self.use()
        bmcs.write_files(defaults=f"ca: {bmcs.certificate}")
        row, = json.loads(bmcs.trust("--yes", "-o", "json")[0])["certificates"]
        self.assertEqual((row["state"], row["action"]), ("verified", "-"))
        self.assertFalse((bmcs.state / "trusted-certificates").exists())

    def test_unreachable_bmc_is_named(self):
        bmcs = self.use(2)
        bmcs.servers[1].close()
        out, _ = bmcs.trust("--yes", "-o", "json", code=3)
        self.assertEqual([one["state"] for one in json.loads(out)["certificates"]], ["new", "unreachable"])
        bmcs.servers.pop()

    def test_concurrent_runs_lose_nothing(self):
        bmcs = self.use(6)
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            list(pool.map(lambda i: bmcs.trust(f"box00{i + 1}", "--yes"), range(6)))
        rows = json.loads(bmcs.trust("--list", "-o", "json")[0])["accepted"]
        self.assertEqual(len(rows), 6)

    def test_file_that_others_may_write_is_refused(self):
        bmcs = self.use()
        bmcs.trust("--yes")
        path = bmcs.state / "trusted-certificates"
        path.chmod(0o620)
        _, err = bmcs.run("status", code=4)
        self.assertIn(f"chmod go-w {path}", err)
        path.chmod(0o600)
        path.write_text("box001 127.0.0.1:443 sha256:12\n", encoding="utf-8")
        _, err = bmcs.run("status", code=2)
        self.assertIn("trusted-certificates:1", err)

    def test_question_on_a_terminal(self):
        bmcs = self.use()
        for answer, code in (("no", 4), ("yes", 0)):
            line = bmcs.line("trust", str(bmcs.folder / "cluster.yaml"), "@box", credentials=False)
            main, other = pty.openpty()
            with subprocess.Popen(line, stdin=other, stderr=other, stdout=subprocess.PIPE, env=bmcs.variables()) as run:
                os.close(other)
                seen = b""
                while b"Type yes: " not in seen:
                    self.assertTrue(select.select([main], [], [], 60)[0], seen)
                    seen += os.read(main, 4096)
                os.write(main, answer.encode() + b"\n")
                self.assertEqual(run.wait(60), code)
            os.close(main)
        self.assertEqual(len(bmcs.journal()), 1)

    def test_through_a_socks_proxy(self):
        bmcs = self.use()
        with Socks() as proxy:
            bmcs.write_files(endpoint=f'proxy: "socks5h://127.0.0.1:{proxy.port}"')
            bmcs.trust("--yes")
            self.assertEqual(bmcs.json("status")["devices"][0]["state"], "on")
        self.assertGreaterEqual(proxy.served, 2)


class Socks:
    """A SOCKS5 proxy (RFC 1928) without authentication, for CONNECT to IPv4 addresses and names."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.served = 0

    def __enter__(self):
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.listener.close()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        with client:
            reader = client.makefile("rb", buffering=0)
            reader.read(reader.read(2)[1])
            client.sendall(b"\x05\x00")
            kind = reader.read(4)[3]
            host = socket.inet_ntoa(reader.read(4)) if kind == 1 else reader.read(reader.read(1)[0]).decode()
            port = int.from_bytes(reader.read(2), "big")
            with socket.create_connection((host, port)) as target:
                client.sendall(b"\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x00")
                self.served += 1
                self.relay(client, target)

    @staticmethod
    def relay(one, other):
        while True:
            for ready in select.select([one, other], [], [], 60)[0]:
                data = ready.recv(65536)
                if not data:
                    return
                (other if ready is one else one).sendall(data)


def answering(status, token=False):
    """A BMC that answers a login with this status."""

    class Answering(DumpServer):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            handler = self.RequestHandlerClass

            class Handler(handler):
                def _log_in(self, body):
                    if status < 300 and (body.get("UserName"), body.get("Password")) == ("root", PASSWORD):
                        path, secret = self.server.open_session()
                        headers = [("Location", path)] + ([("X-Auth-Token", secret)] if token else [])
                        self._answer(status, {"@odata.id": path}, headers=headers)
                    else:
                        self._refuse(401 if status < 300 else status, "Base.1.8.GeneralError", "No.")

            self.RequestHandlerClass = Handler

    return Answering


class OobLogin(TrustCase):
    def logged_in(self, server, defaults="", code=0, tree=None):
        bmcs = self.use(1, {0: tree} if tree else None, server=server)
        bmcs.write_files(defaults=", ".join(filter(None, [f"ca: {bmcs.certificate}", defaults])))
        row, = bmcs.json("status", code=code)["devices"]
        used = {one.login for one in bmcs.servers[0].requests if one.login}
        return row, used, bmcs.servers[0]

    def test_any_success_with_a_token_is_a_session(self):
        for status in (200, 201, 202, 204):
            row, used, server = self.logged_in(answering(status, token=True))
            self.assertEqual((row["state"], used), ("on", {"token"}), status)
            self.assertEqual(server.sessions, {})

    def test_basic_where_there_are_no_sessions(self):
        for status in (404, 405, 501):
            row, used, server = self.logged_in(answering(status))
            self.assertEqual((row["state"], used), ("on", {"basic"}), status)
            self.assertEqual(len(server.received("POST", SESSIONS)), 1)
        row, used, _ = self.logged_in(answering(201))
        self.assertEqual((row["state"], used), ("on", {"basic"}), "no token")

    def test_no_basic_after_a_refusal(self):
        for status, cause in ((401, "user or password refused"), (403, "refused"), (500, "no answer")):
            row, used, server = self.logged_in(answering(status), code=5)
            self.assertEqual((row["cause"], used), (cause, set()), status)
            self.assertEqual(len(server.received("POST", SESSIONS)), 2 if status == 500 else 1)  # one retry

    def test_policy_of_the_endpoints_file(self):
        row, used, _ = self.logged_in(answering(404), "login: session", code=5)
        self.assertEqual((row["cause"], used), ("no session, and HTTP Basic is not allowed", set()))
        row, used, _ = self.logged_in(answering(200), "login: session", code=5)
        self.assertEqual(row["cause"], "no session, and HTTP Basic is not allowed")
        row, used, server = self.logged_in(DumpServer, "login: basic")
        self.assertEqual((row["state"], used, server.opened), ("on", {"basic"}, []))
        bmcs = self.use()
        bmcs.write_files(defaults="login: sometimes")
        _, err = bmcs.run("status", code=2)
        self.assertIn("auto, session or basic", err)

    def test_service_without_a_session_service(self):
        tree = small_tree()
        del tree[ROOT]["SessionService"], tree[ROOT]["Links"]
        row, used, _ = self.logged_in(answering(404), tree=tree)
        self.assertEqual((row["state"], used), ("on", {"basic"}))
        self.assertIn(SYSTEM, tree)


if __name__ == "__main__":
    run_tests()
