"""A static Redfish service over HTTPS, for tests: serves one folder as DMTF's mockup creator writes it, where a
resource is PATH/index.json. Reads are answered as they are stored; query parameters are ignored, except where the
folder has a page with them in its name (`Sensors?$skip=75`). Nothing can be changed but sessions and what a
subclass's posted() takes.

As a module: DumpServer(folder), a context manager with `url`, `port`, `certificate` and the requests that it received.
As a program: redfish_dump_server.py FOLDER [--port PORT] [--user NAME] [--password WORD] [--session-status 204]
prints its URL and serves until its standard input is closed.
"""

import argparse
import base64
import collections
import http.server
import json
import pathlib
import secrets
import shutil
import ssl
import subprocess
import sys
import tempfile
import threading
import urllib.parse

SESSIONS = "/redfish/v1/SessionService/Sessions"
PUBLIC = ("/redfish", "/redfish/v1", "/redfish/v1/odata", "/redfish/v1/$metadata")  # DSP0266: without a login
TYPES = {".json": "application/json", ".xml": "application/xml"}

# `path` with the query, as it was sent; `login`: "token", "basic" or "".
Request = collections.namedtuple("Request", "method path status login")


def make_certificate(folder):
    """A self-signed certificate for loopback and its key: paths."""
    certificate, key = pathlib.Path(folder, "bmc.pem"), pathlib.Path(folder, "bmc.key")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-keyout", str(key), "-out", str(certificate), "-days", "2", "-subj", "/CN=bmc",
                    "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"], check=True, capture_output=True)
    return str(certificate), str(key)


def error_body(message_id, message):
    return {"error": {"code": message_id, "message": message,
                      "@Message.ExtendedInfo": [{"MessageId": message_id, "Message": message}]}}


def status_of(document):
    """The mockup creator stores the body of every response, but not its status: those of errors are concluded."""
    if not isinstance(document, dict) or "error" not in document:
        return 200
    text = json.dumps(document["error"])
    missing = ("ResourceMissingAtURI", "ResourceNotFound", "NotFound")
    return 404 if any(word in text for word in missing) else 500


class Tree:
    """The stored resources: (status, content type, body) by path. `changes` replaces documents by path, pages by path
    and `?$skip=N`; None: there is no such resource."""

    def __init__(self, folder, changes=None):
        self.folder = pathlib.Path(folder).resolve()
        self.changes = {path.rstrip("/"): document for path, document in (changes or {}).items()}

    def read(self, target):
        path, _, query = target.partition("?")
        path, skip = path.rstrip("/"), urllib.parse.parse_qs(query).get("$skip")
        for name in (path, urllib.parse.unquote(path)):
            for tried in ([f"{name}?$skip={skip[0]}"] if skip else []) + [name]:
                if tried in self.changes:
                    return self._change(tried)
                if file := self._file(tried):
                    return self._stored(file)
        return None

    def _change(self, name):
        document = self.changes[name]
        return None if document is None else (200, TYPES[".json"], json.dumps(document).encode())

    def _file(self, name):
        folder = self.folder / name.lstrip("/")
        for file in (folder / "index.json", folder / "index.xml", folder):
            if file.is_file() and file.resolve().is_relative_to(self.folder):
                return file
        return None

    @staticmethod
    def _stored(file):
        body, status = file.read_bytes(), 200
        if file.suffix == ".json" and b'"error"' in body:
            status = status_of(json.loads(body))
        return status, TYPES.get(file.suffix, "application/octet-stream"), body


