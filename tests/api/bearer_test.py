#!/usr/bin/python3
"""Signed tokens of the OIDC provider as bearer tokens: forged ones, other spellings, times, and rotation of the
provider's keys. Usage: bearer_test.py EXECUTABLE [PATTERN...]
"""

import concurrent.futures
import json
import os
import shutil
import signal
import tempfile
import time

from lab import API, Lab, run_tests
from sign_in import REASONS, SESSION, USERS, Browser, WithServer, oidc_issuer, read_cookie, split_token

SKEW = 60  # seconds that the clocks of provider and server may differ


class ApiForgedTokens(WithServer):
    """Each forgery is refused alike, and the audit log has the reason. At most 30 refusals per minute are written there
    in full, which is why these tests have a server of their own."""

    def test_forgeries_are_refused_and_logged(self):
        self.assertEqual(set(oidc_issuer.FORGERIES), set(REASONS))
        for name, pattern in REASONS.items():
            if name == "wrong_nonce":  # of sign-ins alone
                continue
            with self.subTest(name):
                self.assertEqual(self.accepted(self.issuer.token("ada"))["user"], "ada")
                token = self.issuer.token("ada", forge=name)
                entry = self.logged(self.refused(token))
                self.assertRegex(entry["reason"], pattern)
                self.assertEqual(entry["address"], "127.0.0.1")
                self.assertNotIn(token.split(".")[1], json.dumps(entry))

    def test_both_algorithms_are_accepted(self):
        for algorithm in ("RS256", "ES256"):
            session = self.accepted(self.issuer.token("carol", alg=algorithm))
            self.assertEqual((session["user"], session["groups"], session["method"]), ("carol", "team-b", "bearer"))
            self.refused(self.issuer.token("carol", alg=algorithm, forge="wrong_key"))


