"""A server for the end-to-end tests of the API: `weft serve` with an access file, TLS, and the provider of
tests/oidc_issuer.py, all on loopback ports. Requests go over real sockets, as a client sends them.

Tests are unittest cases in <name>_test.py; run_tests() prints them as GoogleTest does, so that the counts of
scripts/test.sh and scripts/skips.py hold for them too. Usage: <name>_test.py EXECUTABLE [PATTERN...]
"""

import fcntl
import fnmatch
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import unittest
import urllib.parse

SOURCE = pathlib.Path(__file__).resolve().parents[2]
API = "/api/v1"
IDLE_SECONDS = 30  # of a connection, after which another one is used: the server closes it after 60
METHODS = ("get", "put", "post", "delete", "patch")
EXECUTABLE = ""  # set by run_tests()

CLUSTER = """weft: 1
name: bench4
pools:
  - {name: train, role: training, server: hgx-h100, count: 5, per_rack: 1}
tenants:
  - {name: team-a}
  - {name: team-b}
"""

# Users of every role; tests add keys such as `second_person`. The names of the groups are those of tokens and of the
# provider.
ROLES = """roles:
  - {role: admin, groups: [admins]}
  - {role: operator, groups: [operators]}
  - {role: tenant-admin, tenant: team-a, groups: [leads-a]}
  - {role: tenant-admin, tenant: team-b, groups: [leads-b]}
  - {role: user, tenant: team-a, groups: [team-a]}
  - {role: user, tenant: team-b, groups: [team-b]}
  - {role: viewer, groups: [viewers]}
"""

SLEEP_JOB = """job: 1
name: {name}
tenant: {tenant}
nodes: {nodes}
command: [sleep, "100000"]
"""


def needs(condition, what):
    """Skips the test in the format that scripts/skips.py reads; see base/test_prerequisites.h."""
    if not condition:
        raise unittest.SkipTest(f"prerequisite missing: {what}")


def needs_program(name):
    folders = os.environ.get("PATH", "") + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    needs(shutil.which(name, path=folders) is not None, f"program {name}")


