#!/usr/bin/python3
"""An OpenID Connect provider for tests: HTTPS on a loopback port, users and groups from a JSON file, and control requests
that make it rotate keys, misbehave, or sign any token. Python's standard library, and the `openssl` program for keys and
signatures.

It has discovery, the authorization code flow with PKCE (a login page with a name and a password), the device flow with
its page, RS256 and ES256, and single-use codes. It checks what a client must do (PKCE, redirect address, client secret),
so that a client that forgets it fails.

Usage: tests/oidc_issuer.py --certificate FILE --key FILE --users FILE [--client ID[=SECRET]] [--redirect URL]...

Prints one line of JSON, {"issuer": "https://127.0.0.1:PORT", "port": PORT}, when it serves, and ends when its standard
input is closed. The file of users: {"ada": {"password": "x", "groups": ["sre"], "claims": {"email": "a@example.org"}}}.

Pages: /authorize and /device have a form #login with #user, #password and #submit; /device also #user_code. A parameter
`login_hint=NAME` of /authorize signs that user in at once, but only after {"hints": true} to /control/mode.

Control requests, all POST with a JSON body, answered with JSON:
  /control/token   a signed token. {"user": "ada", "nonce": ..., "alg": "RS256", "claims": {...}, "remove": ["exp"],
                   "header": {...}, "forge": NAME}; forge is one of FORGERIES below
  /control/rotate  new keys for both algorithms. {"keep": true} still publishes the old ones
  /control/mode    what to do from now on; keys that are not given keep their value. {"hints": false, "forge": "",
                   "fail": 0, "issuer_in_response": true, "wrong_response_issuer": false, "device": "", "id_token": true,
                   "lifetime": 300, "interval": 5, "device_lifetime": 600}: "forge" is applied to every ID token; "fail"
                   is an HTTP status for all but control requests; "device" an error for every poll ("slow_down", ...);
                   "interval" and "device_lifetime" are seconds, of device logins that begin later
  /control/device  decides a device login without its page. {"user_code": ..., "user": "ada"}; "user": null refuses
  /control/response  the parameters that the browser was sent back with. {"state": ...}: of the login with that state
  /control/stats   number of requests by path
"""

import argparse
import base64
import hashlib
import hmac
import html
import http.server
import json
import os
import secrets
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

CODE_SECONDS = 60
DEVICE_SECONDS = 600
POLL_SECONDS = 5
MAX_BODY = 1 << 20


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def openssl(*arguments, data=b""):
    done = subprocess.run(["openssl", *arguments], input=data, capture_output=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"openssl {arguments[0]}: {done.stderr.decode(errors='replace')}")
    return done.stdout


def der_items(data):
    """The contents of the elements that stand side by side in DER."""
    items, at = [], 0
    while at < len(data):
        size, start = data[at + 1], at + 2
        if size & 0x80:
            count = size & 0x7F
            size, start = int.from_bytes(data[start:start + count], "big"), start + count
        items.append(data[start:start + size])
        at = start + size
    return items


class Key:
    """A private key: a file for `openssl`, and its public half."""

    def __init__(self, folder, algorithm):
        self.algorithm = algorithm
        self.kid = f"{algorithm.lower()}-{secrets.token_hex(4)}"
        self.path = os.path.join(folder, self.kid + ".pem")
        if algorithm == "RS256":
            openssl("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", self.path)
        else:
            openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", self.path)
        self.public_pem = openssl("pkey", "-in", self.path, "-pubout")
        # SubjectPublicKeyInfo: the algorithm, and a bit string whose first byte counts its unused bits.
        info = der_items(base64.b64decode(b"".join(self.public_pem.splitlines()[1:-1])))[0]
        self.public = der_items(info)[1][1:]

    def jwk(self):
        jwk = {"kid": self.kid, "use": "sig", "alg": self.algorithm}
        if self.algorithm == "RS256":
            modulus, exponent = der_items(der_items(self.public)[0])
            return {"kty": "RSA", "n": b64(modulus.lstrip(b"\0")), "e": b64(exponent.lstrip(b"\0")), **jwk}
        return {"kty": "EC", "crv": "P-256", "x": b64(self.public[1:33]), "y": b64(self.public[33:65]), **jwk}

    def sign(self, data):
        signature = openssl("dgst", "-sha256", "-sign", self.path, data=data)
        if self.algorithm == "RS256":
            return signature
        return b"".join(part.lstrip(b"\0").rjust(32, b"\0") for part in der_items(der_items(signature)[0]))


