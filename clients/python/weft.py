"""Client of the API of `weft serve`: jobs, nodes, events, approvals, from Python 3.9 on, without other packages.

    import weft

    client = weft.from_context()                # the server and login of `weft login`
    job = client.submit(path="train.job.yaml").job
    print(client.wait(job)["state"])

Copy this file into your project. The certificate of a server is always verified: by the CAs of the system, by `ca`, or
by `fingerprint`. A token is sent to the server that it belongs to, over verified TLS, and appears in no message.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import hmac
import http.client
import io
import json
import os
import re
import secrets
import socket as sockets
import ssl
import stat
import time
import urllib.parse
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Tuple, Union

__all__ = ["Answer", "Client", "ConfigError", "Event", "NotSignedIn", "Place", "ServerUnavailable", "WeftError",
           "from_context"]

API = "/api/v1"
DEFAULT_PORT = 8443
JobId = Union[int, str]


# Errors

@dataclass(frozen=True)
class Place:
    """One entry of a problem's `errors`: what is wrong, and where in the job file or the request."""
    detail: str
    source: str = ""     # name of the file, with line and column
    line: int = 0
    column: int = 0
    pointer: str = ""    # into the request: "/body/reason"
    parameter: str = ""  # of the query
    header: str = ""

    def __str__(self) -> str:
        where = self.source or self.parameter or self.header or self.pointer
        if self.source and self.line:
            where += f":{self.line}:{self.column}" if self.column else f":{self.line}"
        return f"{where}: {self.detail}" if where else self.detail


class WeftError(Exception):
    """A response of 400 or more, as application/problem+json (RFC 9457); status 0: there was no response."""

    def __init__(self, detail: str, *, status: int = 0, title: str = "", type: str = "about:blank",
                 request_id: str = "", places: Optional[List[Place]] = None) -> None:
        self.detail, self.status, self.title, self.type = detail, status, title, type
        self.request_id = request_id
        self.places: List[Place] = places or []
        super().__init__("\n".join([detail] + [f"  {place}" for place in self.places]))


class NotSignedIn(WeftError):
    """401: there is no token, or the server does not accept it."""


class ServerUnavailable(WeftError):
    """No response: nothing listens there, the certificate is not trusted, or the connection broke."""

    def __init__(self, detail: str, *, sent: bool = True, untrusted: bool = False) -> None:
        super().__init__(detail)
        self.sent = sent            # the request may have been executed
        self.untrusted = untrusted  # the certificate: repeating the request does not help


class ConfigError(WeftError):
    """The user's configuration or credentials cannot be used."""


def _error_of(status: int, content_type: str, body: bytes) -> WeftError:
    problem: Dict[str, Any] = {}
    if content_type.startswith("application/problem+json"):
        with contextlib.suppress(ValueError):
            parsed = json.loads(body)
            problem = parsed if isinstance(parsed, dict) else {}

    def text(source: Mapping[str, Any], name: str) -> str:
        value = source.get(name, "")
        return value if isinstance(value, str) else ""

    def number(source: Mapping[str, Any], name: str) -> int:
        value = source.get(name, 0)
        return value if isinstance(value, int) and not isinstance(value, bool) else 0

    entries = problem.get("errors")
    places = [Place(text(entry, "detail"), text(entry, "source"), number(entry, "line"), number(entry, "column"),
                    text(entry, "pointer"), text(entry, "parameter"), text(entry, "header"))
              for entry in (entries if isinstance(entries, list) else []) if isinstance(entry, dict)]
    detail = text(problem, "detail") or text(problem, "title") or f"the server answered {status}"
    kind = NotSignedIn if status == 401 else WeftError
    if status == 401:
        detail = "not signed in: run `weft login`, or pass a token"
    return kind(detail, status=status, title=text(problem, "title"), type=text(problem, "type") or "about:blank",
                request_id=text(problem, "request_id"), places=places)


# Connections

