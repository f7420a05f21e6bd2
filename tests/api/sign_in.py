"""What the tests of signing in share: a browser with cookies, tokens and cookies taken apart, and a server with a
provider for the tests of a class.
"""

import json
import re
import sys
import time
import unittest
import urllib.parse

from lab import SOURCE, Issuer, Lab

sys.path.insert(0, str(SOURCE / "tests"))
import oidc_issuer  # pylint: disable=wrong-import-position

SESSION, LOGIN = "__Host-weft", "__Host-weft-login"  # cookies
# Beside those of the lab: names and audiences that must not be believed.
USERS = {**Issuer.USERS,
         "rooty": {"password": "root-66666", "groups": ["admins"], "claims": {"preferred_username": "root"}},
         "both": {"password": "aud-777777", "groups": ["team-a"], "claims": {"aud": ["weft", "other"]}},
         "other": {"password": "azp-888888", "groups": ["team-a"],
                   "claims": {"aud": ["weft", "other"], "azp": "other"}},
         "right": {"password": "azp-999999", "groups": ["team-a"],
                   "claims": {"aud": ["weft", "other"], "azp": "weft"}}}

# What the audit log says about each forgery of the provider: the part of the token that is wrong.
REASONS = {"none": "alg|algorithm", "stripped": "sign", "hs256": "alg|algorithm", "wrong_key": "signature",
           "payload": "signature", "unknown_kid": "key", "traversing_kid": "key", "wrong_iss": "issuer",
           "wrong_aud": "audience", "wrong_nonce": "nonce", "expired": "expired", "not_yet": "not valid",
           "future": "future"}


class Browser:
    """Cookies and requests of one browser, as far as RFC 6265 is needed here."""

    def __init__(self, server):
        self.server = server
        self.cookies = {}
        self.flags = {}  # by cookie: the attributes that it came with

    def request(self, method, path, body=None, **headers):
        if self.cookies and "Cookie" not in headers:
            headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        response = self.server.http(method, path, body, **headers)
        for line in response.cookies:
            pair, *flags = [part.strip() for part in line.split(";")]
            name, _, value = pair.partition("=")
            self.flags[name] = flags
            if "Max-Age=0" in flags:
                self.cookies.pop(name, None)
            else:
                self.cookies[name] = value
        return response

    def get(self, path, **headers):
        return self.request("GET", path, **headers)

    def begin(self, path="/login"):
        """The address at the provider that weft sends the browser to."""
        response = self.get(path)
        assert response.status == 303, response
        return response.headers["location"]

    def approve(self, user, path="/login"):
        """The path and query at weft that the provider sends the browser back to."""
        back = urllib.parse.urlsplit(self.server.issuer.sign_in(self.begin(path), user))
        assert f"https://{back.netloc}" == self.server.url, back
        return f"{back.path}?{back.query}"

    def sign_in(self, user, path="/login"):
        return self.get(self.approve(user, path))

    def session(self):
        return self.get("/session")

    def csrf(self):
        return self.session().json["session"]["csrf_token"]

    def change(self, **headers):
        """Creates a token: something that every person may do."""
        return self.request("POST", "/tokens", {"name": "of a browser"}, **headers)


def read_cookie(value):
    """The parts of a credential of weft: weft_KIND_ID_SECRET."""
    kind, identifier, secret = re.fullmatch(r"weft_([a-z])_([a-z0-9]{12})_([A-Za-z0-9_-]{43})", value).groups()
    return kind, identifier, secret


def replace_query(path, **changes):
    """The path with other parameters; None removes one."""
    parts = urllib.parse.urlsplit(path)
    query = {**dict(urllib.parse.parse_qsl(parts.query)), **changes}
    given = {name: value for name, value in query.items() if value is not None}
    return parts.path + "?" + urllib.parse.urlencode(given)


def split_token(token):
    """Header and claims of a signed token."""
    def decode(part):
        return json.loads(oidc_issuer.base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    header, claims, _ = token.split(".")
    return decode(header), decode(claims)


def change_store(server, name, change):
    """Stops the server, changes every record of access/NAME.json and starts it again: what hours would do."""
    server.stop()
    path = server.state / "access" / f"{name}.json"
    root = json.loads(path.read_text(encoding="utf-8"))
    for record in root[name]:
        change(record)
    path.write_text(json.dumps(root), encoding="utf-8")
    path.chmod(0o600)
    server.start()


def find_entry(server, operation, condition):
    """The newest such entry of the audit log, once it is there."""
    while True:
        for entry in server.audit(operation=operation):
            if condition(entry):
                return entry
        time.sleep(0.02)


class WithServer(unittest.TestCase):
    """One server for all tests of a class."""

    ACCESS = ""

    @classmethod
    def setUpClass(cls):
        cls.lab = Lab(cls.ACCESS, oidc=USERS)
        cls.addClassCleanup(cls.lab.close)

    def setUp(self):
        self.issuer = self.lab.issuer
        self.addCleanup(self.issuer.control, "mode", forge="", fail=0, device="", issuer_in_response=True,
                        wrong_response_issuer=False, interval=5, device_lifetime=600)

    def refused(self, token, **headers):
        """Asserts that the bearer token is refused, with an answer that does not say why."""
        response = self.lab.http("GET", "/session", Authorization=f"Bearer {token}", **headers)
        self.assertEqual(response.status, 401, response)
        self.assertEqual(response.headers["content-type"], "application/problem+json")
        self.assertTrue(response.headers["www-authenticate"].startswith("Bearer"))
        text = response.text.replace(response.headers["x-request-id"], "")
        if not hasattr(WithServer, "refusal"):
            WithServer.refusal = text
        self.assertEqual(text, WithServer.refusal)
        return response

    def accepted(self, token):
        response = self.lab.http("GET", "/session", token=token)
        self.assertEqual(response.status, 200, response)
        return response.json["session"]

    def logged(self, response, operation="sign-in.refused"):
        """The entry of the audit log about a request that was answered so. It is written beside the answer."""
        return find_entry(self.lab, operation, lambda entry: entry["request_id"] == response.headers["x-request-id"])