class ApiOddTokens(WithServer):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = tempfile.mkdtemp(prefix="weft_forger_")
        cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
        cls.forger = {name: oidc_issuer.Key(folder, name) for name in ("RS256", "ES256")}
        cls.folder = folder

    def forge(self, algorithm="RS256", **header):
        """A token with honest claims and the forger's signature."""
        first, claims = split_token(self.issuer.token("ada", alg=algorithm))
        first = {name: value for name, value in {**first, **header}.items() if value is not None}
        return oidc_issuer.make_token(first, claims, self.forger[algorithm].sign)

    def test_algorithms_do_not_become_another(self):
        for signed in ("RS256", "ES256"):
            for claimed in ("none", "None", "nOnE", "", "HS256", "HS384", "HS512", "RS384", "RS512", "PS256", "ES384",
                            "EdDSA", "rs256", {"RS256": "ES256", "ES256": "RS256"}[signed], 1, None, ["RS256"]):
                with self.subTest(signed=signed, claimed=claimed):
                    self.refused(self.issuer.token("ada", alg=signed, header={"alg": claimed}))
            # The other key's name, with an algorithm that does not belong to its type.
            other = "ES256" if signed == "RS256" else "RS256"
            header, _ = split_token(self.issuer.token("ada", alg=other))
            self.refused(self.issuer.token("ada", alg=signed, header={"kid": header["kid"]}))
            self.refused(self.issuer.token("ada", alg=signed, header={"kid": header["kid"], "alg": other}))

    def test_public_keys_are_no_secrets(self):
        keys = {key["kid"]: key for key in self.issuer.request("GET", "/jwks").json["keys"]}
        for algorithm in ("RS256", "ES256"):
            header, claims = split_token(self.issuer.token("ada", alg=algorithm))
            key = keys[header["kid"]]
            secrets = [json.dumps(key).encode(), key.get("n", key.get("x")).encode(), b""]
            for hashed, digest in (("HS256", "sha256"), ("HS512", "sha512")):
                for secret in secrets:
                    self.refused(oidc_issuer.make_token(
                        {**header, "alg": hashed}, claims,
                        lambda data: oidc_issuer.hmac.new(secret, data, digest).digest()))  # pylint: disable=W0640

    def test_key_names_are_only_names(self):
        for kid in ("unknown", "", "../../../../dev/null", "/dev/null", "..", "%2e%2e%2f", "a' or '1'='1", "\0",
                    "x" * 5000, "| true", 7, None, {}, ["a"], self.forger["RS256"].path):
            with self.subTest(kid):
                self.refused(self.forge(kid=kid))
        self.refused(self.forge())  # the right name, another key
        # A name that is missing is that of the only key of the type.
        header, claims = split_token(self.issuer.token("ada"))
        del header["kid"]
        self.refused(oidc_issuer.make_token(header, claims, self.forger["RS256"].sign))

    def test_keys_inside_tokens_are_not_used(self):
        before = self.issuer.control("stats")
        for algorithm, key in self.forger.items():
            jwk = key.jwk()
            for header in ({"jwk": jwk}, {"jwk": jwk, "kid": jwk["kid"]}, {"jku": f"{self.issuer.url}/evil",
                                                                           "kid": jwk["kid"]},
                           {"jku": f"{self.issuer.url}/jwks"}, {"x5u": f"{self.issuer.url}/evil"},
                           {"x5c": [oidc_issuer.base64.b64encode(key.public).decode()]}):
                with self.subTest(algorithm=algorithm, header=header):
                    self.refused(self.forge(algorithm, **header))
                    # Not even with the right signature: weft does not follow instructions of a token.
                    self.refused(self.issuer.token("ada", alg=algorithm, header=header))
        after = self.issuer.control("stats")
        self.assertEqual(after.get("/evil", 0), before.get("/evil", 0))

    def test_extensions_are_refused(self):
        for header in ({"crit": ["exp"]}, {"crit": []}, {"crit": ["x"], "x": 1}, {"b64": False, "crit": ["b64"]},
                       {"zip": "DEF"}, {"enc": "A256GCM"}, {"typ": "logout+jwt"}, {"typ": "dpop+jwt"}):
            with self.subTest(header):
                self.refused(self.issuer.token("ada", header=header))
        self.accepted(self.issuer.token("ada", header={"typ": "at+jwt"}))
        self.accepted(self.issuer.token("ada", header={"unknown": "ignored"}))

    def test_only_one_spelling(self):
        token = self.issuer.token("ada")
        first, second, third = token.split(".")
        self.accepted(token)
        both = json.dumps({"payload": second, "signatures": [{"protected": first, "signature": third},
                                                             {"protected": first, "signature": third}]})
        flipped = third[:-5] + ("A" if third[-5] != "A" else "B") + third[-4:]
        variants = [f"{token}.{third}", f"{first}.{second}.{third}.{third}", f"{token}.", f".{token}",
                    f"{first}..{second}.{third}",
                    f"{first}.{second}", f"{first}.{second}.", f"..{third}", "..", ".", "x",
                    f"{third}.{second}.{first}",
                    f"{first}=.{second}.{third}", f"{first}.{second}=.{third}", f"{token}=", f"{token}==",
                    f"{first} .{second}.{third}", f"{first}.{second}. {third}", f"{token},{token}",
                    f"{token} {token}", f"\"{token}\"", token.replace(".", "%2E"), f"{first}.{second}.{flipped}", both,
                    f"{first}.{second}.{third[:-4]}", f"{first}.{second}.{third}AAAA"]
        if "-" in third or "_" in third:  # the other alphabet of base64
            variants.append(f"{first}.{second}.{third.replace('-', '+').replace('_', '/')}")
        for each in variants:
            with self.subTest(each[:40]):
                self.refused(each)
        for character in "\t\xa0\x01":  # in no header
            each = f"{first[:8]}{character}{first[8:]}.{second}.{third}"
            self.assertEqual(self.lab.http("GET", "/session", Authorization=f"Bearer {each}").status, 400)
        for line in (token, f"Basic {token}", f"Token {token}", f"Bearer{token}", "Bearer", f"Bearer: {token}"):
            response = self.lab.http("GET", "/session", Authorization=line)
            self.assertEqual(response.status, 401, line[:20])
        # RFC 9110, section 11.1: the name of the scheme is not case-sensitive.
        for scheme in ("bearer", "BEARER"):
            self.assertEqual(self.lab.http("GET", "/session", Authorization=f"{scheme} {token}").status, 200)

    def test_the_last_bits_of_a_signature_have_one_spelling(self):
        alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
        token = self.issuer.token("ada")  # 256 bytes are 341 digits and 2 bits: 4 bits are left
        at = alphabet.index(token[-1])
        self.assertEqual(at % 16, 0)
        for low in (1, 7, 15):
            self.refused(token[:-1] + alphabet[at + low])

    def test_huge_tokens_are_refused(self):
        token = self.issuer.token("ada")
        for size in (20_000, 200_000, 2_000_000):
            with self.subTest(size):
                long = token + "A" * size
                if size < 500_000:
                    long = self.issuer.token("ada", claims={"padding": "x" * size})
                data = (f"GET {API}/session HTTP/1.1\r\nHost: 127.0.0.1:{self.lab.port}\r\n"
                        f"Authorization: Bearer {long}\r\nConnection: close\r\n\r\n").encode()
                answer = self.lab.raw(data)
                # RFC 6585, section 5; or the connection ended while it was being sent.
                self.assertRegex(answer[:13].decode(), r"^(HTTP/1\.1 (401|431)|)")
                self.assertNotIn(b" 200 ", answer[:16])
        self.accepted(token)

    def test_claims_are_checked(self):
        refused = [{"aud": ["weft", "other"]}, {"aud": ["weft", "other"], "azp": "other"}, {"aud": []}, {"aud": ""},
                   {"aud": ["other"]}, {"aud": "Weft"}, {"aud": {"weft": 1}}, {"aud": ["weft", 1]}, {"iss": ""},
                   {"iss": self.issuer.url + "/"}, {"iss": [self.issuer.url]}, {"iss": self.issuer.url.upper()},
                   {"exp": "tomorrow"}, {"exp": str(int(time.time()) + 600)}, {"exp": -1}, {"exp": True},
                   {"nbf": "now"}, {"iat": "now"}, {"sub": ""}, {"sub": 7}, {"cnf": {"jkt": "x"}}]
        names = ["root", "ROOT", "", " ada", "ada ", "ada\n", "a\0b", "ad\u200ba", "..", "-x", "a/b", "a:b", "*", 7,
                 ["ada"], None, "x" * 300]
        refused += [{"preferred_username": name} for name in names]
        refused += [{"groups": [1]}, {"groups": {"admins": True}}, {"groups": ["a\nb"]}]
        for claims in refused:
            with self.subTest(str(claims)[:60]):
                self.refused(self.issuer.token("ada", claims=claims))
        for name in ("iss", "sub", "aud", "exp", "preferred_username"):
            with self.subTest(missing=name):
                self.refused(self.issuer.token("ada", remove=[name]))
        for claims in ({"aud": ["weft"]}, {"aud": ["weft", "other"], "azp": "weft"}):
            self.assertEqual(self.accepted(self.issuer.token("ada", claims=claims))["user"], "ada")
        # Groups of the provider are groups; without them there is no role.
        self.assertEqual(self.lab.http("GET", "/jobs", token=self.issuer.token("ada", remove=["groups"])).status, 403)

    def moment(self, claim, offset):
        """Status of a token whose claim is now and `offset` seconds, and by how much the clock can have run since."""
        began = int(time.time())
        token = self.issuer.token("ada", claims={claim: began + offset})
        status = self.lab.http("GET", "/session", token=token).status
        return status, int(time.time()) - began

    def test_the_clocks_may_differ_by_a_minute(self):
        # The exact edge where time runs away from it, else with a margin that is checked.
        self.assertEqual(self.moment("exp", -SKEW)[0], 401)
        self.assertEqual(self.moment("nbf", SKEW)[0], 200)
        self.assertEqual(self.moment("iat", SKEW)[0], 200)
        for claim, offset, wanted in (("exp", -SKEW + 5, 200), ("nbf", SKEW + 5, 401), ("iat", SKEW + 5, 401)):
            while True:
                status, passed = self.moment(claim, offset)
                if passed < 5:
                    self.assertEqual(status, wanted, (claim, offset))
                    break

    def test_a_credential_of_another_kind_is_refused(self):
        browser = Browser(self.lab)
        self.assertEqual(browser.sign_in("ada").status, 200)
        cookie = browser.cookies[SESSION]
        self.assertEqual(browser.session().json["session"]["user"], "ada")
        token = self.lab.token("ada")
        _, identifier, secret = read_cookie(cookie)
        self.refused(cookie)
        for kind in "atr":  # the same secret under another kind
            self.refused(f"weft_{kind}_{identifier}_{secret}")
        for value in (token, f"weft_s_{token[7:]}", self.issuer.token("ada"), "x", cookie + "A", cookie[:-1]):
            with self.subTest(value[:12]):
                self.assertEqual(self.lab.http("GET", "/session", Cookie=f"{SESSION}={value}").status, 401)
        # A header and a cookie: a wrong one is not made good by a right one.
        self.assertEqual(self.lab.http("GET", "/session", token="weft_t_x", Cookie=f"{SESSION}={cookie}").status, 401)
        # Twice the same name: a cookie of another path or subdomain must not choose the session.
        self.assertEqual(self.lab.http("GET", "/session", Cookie=f"{SESSION}={cookie}; {SESSION}={cookie}").status, 401)


