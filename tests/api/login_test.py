#!/usr/bin/python3
"""Signing in to `weft serve`, end to end: the authorization code flow of browsers, CSRF, the end of sessions, device
login and refresh of the CLI, and that no secret is written anywhere. Usage: login_test.py EXECUTABLE [PATTERN...]
"""

import concurrent.futures
import html
import json
import os
import pathlib
import re
import subprocess
import tempfile
import time
import unittest
import urllib.parse

import lab as lab_module
from lab import Lab, run_tests
from sign_in import (LOGIN, REASONS, SESSION, USERS, Browser, WithServer, change_store, find_entry, read_cookie,
                     replace_query)


class ApiBrowserFlow(WithServer):
    def failed(self, response, status):
        self.assertEqual(response.status, status, response)
        self.assertIn("Not signed in", response.text)
        self.assertFalse([line for line in response.cookies if line.startswith(f"{SESSION}=")], response.cookies)
        self.assertEqual(response.headers["cache-control"], "no-store")

    def test_signing_in(self):
        browser = Browser(self.lab)
        self.assertEqual(browser.session().status, 401)
        url = browser.begin("/login?return=/docs")
        query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query))
        self.assertTrue(url.startswith(self.issuer.url + "/authorize?"))
        self.assertEqual(query["response_type"], "code")
        self.assertEqual(query["code_challenge_method"], "S256")
        self.assertEqual(query["redirect_uri"], f"{self.lab.url}/login/callback")
        for name in ("state", "nonce", "code_challenge"):  # 256 random bits
            self.assertRegex(query[name], r"^[A-Za-z0-9_-]{43}$")
        self.assertEqual(len({query["state"], query["nonce"], query["code_challenge"]}), 3)
        # Set by a redirect to another site, needed when that sends the browser back: Lax.
        self.assertEqual(set(browser.flags[LOGIN]) - {"Max-Age=600"}, {"Path=/", "HttpOnly", "Secure", "SameSite=Lax"})
        back = urllib.parse.urlsplit(self.issuer.sign_in(url, "ada"))
        done = browser.get(f"{back.path}?{back.query}")
        self.assertEqual(done.status, 200)
        # 12 h is the default of sessions.longest; no Domain, as __Host- requires.
        self.assertEqual(set(browser.flags[SESSION]), {"Path=/", "HttpOnly", "Secure", "SameSite=Strict",
                                                       "Max-Age=43200"})
        self.assertNotIn(LOGIN, browser.cookies)
        self.assertEqual(read_cookie(browser.cookies[SESSION])[0], "s")
        self.assertIn('content="0; url=/docs"', done.text)
        self.assertEqual(done.headers["referrer-policy"], "no-referrer")
        self.assertIn("frame-ancestors 'none'", done.headers["content-security-policy"])
        self.assertNotIn(browser.cookies[SESSION], done.text)
        session = browser.session().json["session"]
        self.assertEqual((session["user"], session["method"]), ("ada", "browser"))
        self.assertEqual(set(session["groups"].split(", ")), {"operators", "team-a"})
        self.assertRegex(session["csrf_token"], r"^[0-9a-f]{64}$")
        entry = self.logged(done, "sign-in")
        self.assertEqual((entry["object"], entry["actor"]), ("browser", "ada"))
        self.assertEqual(entry["credential"], session["credential"])

    def test_a_state_works_once(self):
        browser = Browser(self.lab)
        path = browser.approve("bob")
        cookie = browser.cookies[LOGIN]
        self.assertEqual(browser.get(path).status, 200)
        self.failed(self.lab.http("GET", path, Cookie=f"{LOGIN}={cookie}"), 400)
        self.failed(self.lab.http("GET", path), 400)

    def test_a_state_is_needed(self):
        browser = Browser(self.lab)
        path = browser.approve("bob")
        for state in ("", "x", "A" * 43, None):
            self.failed(browser.get(replace_query(path, state=state)), 400)
        for cookie in ("", "x", "A" * 43):
            self.failed(self.lab.http("GET", path, Cookie=f"{LOGIN}={cookie}"), 400)
        self.assertEqual(browser.get(path).status, 200)  # wrong attempts do not end the right one

    def test_a_code_works_once(self):
        victim, thief = Browser(self.lab), Browser(self.lab)
        code = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(victim.approve("ada")).query))["code"]
        # An unused code in the sign-in of another: it belongs to another code challenge (PKCE).
        response = thief.get(replace_query(thief.approve("bob"), code=code))
        self.failed(response, 403)
        self.assertIn("verifier", self.logged(response)["reason"])
        used = victim.approve("ada")
        code = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(used).query))["code"]
        self.assertEqual(victim.get(used).status, 200)
        self.failed(thief.get(replace_query(thief.approve("bob"), code=code)), 403)
        for wrong in ("", "x", "y" * 100, None):
            self.failed(thief.get(replace_query(thief.approve("bob"), code=wrong)), 403)
        # A failed attempt was the only one of its state.
        path = thief.approve("bob")
        self.failed(thief.get(replace_query(path, code="x")), 403)
        self.failed(thief.get(path), 400)

    def test_a_link_does_not_sign_another_browser_in(self):
        attacker, victim = Browser(self.lab), Browser(self.lab)
        link = attacker.approve("bob")
        self.failed(victim.get(link), 400)  # without any cookie
        victim.begin()
        response = victim.get(link)
        self.failed(response, 400)  # with that of an own sign-in
        self.assertIn("another browser", self.logged(response)["reason"])
        self.assertNotIn(SESSION, victim.cookies)
        self.assertEqual(attacker.get(link).status, 200)

    def test_a_response_names_its_issuer(self):
        browser = Browser(self.lab)
        self.issuer.control("mode", wrong_response_issuer=True)
        response = browser.sign_in("ada")
        self.failed(response, 403)
        self.assertIn("issuer", self.logged(response)["reason"])
        self.issuer.control("mode", wrong_response_issuer=False)
        for issuer in (None, "", "https://evil.example", self.issuer.url + "/"):
            self.failed(browser.get(replace_query(browser.approve("ada"), iss=issuer)), 403)

    def test_forged_id_tokens_are_refused(self):
        browser = Browser(self.lab)
        for name, pattern in REASONS.items():
            with self.subTest(name):
                self.issuer.control("mode", forge=name)
                response = browser.sign_in("ada")
                self.failed(response, 403)
                self.assertRegex(self.logged(response)["reason"], pattern)
        self.issuer.control("mode", forge="")
        for user, pattern in (("both", "azp"), ("other", "issued to"), ("rooty", "reserved")):
            with self.subTest(user):
                response = browser.sign_in(user)
                self.failed(response, 403)
                self.assertRegex(self.logged(response)["reason"], pattern)
        self.issuer.control("mode", id_token=False)
        self.failed(browser.sign_in("ada"), 403)
        self.issuer.control("mode", id_token=True)
        self.assertEqual(browser.session().status, 401)
        self.assertEqual(browser.sign_in("right").status, 200)

    def test_the_way_back_leads_to_this_server(self):
        browser = Browser(self.lab)
        elsewhere = ["https://evil.example/", "//evil.example", "///evil.example", "\\\\evil.example",
                     "/\\evil.example",
                     "\\/evil.example", "/\t/evil.example", "/\n/evil.example", "\t//evil.example", " //evil.example",
                     "javascript:alert(1)", "data:text/html,evil.example", "evil.example", "https:evil.example",
                     "/\r\nX: evil.example",
                     "/a\\..\\evil.example", "/%09\x00//evil.example", "/\u2028/evil.example", "@evil.example",
                     "?evil.example", "", "/" + "evil.example" * 200]
        for target in elsewhere:
            for spelling in {urllib.parse.quote(target, safe=""), urllib.parse.quote(target, safe="/:?")}:
                with self.subTest(spelling[:60]):
                    path = f"/login?return={spelling}"
                    if any(character < " " for character in target):  # they are in no address
                        self.assertEqual(browser.get(path).status, 400)
                        continue
                    done = browser.sign_in("ada", path)
                    self.assertEqual(done.status, 200, done)
                    self.assertEqual(self.targets(done), {"/"})
        # Encoded twice it is a path of this server, whatever it looks like; quotes stay in the attribute.
        for target in ("/docs?x=1#jobs", "/%2F%2Fevil.example", "/%5Cevil.example", "/.//evil.example",
                       "/a\"b'><script>x</script>"):
            with self.subTest(target):
                done = browser.sign_in("ada", "/login?return=" + urllib.parse.quote(target, safe=""))
                self.assertEqual(self.targets(done), {target})
                self.assertNotIn("<script", done.text)
                url = urllib.parse.urlsplit(urllib.parse.urljoin(self.lab.url + "/login/callback", target))
                self.assertEqual(f"{url.scheme}://{url.netloc}", self.lab.url)

    def targets(self, page):
        """Where the page leads: its refresh, and its links."""
        found = re.findall(r'content="0; url=([^"]*)"', page.text) + re.findall(r'<a href="([^"]*)"', page.text)
        self.assertEqual(len(found), 2, page)
        return {html.unescape(each) for each in found}

    def test_texts_of_the_provider_are_not_repeated(self):
        browser = Browser(self.lab)
        evil = "<script>alert(1)</script>evil text"
        path = replace_query(browser.approve("ada"), code=None, error=evil, error_description=evil,
                             error_uri="https://evil.example")
        response = browser.get(path)
        self.failed(response, 403)
        self.assertNotIn("alert", response.text)
        self.assertNotIn("evil", response.text)
        self.assertIn("refused the login", self.logged(response)["reason"])
        response = browser.get(f"/login/callback?state={urllib.parse.quote(evil)}&error={urllib.parse.quote(evil)}")
        self.failed(response, 400)
        self.assertNotIn("evil", response.text)

    def test_a_person_may_refuse(self):
        browser = Browser(self.lab)
        response = self.issuer.request("POST", browser.begin(), "refuse=yes",
                                       {"Content-Type": "application/x-www-form-urlencoded"})
        self.assertEqual(response.status, 302)
        back = urllib.parse.urlsplit(response.headers["location"])
        response = browser.get(f"{back.path}?{back.query}")
        self.failed(response, 403)
        self.assertIn("access_denied", self.logged(response)["reason"])

    def test_hosts_are_those_of_the_access_file(self):
        for host in ("evil.example", f"evil.example:{self.lab.port}", "127.0.0.1.evil.example",
                     f"localhost:{self.lab.port}@evil.example",
                     f"evil.example/localhost:{self.lab.port}", "localhost:x"):
            with self.subTest(host):
                response = self.lab.http("GET", "/login", Host=host)
                self.assertIn(response.status, (400, 403), response)
                self.assertNotIn("location", response.headers)
        response = self.lab.http("GET", "/login", Host=f"localhost:{self.lab.port}")
        self.assertEqual(response.status, 303)

    def test_signing_in_needs_the_network(self):
        self.assertEqual(self.lab.local("GET", "/login").status, 409)