def _fingerprint(text: str) -> str:
    digits = text.lower()
    digits = (digits[len("sha256:"):] if digits.startswith("sha256:") else digits).replace(":", "")
    if not re.fullmatch("[0-9a-f]{64}", digits):
        raise ValueError("a fingerprint is `sha256:` and 64 hexadecimal digits")
    return digits


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class _PinnedConnection(http.client.HTTPSConnection):
    """Accepts one certificate only, by its SHA-256, instead of a chain to a CA; checked before anything is sent."""

    def __init__(self, host: str, port: int, fingerprint: str, timeout: float) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE  # connect() compares the certificate with the pinned one
        super().__init__(host, port, timeout=timeout, context=context)
        self._fingerprint = fingerprint

    def connect(self) -> None:
        super().connect()
        shown = hashlib.sha256(self.sock.getpeercert(binary_form=True) or b"").hexdigest()
        if not hmac.compare_digest(shown, self._fingerprint):
            self.close()
            raise ssl.SSLCertVerificationError(
                f"the server's certificate is not the pinned one: its fingerprint is sha256:{shown}")


@dataclass(frozen=True)
class _Server:
    """Where requests go, and what proves the server."""
    url: str = ""
    ca: str = ""
    fingerprint: str = ""
    socket: str = ""

    @staticmethod
    def parse_url(url: str) -> Tuple[str, int]:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme != "https" or not parts.hostname or parts.username or parts.path not in ("", "/") or parts.query:
            raise ValueError(f"{url!r} is not a URL of the form https://HOST[:PORT]")
        return parts.hostname, parts.port or DEFAULT_PORT

    def connect(self, timeout: float) -> http.client.HTTPConnection:
        if self.socket:
            return _UnixConnection(self.socket, timeout)
        host, port = self.parse_url(self.url)
        if self.fingerprint:
            return _PinnedConnection(host, port, _fingerprint(self.fingerprint), timeout)
        context = ssl.create_default_context(cafile=self.ca or None)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        return http.client.HTTPSConnection(host, port, timeout=timeout, context=context)

    @property
    def name(self) -> str:
        return self.socket or self.url


# The user's configuration, which `weft login` and `weft context` write

def _scalar(text: str, where: str) -> str:
    if text.startswith('"'):
        try:
            value = json.loads(text)
        except ValueError:
            raise ConfigError(f"{where}: invalid quoted text") from None
        return str(value)
    if text.startswith("'"):
        if len(text) < 2 or not text.endswith("'"):
            raise ConfigError(f"{where}: invalid quoted text")
        return text[1:-1].replace("''", "'")
    if text[:1] in tuple("&*!|>%@`[]{}") or ": " in text:
        raise ConfigError(f"{where}: only mappings of text are read here")
    return text


def _uncomment(line: str) -> str:
    quote = ""
    for at, char in enumerate(line):
        if quote:
            quote = "" if char == quote and not (quote == '"' and line[at - 1] == "\\") else quote
        elif char in "'\"" and (at == 0 or line[at - 1] in " {,:"):
            quote = char
        elif char == "#" and (at == 0 or line[at - 1] in " \t"):
            return line[:at].rstrip()
    return line.rstrip()