def find_ports(count):
    """The first of `count` free ports in a row: the same blocks and locks as tests/ports.h."""
    folder = pathlib.Path(tempfile.gettempdir()) / "weft-test-ports"
    folder.mkdir(exist_ok=True)
    for tried in range(370):
        block = (os.getpid() + tried) % 370
        lock = os.open(folder / str(block), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            continue
        first = 11000 + block * 24
        if all(_is_free(port) for port in range(first, first + count)):
            return first  # the lock is held until this process ends
    raise RuntimeError("no free ports")


def _is_free(port):
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as trial:
        try:
            trial.bind(("", port))
            return True
        except OSError:
            return False


class Response:
    """Status, headers (names in lower case; of a repeated one, the last) and body."""

    def __init__(self, status, headers, body):
        self.status, self.body = status, body
        self.headers = {name.lower(): value for name, value in headers}
        self.cookies = [value for name, value in headers if name.lower() == "set-cookie"]

    @property
    def text(self):
        return self.body.decode("utf-8", "replace")

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def detail(self):
        """What a problem says; the whole body of anything else."""
        try:
            return self.json.get("detail", self.text)
        except ValueError:
            return self.text

    def __repr__(self):
        return f"<{self.status} {self.text[:300]!r}>"


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("weft", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Issuer:
    """The provider of tests/oidc_issuer.py, which signs tokens, also forged ones; see there for `control`."""

    USERS = {"ada": {"password": "lovelace-1", "groups": ["operators", "team-a"]},
             "bob": {"password": "builder-22", "groups": ["team-a"]},
             "carol": {"password": "singer-333", "groups": ["team-b"]},
             "olga": {"password": "second-4444", "groups": ["operators"]},
             "nobody-yet": {"password": "none-55555", "groups": []}}

    def __init__(self, redirects, users=None, client="weft"):
        self.folder = tempfile.mkdtemp(prefix="weft_issuer_")
        self.ca, key = f"{self.folder}/issuer.pem", f"{self.folder}/issuer.key"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-keyout", key, "-out", self.ca, "-days", "2", "-subj", "/CN=issuer",
                        "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"], check=True, capture_output=True)
        self.users = users or self.USERS
        names = pathlib.Path(self.folder, "users.json")
        names.write_text(json.dumps(self.users), encoding="utf-8")
        words = [sys.executable, str(SOURCE / "tests/oidc_issuer.py"), "--certificate", self.ca, "--key", key,
                 "--users", str(names), "--client", client]
        for redirect in redirects:
            words += ["--redirect", redirect]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url = json.loads(self.process.stdout.readline())["issuer"]

    def request(self, method, url, form=None, headers=None):
        parts = urllib.parse.urlsplit(url if url.startswith("https://") else self.url + url)
        connection = http.client.HTTPSConnection(parts.hostname, parts.port, timeout=60,
                                                 context=ssl.create_default_context(cafile=self.ca))
        target = parts.path + ("?" + parts.query if parts.query else "")
        connection.request(method, target, form, headers or {})
        answer = connection.getresponse()
        response = Response(answer.status, answer.getheaders(), answer.read())
        connection.close()
        return response

    def control(self, name, **body):
        response = self.request("POST", f"/control/{name}", json.dumps(body))
        assert response.status == 200, response
        return response.json

    def token(self, user, **wish):
        return self.control("token", user=user, **wish)["token"]

    def sign_in(self, url, user):
        """What a person does on the login page at `url`: returns where the browser is sent then."""
        form = urllib.parse.urlencode({"user": user, "password": self.users[user]["password"], "submit": "yes"})
        response = self.request("POST", url, form, {"Content-Type": "application/x-www-form-urlencoded"})
        assert response.status == 302, response
        return response.headers["location"]

    def stop(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Lab:
    """One server. `access`: keys added to the access file; `oidc`: with a provider, whose users are Issuer.USERS or
    those given; `client_secret`: weft proves itself with it to the provider."""

    def __init__(self, access="", *, roles=ROLES, cluster=CLUSTER, oidc=False, client_secret="", arguments=(),
                 environment=None, start=True):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="weft_api_"))
        self.state = self.folder / "state"
        self.socket = str(self.folder / "weft.sock")
        self.port = find_ports(1)
        self.url = f"https://127.0.0.1:{self.port}"
        self.home = self.folder / "home"  # of the CLI
        self.home.mkdir()
        self.process = None
        self.issuer, self.client_secret = None, client_secret
        if oidc:
            self.issuer = Issuer([f"{self.url}/login/callback", f"https://localhost:{self.port}/login/callback"],
                                 oidc if isinstance(oidc, dict) else None,
                                 "weft" + (f"={client_secret}" if client_secret else ""))
        self.arguments, self.environment = list(arguments), dict(environment or {})
        (self.folder / "cluster.yaml").write_text(cluster, encoding="utf-8")
        self.write_access(access, roles)
        self._local = threading.local()
        if start:
            try:
                self.start()
            except BaseException:
                self.close()
                raise

    @property
    def ca(self):
        """The certificate of the server, which it made for itself."""
        return str(self.state / "tls/tls.pem")

    def write_access(self, access="", roles=ROLES):
        text = f"weft_access: 1\nlisten: 127.0.0.1:{self.port}\n{roles}{access}"
        if "limits:" not in access:
            text += ("limits: {requests_per_minute: 1000000, source_requests_per_minute: 10000000, "
                     "failures_per_minute: 100000}\n")
        if self.issuer:
            secret = ""
            if self.client_secret:
                (self.folder / "client.secret").write_text(self.client_secret, encoding="utf-8")
                (self.folder / "client.secret").chmod(0o600)
                secret = f", client_secret: {{file: {self.folder}/client.secret}}"
            text += (f"oidc: {{issuer: \"{self.issuer.url}\", client_id: weft, username_claim: preferred_username, "
                     f"ca: {self.issuer.ca}{secret}}}\n")
        path = self.folder / "access.yaml"
        path.write_text(text, encoding="utf-8")
        path.chmod(0o600)

    def start(self):
        log = open(self.folder / "server.log", "ab")
        words = [EXECUTABLE, "serve", str(self.folder / "cluster.yaml"), "--state", str(self.state), "--socket",
                 self.socket, "--access", str(self.folder / "access.yaml"), *self.arguments]
        self.process = subprocess.Popen(words, stdout=log, stderr=log, env={**os.environ, **self.environment})
        log.close()
        while True:  # until it answers and every node is in service
            try:
                facts = self.local("GET", "/server").json["server"]
                if facts["nodes"] == facts["usable_nodes"]:
                    return
            except (OSError, http.client.HTTPException):
                pass
            if self.process.poll() is not None:
                raise RuntimeError(f"the server ended with {self.process.returncode}:\n{self.log()}")
            time.sleep(0.02)

    def stop(self, with_signal=signal.SIGTERM):
        """Returns the exit code; negative: the signal."""
        if self.process is None:
            return None
        self._local = threading.local()  # connections of the old server
        self.process.send_signal(with_signal)
        code = self.process.wait()
        self.process = None
        return code

    def close(self):
        """Ends the server, its jobs and the provider, and removes the files."""
        self.stop(signal.SIGKILL)
        for process in self._job_processes():
            try:
                os.kill(process, signal.SIGKILL)
            except OSError:
                pass
        if self.issuer:
            self.issuer.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _job_processes(self):
        """Supervisors of jobs, which outlive the server, and what they started."""
        parents, found = {}, set()
        for entry in pathlib.Path("/proc").iterdir():
            try:
                process = int(entry.name)
                parents[process] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                texts = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
            except (ValueError, OSError):
                continue
            if str(self.folder).encode() in texts and process != os.getpid():
                found.add(process)
        added = set(found)
        while added := {process for process, parent in parents.items() if parent in added} - found:
            found |= added
        return found

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def log(self):
        return (self.folder / "server.log").read_text(encoding="utf-8", errors="replace")

    def memory_kib(self):
        """Resident memory of the server."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        return int(re.search(r"VmRSS:\s+(\d+)", status).group(1))

    # Requests. One connection per thread is kept open.

    def tls(self):
        return ssl.create_default_context(cafile=self.ca)

    def connect(self, timeout=60):
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=timeout, context=self.tls())

    def _request(self, kind, make, method, path, body, headers):
        connection = getattr(self._local, kind, None)
        if connection is None or time.monotonic() - connection.used > IDLE_SECONDS:
            connection = make()
            setattr(self._local, kind, connection)
        connection.used = time.monotonic()
        target = path if path.startswith(("/login", "/healthz", "/docs", API)) or path == "/" else API + path
        if body is not None and not isinstance(body, (str, bytes)):
            body = json.dumps(body)
            headers = {"Content-Type": "application/json", **headers}
        try:
            connection.request(method, target, body, headers)
            answer = connection.getresponse()
            response = Response(answer.status, answer.getheaders(), answer.read())
        except BaseException:
            connection.close()
            delattr(self._local, kind)
            raise
        if answer.will_close:
            connection.close()
            delattr(self._local, kind)
        return response

    def local(self, method, path, body=None, **headers):
        """Over the Unix socket: the kernel says who sends it (the user of the test, an admin)."""
        return self._request("unix", lambda: _UnixConnection(self.socket, 60), method, path, body, _names(headers))

    def http(self, method, path, body=None, *, token="", **headers):
        """Over TLS. `path` is below /api/v1, or whole. Headers as keyword arguments: if_match="..."."""
        fields = _names(headers)
        if token:
            fields["Authorization"] = f"Bearer {token}"
        return self._request("tls", self.connect, method, path, body, fields)

    def raw(self, data, timeout=10):
        """Sends bytes over TLS as they are; returns what came until the server closed or `timeout` was over."""
        received = b""
        with socket.create_connection(("127.0.0.1", self.port), timeout=timeout) as plain:
            with self.tls().wrap_socket(plain, server_hostname="127.0.0.1") as secure:
                try:
                    secure.sendall(data)
                    while True:
                        part = secure.recv(1 << 16)
                        if not part:
                            break
                        received += part
                except (socket.timeout, ConnectionError, ssl.SSLError):
                    pass
        return received

    def token(self, user, groups=(), **restriction):
        """A static token of a user with groups, made by an admin; `role`, `tenant` and `expires_in` restrict it."""
        body = {"name": "test", "user": user, **restriction}
        if groups:
            body["groups"] = ",".join(groups)
        response = self.local("POST", "/tokens", body)
        assert response.status == 201, response
        return response.json["token"]["secret"]

    def submit(self, name="sleep", tenant="team-a", nodes=1, *, token="", text=""):
        """A job that sleeps; its number."""
        body = {"text": text or SLEEP_JOB.format(name=name, tenant=tenant, nodes=nodes), "name": "job.yaml",
                "directory": "/tmp"}
        response = self.http("POST", "/jobs", body, token=token) if token else self.local("POST", "/jobs", body)
        assert response.status == 201, response
        return response.json["answer"]["job"]

    def weft(self, *words, code=0, input=None, environment=None):
        """Runs the CLI, with a home of its own: (output, errors). `code` None: any exit code."""
        variables = {name: value for name, value in os.environ.items() if not name.startswith(("WEFT_", "XDG_"))}
        variables.update({"HOME": str(self.home), **(environment or {})})
        done = subprocess.run([EXECUTABLE, *map(str, words)], input=input, capture_output=True, text=True, env=variables,
                              timeout=600, check=False)
        assert code is None or done.returncode == code, f"{words}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout, done.stderr

    def audit(self, **query):
        """Entries of the audit log, the newest first."""
        response = self.local("GET", "/audit?" + urllib.parse.urlencode({"limit": 1000, **query}))
        assert response.status == 200, response
        return response.json["entries"]

    def openapi(self):
        return self.local("GET", "/api/v1/openapi.json").json


def _names(headers):
    return {name.replace("_", "-"): value for name, value in headers.items()}


def operations(document):
    """(operationId, method, path template, operation) for each operation of an OpenAPI document."""
    for path, item in document["paths"].items():
        for method, operation in item.items():
            if method in METHODS:
                yield operation["operationId"], method.upper(), path, operation


class _Result(unittest.TestResult):
    def startTest(self, test):
        super().startTest(test)
        self.began = time.monotonic()
        print(f"[ RUN      ] {_name(test)}", flush=True)

    def _end(self, test, word):
        print(f"[{word}] {_name(test)} ({int((time.monotonic() - self.began) * 1000)} ms)", flush=True)

    def addSuccess(self, test):
        self._end(test, "       OK ")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        print(reason)
        if not hasattr(self, "began"):
            self.startTest(test)
        self._end(test, "  SKIPPED ")

    def addFailure(self, test, err):
        super().addFailure(test, err)
        traceback.print_exception(*err, file=sys.stdout)
        if hasattr(self, "began"):
            self._end(test, "  FAILED  ")

    addError = addFailure

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            print(f"in {subtest._subDescription()}")  # pylint: disable=protected-access
            traceback.print_exception(*err, file=sys.stdout)


def _name(test):
    return ".".join(test.id().split(".")[-2:]) if "." in test.id() else test.id()


def run_tests(module="__main__"):
    """The main program of a file of tests."""
    global EXECUTABLE  # pylint: disable=global-statement
    if len(sys.argv) < 2:
        sys.exit(f"usage: {sys.argv[0]} EXECUTABLE [PATTERN...]")
    EXECUTABLE = os.path.abspath(sys.argv[1])
    patterns = sys.argv[2:] or ["*"]
    suite = unittest.TestSuite()
    for group in unittest.defaultTestLoader.loadTestsFromName(module):
        chosen = [test for test in group if any(fnmatch.fnmatch(_name(test), pattern) for pattern in patterns)]
        suite.addTest(unittest.TestSuite(chosen))
    result = _Result()
    suite.run(result)
    failed = {_name(getattr(test, "test_case", test)) for test, _ in [*result.failures, *result.errors]}
    print(f"[==========] {result.testsRun} tests ran.")
    print(f"[  PASSED  ] {result.testsRun - len(failed) - len(result.skipped)} tests.")
    for name in sorted(failed):
        print(f"[  FAILED  ] {name}")
    sys.exit(0 if result.testsRun and result.wasSuccessful() else 1)
