"""Random and mutated requests for every operation of the OpenAPI document: valid ones from its schemas, and mutations
of them. The server must stay, answer none of them with 5xx but where that is documented, and answer errors with a
problem and the id of the request. The seed is fixed.

Environment: WEFT_REQUESTS, requests per operation (default: 150).
Usage: requests_test.py EXECUTABLE [PATTERN...]
"""

import collections
import getpass
import json
import multiprocessing
import os
import queue
import random
import re
import socket
import time
import traceback
import unittest
import urllib.parse

from lab import API, Lab, operations, run_tests

COUNT = int(os.environ.get("WEFT_REQUESTS", "150"))
WORKERS = 2
BATCH = 16  # requests that are sent before the answers are read
SMALL = 48 << 10  # bytes of a batch that fit into the buffers of sockets
MAX_FINDINGS = 20

JOBS = ["""job: 1
name: quick
tenant: team-a
nodes: 1
command: ["true"]
time_limit: 1m
restart: {on_failure: fail}
""", """#!/bin/bash
#SBATCH --job-name=batch
#SBATCH --account=team-b
#SBATCH --nodes=1 --time=00:01:00
true
""", """apiVersion: batch/v1
kind: Job
metadata: {name: manifest, labels: {tenant: team-a}}
spec:
  completions: 1
  template:
    spec:
      restartPolicy: Never
      containers:
        - {name: main, image: none, command: ["true"], resources: {limits: {nvidia.com/gpu: 1}}}
""", """job: 1
name: many
tenant: team-b
nodes: 5
gpus_per_node: 0
command: [sh, -c, "exit 1"]
restart: {on_failure: restart, max_failures: 1}
priority: 3
environment: {A: b}
"""]
PARTS = ["nodes: 99999999999999999999", "nodes: -1", "nodes: .nan", "nodes: 1e9", "nodes: [1]", "name: ''",
         "name: \"\\0\"",
         "time_limit: 99999999999w", "command: []", "command: " + "[" * 60, "job: 2", "- a", "a: &a [*a]", "<<: *x",
         "tenant: team-none", "min_nodes: 7", "#SBATCH --array=0-999999999", "#SBATCH --nodes=", "#SBATCH --time=-1",
         "#SBATCH --dependency=afterok:99999999999999999999", "spec: null", "---\n---", "? [a]: b", "\t",
         "x: !!binary x",
         "environment: {\"A=\": b}", "restart: {backoff: 0s}", "mounts: [{volume: /, path: ..}]",
         "kind: List\nitems: []"]

# Values for parameters and members of these names, with which handlers go beyond reading them.
NODES = ["train001", "train002", "train003", "train004", "train005"]
KNOWN = {
    "nodes": [*NODES, "train[001-003]", ["train001", "train005"], ["train004"]],
    "devices": ["train001", "all", "@train"], "device": NODES, "node": NODES, "runbook": ["pfc-storm", "thermal"],
    "job": [str(number) for number in range(1, 60)], "name": ["one", "two", "three", "four"],
    "for": ["1h", "90s", "2d"], "in": ["0s", "1h", "52w"], "to": ["slurm", "kubernetes"], "directory": ["/tmp", "/"],
    "tenant": ["team-a", "team-b"], "user": ["anna", "adam", "root"], "groups": ["team-a", "admins,team-b"],
    "expires_in": ["1m", "30d", "52w"], "sort": ["job", "-job", "name", "-state", "node", "token"],
    "state": ["queued", "running", "held", "failed", "in service", "valid"], "image": ["none"],
    "operation": ["node.drain"],
    "actor": ["adam", "anna"], "object": ["train001"], "return": ["/", "/docs"], "page": ["s6f6e65.s6f6e65", "i31.i31"],
    "since": ["0", "1", "7"], "after": ["0", "0.0"], "task": ["0"], "attempt": ["1"],
}
TEXTS = ["", " ", "\t", "..", "../../etc/passwd", "%00", "%n%s", "'\";--", "<script>", "${HOME}", "`id`", "\u2603",
         "\u202e",
         "\U0001f600", "e\u0301", "\uffff", "null", "true", "NaN", "-1", "0", "1e999", "0x10", "1.5",
         "18446744073709551615",
         "18446744073709551616", "99999999999999999999999999", "-9223372036854775809", "train[001-999999999]",
         "train[1-0]", "[", "[]", "train[001-003],", "9" * 40 + "h", "1w1w", "-1s", "a" * 64, "a" * 257, "a" * 5000,
         "\u00e9" * 2049, "a\x00b", "a\nb", "a\x7fb", "\x1b[31m"]