class ApiCsrf(WithServer):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.browser = Browser(cls.lab)
        assert cls.browser.sign_in("bob").status == 200
        cls.csrf = cls.browser.csrf()

    def unchanged(self, response, before):
        self.assertEqual(response.status, 403, response)
        self.assertEqual(self.tokens(), before)

    def tokens(self):
        return sorted(row["token"] for row in self.lab.local("GET", "/tokens").json["tokens"])

    def test_changes_need_the_token(self):
        other = Browser(self.lab)
        other.sign_in("bob")  # even of the same person
        before = self.tokens()
        for headers in ({}, {"X_CSRF_Token": ""}, {"X_CSRF_Token": "x"}, {"X_CSRF_Token": self.csrf[:-1]},
                        {"X_CSRF_Token": self.csrf + "0"}, {"X_CSRF_Token": self.csrf.upper()},
                        {"X_CSRF_Token": other.csrf()}, {"X_CSRF_Token": self.browser.cookies[SESSION]}):
            with self.subTest(headers):
                self.unchanged(self.browser.change(**headers), before)
        created = self.browser.change(X_CSRF_Token=self.csrf)
        self.assertEqual(created.status, 201)
        self.assertEqual(len(self.tokens()), len(before) + 1)

    def test_other_sites_change_nothing(self):
        before = self.tokens()
        port = self.lab.port
        foreign = [{"Sec_Fetch_Site": "cross-site"}, {"Sec_Fetch_Site": "same-site"}, {"Sec_Fetch_Site": "x"},
                   {"Origin": "https://evil.example"}, {"Origin": "null"}, {"Origin": f"http://127.0.0.1:{port}"},
                   {"Origin": "https://127.0.0.1"}, {"Origin": f"https://127.0.0.1:{port + 1}"},
                   {"Origin": f"https://127.0.0.1:{port}.evil.example"}, {"Origin": f"https://localhost:{port}"},
                   {"Host": "evil.example"}, {"Host": f"evil.example:{port}"},
                   {"Host": f"evil.example:{port}", "Origin": f"https://evil.example:{port}",
                    "Sec_Fetch_Site": "same-origin"}]
        for headers in foreign:
            with self.subTest(headers):
                self.unchanged(self.browser.change(X_CSRF_Token=self.csrf, **headers), before)
                self.assertEqual(self.browser.get("/session", **headers).status, 403)  # nor do they read
        for headers in ({"Sec_Fetch_Site": "same-origin", "Origin": self.lab.url}, {"Sec_Fetch_Site": "none"},
                        {"Host": f"localhost:{port}", "Origin": f"https://localhost:{port}"}):
            self.assertEqual(self.browser.change(X_CSRF_Token=self.csrf, **headers).status, 201)

    def test_forms_are_not_accepted(self):
        before = self.tokens()
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", None):
            headers = {"Content_Type": kind} if kind else {}
            response = self.browser.request("POST", "/tokens", '{"name": "x"}', X_CSRF_Token=self.csrf, **headers)
            self.assertEqual(response.status, 415, kind)
        self.assertEqual(self.tokens(), before)

    def test_nothing_is_shared_with_other_origins(self):
        for headers in ({"Origin": "https://evil.example"}, {"Origin": "null",
                                                             "Access_Control_Request_Method": "POST"}):
            for method in ("GET", "OPTIONS"):
                response = self.lab.http(method, "/session", **headers)
                self.assertFalse([name for name in response.headers if name.startswith("access-control-")])

    def test_logout_ends_the_session(self):
        browser = Browser(self.lab)
        browser.sign_in("carol")
        cookie, csrf = browser.cookies[SESSION], browser.csrf()
        self.assertEqual(browser.request("POST", "/session/logout", "{}", Content_Type="application/json").status, 403)
        self.assertEqual(browser.session().status, 200)
        ended = browser.request("POST", "/session/logout", "{}", X_CSRF_Token=csrf, Content_Type="application/json")
        self.assertEqual(ended.status, 200)
        self.assertNotIn(SESSION, browser.cookies)
        self.assertEqual(set(browser.flags[SESSION]), {"Path=/", "HttpOnly", "Secure", "SameSite=Strict", "Max-Age=0"})
        self.assertEqual(self.lab.http("GET", "/session", Cookie=f"{SESSION}={cookie}").status, 401)
        again = self.lab.http("POST", "/tokens", {"name": "x"}, Cookie=f"{SESSION}={cookie}", X_CSRF_Token=csrf)
        self.assertEqual(again.status, 401)
        self.logged(ended, "session.logout")


