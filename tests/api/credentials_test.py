#!/usr/bin/python3
"""Credentials without the provider: static tokens and client certificates; and the limits on failures and requests.
Usage: credentials_test.py EXECUTABLE [PATTERN...]
"""

import http.client
import pathlib
import shutil
import ssl
import subprocess
import tempfile
import time
import unittest

from lab import API, Lab, Response, run_tests
from sign_in import WithServer, change_store, find_entry, read_cookie


class ApiStaticTokens(WithServer):
    def test_wrong_tokens(self):
        mine, other = self.lab.token("ada"), self.lab.token("bob")
        self.assertEqual(self.accepted(mine)["user"], "ada")
        _, own_id, own_secret = read_cookie(mine)
        _, other_id, other_secret = read_cookie(other)
        alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
        last = alphabet[alphabet.index(mine[-1]) + 1]  # the same 32 bytes in a lax base64
        for wrong in (f"weft_t_{other_id}_{own_secret}", f"weft_t_{own_id}_{other_secret}", f"weft_t_{own_id}",
                      f"weft_t_{own_id}_",
                      f"weft_t_{'0' * 12}_{own_secret}", mine[:-1], mine + "A", mine[:-1] + last, mine + "=",
                      mine + " x", mine.upper(),
                      mine.lower(), mine.replace("weft_", "WEFT_"), f"weft_a_{own_id}_{own_secret}",
                      f"weft_s_{own_id}_{own_secret}",
                      f"weft_r_{own_id}_{own_secret}", f"weft_x_{own_id}_{own_secret}", "weft_", "weft_t_", own_secret,
                      f"{mine},{mine}"):
            with self.subTest(wrong[:24]):
                self.refused(wrong)
        # An address is no place for a token (RFC 9700, section 4.3.2).
        response = self.lab.http("GET", f"/session?access_token={mine}")
        self.assertEqual(response.status, 401)

    def test_revoked_tokens(self):
        token = self.lab.token("ada", ["team-a"])
        identifier = read_cookie(token)[1]
        self.accepted(token)
        self.assertEqual(self.lab.local("POST", f"/tokens/weft_t_{identifier}/revoke", {}).status, 200)
        self.assertEqual(self.logged(self.refused(token))["reason"], f"revoked token weft_t_{identifier}")
        self.lab.stop()
        self.lab.start()
        self.refused(token)

    def test_expired_tokens(self):
        first, second = self.lab.token("ada", expires_in="1h"), self.lab.token("ada", expires_in="1h")
        identifier = read_cookie(first)[1]
        self.accepted(first)

        def age(record):
            if record["id"] == identifier:
                record["expires"] -= 3_600_000
                record["created"] -= 3_600_000
        change_store(self.lab, "tokens", age)
        self.refused(first)
        self.accepted(second)
        for life in ("59s", "53w", "0s", "-1h", "x"):
            response = self.lab.local("POST", "/tokens", {"name": "x", "expires_in": life})
            self.assertEqual(response.status, 400, life)

    def test_lists_show_the_prefix(self):
        token = self.lab.token("ada")
        _, identifier, secret = read_cookie(token)
        for output in ("json", "table", "wide", "yaml", "csv"):
            text = self.lab.local("GET", f"/tokens?output={output}").text
            self.assertIn(f"weft_t_{identifier}", text)
            self.assertNotIn(secret, text)
        row = [row for row in self.lab.local("GET", "/tokens").json["tokens"] if row["token"].endswith(identifier)]
        self.assertEqual((row[0]["user"], row[0]["state"]), ("ada", "valid"))
        # A user sees and revokes its own only; another's does not exist.
        self.assertEqual({row["user"] for row in self.lab.http("GET", "/tokens", token=token).json["tokens"]}, {"ada"})
        stranger = self.lab.token("bob")
        foreign = self.lab.http("POST", f"/tokens/weft_t_{identifier}/revoke", {}, token=stranger)
        absent = self.lab.http("POST", f"/tokens/weft_t_{'0' * 12}/revoke", {}, token=stranger)
        self.assertEqual((foreign.status, absent.status), (404, 404))
        self.assertEqual(foreign.detail.replace(identifier, ""), absent.detail.replace("0" * 12, ""))
        self.accepted(token)


NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


def join_files(path, *parts):
    """Writes PEM files one after the other; returns the path as text."""
    texts = [pathlib.Path(part).read_text(encoding="utf-8") for part in parts]
    pathlib.Path(path).write_text("".join(texts), encoding="utf-8")
    return str(path)