# As they stand in a request: escapes, and what is none.
SEGMENTS = ["", ".", "..", "%2e", "%2e%2e", "%2E%2E", "%252e%252e", "%2f", "a%2fb", "%5c", "%00", "%0a", "%0d%0aX:%20y",
            "%ff", "%c0%af", "%ed%a0%80", "%e2%98%83", "%", "%z", "%4", "a" * 600, "a" * 20000, "0", "-1", "1e3", "0x1",
            "01", "1.0", "+1", "18446744073709551615", "18446744073709551616", "99999999999999999999999", "NaN",
            "null", "*",
            "~", ";", ":", "@", "'", "%22", "%20", "train001%20", "train001;x=1", "train[001-002]", "%D9%A3", "1,2",
            "weft_t_",
            "weft_t_aaaabbbbcccc", "\u2603".encode().decode("latin-1")]
QUERIES = ["no=1", "limit=-1", "limit=99999999999999999999", "limit=0", "limit=1&limit=2", "output=xml", "output=csv",
           "output=table&color=1", "color=2", "sort=-", "sort=none", "page=s.s", "page=i39.n", "page=f6e616e.s",
           "page=" + "z" * 999,
           "=", "=x", "&&&", "a", "%zz", "%00=1", "a=%ff", "a=%0d%0a", "since=-1", "since=18446744073709551615",
           "job=NaN",
           "after=1.2.3", "bytes=0", "bytes=18446744073709551615", "task=4294967296", "attempt=4294967296", "all=yes",
           "?", "#x", "a=" + "b" * 9000, "&".join("a=1" for _ in range(700)), "user=%E2%98%83", "state=none", "ended=0"]
HEADERS = ["Idempotency-Key", "If-Match", "If-None-Match", "Last-Event-ID", "X-Request-Id", "Cookie", "Authorization",
           "Host",
           "Origin", "Accept", "X-CSRF-Token", "Sec-Fetch-Site", "Content-Encoding", "Range", "X-Forwarded-For",
           "Connection",
           "X-HTTP-Method-Override", "Forwarded", "Upgrade", "TE", "Accept-Encoding"]
VALUES = [b"", b" ", b"*", b'"x"', b'W/"x"', b'"x", "y", *', b",,,", b"-1", b"0", b"1", b"18446744073709551615",
          b"18446744073709551616", b"99999999999999999999999", b"NaN", b"../../x", b"%0d%0a", b"\x01", b"\x7f", b"a\tb",
          b"\xff\xfe", b"\xe2\x98\x83", b"a" * 200, b"a" * 201, b"a" * 4000, b"a" * 17000, b"\x00", b"__Host-weft=",
          b"__Host-weft=weft_s_aaaabbbbcccc_x; __Host-weft=y", b"a=b; " * 300, b"Bearer", b"Bearer ", b"Bearer weft_",
          b"Bearer weft_t_aaaabbbbcccc_" + b"x" * 43, b"Bearer a.b.c", b"Bearer eyJhbGciOiJub25lIn0.e30.",
          b"Bearer eyJhbGciOiJSUzI1NiIsImtpZCI6Ii4uLy4uL3gifQ.eyJpc3MiOiJ4In0.AAAA", b"Basic YTpi", b"Negotiate x",
          b"https://evil.example", b"null", b"evil.example", b"127.0.0.1:99999", b"[::1]:1", b"[", b"cross-site",
          b"gzip",
          b"identity", b"bytes=0-", b"close", b"websocket", b"127.0.0.1, 10.0.0.1", b"DELETE"]
# What a 503 says of a limit that is full.
FULL = re.compile(r"too many|too much|is behind|too large to wait")
OAUTH = ("/login/device", "/login/device/token", "/login/refresh")