class ApiSessionLimits(WithServer):
    ACCESS = "sessions: {idle: 10m, longest: 2h}\n"

    def test_sessions_end(self):
        users = {"ada": (0, 0, 200), "bob": (0, 11, 401), "carol": (121, 0, 401), "olga": (119, 9, 200)}
        browsers = {}
        for user in users:
            browsers[user] = Browser(self.lab)
            self.assertEqual(browsers[user].sign_in(user).status, 200)
            self.assertIn("Max-Age=7200", browsers[user].flags[SESSION])

        def age(record):
            old, idle, _ = users[record["user"]]
            record["used"] -= idle * 60_000
            record["created"] -= max(old, idle) * 60_000
        change_store(self.lab, "sessions", age)
        for user, (_, _, wanted) in users.items():
            with self.subTest(user):
                self.assertEqual(browsers[user].session().status, wanted)
                page = browsers[user].get("/")
                self.assertEqual(page.status, 200)
                self.assertEqual(f'id="user">{user}<' in page.text, wanted == 200)
        find_entry(self.lab, "sign-in.refused", lambda entry: entry["reason"].startswith("expired session weft_s_"))

    def test_users_have_a_bounded_number_of_sessions(self):
        browsers = [Browser(self.lab) for _ in range(22)]
        for browser in browsers:
            self.assertEqual(browser.sign_in("nobody-yet").status, 200)
        self.assertEqual([browser.session().status for browser in browsers], [401] * 2 + [200] * 20)