def make_authority(folder, name):
    key, certificate = f"{folder}/{name}.key", f"{folder}/{name}.pem"
    subprocess.run(["openssl", "req", "-x509", *NEW_KEY, "-keyout", key, "-out", certificate, "-days", "2", "-subj",
                    f"/CN={name}"], check=True, capture_output=True)
    return certificate, key


def make_certificate(folder, name, subject, authority, *, usage="clientAuth", dates=("-days", "2")):
    """A certificate and its key in one PEM file."""
    key, request, path, more = (f"{folder}/{name}.{end}" for end in ("key", "csr", "crt", "ext"))
    pathlib.Path(more).write_text(f"basicConstraints=critical,CA:FALSE\nextendedKeyUsage={usage}\n", encoding="utf-8")
    subprocess.run(["openssl", "req", *NEW_KEY, "-keyout", key, "-out", request, "-subj", subject, "-utf8"], check=True,
                   capture_output=True)
    if dates[0] == "-days":
        subprocess.run(["openssl", "x509", "-req", "-in", request, "-CA", authority[0], "-CAkey", authority[1],
                        "-CAcreateserial", "-out", path, "-extfile", more, *dates], check=True, capture_output=True)
    else:
        database = pathlib.Path(folder, f"{name}.db")
        database.write_text("", encoding="utf-8")
        config = pathlib.Path(folder, f"{name}.cnf")
        config.write_text("[ca]\ndefault_ca=a\n[a]\npolicy=p\ndefault_md=sha256\nunique_subject=no\n"
                          f"database={database}\nnew_certs_dir={folder}\nrand_serial=yes\n"
                          "[p]\ncommonName=optional\norganizationName=optional\n", encoding="utf-8")
        subprocess.run(["openssl", "ca", "-batch", "-config", config, "-in", request, "-cert", authority[0], "-keyfile",
                        authority[1],
                        "-out", path, "-extfile", more, "-notext", *dates], check=True, capture_output=True)
    return join_files(f"{folder}/{name}.bundle", path, key)


class ApiClientCertificates(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="weft_certificates_")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.authority, cls.stranger = make_authority(cls.folder, "hosts"), make_authority(cls.folder, "strangers")
        cls.lab = Lab(f"tls: {{client_ca: {cls.authority[0]}}}\n")
        cls.addClassCleanup(cls.lab.close)

    def request(self, bundle, path="/session", **headers):
        """The response; None: the server ended the connection."""
        context = self.lab.tls()
        if bundle:
            context.load_cert_chain(bundle)
        connection = http.client.HTTPSConnection("127.0.0.1", self.lab.port, timeout=60, context=context)
        try:
            connection.request("GET", API + path, headers=headers)
            answer = connection.getresponse()
            return Response(answer.status, answer.getheaders(), answer.read())
        except (ssl.SSLError, ConnectionError, http.client.RemoteDisconnected):
            return None
        finally:
            connection.close()

    def make(self, name, subject, authority=None, **more):
        return make_certificate(self.folder, name, subject, authority or self.authority, **more)

    def test_the_subject_is_user_and_groups(self):
        response = self.request(self.make("collector", "/O=team-a/O=viewers/CN=collector"))
        self.assertEqual(response.status, 200, response)
        session = response.json["session"]
        self.assertEqual((session["user"], session["method"]), ("collector", "certificate"))
        self.assertEqual(session["groups"].split(", "), ["team-a", "viewers"])
        self.assertRegex(session["credential"], r"^sha256:[0-9a-f]{64}$")
        roles = {(row["role"], row["tenant"]) for row in response.json["roles"]}
        self.assertEqual(roles, {("user", "team-a"), ("viewer", None)})
        # A name alone has no role.
        bundle = self.make("plain", "/CN=plain")
        self.assertEqual(self.request(bundle).status, 200)
        self.assertEqual(self.request(bundle, "/jobs").status, 403)

    def test_foreign_certificates_are_refused(self):
        self.assertIsNone(self.request(self.make("foreign", "/O=admins/CN=foreign", self.stranger)))
        # Signed by itself, with the name of the CA.
        certificate, key = make_authority(self.folder, "impostor")
        self.assertIsNone(self.request(join_files(f"{self.folder}/impostor.bundle", certificate, key)))
        self.assertIsNone(self.request(self.make("server", "/O=admins/CN=server", usage="serverAuth")))
        # Signed by a client's certificate, which is not a CA.
        bundle = self.make("leaf", "/CN=leaf")
        self.assertEqual(self.request(bundle).status, 200)
        below = self.make("below", "/O=admins/CN=below", (f"{self.folder}/leaf.crt", f"{self.folder}/leaf.key"))
        self.assertIsNone(self.request(join_files(f"{self.folder}/chain.bundle", below, f"{self.folder}/leaf.crt")))

    def test_times_are_checked(self):
        def valid(name, first, last):
            dates = ("-startdate", f"{first}0101000000Z", "-enddate", f"{last}0101000000Z")
            return self.request(self.make(name, f"/O=team-a/CN={name}", dates=dates))
        self.assertIsNone(valid("past", 2020, 2021))
        self.assertIsNone(valid("future", 2098, 2099))
        self.assertEqual(valid("now", 2020, 2099).status, 200)

    def test_names_of_this_machine_are_refused(self):
        for number, name in enumerate(("root", "ROOT", "a:b", " x", "..", "*")):
            with self.subTest(name):
                response = self.request(self.make(f"bad{number}", f"/O=admins/CN={name}"))
                self.assertEqual(response.status, 401, response)
        response = self.request(self.make("nameless", "/O=admins"))
        self.assertEqual(response.status, 401, response)
        find_entry(self.lab, "sign-in.refused", lambda entry: "reserved" in entry["reason"])

    def test_certificates_are_optional(self):
        self.assertEqual(self.request(None).status, 401)
        bundle = self.make("host", "/O=team-a/CN=host")
        token = self.lab.token("ada")
        both = self.request(bundle, Authorization=f"Bearer {token}")
        self.assertEqual(both.json["session"]["user"], "ada")
        self.assertEqual(self.request(bundle, Authorization="Bearer weft_t_x").status, 401)