class Schemas:
    """Valid values of the document's schemas."""

    def __init__(self, document):
        self.document = document

    def resolve(self, each):
        while "$ref" in each:
            found = self.document
            for part in each["$ref"][2:].split("/"):
                found = found[part]
            each = found
        return each

    def value(self, rng, schema, name=""):
        schema = self.resolve(schema)
        if "enum" in schema:
            return rng.choice(schema["enum"])
        if "oneOf" in schema or "anyOf" in schema:
            if name in KNOWN:
                return rng.choice(KNOWN[name])
            return self.value(rng, rng.choice(schema.get("oneOf") or schema["anyOf"]), name)
        kind = schema.get("type")
        if kind == "boolean":
            return rng.random() < 0.5
        if kind == "integer":
            low, high = schema.get("minimum", 0), schema.get("maximum", 2**63 - 1)
            return min(high, max(low, rng.choice([low, high, 1, 2, 7, 100, rng.randint(low, high)])))
        if kind == "array":
            return [self.value(rng, schema["items"]) or "x" for _ in range(rng.randint(1, 3))]
        if kind == "object":
            required = schema.get("required", [])
            return {key: self.value(rng, each, key) for key, each in schema.get("properties", {}).items()
                    if key in required or rng.random() < 0.3}
        if name == "text":
            return job_file(rng)
        if name in KNOWN and rng.random() < 0.9:
            return rng.choice([each for each in KNOWN[name] if isinstance(each, str)])
        text = rng.choice(schema.get("examples") or ["x", "test", "a b", "\u00fc", "x" * rng.randint(1, 60)])
        text = text if isinstance(text, str) else "x"
        return text[:schema.get("maxLength", 1000)] or ("x" if schema.get("minLength") else "")


def job_file(rng):
    text = rng.choice(JOBS)
    for _ in range(rng.choice([0, 1, 1, 2])):
        lines = text.split("\n")
        at = rng.randrange(len(lines))
        what = rng.randrange(5)
        if what == 0:
            lines[at:at] = [rng.choice(PARTS)]
        elif what == 1:
            lines[at] = rng.choice(PARTS)
        elif what == 2:
            del lines[at]
        elif what == 3 and lines[at]:
            where = rng.randrange(len(lines[at]))
            lines[at] = lines[at][:where] + rng.choice(TEXTS) + lines[at][where + 1:]
        else:
            lines[at:at] = [lines[rng.randrange(len(lines))]] * rng.choice([1, 1, 50])
        text = "\n".join(lines)
    return text


class Request:
    """One request before it is written as bytes. `closes`: the server may close the connection after the answer."""

    def __init__(self, name, method, template, values):
        self.name, self.method, self.template, self.segments = name, method, template, values
        self.query, self.headers, self.body = [], [], None
        self.host, self.kind, self.closes, self.has_wild_query = [b"127.0.0.1"], b"application/json", False, False
        self.path = template

    def write(self):
        path = re.sub(r"\{(\w+)\}", lambda match: self.segments[match.group(1)], self.template)
        if self.query:
            path += "?" + "&".join(self.query)
        self.path = path
        head = [f"{self.method} {path} HTTP/1.1".encode("latin-1")]
        head += [b"Host: " + host for host in self.host]
        head += [name.encode() + b": " + value for name, value in self.headers]
        if self.body is not None:
            head += [b"Content-Length: %d" % len(self.body)]
            head += [b"Content-Type: " + self.kind] if self.kind is not None else []
        return b"\r\n".join(head) + b"\r\n\r\n" + (self.body or b"")