class ApiDeviceLogin(WithServer):
    """`weft login` and what follows, with the real command line."""

    def setUp(self):
        super().setUp()
        self.issuer.control("mode", interval=1)
        self.home = tempfile.mkdtemp(prefix="weft_home_", dir=self.lab.folder)
        self.store = pathlib.Path(self.home, ".local/state/weft/credentials.json")

    def environment(self):
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("WEFT_", "XDG_"))}
        return {**kept, "HOME": self.home}

    def weft(self, *words, code=0):
        return self.lab.weft(*words, code=code, environment={"HOME": self.home})

    def begin(self, *options):
        """`weft login`, until it has shown the code: (process, code)."""
        words = [lab_module.EXECUTABLE, "login", self.lab.url, "--context", "lab", *(options or ("--ca", self.lab.ca))]
        process = subprocess.Popen(words, env=self.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        text = ""
        while True:
            line = process.stderr.readline()
            self.assertTrue(line, text)
            text += line
            found = re.match(r"\s+([A-Z]{4}-[A-Z]{4})$", line)
            if found:
                self.assertIn(f"{self.issuer.url}/device", text)
                return process, found.group(1)

    def end(self, process):
        out, err = process.communicate()
        return process.returncode, out, err

    def log_in(self, user="ada", *options):
        process, code = self.begin(*options)
        self.assertTrue(self.issuer.control("device", user_code=code, user=user)["found"])
        exit_code, out, err = self.end(process)
        self.assertEqual(exit_code, 0, err)
        self.assertIn(f"as {user}", out)

    def login(self):
        return json.loads(self.store.read_text(encoding="utf-8"))["logins"]["lab"]

    def change_login(self, **changes):
        root = json.loads(self.store.read_text(encoding="utf-8"))
        root["logins"]["lab"].update(changes)
        self.store.write_text(json.dumps(root), encoding="utf-8")
        self.store.chmod(0o600)

    def expire(self):
        self.change_login(expires_ms=1)

    def refresh(self, token):
        return self.lab.http("POST", "/login/refresh", {"refresh_token": token})

    def who(self, code=0):
        return self.weft("whoami", "-o", "json", code=code)[0]

    def test_signing_in(self):
        self.log_in("ada")
        self.assertEqual(self.store.stat().st_mode & 0o777, 0o600)
        session = json.loads(self.who())["session"]
        self.assertEqual((session["user"], session["method"]), ("ada", "cli"))
        number = self.lab.submit("device-job")
        self.assertIn("device-job", self.weft("job", "list")[0])
        self.assertIn("train001", self.weft("node", "list")[0])
        self.weft("job", "cancel", number)
        entry = find_entry(self.lab, "sign-in", lambda entry: entry["credential"] == session["credential"])
        self.assertEqual((entry["object"], entry["actor"]), ("device", "ada"))
        # The provider's tokens and the device code stay on the server.
        self.assertEqual(set(self.login()), {"server", "user", "access_token", "refresh_token", "expires_ms"})
        self.assertTrue(self.login()["access_token"].startswith("weft_a_"))
        # It ends here and there.
        access, refresh = self.login()["access_token"], self.login()["refresh_token"]
        self.weft("logout")
        self.assertEqual(self.lab.http("GET", "/session", token=access).status, 401)
        self.assertEqual(self.refresh(refresh).status, 400)
        self.assertNotIn("weft_a_", self.store.read_text(encoding="utf-8"))
        self.assertIn("not signed in", self.weft("whoami", code=None)[1])

    def test_signing_in_with_a_pinned_certificate(self):
        line = re.search(r"sha256:([0-9a-f]{64})", self.lab.log())
        self.log_in("bob", "--fingerprint", line.group(0))
        self.assertEqual(json.loads(self.who())["session"]["user"], "bob")
        wrong = "0" * 64
        err = self.weft("login", self.lab.url, "--context", "other", "--fingerprint", wrong, code=None)[1]
        self.assertIn("not the one that you trusted", err)
        err = self.weft("login", self.lab.url, "--context", "third", code=None)[1]  # no terminal to ask at
        self.assertIn("--fingerprint", err)

    def test_a_person_refuses(self):
        process, code = self.begin()
        self.assertTrue(self.issuer.control("device", user_code=code, user=None)["found"])
        exit_code, _, err = self.end(process)
        self.assertNotEqual(exit_code, 0)
        self.assertIn("the sign-in was refused", err)
        self.assertFalse(self.store.exists() and "weft_a_" in self.store.read_text(encoding="utf-8"))
        find_entry(self.lab, "sign-in.refused", lambda entry: entry["reason"] == "the person refused")

    def test_names_of_this_machine_are_refused(self):
        process, code = self.begin()
        self.issuer.control("device", user_code=code, user="rooty")
        exit_code, _, err = self.end(process)
        self.assertNotEqual(exit_code, 0)
        self.assertIn("refused", err)
        find_entry(self.lab, "sign-in.refused", lambda entry: "reserved" in entry["reason"])

    def test_an_expired_code(self):
        # Of the provider, and by the lifetime that it gave.
        process, _ = self.begin()
        self.issuer.control("mode", device="expired_token", device_lifetime=1)
        second, _ = self.begin()
        for each in (process, second):
            exit_code, _, err = self.end(each)
            self.assertNotEqual(exit_code, 0)
            self.assertIn("the code has expired", err)

    def test_a_provider_that_wants_fewer_requests(self):
        self.issuer.control("mode", device="slow_down")
        process, code = self.begin()
        polls = self.issuer.control("stats").get("/token", 0)
        while self.issuer.control("stats").get("/token", 0) == polls:
            time.sleep(0.02)
        self.issuer.control("mode", device="")
        self.issuer.control("device", user_code=code, user="ada")
        exit_code, _, err = self.end(process)  # after 5 s more (RFC 8628, section 3.5)
        self.assertEqual(exit_code, 0, err)
        self.assertEqual(self.issuer.control("stats").get("/token", 0), polls + 2)

    def test_polls_of_a_login(self):
        begun = self.lab.http("POST", "/login/device", {})
        self.assertEqual(begun.status, 200, begun)
        self.assertEqual(set(begun.json), {"user_code", "verification_uri", "verification_uri_complete", "interval",
                                           "expires_in", "handle"})
        self.assertRegex(begun.json["handle"], r"^[A-Za-z0-9_-]{43}$")
        polls = self.issuer.control("stats").get("/token", 0)
        answers = [self.lab.http("POST", "/login/device/token", {"handle": begun.json["handle"]}) for _ in range(20)]
        self.assertEqual({answer.status for answer in answers}, {400})
        self.assertIn("slow_down", {answer.json["error"] for answer in answers})
        # weft does not pass them on: after each the interval is 5 s longer.
        self.assertLessEqual(self.issuer.control("stats").get("/token", 0) - polls, 2)
        unknown = self.lab.http("POST", "/login/device/token", {"handle": "A" * 43})
        self.assertEqual((unknown.status, unknown.json["error"]), (400, "expired_token"))
        for body in ({}, {"handle": 7}, {"handle": ""}, {"handle": "x", "user": "ada"}, [], "{"):
            answer = self.lab.http("POST", "/login/device/token", body, Content_Type="application/json")
            self.assertEqual(answer.status, 400, body)
        # Not from a form of another site.
        for path in ("/login/device", "/login/device/token", "/login/refresh"):
            self.assertEqual(self.lab.http("POST", path, "{}", Content_Type="text/plain").status, 415)

    def test_refreshing(self):
        self.log_in("ada")
        first = self.login()
        self.expire()
        self.assertEqual(json.loads(self.who())["session"]["user"], "ada")
        second = self.login()
        self.assertNotEqual(first["access_token"], second["access_token"])
        self.assertNotEqual(first["refresh_token"], second["refresh_token"])
        self.assertEqual(read_cookie(first["access_token"])[1], read_cookie(second["access_token"])[1])
        self.refused(first["access_token"])
        self.refused(second["refresh_token"])
        # The server may say so first.
        self.change_login(access_token=first["access_token"])
        self.who()
        self.assertNotIn(self.login()["access_token"], (first["access_token"], second["access_token"]))
        # An access token ends after 15 minutes at the server, too.
        access = self.login()["access_token"]

        def age(record):
            if record["kind"] == "cli":
                record["access_expires"] -= 15 * 60_000
        change_store(self.lab, "sessions", age)
        self.refused(access)
        self.who()
        self.accepted(self.login()["access_token"])
        for wrong in (self.login()["access_token"], "weft_r_x", "", self.login()["refresh_token"] + "A"):
            answer = self.refresh(wrong)
            self.assertEqual(answer.status, 400, wrong)
        self.who()

    def reused(self, response):
        """Asserts the answer to a refresh token that was used twice, and that the audit log has it."""
        self.assertEqual((response.status, response.json), (400, {"error": "invalid_grant"}))
        entry = self.logged(response, "refresh-reuse.refused")
        self.assertEqual(entry["actor"], "ada")
        return entry["credential"]

    def test_a_stolen_token_is_used_after_the_owner(self):
        self.log_in("ada")
        other_home, self.home = self.home, tempfile.mkdtemp(prefix="weft_home_", dir=self.lab.folder)
        other_store, self.store = self.store, pathlib.Path(self.home, ".local/state/weft/credentials.json")
        self.log_in("ada")  # of another host, which goes on
        self.home, other_home, self.store, other_store = other_home, self.home, other_store, self.store
        stolen = self.login()["refresh_token"]
        self.expire()
        self.who()
        credential = json.loads(self.who())["session"]["credential"]
        self.assertEqual(self.reused(self.refresh(stolen)), credential)
        self.refused(self.login()["access_token"])
        self.assertEqual(self.refresh(self.login()["refresh_token"]).status, 400)
        self.assertIn("not signed in: run `weft login", self.weft("whoami", code=None)[1])
        self.home, self.store = other_home, other_store
        self.assertEqual(json.loads(self.who())["session"]["user"], "ada")

    def test_a_stolen_token_is_used_before_the_owner(self):
        self.log_in("ada")
        thief = self.refresh(self.login()["refresh_token"]).json
        credential = self.accepted(thief["access_token"])["credential"]
        self.expire()
        self.assertIn("not signed in", self.weft("whoami", code=None)[1])
        find_entry(self.lab, "refresh-reuse.refused", lambda entry: entry["credential"] == credential)
        self.refused(thief["access_token"])
        self.assertEqual(self.refresh(thief["refresh_token"]).status, 400)

    def test_an_answer_is_lost(self):
        self.log_in("ada")
        lost = self.refresh(self.login()["refresh_token"]).json  # the owner never sees it
        self.expire()
        session = json.loads(self.who())["session"]
        self.assertEqual(session["user"], "ada")
        self.refused(lost["access_token"])
        entry = find_entry(self.lab, "refresh-repeat", lambda entry: entry["credential"] == session["credential"])
        self.assertEqual(entry["actor"], "ada")
        # Had it been stolen on the way, its use would end the login.
        self.assertEqual(self.reused(self.refresh(lost["refresh_token"])), session["credential"])
        self.assertIn("not signed in", self.weft("whoami", code=None)[1])

    def test_commands_refresh_together(self):
        self.log_in("ada")
        for _ in range(2):
            self.expire()
            with concurrent.futures.ThreadPoolExecutor(6) as pool:
                answers = list(pool.map(lambda _: self.who(), range(6)))
            self.assertEqual({json.loads(answer)["session"]["user"] for answer in answers}, {"ada"})
        credential = json.loads(answers[0])["session"]["credential"]
        self.who()
        repeats = self.lab.audit(operation="refresh-repeat")
        self.assertFalse([entry for entry in repeats if entry["credential"] == credential])


class ApiSecrets(unittest.TestCase):
    CLIENT_SECRET = "client-Secret_4711-of-weft"

    def test_no_secret_is_written(self):
        with Lab(oidc=USERS, client_secret=self.CLIENT_SECRET) as server:
            secrets = {"client secret": self.CLIENT_SECRET}

            def keep(name, value):
                secrets[name] = value[-20:] if value.startswith("weft_") else value  # without the public id
                if value.startswith("weft_"):
                    secrets[name] = read_cookie(value)[2]

            static, doomed = server.token("ada"), server.token("bob")
            keep("static token", static)
            keep("revoked token", doomed)
            self.assertEqual(server.http("GET", "/session", token=static).status, 200)
            server.local("POST", f"/tokens/weft_t_{read_cookie(doomed)[1]}/revoke", {})
            server.http("GET", "/session", token=doomed)
            browser = Browser(server)
            path = browser.approve("ada", "/login")
            query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(path).query))
            keep("code", query["code"])
            keep("state", query["state"])
            keep("login cookie", browser.cookies[LOGIN])
            self.assertEqual(browser.get(path).status, 200)
            self.assertGreater(server.http("GET", path).status, 399)  # a replay
            keep("cookie", browser.cookies[SESSION])
            keep("CSRF token", browser.csrf())
            created = browser.change(X_CSRF_Token=secrets["CSRF token"])
            keep("token made by a browser", created.json["token"]["secret"])
            second = Browser(server)
            second.sign_in("bob")
            keep("ended cookie", second.cookies[SESSION])
            second.request("POST", "/session/logout", "{}", X_CSRF_Token=second.csrf(), Content_Type="application/json")
            # Every kind under the wrong name, in reasons, addresses and bodies.
            for name, value in (("cookie as token", browser.cookies[SESSION]), ("token cut off", static[:-1])):
                self.assertEqual(server.http("GET", "/session", token=value).status, 401, name)
            self.assertEqual(server.http("GET", f"/session?access_token={static}").status, 401)
            server.http("GET", f"/nowhere/{static}")
            server.http("GET", "/session", Authorization=f"Basic {static}")
            signed = server.issuer.token("ada")
            keep("bearer token", signed.split(".")[2])
            self.assertEqual(server.http("GET", "/session", token=signed).status, 200)
            forged = server.issuer.token("ada", forge="wrong_key")
            keep("forged token", forged.split(".")[2])
            self.assertEqual(server.http("GET", "/session", token=forged).status, 401)
            server.issuer.control("mode", interval=1)
            begun = server.http("POST", "/login/device", {}).json
            keep("handle", begun["handle"])
            server.issuer.control("device", user_code=begun["user_code"], user="ada")
            while True:
                login = server.http("POST", "/login/device/token", {"handle": begun["handle"]})
                if login.status == 200:
                    break
                time.sleep(1)
            for kind in ("access", "refresh"):
                keep(f"first {kind}", login.json[f"{kind}_token"])
            renewed = server.http("POST", "/login/refresh", {"refresh_token": login.json["refresh_token"]}).json
            for kind in ("access", "refresh"):
                keep(f"second {kind}", renewed[f"{kind}_token"])
            server.http("GET", "/session", token=renewed["access_token"])
            server.http("POST", "/login/refresh", {"refresh_token": login.json["refresh_token"]})
            # A reason that someone pasted a token into.
            job = server.submit()
            response = server.local("POST", f"/jobs/{job}/cancel", {"reason": f"leaked {static} and Bearer {signed}"})
            self.assertEqual(response.status, 200, response)
            answers = json.dumps(server.audit()) + server.local("GET", "/tokens").text
            code = server.stop()
            self.assertEqual(code, 0, server.log())
            self.assertEqual(len(set(secrets.values())), len(secrets))
            texts = {"answers": answers.encode(), "log": server.log().encode()}
            for file in server.state.rglob("*"):
                if file.is_file():
                    texts[str(file.relative_to(server.state))] = file.read_bytes()
            self.assertTrue({"access/tokens.json", "access/sessions.json"} <= set(texts), set(texts))
            # The files are those of this server.
            self.assertIn(read_cookie(static)[1].encode(), texts["access/tokens.json"])
            for name, secret in secrets.items():
                self.assertGreater(len(secret), 20)
                for place, content in texts.items():
                    self.assertNotIn(secret.encode(), content, f"{name} in {place}")
            for file in (server.state / "access").iterdir():
                self.assertEqual(file.stat().st_mode & 0o077, 0, file)


if __name__ == "__main__":
    run_tests()