def make_token(header, claims, sign):
    data = f"{b64(json.dumps(header).encode())}.{b64(json.dumps(claims).encode())}".encode()
    return f"{data.decode()}.{b64(sign(data))}"


# Each takes the issuer, the header, the claims and the key, changes them as a forger would, and returns the token.
def forge_none(issuer, header, claims, key):
    return make_token({**header, "alg": "none"}, claims, lambda data: b"")


def forge_stripped(issuer, header, claims, key):
    return make_token(header, claims, key.sign).rsplit(".", 1)[0] + "."


def forge_hs256(issuer, header, claims, key):
    return make_token({**header, "alg": "HS256"}, claims,
                      lambda data: hmac.new(key.public_pem, data, hashlib.sha256).digest())


def forge_wrong_key(issuer, header, claims, key):
    return make_token(header, claims, issuer.foreign_key(key.algorithm).sign)


def forge_payload(issuer, header, claims, key):
    first, _, signature = make_token(header, claims, key.sign).split(".")
    return ".".join([first, b64(json.dumps({**claims, "groups": ["weft-admins"]}).encode()), signature])


def forge_unknown_kid(issuer, header, claims, key):
    key = issuer.foreign_key(key.algorithm)
    return make_token({**header, "kid": key.kid}, claims, key.sign)


def forge_traversing_kid(issuer, header, claims, key):
    return make_token({**header, "kid": "../../../../../../dev/null"}, claims, issuer.foreign_key(key.algorithm).sign)


def with_claims(**changes):
    def forge(issuer, header, claims, key):
        now = int(time.time())
        new = {name: now + value if isinstance(value, int) else value for name, value in changes.items()}
        return make_token(header, {**claims, **new}, key.sign)
    return forge


FORGERIES = {
    "none": forge_none,
    "stripped": forge_stripped,
    "hs256": forge_hs256,
    "wrong_key": forge_wrong_key,
    "payload": forge_payload,
    "unknown_kid": forge_unknown_kid,
    "traversing_kid": forge_traversing_kid,
    "wrong_iss": with_claims(iss="https://evil.example"),
    "wrong_aud": with_claims(aud="another-client"),
    "wrong_nonce": with_claims(nonce="another-nonce"),
    "expired": with_claims(exp=-3600, iat=-7200),
    "not_yet": with_claims(nbf=3600),
    "future": with_claims(iat=3600),
}


class Refusal(Exception):
    """An error of OAuth 2.0 (RFC 6749, section 5.2)."""

    def __init__(self, error, detail="", status=400):
        super().__init__(detail)
        self.body, self.status = {"error": error, "error_description": detail}, status