class Maker:
    """The requests of one worker, from the schemas and from what the server has answered."""

    def __init__(self, document, tokens, victims):
        self.schemas = Schemas(document)
        self.operations = {name: (method, path, operation) for name, method, path, operation in operations(document)}
        self.tokens, self.victims = tokens, victims
        self.approvals, self.tags = collections.deque(["aaaabbbbcccc"], 20), collections.deque(['"x"'], 20)

    def make(self, name, number):
        rng = random.Random(f"1 {name} {number}")
        method, path, operation = self.operations[name]
        request = Request(name, method, path, {})
        body = {}
        for each in operation.get("parameters", []):
            self._add_parameter(rng, request, self.schemas.resolve(each))
        if method != "GET":
            schema = operation["requestBody"]["content"]["application/json"]["schema"]
            body = self.schemas.value(rng, schema)
        # Half as admins, of which half with a token of the provider.
        caller = ("admin", "user", "bearer", "lead", "admin", "user", "bearer", None)[number % 8]
        if caller:
            request.headers.append(("Authorization", b"Bearer " + self.tokens[caller].encode()))
        request.body = json.dumps(body).encode() if method != "GET" else None
        for _ in range(rng.choice([0, 0, 0, 1, 1, 1, 2, 3])):
            self._mutate(rng, request, body)
        return request

    def _add_parameter(self, rng, request, parameter):
        name, where = parameter["name"], parameter["in"]
        if where == "path":
            pools = {"token": self.victims, "approval": self.approvals, "operation": ["aaaabbbbccccdddd"]}
            pool = pools.get(name) or KNOWN[name]
            request.segments[name] = urllib.parse.quote(rng.choice(pool), safe="")
        elif where == "query" and (parameter.get("required") or rng.random() < 0.15):
            value = self.schemas.value(rng, parameter["schema"], name)
            value = str(value).lower() if isinstance(value, bool) else str(value)
            request.query.append(f"{name}={urllib.parse.quote_plus(value)}")
        elif where == "header" and rng.random() < 0.2:
            values = {"If-Match": rng.choice(self.tags), "Last-Event-ID": str(rng.randrange(20))}
            value = values.get(name, f"key{rng.randrange(1000)}")
            request.headers.append((name, value.encode()))

    def _mutate(self, rng, request, body):
        what = rng.randrange(100)
        if what < 50 and request.body is not None:
            self._mutate_body(rng, request, body)
        elif what < 68:
            request.query.append(rng.choice(QUERIES))
            # Many of them are refused before the request is read; so is the connection.
            request.closes = True
        elif what < 80 and request.segments:
            request.segments[rng.choice(list(request.segments))] = rng.choice(SEGMENTS)
            request.closes = True
        elif what < 94:
            self._mutate_headers(rng, request)
        else:
            request.method = rng.choice(["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "get",
                                         "X" * 30])
            request.closes = True

    @staticmethod
    def _mutate_headers(rng, request):
        name = rng.choice(HEADERS)
        request.closes = True
        if name == "Host":
            request.host = rng.choice([[], [rng.choice(VALUES)], [b"127.0.0.1", b"127.0.0.1"]])
            return
        if name in ("Authorization", "Cookie") and rng.random() < 0.7:  # alone, so that it decides
            request.headers = [each for each in request.headers if each[0] != "Authorization"]
        request.headers.append((name, rng.choice(VALUES)))
        if rng.random() < 0.1:
            request.headers.append((name, rng.choice(VALUES)))

    def _mutate_body(self, rng, request, body):
        what = rng.randrange(16)
        raw = request.body
        if what < 5 and body:
            # A value of another type, or a hostile one of the same.
            key = rng.choice(list(body))
            value = rng.choice([None, True, 0, -1, 1.5, 2**64, -2**63 - 1, 10**400, [], {}, [[]], ["x", 1],
                                {"a": {"b": 1}},
                                *rng.sample(TEXTS, 5), "x" * rng.choice([1001, 4097, 70000])])
            raw = json.dumps({**body, key: value}).encode()
        elif what == 5 and body:
            raw = json.dumps({key: value for key, value in body.items() if key != rng.choice(list(body))}).encode()
        elif what == 6:
            raw = json.dumps({**body, rng.choice(["no", "", "Reason", "reason ", "__proto__", "a" * 999,
                                                  "\u0000"]): 1}).encode()
        elif what == 7:  # JSON that is none, or not an object
            raw = rng.choice([b"", b" ", b"null", b"1", b'"x"', b"[]", b"[{}]", b"{", b"}", b"{}{}", b"{}x",
                              b'{"a":}', b"{'a':1}",
                              b'{"a":1,}', b'{"a":NaN}', b'{"a":Infinity}', b'{"a":01}', b'{"a":1e999999}',
                              b"\xef\xbb\xbf{}",
                              b"{}\x00", b'{"a":"\\ud800"}', b'{"a":"\\x"}', b"/*x*/{}", b"\xff\xfe{\x00}\x00",
                              b"a: 1", b"&a [*a]"])
        elif what == 8:
            depth = rng.choice([5, 100, 10000])
            raw = b'{"reason":' + b"[" * depth + b"]" * depth + b"}"
            raw = raw if rng.random() < 0.5 else b'{"a":' * depth + b"1" + b"}" * depth
        elif what == 9 and body:
            key = rng.choice(list(body))
            raw = raw[:-1] + b"," + json.dumps(key).encode() + b":" + json.dumps(body[key]).encode() + b"}"
        elif what == 10 and raw:
            at = rng.randrange(len(raw) + 1)
            raw = raw[:at] + rng.choice([b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\x00", b"\x01", b"\n",
                                         b"\x7f"]) + raw[at:]
        elif what == 11 and raw:
            raw = raw[:rng.randrange(len(raw))]
        elif what == 12 and raw:
            changed = bytearray(raw)
            for _ in range(rng.choice([1, 3, 9])):
                changed[rng.randrange(len(changed))] = rng.randrange(256)
            raw = bytes(changed)
        elif what == 13:
            request.kind = rng.choice([None, b"", b"text/plain", b"application/x-www-form-urlencoded",
                                       b"multipart/form-data",
                                       b"application/json; charset=utf-16", b"application/jsonx", b"APPLICATION/JSON",
                                       b"*/*"])
        elif what == 14:
            raw = json.dumps({f"k{index}": index for index in range(rng.choice([20, 2000]))}).encode()
        elif rng.random() < 0.01:  # larger than a request may be, or nearly
            raw = b'{"text":"' + b"x" * rng.choice([1 << 20, 7 << 20, 9 << 20]) + b'"}'
            request.closes = True
        request.body = raw

    def learn(self, status, headers, body):
        if "etag" in headers:
            self.tags.append(headers["etag"])
        if status == 202 and headers["content-type"] == "application/json" and b'"approval"' in body:
            self.approvals.append(json.loads(body)["answer"]["approval"])


