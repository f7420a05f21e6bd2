#!/usr/bin/python3
"""Signing in with Debian's Chromium, driven by chromedriver over HTTP (WebDriver, https://www.w3.org/TR/webdriver2/),
and what pages of other origins can do to a person who is signed in. Usage: browser_test.py EXECUTABLE [PATTERN...]

With WEFT_TEST_PICTURES=FOLDER the pages are saved there as PNG.
"""

import base64
import http.server
import json
import os
import pathlib
import shutil
import ssl
import threading
import unittest

from chromium import ELEMENT, Driver
from lab import Lab, needs_program, run_tests

SESSION = "__Host-weft"


class Site:
    """Another origin with pages of its own, plain or over TLS."""

    def __init__(self, name, certificate="", key=""):
        site = self
        self.pages = {}

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *arguments):  # pylint: disable=arguments-differ
                pass

            def do_GET(self):
                content = site.pages.get(self.path, "").encode()
                self.send_response(200 if content else 404)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate, key)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.url = f"{'https' if certificate else 'http'}://{name}:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class ApiBrowser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not shutil.which("chromium") or not shutil.which("chromedriver"):
            return  # setUp() skips each test
        cls.lab = Lab(oidc=True)
        cls.addClassCleanup(cls.lab.close)
        cls.driver = Driver()
        cls.addClassCleanup(cls.driver.close)
        # To a browser, localhost is another site than 127.0.0.1; another port of the same host with https is another
        # origin of the same site, to which it sends cookies with SameSite=Strict.
        folder = cls.lab.issuer.folder
        cls.sites = {"cross-site": Site("localhost"),
                     "same-site": Site("127.0.0.1", cls.lab.issuer.ca, f"{folder}/issuer.key")}
        for site in cls.sites.values():
            cls.addClassCleanup(site.close)
        cls.pictures = os.environ.get("WEFT_TEST_PICTURES", "")

    def setUp(self):
        needs_program("chromium")
        needs_program("chromedriver")
        self.page = self.driver.open()
        self.addCleanup(self.page.close)

    def sign_in(self, user="ada"):
        page = self.page
        page.open(self.lab.url + "/")
        page.click("a.button")
        page.type("#user", user)
        page.type("#password", self.lab.issuer.users[user]["password"])
        page.click("#submit")
        page.wait_for(lambda: page.url == self.lab.url + "/" and page.count("strong#user") == 1)

    def tokens(self):
        return sorted(row["token"] for row in self.lab.local("GET", "/tokens").json["tokens"])

    def test_signing_in_and_out(self):
        page = self.page
        page.open(self.lab.url + "/")
        self.assertIn("Not signed in", page.text())
        self.assertEqual(page.count("#logout"), 0)
        self.sign_in("ada")
        self.assertEqual(page.text("#user"), "ada")
        self.assertIn("operator, user of team-a", page.text())
        cookie = page.cookies()[SESSION]
        self.assertEqual(set(page.cookies()), {SESSION})  # that of the sign-in is gone
        self.assertEqual({name: cookie[name] for name in ("httpOnly", "secure", "sameSite", "path", "domain")},
                         {"httpOnly": True, "secure": True, "sameSite": "Strict", "path": "/", "domain": "127.0.0.1"})
        # Nothing of it is within reach of a script, or in an address.
        self.assertEqual(page.run("return [document.cookie, localStorage.length, sessionStorage.length]"), ["", 0, 0])
        history = page.history()
        self.assertIn(self.lab.url + "/", history)
        secret = cookie["value"][-20:]  # a part that is not its public id; the secret itself may have underscores
        for url in [*history, page.run("return document.referrer")]:
            self.assertNotIn("weft_", url)
            self.assertNotIn(secret, url)
            self.assertNotRegex(url, r"eyJ|token=|password")
        self.assertNotIn(cookie["value"], page.run("return document.documentElement.outerHTML"))
        # What a console would do.
        created = page.run_async("""
            const session = await (await fetch('/api/v1/session')).json();
            const send = (headers) => fetch('/api/v1/tokens', {method: 'POST', body: JSON.stringify({name: 'page'}),
                                            headers: {'Content-Type': 'application/json', ...headers}});
            return [session.session.user, (await send({})).status,
                    (await send({'X-CSRF-Token': session.session.csrf_token})).status]""")
        self.assertEqual(created, ["ada", 403, 201])
        page.click("#logout")
        page.wait_for(lambda: page.count("a.button") == 1)
        self.assertIn("Not signed in", page.text())
        self.assertEqual(page.cookies(), {})
        self.assertEqual(page.run_async("return (await fetch('/api/v1/session')).status"), 401)
        self.assertEqual(self.lab.http("GET", "/session", Cookie=f"{SESSION}={cookie['value']}").status, 401)
        # Nor is the old page in a cache.
        page.send("POST", "/back", {})
        page.wait_for(lambda: page.run("return document.readyState") == "complete")
        self.assertNotIn("Signed in as", page.text())

    def test_the_page_after_the_sign_in(self):
        page = self.page
        page.open(self.lab.url + "/login?return=/docs%23basics")
        page.type("#user", "carol")
        page.type("#password", self.lab.issuer.users["carol"]["password"])
        page.click("#submit")
        page.wait_for(lambda: page.url == self.lab.url + "/docs#basics")
        self.assertEqual(page.run_async("return (await (await fetch('/api/v1/session')).json()).session.user"), "carol")
        page.open(self.lab.url + "/login?return=//localhost")
        page.type("#user", "carol")
        page.type("#password", self.lab.issuer.users["carol"]["password"])
        page.click("#submit")
        page.wait_for(lambda: page.url == self.lab.url + "/")

    def test_a_person_refuses(self):
        self.page.open(self.lab.url + "/login")
        self.page.click("#refuse")
        self.page.wait_for(lambda: self.page.url.startswith(self.lab.url))
        self.assertIn("Not signed in", self.page.text("h1"))
        self.assertNotIn(SESSION, self.page.cookies())

    def test_other_sites_change_and_read_nothing(self):
        self.sign_in("ada")
        csrf = self.page.run_async("return (await (await fetch('/api/v1/session')).json()).session.csrf_token")
        before = self.tokens()
        target = self.lab.url + "/api/v1/tokens"
        for kind, site in self.sites.items():
            with self.subTest(kind):
                # A form whose body reads as JSON, and one with fields.
                site.pages["/"] = f"""<!doctype html><title>other</title>
                    <form id="json" method="post" action="{target}" enctype="text/plain">
                    <input name='{{"name": "evil", "x": "' value='"}}'></form>
                    <form id="fields" method="post" action="{target}"><input name="name" value="evil"></form>
                    <a id="link" href="{self.lab.url}/">link</a>"""
                for form in ("json", "fields"):
                    self.page.open(site.url + "/")
                    self.page.run("document.getElementById(arguments[0]).submit()", form)
                    self.page.wait_for(lambda: self.page.url == target)
                    # Without the cookie the request has no session; with it the request is refused.
                    status = json.loads(self.page.run("return document.body.innerText"))["status"]
                    self.assertEqual(status, 401 if kind == "cross-site" else 403)
                self.page.open(site.url + "/")
                answers = self.page.run_async("""
                    const results = [];
                    for (const options of given[2]) {
                      try {
                        const answer = await fetch(given[options.read ? 1 : 0], {credentials: 'include', ...options});
                        results.push(answer.type + ' ' + (await answer.text()));
                      } catch (error) { results.push(error.name); }
                    }
                    return results""", target, self.lab.url + "/api/v1/session", [
                    {"read": True}, {"read": True, "mode": "no-cors"},
                    {"method": "POST", "mode": "no-cors", "body": '{"name": "evil"}'},
                    {"method": "POST", "body": '{"name": "evil"}', "headers": {"Content-Type": "text/plain"}},
                    {"method": "POST", "body": '{"name": "evil"}', "headers": {"Content-Type": "application/json",
                                                                               "X-CSRF-Token": csrf}}])
                self.assertEqual(answers, ["TypeError", "opaque ", "opaque ", "TypeError", "TypeError"])
                self.assertEqual(self.tokens(), before)
        # A link from elsewhere opens the page without the session; the next click has it.
        self.page.open(self.sites["cross-site"].url + "/")
        self.page.click("#link")
        self.page.wait_for(lambda: self.page.url == self.lab.url + "/")
        self.assertIn("Not signed in", self.page.text())
        self.page.open(self.lab.url + "/")
        self.assertEqual(self.page.text("#user"), "ada")

    def test_pages_cannot_be_framed(self):
        self.sign_in("ada")
        for kind, site in self.sites.items():
            for path in ("/", "/docs", "/login/callback", "/api/v1/session"):
                with self.subTest(f"{kind} {path}"):
                    site.pages["/frame"] = ('<!doctype html><title>frame</title>'
                                            f'<iframe id="weft" src="{self.lab.url}{path}"></iframe>')
                    self.page.open(site.url + "/frame")  # returns when the frame, too, is loaded
                    self.page.send("POST", "/frame", {"id": {ELEMENT: self.page.find("#weft")}})
                    text = self.page.run("return [document.URL, document.body.innerText]")
                    self.page.send("POST", "/frame", {"id": None})
                    if path.startswith("/api"):  # JSON is not a page; but it must not be that of the session
                        self.assertNotIn("csrf_token", text[1])
                    else:
                        self.assertTrue(text[0].startswith("chrome-error:"), text)

    def test_scripts_that_are_injected_do_not_run(self):
        for path in ("/", "/docs", "/login/callback?state=x"):
            with self.subTest(path):
                self.page.open(self.lab.url + path)
                seen = self.page.run_async("""
                    const blocked = [];
                    document.addEventListener('securitypolicyviolation',
                                              (event) => blocked.push(event.effectiveDirective));
                    const script = document.createElement('script');
                    script.textContent = 'window.ran = "inline"';
                    document.body.append(script);
                    const image = document.createElement('div');
                    image.innerHTML = '<img src="/absent" onerror="window.ran = \\'handler\\'">';
                    document.body.append(image);
                    const style = document.createElement('div');
                    style.innerHTML = '<p style="position: fixed">x</p>';
                    document.body.append(style);
                    const far = document.createElement('script');
                    far.src = given[0] + '/far.js';
                    document.body.append(far);
                    const link = document.createElement('a');
                    link.href = 'javascript:window.ran = "link"';
                    document.body.append(link);
                    link.click();
                    let sent = 'sent';
                    try { await fetch(given[0] + '/far'); } catch (error) { sent = error.name; }
                    const form = document.createElement('form');
                    form.action = given[0];
                    document.body.append(form);
                    form.submit();
                    const wanted = ['script-src-elem', 'script-src-attr', 'style-src-attr', 'connect-src',
                                    'form-action'];
                    const count = (name) => blocked.filter((each) => each === name).length;
                    while (!wanted.every(count)) await new Promise((next) => setTimeout(next, 20));
                    return [window.ran === undefined, sent, count('script-src-elem') >= 2]""",
                    self.sites["cross-site"].url)
                self.assertEqual(seen, [True, "TypeError", True])
                self.assertTrue(self.page.url.startswith(self.lab.url))

    def test_pages_fit_their_windows(self):
        """No page is wider than its window, or says anything on the console."""
        shown = [("signed-out", "/", False), ("login-failed", "/login/callback?state=x&code=x", False), ("docs",
                                                                                                         "/docs",
                                                                                                         False),
                 ("signed-in", "/", True)]
        self.page.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "light"}])
        for name, path, needs_session in shown:
            if needs_session:
                self.sign_in("ada")
            for width in (1280, 400):
                with self.subTest(f"{name} {width}"):
                    self.page.devtools("Emulation.setDeviceMetricsOverride", width=width, height=900,
                                       deviceScaleFactor=1, mobile=False)
                    self.page.messages()
                    self.page.open(self.lab.url + path)
                    self.assertEqual(self.page.run("return innerWidth"), width)
                    self.assertLessEqual(self.page.run("return document.documentElement.scrollWidth"), width)
                    self.save(f"{name}-{width}")
                    said = [line for line in self.page.messages() if "favicon" not in line]
                    if name == "login-failed":  # its status is 400
                        said = [line for line in said if "status of 400" not in line]
                    self.assertEqual(said, [])

    def save(self, name):
        if self.pictures:
            picture = self.page.devtools("Page.captureScreenshot", format="png")["data"]
            pathlib.Path(self.pictures, f"{name}.png").write_bytes(base64.b64decode(picture))


if __name__ == "__main__":
    run_tests()