class ApiKeyRotation(WithServer):
    @classmethod
    def setUpClass(cls):
        """A second server is started while its provider is down. It asks again after 30 s: beside the other tests."""
        super().setUpClass()
        cls.late = Lab(oidc=USERS, start=False)
        cls.addClassCleanup(cls.late.close)
        cls.late.issuer.control("mode", fail=500)
        cls.late.start()
        cls.early = {"token": cls.late.issuer.token("ada"), "forged": cls.late.issuer.token("ada", forge="wrong_aud")}
        cls.answers = {name: cls.late.http("GET", "/session", token=token) for name, token in cls.early.items()}
        cls.answers["login"] = cls.late.http("GET", "/login")
        cls.answers["static"] = cls.late.http("GET", "/session", token=cls.late.token("ada"))
        cls.late.issuer.control("mode", fail=0)

    def test_the_provider_was_down_at_the_start(self):
        self.assertEqual({name: answer.status for name, answer in self.answers.items()},
                         {"token": 503, "forged": 401, "login": 503, "static": 200})
        while self.late.http("GET", "/session", token=self.early["token"]).status != 200:
            time.sleep(0.02)
        self.assertEqual(Browser(self.late).sign_in("ada").status, 200)

    def test_keys_change_without_a_restart(self):
        old = self.issuer.token("ada")
        self.accepted(old)
        self.issuer.control("rotate", keep=True)
        new = self.issuer.token("ada")
        # The provider is asked at most every 30 s for a key that a bearer token names.
        while self.lab.http("GET", "/session", token=new).status != 200:
            time.sleep(0.02)
        self.accepted(old)
        # A sign-in asks at once.
        self.issuer.control("rotate", keep=False)
        newest = self.issuer.token("ada")
        self.assertEqual(Browser(self.lab).sign_in("ada").status, 200)
        self.accepted(newest)
        self.refused(old)
        self.refused(new)
        # While the provider is down, known keys work and unknown ones do not.
        self.issuer.control("mode", fail=503)
        self.issuer.control("rotate", keep=False)
        unknown = self.issuer.token("ada")
        self.assertIn(self.lab.http("GET", "/session", token=unknown).status, (401, 503))
        self.accepted(newest)
        self.assertIn(Browser(self.lab).get("/login").status, (303, 503))
        self.issuer.control("mode", fail=0)
        self.assertEqual(Browser(self.lab).sign_in("ada").status, 200)
        self.accepted(unknown)
        self.refused(newest)

    def test_unknown_keys_do_not_flood_the_provider(self):
        before = self.issuer.control("stats").get("/jwks", 0)
        began = time.monotonic()
        for _ in range(50):
            self.refused(self.issuer.token("ada", forge="unknown_kid"))
        asked = self.issuer.control("stats").get("/jwks", 0) - before
        self.assertLessEqual(asked, 1 + (time.monotonic() - began) / 30)
        # A token that is refused for another reason does not ask at all.
        before = self.issuer.control("stats").get("/jwks", 0)
        for name in ("wrong_iss", "wrong_aud", "expired"):
            self.refused(self.issuer.token("ada", forge=name, header={"kid": "unknown"}))
        self.assertEqual(self.issuer.control("stats").get("/jwks", 0), before)


class ApiProviderDown(WithServer):
    def test_a_provider_that_hangs_stops_nobody(self):
        token = self.issuer.token("ada")
        self.accepted(token)
        browser = Browser(self.lab)
        path = browser.approve("ada")
        os.kill(self.issuer.process.pid, signal.SIGSTOP)
        try:
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                waiting = pool.submit(browser.get, path)
                for _ in range(20):
                    self.accepted(token)
                self.assertEqual(self.lab.http("GET", "/healthz").status, 200)
                os.kill(self.issuer.process.pid, signal.SIGCONT)
                # It was answered in time, or the server had given up: no session then.
                self.assertIn(waiting.result().status, (200, 403, 503))
        finally:
            os.kill(self.issuer.process.pid, signal.SIGCONT)


if __name__ == "__main__":
    run_tests()