def _split_key(text: str, where: str) -> Tuple[str, str]:
    found = re.match(r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s'"{},:#][^:{},]*?)\s*:(?:\s+(.*))?$""", text)
    if not found:
        raise ConfigError(f"{where}: expected `key: value`")
    return _scalar(found.group(1), where), (found.group(2) or "").strip()


def _flow(text: str, where: str) -> Dict[str, Any]:
    out: Dict[str, Any] = {}
    depth, quote, start = 0, "", 1
    for at, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char == "{":
            depth += 1
        elif char == "}" or (char == "," and depth == 1):
            item = text[start:at].strip() if depth == 1 else ""
            if depth == 1 and item:
                key, value = _split_key(item, where)
                out[key] = _flow(value, where) if value.startswith("{") else _scalar(value, where)
            start = at + 1 if depth == 1 else start
            depth -= char == "}"
    if depth or quote or not text.endswith("}"):
        raise ConfigError(f"{where}: unbalanced braces")
    return out


def _read_mapping(text: str, name: str) -> Dict[str, Any]:
    """The part of YAML that the configuration file needs: mappings, in block or flow style, of text."""
    root: Dict[str, Any] = {}
    stack: List[Tuple[int, Dict[str, Any]]] = [(-1, root)]
    for number, raw in enumerate(text.splitlines(), 1):
        where, line = f"{name}:{number}", _uncomment(raw)
        if not line.strip() or line.strip() == "---":
            continue
        if "\t" in line[:len(line) - len(line.lstrip())]:
            raise ConfigError(f"{where}: indent with spaces")
        indent = len(line) - len(line.lstrip())
        while len(stack) > 1 and indent <= stack[-1][0]:
            stack.pop()
        key, value = _split_key(line.strip(), where)
        target = stack[-1][1]
        if key in target:
            raise ConfigError(f"{where}: {key} occurs twice")
        if not value:
            target[key] = {}
            stack.append((indent, target[key]))
        else:
            target[key] = _flow(value, where) if value.startswith("{") else _scalar(value, where)
    return root


def _config_path() -> str:
    given = os.environ.get("WEFT_CONFIG", "")
    folder = os.environ.get("XDG_CONFIG_HOME", "")
    if not given and folder.startswith("/"):
        given = os.path.join(folder, "weft", "config.yaml")
    return given or os.path.expanduser("~/.config/weft/config.yaml")


def _credentials_path() -> str:
    folder = os.environ.get("XDG_STATE_HOME", "")
    return os.path.join(folder if folder.startswith("/") else os.path.expanduser("~/.local/state"),
                        "weft", "credentials.json")


def _read_context(name: Optional[str]) -> Tuple[str, _Server]:
    path = _config_path()
    try:
        with open(path, encoding="utf-8") as file:
            config = _read_mapping(file.read(), path)
    except OSError as problem:
        raise ConfigError(f"{path}: {problem.strerror}; `weft login URL` adds a server") from None
    name = name or os.environ.get("WEFT_CONTEXT") or config.get("current", "")
    contexts = config.get("contexts", {})
    context = contexts.get(name) if isinstance(contexts, dict) else None
    if not isinstance(context, dict):
        raise ConfigError(f"{path}: there is no context {name!r}")
    unknown = set(context) - {"server", "ca", "fingerprint", "socket"}
    if unknown:
        raise ConfigError(f"{path}: context {name}: unknown key {min(unknown)}")
    server = context.get("server", "")
    if server:
        host, port = _Server.parse_url(server)
        server = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    return name, _Server(server, context.get("ca", ""), context.get("fingerprint", ""), context.get("socket", ""))


# Tokens

class _FixedToken:
    def __init__(self, token: str) -> None:
        self._token = token

    def get(self, rejected: str = "") -> str:
        return "" if rejected else self._token


class _StoredLogin:
    """The login of `weft login`. A refresh token works once: the file is locked while it is exchanged."""

    def __init__(self, context: str, server: _Server, refresh: Callable[[str], Dict[str, Any]]) -> None:
        self._context, self._server, self._refresh = context, server, refresh
        self._path = _credentials_path()

    def _load(self) -> Dict[str, Any]:
        try:
            descriptor = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            return {}
        with open(descriptor, encoding="utf-8") as file:
            info = os.fstat(descriptor)
            if not stat.S_ISREG(info.st_mode) or info.st_uid != os.geteuid() or info.st_mode & 0o077:
                raise ConfigError(f"{self._path}: must be a file that only you can read: chmod 600 {self._path}")
            try:
                root = json.load(file)
                logins = root["logins"] if root["weft_credentials"] == 1 else None
            except (ValueError, KeyError, TypeError):
                logins = None
        if not isinstance(logins, dict):
            raise ConfigError(f"{self._path}: is not a credentials file of weft: remove it, and run `weft login`")
        return logins

    def _own(self, logins: Dict[str, Any]) -> Dict[str, Any]:
        login = logins.get(self._context)
        return login if isinstance(login, dict) and login.get("server") == self._server.url else {}

    @staticmethod
    def _usable(login: Dict[str, Any], rejected: str) -> str:
        token, expires = login.get("access_token", ""), login.get("expires_ms", 0)
        fresh = not expires or time.time() * 1000 + 30_000 < expires
        return token if token and token != rejected and fresh else ""

    def _save(self, logins: Dict[str, Any]) -> None:
        aside = self._path + ".tmp"
        with contextlib.suppress(FileNotFoundError):
            os.unlink(aside)
        descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with open(descriptor, "w", encoding="utf-8") as file:
            json.dump({"weft_credentials": 1, "logins": logins}, file, indent=2)
            file.flush()
            os.fsync(descriptor)
        os.replace(aside, self._path)

    def get(self, rejected: str = "") -> str:
        login = self._own(self._load())
        token = self._usable(login, rejected)
        if token or not login.get("refresh_token"):
            return token
        descriptor = os.open(self._path + ".lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            logins = self._load()
            login = self._own(logins)
            token = self._usable(login, rejected)  # another program was first
            if token or not login.get("refresh_token"):
                return token
            try:
                renewed = self._refresh(login["refresh_token"])
            except WeftError as problem:
                if problem.status not in (400, 401, 403):
                    raise
                del logins[self._context]
                self._save(logins)
                return ""
            login.update(access_token=renewed["access_token"], refresh_token=renewed["refresh_token"],
                         expires_ms=int((time.time() + renewed["expires_in"]) * 1000))
            self._save(logins)
            return str(login["access_token"])
        finally:
            os.close(descriptor)


# The client

@dataclass(frozen=True)
class Answer:
    """What the server did. With `approval`, it waits: another person has to approve that number first."""
    message: str = ""
    job: int = 0
    expected_start: Optional[str] = None  # ISO 8601
    approval: Optional[str] = None
    data: Dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Event:
    """A record of the journal."""
    id: int
    name: str
    data: Dict[str, Any]


class Client:
    """One server. Safe requests, and those with an idempotency key, are repeated while it restarts."""

    def __init__(self, server: str = "", *, token: str = "", ca: str = "", fingerprint: str = "", socket: str = "",
                 timeout: float = 30.0, retries: int = 3) -> None:
        if bool(server) == bool(socket):
            raise ValueError("give the URL of a server, or the path of its socket")
        if server:
            _Server.parse_url(server)
        if fingerprint:
            _fingerprint(fingerprint)
        if not re.fullmatch(r"[A-Za-z0-9._~+/=-]*", token):
            raise ValueError("invalid token")
        self._server = _Server(server, ca, fingerprint, socket)
        self._tokens: Union[_FixedToken, _StoredLogin] = _FixedToken(token)
        self._timeout, self._retries = timeout, retries
        self._sleep: Callable[[float], None] = time.sleep

    def __repr__(self) -> str:
        return f"weft.Client({self._server.name!r})"

    # Requests

    def _open(self, method: str, path: str, body: Optional[bytes], headers: Dict[str, str], timeout: float,
              token: str) -> Tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        connection = self._server.connect(timeout)
        sent = False
        try:
            connection.connect()
            sent = True
            if token:
                headers = {**headers, "Authorization": f"Bearer {token}"}
            connection.request(method, path, body=body, headers=headers)
            return connection, connection.getresponse()
        except (OSError, http.client.HTTPException) as problem:
            connection.close()
            untrusted = isinstance(problem, ssl.SSLCertVerificationError)
            raise ServerUnavailable(f"{self._server.name}: {problem}", sent=sent and not untrusted,
                                    untrusted=untrusted) from None

    def _send(self, method: str, path: str, *, query: Optional[Mapping[str, Any]] = None,
              body: Optional[Mapping[str, Any]] = None, headers: Optional[Mapping[str, str]] = None,
              idempotency_key: str = "", prefix: str = API) -> Tuple[int, Mapping[str, str], bytes]:
        given = {name: str(value).lower() if isinstance(value, bool) else str(value)
                 for name, value in (query or {}).items() if value is not None}
        target = prefix + path + ("?" + urllib.parse.urlencode(given) if given else "")
        data = None if body is None else json.dumps({k: v for k, v in body.items() if v is not None}).encode()
        fields = dict(headers or {})
        if data is not None:
            fields["Content-Type"] = "application/json"
        if idempotency_key:
            fields["Idempotency-Key"] = idempotency_key
        repeatable = method in ("GET", "HEAD") or bool(idempotency_key)
        rejected = ""
        attempt = -1
        while True:
            attempt += 1
            last = attempt >= self._retries
            token = "" if self._server.socket or not prefix else self._tokens.get()
            try:
                connection, response = self._open(method, target, data, fields, self._timeout, token)
                with contextlib.closing(connection):
                    content = response.read()
            except ServerUnavailable as problem:
                if last or problem.untrusted or (problem.sent and not repeatable):
                    raise
                self._sleep(min(0.2 * 2 ** attempt, 5.0))
                continue
            except (OSError, http.client.HTTPException) as problem:
                if last or not repeatable:
                    raise ServerUnavailable(f"{self._server.name}: {problem}; the request may have been executed") from None
                self._sleep(min(0.2 * 2 ** attempt, 5.0))
                continue
            if response.status == 401 and token and not rejected:
                rejected = token
                if self._tokens.get(rejected):
                    attempt -= 1  # not a failure of the server
                    continue
            if response.status in (429, 503) and repeatable and not last:
                pause = response.getheader("Retry-After", "")
                self._sleep(min(float(pause) if pause.isdigit() else 0.2 * 2 ** attempt, 120.0))
                continue
            if response.status >= 400:
                raise _error_of(response.status, response.getheader("Content-Type", ""), content)
            return response.status, {name.lower(): value for name, value in response.getheaders()}, content

    def request(self, method: str, path: str, *, query: Optional[Mapping[str, Any]] = None,
                body: Optional[Mapping[str, Any]] = None, headers: Optional[Mapping[str, str]] = None,
                idempotency_key: str = "", if_match: str = "") -> Any:
        """Any request of the API, `path` below /api/v1: the JSON of the answer, or its text."""
        fields = dict(headers or {}, **({"If-Match": if_match} if if_match else {}))
        _, received, content = self._send(method, path, query=query, body=body, headers=fields,
                                          idempotency_key=idempotency_key)
        return self._parse(received, content)

    @staticmethod
    def _parse(headers: Mapping[str, str], content: bytes) -> Any:
        if not headers.get("content-type", "").startswith("application/json"):
            return content.decode("utf-8", "replace")
        try:
            return json.loads(content) if content else None
        except ValueError:
            raise WeftError("invalid response: not JSON") from None

    def _change(self, path: str, body: Optional[Mapping[str, Any]] = None, *, key: str = "") -> Answer:
        status, headers, content = self._send("POST", path, body=body or {}, idempotency_key=key)
        parsed = self._parse(headers, content)
        data = parsed if isinstance(parsed, dict) else {}
        answer = data.get("answer", data)
        answer = answer if isinstance(answer, dict) else {}
        approval = answer.get("approval") if status == 202 else None
        return Answer(str(answer.get("message", "")), int(answer.get("job") or 0), answer.get("expected_start"),
                      None if approval is None else str(approval), data)

    def _section(self, path: str, name: str, **query: Any) -> Dict[str, Any]:
        parsed = self.request("GET", path, query=query)
        section = parsed.get(name) if isinstance(parsed, dict) else None
        if not isinstance(section, dict):
            raise WeftError(f"invalid response: no {name}")
        return section

    def _rows(self, path: str, name: str, **query: Any) -> Iterator[Dict[str, Any]]:
        """The rows of a list, page after page."""
        while True:
            _, headers, content = self._send("GET", path, query=query)
            parsed = self._parse(headers, content)
            rows = parsed.get(name) if isinstance(parsed, dict) else None
            if not isinstance(rows, list):
                raise WeftError(f"invalid response: no {name}")
            yield from rows
            following = headers.get("weft-next-page")
            if not following or following == query.get("page"):
                return
            query["page"] = following

    @staticmethod
    def _segment(value: Any) -> str:
        text = str(value)
        if not text or text in (".", ".."):
            raise ValueError(f"invalid name: {text!r}")
        return urllib.parse.quote(text.replace("/", ":"), safe="")

    # Jobs

    def jobs(self, *, all: bool = False, user: Optional[str] = None, state: Optional[str] = None,
             limit: Optional[int] = None, sort: Optional[str] = None, **filters: Any) -> Iterator[Dict[str, Any]]:
        """Jobs that have not ended; with `all` also those that have. `filters` are columns of the list."""
        return self._rows("/jobs", "jobs", all="1" if all else None, user=user, state=state, limit=limit, sort=sort,
                          **filters)

    def job(self, job: JobId) -> Dict[str, Any]:
        return self._section(f"/jobs/{self._segment(job)}", "job")

    def why(self, job: JobId) -> Dict[str, Any]:
        """Why a job waits and what would start it, or why it runs where it does."""
        parsed = self.request("GET", f"/jobs/{self._segment(job)}/why")
        return parsed if isinstance(parsed, dict) else {}

    @staticmethod
    def _job_file(text: Optional[str], path: Optional[str], name: str, directory: str) -> Dict[str, Any]:
        if (text is None) == (path is None):
            raise ValueError("give the text of a job file, or its path")
        if path is not None:
            with open(path, encoding="utf-8") as file:
                text = file.read()
        return {"text": text, "name": name or path or "job", "directory": directory or os.getcwd()}

    def submit(self, text: Optional[str] = None, *, path: Optional[str] = None, name: str = "", directory: str = "",
               tenant: Optional[str] = None, engine: Optional[str] = None, image: Optional[str] = None,
               key: str = "") -> Answer:
        """Submits a job file, an sbatch script or a manifest. The same `key` always yields the same job."""
        body = {**self._job_file(text, path, name, directory), "tenant": tenant, "engine": engine, "image": image}
        return self._change("/jobs", body, key=key or secrets.token_hex(16))

    def check(self, text: Optional[str] = None, *, path: Optional[str] = None, name: str = "", directory: str = "",
              tenant: Optional[str] = None, engine: Optional[str] = None, image: Optional[str] = None) -> Answer:
        """What submit() would do, and when the job would start; nothing is submitted."""
        body = {**self._job_file(text, path, name, directory), "tenant": tenant, "engine": engine, "image": image}
        answer = self._change("/jobs/check", body)
        found = answer.data.get("job_check")
        found = found if isinstance(found, dict) else {}
        return Answer(str(found.get("message", "valid")), 0, found.get("expected_start"), None, answer.data)

    def cancel(self, job: JobId, reason: str = "") -> Answer:
        return self._change(f"/jobs/{self._segment(job)}/cancel", {"reason": reason or None})

    def hold(self, job: JobId, reason: str = "") -> Answer:
        return self._change(f"/jobs/{self._segment(job)}/hold", {"reason": reason or None})

    def release(self, job: JobId, reason: str = "") -> Answer:
        return self._change(f"/jobs/{self._segment(job)}/release", {"reason": reason or None})

    def logs(self, job: JobId, *, task: int = 0, attempt: Optional[int] = None) -> str:
        """Output of a task, at most the last 4 MiB."""
        return str(self.request("GET", f"/jobs/{self._segment(job)}/logs", query={"task": task, "attempt": attempt}))

    def wait(self, job: int) -> Dict[str, Any]:
        """Waits until a job is done, failed or canceled; follows the events instead of polling."""
        while True:
            _, headers, content = self._send("GET", f"/jobs/{self._segment(job)}")
            facts = (self._parse(headers, content) or {}).get("job", {})
            if facts.get("state") in ("done", "failed", "canceled"):
                return dict(facts)
            try:
                next(self.events(job=job, since=int(headers.get("weft-sequence", "0"))))
            except WeftError as problem:
                if problem.status not in (400, 410):  # a snapshot replaced the records: the job is read again
                    raise

    # Nodes

    def nodes(self, **filters: Any) -> Iterator[Dict[str, Any]]:
        return self._rows("/nodes", "nodes", **filters)

    def node(self, node: str) -> Dict[str, Any]:
        return self._section(f"/nodes/{self._segment(node)}", "node")

    def drain(self, node: str, reason: str) -> Answer:
        """No new jobs there."""
        return self._change(f"/nodes/{self._segment(node)}/drain", {"reason": reason})

    def resume(self, node: str, reason: str = "") -> Answer:
        return self._change(f"/nodes/{self._segment(node)}/resume", {"reason": reason or None})

    def reservations(self) -> Iterator[Dict[str, Any]]:
        return self._rows("/reservations", "reservations")

    def reserve(self, name: str, nodes: str, *, duration: str, begins_in: Optional[str] = None, reason: str = "",
                key: str = "") -> Answer:
        """Reserves nodes for maintenance: duration="1h", begins_in="2h"."""
        body = {"name": name, "nodes": nodes, "for": duration, "in": begins_in, "reason": reason or None}
        return self._change("/reservations", body, key=key or secrets.token_hex(16))

    # The cluster

    def server(self) -> Dict[str, Any]:
        return self._section("/server", "server")

    def session(self) -> Dict[str, Any]:
        """Who the server takes the caller for."""
        return self._section("/session", "session")

    def queue(self, limit: Optional[int] = None) -> Dict[str, Any]:
        """Waiting jobs in order, tenants, fragmentation."""
        parsed = self.request("GET", "/queue", query={"limit": limit})
        return parsed if isinstance(parsed, dict) else {}

    def approvals(self) -> Iterator[Dict[str, Any]]:
        """Requests that wait for a second person."""
        return self._rows("/approvals", "approvals")

    def approve(self, approval: Union[int, str], reason: str = "") -> Answer:
        return self._change(f"/approvals/{self._segment(approval)}/approve", {"reason": reason or None})

    def reject(self, approval: Union[int, str], reason: str = "") -> Answer:
        return self._change(f"/approvals/{self._segment(approval)}/reject", {"reason": reason or None})

    # Events

    def events(self, *, since: Optional[int] = None, job: Optional[int] = None) -> Iterator[Event]:
        """Records of the journal from now on, or after the record `since`. Continues after a break, and misses none."""
        if since is None:
            _, headers, _ = self._send("GET", "/server")
            since = int(headers.get("weft-sequence", "0"))
        target = f"{API}/events" + (f"?job={int(job)}" if job is not None else "")
        failures = 0
        rejected = ""
        while True:
            token = "" if self._server.socket else self._tokens.get(rejected)
            fields = {"Accept": "text/event-stream", "Last-Event-ID": str(since)}
            try:
                connection, response = self._open("GET", target, None, fields, max(self._timeout, 60.0), token)
                with contextlib.closing(connection):
                    if response.status == 401 and token and not rejected:
                        rejected = token
                        continue
                    if response.status >= 400 and response.status not in (429, 503):
                        raise _error_of(response.status, response.getheader("Content-Type", ""), response.read())
                    if response.status < 400:
                        rejected = ""
                        for event in _read_events(response):
                            failures, since = 0, event.id
                            yield event
            except (OSError, http.client.HTTPException):
                pass
            except ServerUnavailable as problem:
                if problem.untrusted:
                    raise
            failures += 1
            self._sleep(min(0.2 * 2 ** min(failures, 6), 10.0))


def _read_events(stream: io.BufferedIOBase, max_bytes: int = 16 << 20) -> Iterator[Event]:
    """Parses text/event-stream."""
    number, name, data, size = 0, "", [], 0
    for raw in iter(lambda: stream.readline(max_bytes), b""):
        line = raw.decode("utf-8", "replace").rstrip("\r\n")
        size += len(raw)
        if size > max_bytes:
            raise WeftError("invalid response: an event is too large")
        if not line:
            if data:
                try:
                    parsed = json.loads("\n".join(data))
                except ValueError:
                    raise WeftError("invalid response: an event is not JSON") from None
                yield Event(number, name or "message", parsed if isinstance(parsed, dict) else {"value": parsed})
            name, data, size = "", [], 0
            continue
        member, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if member == "id" and value.isdigit():
            number = int(value)
        elif member == "event":
            name = value
        elif member == "data":
            data.append(value)


def from_context(name: Optional[str] = None, *, timeout: float = 30.0, retries: int = 3) -> Client:
    """The server and login of a context of `weft login`, by default the current one; WEFT_TOKEN replaces the login."""
    name, server = _read_context(name)
    client = Client(server.url, ca=server.ca, fingerprint=server.fingerprint, socket=server.socket,
                    token=os.environ.get("WEFT_TOKEN", ""), timeout=timeout, retries=retries)
    if server.url and not os.environ.get("WEFT_TOKEN"):
        def refresh(token: str) -> Dict[str, Any]:
            _, headers, content = client._send("POST", "/login/refresh", body={"refresh_token": token}, prefix="")
            answer = client._parse(headers, content)
            if not isinstance(answer, dict) or not all(isinstance(answer.get(key), kind) for key, kind in (
                    ("access_token", str), ("refresh_token", str), ("expires_in", int))):
                raise WeftError("invalid response: no tokens")
            return answer
        client._tokens = _StoredLogin(name, server, refresh)
    return client