class Closed(Exception):
    pass


class Connection:
    """Sends requests without waiting for answers, and reads these in order."""

    def __init__(self, lab):
        self.lab, self.socket, self.buffer, self.opened = lab, None, b"", 0
        self.tls = lab.tls()

    def close(self):
        if self.socket:
            self.socket.close()
        self.socket, self.buffer = None, b""

    def send(self, data):
        if not self.socket:
            plain = socket.create_connection(("127.0.0.1", self.lab.port), timeout=600)
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.socket = self.tls.wrap_socket(plain, server_hostname="127.0.0.1")
            self.opened += 1
        try:
            self.socket.sendall(data)
        except OSError:
            pass  # the server has refused it and closes; its answer is there

    def _more(self):
        try:
            part = self.socket.recv(1 << 17)
        except OSError:
            part = b""
        if not part:
            raise Closed
        self.buffer += part

    def receive(self, method):
        """(status, headers, body), or Closed."""
        while b"\r\n\r\n" not in self.buffer:
            self._more()
        head, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        status = int(first.split()[1])
        size = 0 if method == "HEAD" or status in (204, 304) else int(headers.get("content-length", 0))
        while len(self.buffer) < size:
            self._more()
        body, self.buffer = self.buffer[:size], self.buffer[size:]
        if headers.get("connection") == "close":  # an event stream too, which is not read
            self.close()
        return status, headers, body


def judge(request, status, headers, body):
    """What is wrong with an answer; "": nothing."""
    kind = headers.get("content-type", "")
    if status < 400:
        return ""
    if "x-request-id" not in headers:
        return "an error without the request's id"
    if request.method == "HEAD":
        return "" if status < 500 or request.path.startswith(f"{API}/oob/") and status == 501 else "5xx"
    path = request.path.partition("?")[0]
    if kind == "application/json" and path in OAUTH and status == 400:
        return "" if "error" in json.loads(body) else "no OAuth error"
    if kind.startswith("text/html") and path == "/login/callback" and status in (400, 403):
        return ""
    if kind != "application/problem+json":
        return f"an error of type {kind}"
    problem = json.loads(body)
    if problem["status"] != status or not problem["title"] or problem["type"] != "about:blank":
        return "not the problem of the status"
    detail = problem.get("detail", "")
    if status == 501 and path.startswith(f"{API}/oob/") and "--oob" in detail:
        return ""
    if status == 503 and FULL.search(detail):
        return ""
    return "5xx" if status >= 500 else ""