class ApiRateLimits(unittest.TestCase):
    LIMITS = "limits: {requests_per_minute: 20, failures_per_minute: 5}\n"

    @classmethod
    def setUpClass(cls):
        cls.lab = Lab(cls.LIMITS)
        cls.addClassCleanup(cls.lab.close)

    def get(self, token, source="127.0.0.1"):
        connection = http.client.HTTPSConnection("127.0.0.1", self.lab.port, timeout=60, context=self.lab.tls(),
                                                 source_address=(source, 0))
        connection.request("GET", API + "/session", headers={"Authorization": f"Bearer {token}"} if token else {})
        answer = connection.getresponse()
        response = Response(answer.status, answer.getheaders(), answer.read())
        connection.close()
        return response

    def limited(self, send, wanted):
        """Sends until the answer is 429; the number of answers before it, all with the status `wanted`."""
        count = 0
        while True:
            response = send()
            if response.status == 429:
                # RFC 9110, section 10.2.3: seconds. The bucket has a request again within a minute.
                self.assertTrue(1 <= int(response.headers["retry-after"]) <= 60, response.headers)
                self.assertEqual(response.headers["content-type"], "application/problem+json")
                return count
            self.assertEqual(response.status, wanted, response)
            count += 1

    def test_requests_of_a_user(self):
        first, second, other = self.lab.token("greedy"), self.lab.token("greedy"), self.lab.token("modest")
        self.assertGreaterEqual(self.limited(lambda: self.get(first, "127.0.0.7"), 200), 20)
        # Neither another token nor another address helps the same user; others are not concerned.
        while True:
            began = time.monotonic()
            self.limited(lambda: self.get(first, "127.0.0.7"), 200)
            status = self.get(second, "127.0.0.8").status
            if time.monotonic() - began < 2.9:  # one request comes back every 3 s
                self.assertEqual(status, 429)
                break
        self.assertEqual(self.get(other, "127.0.0.7").status, 200)
        self.assertEqual(self.lab.local("GET", "/session").status, 200)

    def test_failures_of_a_source(self):
        right = self.lab.token("honest")
        self.assertGreaterEqual(self.limited(lambda: self.get("weft_t_wrong", "127.0.0.9"), 401), 5)
        # A credential that is valid is accepted even then: no client locks out others behind the same address.
        self.assertEqual(self.get(right, "127.0.0.9").status, 200)
        # Of those that are not, every kind counts, and none gets another answer.
        for wrong in ("weft_a_wrong", "not.a.token", "x"):
            self.limited(lambda: self.get(wrong, "127.0.0.9"), 401)  # pylint: disable=cell-var-from-loop
        # Another address has its own limit.
        self.assertEqual(self.get("weft_t_wrong", "127.0.0.10").status, 401)
        # A request without a credential is no guess.
        for _ in range(10):
            self.assertEqual(self.get("", "127.0.0.11").status, 401)
        self.assertEqual(self.get(right, "127.0.0.11").status, 200)


if __name__ == "__main__":
    run_tests()