class Issuer:
    """The provider's state. `lock` is held during each request."""

    def __init__(self, options, folder):
        self.lock = threading.RLock()
        self.folder = folder
        self.url = ""
        self.users = json.load(open(options.users, encoding="utf-8"))
        client, _, secret = options.client.partition("=")
        self.client, self.secret = client, secret
        self.redirects = set(options.redirect)
        self.codes, self.devices, self.responses, self.stats = {}, {}, {}, {}
        self.mode = {"hints": False, "forge": "", "fail": 0, "issuer_in_response": True, "device": "", "id_token": True,
                     "wrong_response_issuer": False, "lifetime": 300, "interval": POLL_SECONDS,
                     "device_lifetime": DEVICE_SECONDS}
        self.keys, self.old_keys = {}, []
        self.foreign = {}  # by algorithm: keys that are never published
        self.rotate(keep=False)

    def foreign_key(self, algorithm):
        if algorithm not in self.foreign:
            self.foreign[algorithm] = Key(self.folder, algorithm)
        return self.foreign[algorithm]

    def rotate(self, keep):
        self.old_keys = list(self.keys.values()) if keep else []
        self.keys = {name: Key(self.folder, name) for name in ("RS256", "ES256")}

    def discovery(self):
        return {
            "issuer": self.url,
            "authorization_endpoint": self.url + "/authorize",
            "token_endpoint": self.url + "/token",
            "jwks_uri": self.url + "/jwks",
            "device_authorization_endpoint": self.url + "/device_authorization",
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256", "ES256"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["client_secret_basic", "none"],
            "authorization_response_iss_parameter_supported": self.mode["issuer_in_response"],
            "scopes_supported": ["openid", "profile", "groups"],
        }

    def jwks(self):
        return {"keys": [key.jwk() for key in [*self.keys.values(), *self.old_keys]]}

    def token(self, user, nonce=None, algorithm="RS256", changes=None, remove=(), header=None, forge=""):
        if user not in self.users:
            raise Refusal("invalid_request", f"there is no user {user}")
        now, key = int(time.time()), self.keys[algorithm]
        claims = {"iss": self.url, "sub": user, "aud": self.client, "exp": now + self.mode["lifetime"], "iat": now,
                  "preferred_username": user, "groups": self.users[user].get("groups", []),
                  "jti": secrets.token_hex(8), **self.users[user].get("claims", {})}
        if nonce:
            claims["nonce"] = nonce
        claims.update(changes or {})
        for name in remove:
            claims.pop(name, None)
        first = {"alg": algorithm, "typ": "JWT", "kid": key.kid, **(header or {})}
        if not forge:
            return make_token(first, claims, key.sign)
        if forge not in FORGERIES:
            raise Refusal("invalid_request", f"forge is one of {', '.join(FORGERIES)}")
        return FORGERIES[forge](self, first, claims, key)

    def check_password(self, form):
        user = self.users.get(form.get("user", ""))
        return user is not None and user.get("password") == form.get("password")

    # The authorization endpoint: RFC 6749, section 4.1, and RFC 7636.
    def check_authorization(self, query):
        """What is wrong before the browser may be sent back."""
        if query.get("client_id") != self.client:
            return "unknown client"
        if query.get("redirect_uri") not in self.redirects:
            return "the redirect address is not registered"
        return ""

    def redirect(self, query, user):
        answer = {"state": query.get("state", "")}
        if query.get("response_type") != "code":
            answer["error"] = "unsupported_response_type"
        elif "openid" not in query.get("scope", "").split():
            answer["error"] = "invalid_scope"
        elif query.get("code_challenge_method") != "S256" or len(query.get("code_challenge", "")) != 43:
            answer["error"] = "invalid_request"
        elif user is None:
            answer["error"] = "access_denied"
        else:
            answer["code"] = secrets.token_urlsafe(24)
            self.codes[answer["code"]] = {"user": user, "nonce": query.get("nonce"), "used": False,
                                          "challenge": query["code_challenge"], "redirect": query["redirect_uri"],
                                          "expires": time.time() + CODE_SECONDS}
        if self.mode["issuer_in_response"]:
            answer["iss"] = "https://evil.example" if self.mode["wrong_response_issuer"] else self.url
        self.responses[answer["state"]] = answer
        mark = "&" if "?" in query["redirect_uri"] else "?"
        return query["redirect_uri"] + mark + urllib.parse.urlencode(answer)

    # The token endpoint.
    def check_client(self, form, authorization):
        if not self.secret:
            if form.get("client_id") != self.client:
                raise Refusal("invalid_client", "unknown client", 401)
            return
        kind, _, value = authorization.partition(" ")
        try:
            name, _, secret = base64.b64decode(value, validate=True).decode().partition(":")
        except ValueError:
            raise Refusal("invalid_client", "no client authentication", 401) from None
        right = (urllib.parse.unquote_plus(name), urllib.parse.unquote_plus(secret)) == (self.client, self.secret)
        if kind != "Basic" or not right:
            raise Refusal("invalid_client", "wrong client authentication", 401)

    def redeem_code(self, form):
        code = self.codes.get(form.get("code", ""))
        if code is None or code["used"] or code["expires"] < time.time():
            raise Refusal("invalid_grant", "the code is unknown, expired or was used before")
        code["used"] = True  # whatever follows: a code has one try
        if form.get("redirect_uri") != code["redirect"]:
            raise Refusal("invalid_grant", "another redirect address")
        verifier = form.get("code_verifier", "")
        if not 43 <= len(verifier) <= 128 or b64(hashlib.sha256(verifier.encode()).digest()) != code["challenge"]:
            raise Refusal("invalid_grant", "wrong code verifier")
        return code["user"], code["nonce"]

    def redeem_device(self, form):
        device = self.devices.get(form.get("device_code", ""))
        if device is None:
            raise Refusal("invalid_grant", "unknown device code")
        if self.mode["device"]:
            raise Refusal(self.mode["device"])
        if device["expires"] < time.time():
            raise Refusal("expired_token")
        if device["state"] == "pending":
            raise Refusal("authorization_pending")
        if device["state"] != "approved":
            raise Refusal("access_denied" if device["state"] == "refused" else "invalid_grant")
        device["state"] = "used"
        return device["user"], None

    def tokens(self, form, authorization):
        self.check_client(form, authorization)
        grants = {"authorization_code": self.redeem_code,
                  "urn:ietf:params:oauth:grant-type:device_code": self.redeem_device}
        if form.get("grant_type") not in grants:
            raise Refusal("unsupported_grant_type")
        user, nonce = grants[form["grant_type"]](form)
        answer = {"access_token": secrets.token_urlsafe(24), "token_type": "Bearer",
                  "expires_in": self.mode["lifetime"]}
        if self.mode["id_token"]:
            answer["id_token"] = self.token(user, nonce, forge=self.mode["forge"])
        return answer

    def start_device(self, form, authorization):
        self.check_client(form, authorization)
        letters = "BCDFGHJKLMNPQRSTVWXZ"  # RFC 8628, section 6.1: no vowels, no words
        user_code = "-".join("".join(secrets.choice(letters) for _ in range(4)) for _ in range(2))
        code = secrets.token_urlsafe(24)
        self.devices[code] = {"user_code": user_code, "state": "pending", "user": None,
                              "expires": time.time() + self.mode["device_lifetime"]}
        return {"device_code": code, "user_code": user_code, "verification_uri": self.url + "/device",
                "verification_uri_complete": f"{self.url}/device?user_code={user_code}",
                "expires_in": self.mode["device_lifetime"], "interval": self.mode["interval"]}

    def decide_device(self, user_code, user):
        wanted = user_code.replace("-", "").strip().upper()
        for device in self.devices.values():
            if device["user_code"].replace("-", "") == wanted and device["state"] == "pending":
                device.update(state="refused" if user is None else "approved", user=user)
                return True
        return False


PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>
<body><h1>{title}</h1><p id="message">{message}</p>{form}</body></html>
"""


def login_form(action, user_code=None):
    code = ""
    if user_code is not None:
        code = f'<p><label>Code <input id="user_code" name="user_code" value="{html.escape(user_code)}"></label></p>'
    return (f'<form id="login" method="post" action="{html.escape(action)}">{code}'
            '<p><label>User <input id="user" name="user" autocomplete="username"></label></p>'
            '<p><label>Password <input id="password" name="password" type="password"></label></p>'
            '<p><button id="submit" name="submit" value="yes">Sign in</button>'
            '<button id="refuse" name="refuse" value="yes">Refuse</button></p></form>')


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 30
    wbufsize = 1 << 16  # head and body in one piece
    disable_nagle_algorithm = True

    def log_message(self, *arguments):
        pass

    def answer(self, status, body, kind, headers=()):
        data = body.encode()
        self.send_response(status)
        for name, value in (("Content-Type", kind), ("Content-Length", str(len(data))), ("Cache-Control", "no-store"),
                            *headers):
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def answer_json(self, value, status=200):
        self.answer(status, json.dumps(value), "application/json")

    def answer_page(self, title, message="", form="", status=200):
        self.answer(status, PAGE.format(title=html.escape(title), message=html.escape(message), form=form),
                    "text/html; charset=utf-8")

    def fields(self, text):
        return dict(urllib.parse.parse_qsl(text, keep_blank_values=True, max_num_fields=100))

    def body(self):
        size = int(self.headers.get("Content-Length") or 0)
        if size > MAX_BODY:
            raise Refusal("invalid_request", "too large", 413)
        return self.rfile.read(size).decode()

    def do_GET(self):
        self.serve("")

    def do_POST(self):
        try:
            self.serve(self.body())
        except Refusal as refusal:
            self.answer_json(refusal.body, refusal.status)

    def serve(self, body):
        issuer = self.server.issuer
        target = urllib.parse.urlsplit(self.path)
        try:
            with issuer.lock:
                issuer.stats[target.path] = issuer.stats.get(target.path, 0) + 1
                if target.path.startswith("/control/"):
                    return self.control(issuer, target.path[len("/control/"):], json.loads(body or "{}"))
                if issuer.mode["fail"]:
                    return self.answer_json({"error": "server_error"}, issuer.mode["fail"])
                return self.route(issuer, target, body)
        except Refusal as refusal:
            return self.answer_json(refusal.body, refusal.status)
        except (KeyError, TypeError, ValueError) as error:
            return self.answer_json({"error": "invalid_request", "error_description": str(error)}, 400)

    def route(self, issuer, target, body):
        post = self.command == "POST"
        authorization = self.headers.get("Authorization", "")
        if target.path == "/.well-known/openid-configuration":
            return self.answer_json(issuer.discovery())
        if target.path == "/jwks":
            return self.answer_json(issuer.jwks())
        if target.path == "/authorize":
            return self.authorize(issuer, target.query, self.fields(body) if post else None)
        if target.path == "/device":
            return self.device(issuer, self.fields(target.query), self.fields(body) if post else None)
        if target.path == "/token" and post:
            return self.answer_json(issuer.tokens(self.fields(body), authorization))
        if target.path == "/device_authorization" and post:
            return self.answer_json(issuer.start_device(self.fields(body), authorization))
        return self.answer_json({"error": "not_found"}, 404)

    def authorize(self, issuer, raw, form):
        query = self.fields(raw)
        problem = issuer.check_authorization(query)
        if problem:
            return self.answer_page("Error", problem, status=400)
        hint = query.get("login_hint")
        user = None
        if form is None:
            if not issuer.mode["hints"] or hint not in issuer.users:
                return self.answer_page("Sign in", form=login_form("/authorize?" + raw))
            user = hint
        elif not form.get("refuse"):
            if not issuer.check_password(form):
                return self.answer_page("Sign in", "Wrong user or password.", login_form("/authorize?" + raw), 403)
            user = form["user"]
        return self.answer(302, "", "text/plain", [("Location", issuer.redirect(query, user))])

    def device(self, issuer, query, form):
        if form is None:
            return self.answer_page("Sign in a device", form=login_form("/device", query.get("user_code", "")))
        user = None if form.get("refuse") else form.get("user")
        page = login_form("/device", form.get("user_code", ""))
        if user is not None and not issuer.check_password(form):
            return self.answer_page("Sign in a device", "Wrong user or password.", page, 403)
        if not issuer.decide_device(form.get("user_code", ""), user):
            return self.answer_page("Sign in a device", "Unknown code.", page, 404)
        return self.answer_page("Done", "Refused." if user is None else "The device is signed in.")

    def control(self, issuer, name, request):
        if name == "token":
            return self.answer_json({"token": issuer.token(
                request.get("user", next(iter(issuer.users))), request.get("nonce"), request.get("alg", "RS256"),
                request.get("claims"), request.get("remove", ()), request.get("header"), request.get("forge", ""))})
        if name == "rotate":
            issuer.rotate(bool(request.get("keep", False)))
            return self.answer_json(issuer.jwks())
        if name == "mode":
            unknown = set(request) - set(issuer.mode)
            if unknown:
                raise Refusal("invalid_request", f"unknown: {', '.join(sorted(unknown))}")
            issuer.mode.update(request)
            return self.answer_json(issuer.mode)
        if name == "device":
            return self.answer_json({"found": issuer.decide_device(request["user_code"], request["user"])})
        if name == "response":
            return self.answer_json(issuer.responses.get(request["state"], {}))
        if name == "stats":
            return self.answer_json(issuer.stats)
        return self.answer_json({"error": "not_found"}, 404)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, context):
        super().__init__(("127.0.0.1", 0), Handler)
        self.context = context

    def finish_request(self, request, client_address):
        # In the connection's thread: a client that does not shake hands must not stop the others.
        request.settimeout(30)
        try:
            with self.context.wrap_socket(request, server_side=True) as secure:
                super().finish_request(secure, client_address)
        except (ssl.SSLError, OSError):
            pass


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--certificate", required=True, help="PEM file, for 127.0.0.1")
    parser.add_argument("--key", required=True, help="PEM file of its key")
    parser.add_argument("--users", required=True, help="JSON file")
    parser.add_argument("--client", default="weft", help="ID, or ID=SECRET of a confidential client")
    parser.add_argument("--redirect", action="append", default=[], help="registered redirect address")
    options = parser.parse_args()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(options.certificate, options.key)
    with tempfile.TemporaryDirectory(prefix="weft_oidc_") as folder:
        server = Server(context)
        port = server.server_address[1]
        server.issuer = Issuer(options, folder)
        server.issuer.url = f"https://127.0.0.1:{port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print(json.dumps({"issuer": server.issuer.url, "port": port}), flush=True)
        sys.stdin.read()
        server.shutdown()


if __name__ == "__main__":
    main()