def work(worker, lab, tokens, victims, document, output):
    """One process: its share of every operation's requests, mixed."""
    counts, findings = collections.Counter(), []
    try:
        maker, connection = Maker(document, tokens, victims), Connection(lab)
        rng = random.Random(worker)
        for number in range(COUNT * worker // WORKERS, COUNT * (worker + 1) // WORKERS):
            names = list(maker.operations)
            rng.shuffle(names)
            for batch in batches([maker.make(name, number) for name in names]):
                run(batch, connection, maker, counts, findings)
                if len(findings) >= MAX_FINDINGS:
                    raise Closed
    except Closed:
        pass
    except BaseException:  # pylint: disable=W0718
        findings.append(traceback.format_exc())
    output.put((counts, findings, connection.opened))


def batches(requests):
    """Requests after which the connection may be closed come last, one in a batch, and so do large ones."""
    calm = [each for each in requests if not each.closes and each.name != "event.follow"]
    closing = [each for each in requests if each.closes or each.name == "event.follow"]
    size = min(BATCH, max(1, len(calm) // max(1, len(closing))))
    while calm or closing:
        batch, bytes_left = [], SMALL
        while calm and len(batch) < size and bytes_left > 0:
            batch.append((calm[-1], calm[-1].write()))
            bytes_left -= len(batch[-1][1])
            calm.pop()
        if closing:
            last = closing[-1].write()
            if not batch or len(last) < bytes_left:
                batch.append((closing.pop(), last))
        if sum(len(data) for _, data in batch) > SMALL:  # one by one
            yield from ([each] for each in batch)
        else:
            yield batch


def run(batch, connection, maker, counts, findings):
    while batch:
        fresh = connection.socket is None
        connection.send(b"".join(data for _, data in batch))
        answered = 0
        try:
            for request, data in batch:
                status, headers, body = connection.receive(request.method)
                answered += 1
                counts[request.name, status] += 1
                maker.learn(status, headers, body)
                wrong = judge(request, status, headers, body)
                if wrong:
                    findings.append(f"{wrong}: {request.name}\n  {data[:3000]!r}\n  {status} {headers} {body[:1000]!r}")
                if not connection.socket:
                    break
        except Closed:
            connection.close()
            # An open connection may have been closed meanwhile, between two requests; a new one may not.
            if answered == 0 and fresh:
                findings.append(f"no answer: {batch[0][0].name}\n  {batch[0][1][:3000]!r}")
                answered = 1
        batch = batch[answered:]


class ApiRequests(unittest.TestCase):
    def test_random_and_mutated_requests(self):
        account = "nobody" if os.getuid() == 0 else getpass.getuser()
        people = {"olga": {"password": "unused-2", "groups": ["admins"]}}
        with Lab(f"accounts: {{\"*\": {account}}}\nsecond_person: [node.confirm-off]\n", oidc=people) as lab:
            lab.issuer.control("mode", lifetime=86400)
            tokens = {"admin": lab.token("adam", ["admins"]), "user": lab.token("anna", ["team-a"]),
                      "lead": lab.token("lars", ["leads-b"]), "bearer": lab.issuer.token("olga")}
            victims = ["_".join(lab.token("vera", ["viewers"]).split("_")[:3]) for _ in range(40)]
            document = lab.openapi()
            output = multiprocessing.get_context("fork").Queue()
            begun = time.monotonic()
            workers = [multiprocessing.get_context("fork").Process(
                target=work, args=(index, lab, tokens, victims, document, output)) for index in range(WORKERS)]
            for each in workers:
                each.start()
            results = []
            while len(results) < WORKERS and (any(each.is_alive() for each in workers) or not output.empty()):
                try:
                    results.append(output.get(timeout=1))
                except queue.Empty:
                    pass
            for each in workers:
                each.join()
            seconds = time.monotonic() - begun
            counts = sum((result[0] for result in results), collections.Counter())
            findings = [each for result in results for each in result[1]]
            self.assertIsNone(lab.process.poll(), f"the server ended:\n{lab.log()[-5000:]}\n{findings}")
            self.assertEqual(len(results), WORKERS, "a worker ended without a result")
            memory = lab.memory_kib()
            self._report(counts, seconds, sum(result[2] for result in results), memory)
            self.assertEqual(lab.local("GET", "/server").status, 200)
            self.assertEqual(lab.stop(), 0, lab.log()[-5000:])
        self.assertEqual(findings, [], "\n" + "\n".join(findings[:MAX_FINDINGS]))
        names = {name for name, *_ in operations(document)}
        for name in names:
            # Each request is answered once.
            self.assertEqual(sum(count for (each, _), count in counts.items() if each == name), COUNT, name)
        # They reach the handlers: some are carried out, or refused for the state of the object.
        usual = {200, 201, 202, 303, 404, 409, 412, 501}
        reached = {name for (name, status) in counts if status in usual or name.startswith("login.") and status == 400}
        if COUNT >= 100:
            self.assertEqual(names - reached, set())

    @staticmethod
    def _report(counts, seconds, connections, memory):
        total = sum(counts.values())
        print(f"{total} requests, {COUNT} per operation, {connections} connections, {seconds:.1f} s, "
              f"{total / seconds:.0f} per s, server memory {memory} KiB")
        statuses = collections.Counter()
        for (_, status), count in counts.items():
            statuses[status] += count
        print("by status:", ", ".join(f"{status}: {count}" for status, count in sorted(statuses.items())))
        print("503:", {name: count for (name, status), count in counts.items() if status == 503})


if __name__ == "__main__":
    run_tests()