class DumpServer(http.server.ThreadingHTTPServer):
    """`session_status` 204: the answer to a login has no body, as that of DMTF's mockup server. `requests` has what
    was received, `sessions` the open sessions (token by path), `opened` the paths of all that were ever opened."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, folder, *, user="root", password="calvin-test", session_status=201, changes=None, port=0,
                 certificate=None, key=None):
        self.made = None
        if certificate is None:
            self.made = tempfile.mkdtemp(prefix="weft_bmc_")
            certificate, key = make_certificate(self.made)
        self.certificate, self.user, self.password = certificate, user, password
        self.session_status = session_status
        self.tree = Tree(folder, changes)
        self.lock = threading.Lock()
        self.requests, self.sessions, self.opened = [], {}, []
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificate, key)
        super().__init__(("127.0.0.1", port), _Handler)
        self.port = self.server_address[1]
        self.url = f"https://127.0.0.1:{self.port}"
        self.thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self.thread.start()

    def get_request(self):
        """The handshake is done by the thread of the connection, so that a slow client delays no other."""
        plain, address = super().get_request()
        return self.context.wrap_socket(plain, server_side=True, do_handshake_on_connect=False), address

    def handle_error(self, request, client_address):
        """A client that closes its connection, or refuses the certificate, is no error of the server."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)

    def record(self, handler, status):
        login = "token" if "X-Auth-Token" in handler.headers else "basic" if "Authorization" in handler.headers else ""
        with self.lock:
            self.requests.append(Request(handler.command, handler.path, status, login))

    def received(self, method, path=None):
        """The requests of a method, and of a path."""
        with self.lock:
            return [one for one in self.requests if one.method == method and path in (None, one.path.rstrip("/"))]

    def clear(self):
        """Forgets what was received, but not the open sessions."""
        with self.lock:
            self.requests.clear()
            self.opened.clear()

    def open_session(self):
        with self.lock:
            path, token = f"{SESSIONS}/{secrets.token_hex(4)}", secrets.token_hex(16)
            self.sessions[path] = token
            self.opened.append(path)
        return path, token

    def close_session(self, path):
        with self.lock:
            return self.sessions.pop(path, None) is not None

    def allows(self, headers):
        """A token of an open session, or a Basic login."""
        token = headers.get("X-Auth-Token")
        if token is not None:
            with self.lock:
                return token in self.sessions.values()
        kind, _, text = headers.get("Authorization", "").partition(" ")
        expected = base64.b64encode(f"{self.user}:{self.password}".encode()).decode()
        return kind.lower() == "basic" and text.strip() == expected

    def posted(self, path, body):
        """What a POST is answered: (status, document, headers); "close": the connection, without an answer. None: this
        service is read-only."""
        del path, body

    def close(self):
        self.shutdown()
        self.thread.join()
        self.server_close()
        if self.made:
            shutil.rmtree(self.made, ignore_errors=True)

    def __exit__(self, *_):
        self.close()


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = 120

    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass

    def _answer(self, status, body=b"", kind=TYPES[".json"], headers=()):
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
        self.server.record(self, status)
        self.send_response(status)
        self.send_header("OData-Version", "4.0")
        if status != 204:
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        if status != 204 and self.command != "HEAD":
            self.wfile.write(body)

    def _refuse(self, status, message_id, message):
        self._answer(status, error_body(message_id, message))

    def _body(self):
        try:
            return json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        except ValueError:
            return {}

    def _place(self):
        return self.path.partition("?")[0].rstrip("/")

    def _is_allowed(self):
        if self._place() in PUBLIC or self.server.allows(self.headers):
            return True
        self._refuse(401, "Base.1.8.NoValidSession", "There is no valid session established.")
        return False

    def do_GET(self):
        if not self._is_allowed():
            return
        found = self.server.tree.read(self.path)
        if found is None:
            self._refuse(404, "Base.1.8.ResourceMissingAtURI", f"The resource at {self.path} was not found.")
        else:
            self._answer(found[0], found[2], found[1])

    do_HEAD = do_GET

    def do_POST(self):
        body = self._body()
        if self._place() == SESSIONS:
            self._log_in(body if isinstance(body, dict) else {})
        elif self._is_allowed():
            answer = self.server.posted(self._place(), body)
            if answer == "close":
                self.server.record(self, 0)
                self.close_connection = True
                return
            if answer is not None:
                self._answer(answer[0], answer[1], headers=answer[2])
                return
            self._refuse(405, "Base.1.8.ActionNotSupported", "This service is read-only.")

    def _log_in(self, body):
        if (body.get("UserName"), body.get("Password")) != (self.server.user, self.server.password):
            self._refuse(401, "Base.1.8.ResourceAtUriUnauthorized", "The user name or the password is wrong.")
            return
        path, token = self.server.open_session()
        document = {"@odata.id": path, "@odata.type": "#Session.v1_3_0.Session", "Id": path.rpartition("/")[2],
                    "Name": "User Session", "UserName": self.server.user}
        self._answer(self.server.session_status, document, headers=(("X-Auth-Token", token), ("Location", path)))

    def do_DELETE(self):
        self._body()
        if not self._is_allowed():
            return
        if self.server.close_session(self._place()):
            self._answer(204)
        else:
            self._refuse(404, "Base.1.8.ResourceMissingAtURI", f"The resource at {self.path} was not found.")

    def do_PATCH(self):
        self._body()
        if self._is_allowed():
            self._refuse(405, "Base.1.8.ActionNotSupported", "This service is read-only.")

    do_PUT = do_PATCH


def main():
    options = argparse.ArgumentParser(description="Serve a Redfish mockup over HTTPS, read-only.")
    options.add_argument("folder", help="folder that has redfish/v1/index.json")
    options.add_argument("--port", type=int, default=0)
    options.add_argument("--user", default="root")
    options.add_argument("--password", default="calvin-test")
    options.add_argument("--session-status", type=int, default=201, choices=(201, 204))
    given = options.parse_args()
    with DumpServer(given.folder, user=given.user, password=given.password, port=given.port,
                    session_status=given.session_status) as server:
        print(server.url, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
