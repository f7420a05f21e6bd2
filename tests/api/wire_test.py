"""What a client can send over TLS that is no proper request: framing that two programs read differently, characters
that would add headers, paths that leave their place,
and too much of anything. What a smuggled request would do is never
answered, and never done.

Usage: wire_test.py EXECUTABLE [PATTERN...]
"""

import re
import socket
import ssl
import time
import unittest

from lab import API, Lab, run_tests

MAX_HEADERS = 16 << 10
MAX_BODY = 8 << 20
MAX_PER_SOURCE = 256
PEOPLE = {"adele": {"password": "unused-1", "groups": ["admins"]}}


class _OneLab(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lab = Lab(oidc=PEOPLE)
        cls.secret = cls.lab.token("adam", ["admins"])
        cls.bearer = f"Authorization: Bearer {cls.secret}\r\n".encode()
        # What a smuggled request would do: shown by its answer, and by the node.
        body = b'{"reason":"smuggled"}'
        cls.hidden = (b"POST /api/v1/nodes/train005/drain HTTP/1.1\r\nHost: 127.0.0.1\r\n" + cls.bearer +
                      b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body)

    @classmethod
    def tearDownClass(cls):
        cls.lab.close()

    def setUp(self):
        self.before = self.sequence()

    def sequence(self):
        return self.lab.local("GET", "/server").headers["weft-sequence"]

    def request(self, headers=b"", body=b"", line=b"POST /api/v1/jobs/check HTTP/1.1", host=b"Host: 127.0.0.1\r\n"):
        return line + b"\r\n" + host + self.bearer + headers + b"\r\n" + body

    def exchange(self, *parts, after_first=b""):
        """Sends each part as TLS records of its own: (answers, whether the server closed the connection). What is
        awaited before the second part: `after_first`."""
        received = b""
        closed = False
        with socket.create_connection(("127.0.0.1", self.lab.port), timeout=60) as plain:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self.lab.tls().wrap_socket(plain, server_hostname="127.0.0.1") as secure:
                try:
                    for part in parts:
                        secure.sendall(part)
                        while after_first not in received and (answer := secure.recv(1 << 16)):
                            received += answer
                except OSError:
                    pass  # refused before all was sent
                try:
                    while part := secure.recv(1 << 16):
                        received += part
                    closed = True
                except (ConnectionError, ssl.SSLError):
                    closed = True
                except socket.timeout:
                    pass
        return Answers(received), closed

    def check_refused(self, name, bytes_, *statuses):
        """One answer, whatever follows, and the connection ends; nothing was done."""
        middle = len(bytes_) // 2
        end = bytes_.find(b"\r\n\r\n") + 4
        ways = {"whole": [bytes_], "in halves": [bytes_[:middle], bytes_[middle:]],
                "after the head": [bytes_[:end], bytes_[end:]]}
        for way, parts in ways.items():
            answers, closed = self.exchange(*parts)
            place = f"{name}, {way}: {answers.raw[:600]!r}"
            self.assertEqual(answers.count, 1, place)
            self.assertTrue(closed, place)
            self.assertIn(answers.status, statuses, place)
            self.assertEqual(answers.headers.get("connection"), "close", place)
            self.assertEqual(answers.headers.get("content-type"), "application/problem+json", place)
            self.assertIn("x-request-id", answers.headers, place)
            self.assertEqual(self.sequence(), self.before, place)


class Answers:
    """What came over one connection: how many answers, and the first."""

    def __init__(self, raw):
        self.raw = raw
        self.count = len(re.findall(rb"(?:^|\n|\})HTTP/1\.1 \d", raw))
        head, _, self.body = raw.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        self.status = int(first.split()[1]) if first.startswith("HTTP/1.1 ") else 0
        self.names = [line.partition(":")[0].lower() for line in lines]
        self.headers = {name: line.partition(":")[2].strip() for name, line in zip(self.names, lines)}


class ApiSmuggling(_OneLab):
    # So that the other tests can fail: two requests in one go are two, and the second one is done.
    def test_requests_that_follow_each_other_are_all_answered(self):
        last = self.request(b"Connection: close\r\n", line=b"GET /api/v1/session HTTP/1.1")
        chunked = self.request(b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n",
                               b'2;a="b"\r\n{}\r\n0\r\nX-Trailer: x\r\n\r\n')
        answers, closed = self.exchange(chunked + self.hidden + last)
        self.assertEqual(answers.count, 3, answers.raw)
        self.assertTrue(closed)
        self.assertEqual(answers.status, 400)  # the member `text` is missing
        self.assertIn(b"`text` is missing", answers.body)
        self.assertNotEqual(self.sequence(), self.before)
        resumed = self.lab.local("POST", "/nodes/train005/resume", {"reason": "test"})
        self.assertEqual(resumed.status, 200)

    # RFC 9112: section 6.3 for the length, 6.1 for Transfer-Encoding, 5 for headers, 2.2 for line ends, 7.1 for chunks.
    def test_doubtful_lengths_are_refused(self):
        hidden = self.hidden
        chunked = b"Transfer-Encoding: chunked\r\n"
        length = b"Content-Length: %d\r\n" % len(hidden)
        cases = [
            ("CL.TE", b"Content-Length: 5\r\n" + chunked, b"0\r\n\r\n" + hidden, 400),
            ("TE.CL", chunked + b"Content-Length: 5\r\n", b"0\r\n\r\n" + hidden, 400),
            ("CL.TE, all of the body", b"Content-Length: %d\r\n" % (5 + len(hidden)) + chunked, b"0\r\n\r\n" + hidden,
             400),
            ("CL 0 and TE", b"Content-Length: 0\r\n" + chunked, hidden, 400),
            ("TE.TE", chunked + b"Transfer-Encoding: x\r\n", b"0\r\n\r\n" + hidden, 400, 501),
            ("TE twice", chunked + chunked, b"0\r\n\r\n" + hidden, 400, 501),
            ("TE list", b"Transfer-Encoding: chunked, identity\r\n", b"0\r\n\r\n" + hidden, 400, 501),
            ("TE unknown", b"Transfer-Encoding: xchunked\r\n", b"0\r\n\r\n" + hidden, 400, 501),
            ("TE identity", b"Transfer-Encoding: identity\r\n", hidden, 400, 501),
            ("TE not last", b"Transfer-Encoding: chunked, gzip\r\n", b"0\r\n\r\n" + hidden, 400, 501),
            ("TE quoted", b'Transfer-Encoding: "chunked"\r\n', b"0\r\n\r\n" + hidden, 400, 501),
            ("TE vertical tab", b"Transfer-Encoding: \x0bchunked\r\n", b"0\r\n\r\n" + hidden, 400),
            ("TE NUL", b"Transfer-Encoding: chunked\x00\r\n", b"0\r\n\r\n" + hidden, 400),
            ("TE space before the colon", b"Transfer-Encoding : chunked\r\n", b"0\r\n\r\n" + hidden, 400),
            ("TE tab before the colon", b"Transfer-Encoding\t: chunked\r\n", b"0\r\n\r\n" + hidden, 400),
            ("TE space before the name", b" Transfer-Encoding: chunked\r\n", b"0\r\n\r\n" + hidden, 400),
            ("TE folded", b"Transfer-Encoding:\r\n chunked\r\n", b"0\r\n\r\n" + hidden, 400),
            ("TE after a fold", b"X: y\r\n\tTransfer-Encoding: chunked\r\n", b"0\r\n\r\n" + hidden, 400),
            ("TE after LF", b"X: y\nTransfer-Encoding: chunked\r\n", b"0\r\n\r\n" + hidden, 400),
            ("TE after CR", b"X: y\rTransfer-Encoding: chunked\r\n", b"0\r\n\r\n" + hidden, 400),
            ("CL twice, different", b"Content-Length: 0\r\n" + length, hidden, 400),
            ("CL twice, the other way", length + b"Content-Length: 0\r\n", hidden, 400),
            ("CL twice, equal", b"Content-Length: 0\r\nContent-Length: 0\r\n", hidden, 400),
            ("CL list", b"Content-Length: 0, %d\r\n" % len(hidden), hidden, 400),
            ("CL list, equal", b"Content-Length: 0, 0\r\n", hidden, 400),
            ("CL +", b"Content-Length: +0\r\n", hidden, 400),
            ("CL -", b"Content-Length: -0\r\n", hidden, 400),
            ("CL hexadecimal", b"Content-Length: 0x0\r\n", hidden, 400),
            ("CL with a point", b"Content-Length: 0.0\r\n", hidden, 400),
            ("CL empty", b"Content-Length:\r\n", hidden, 400),
            ("CL inner space", b"Content-Length: 0 0\r\n", hidden, 400),
            ("CL other digits", "Content-Length: ٠\r\n".encode(), hidden, 400),
            ("CL of 2^64", b"Content-Length: 18446744073709551616\r\n", hidden, 400, 413),
            ("CL space before the colon", b"Content-Length : 0\r\n", hidden, 400),
            ("CL folded", b"Content-Length:\r\n 0\r\n", hidden, 400),
            ("CL underscore", b"Content_Length: 5\r\nContent-Length: 0\r\nContent-Length: 5\r\n", hidden, 400),
            ("a name with a space", b"X Y: z\r\n", hidden, 400),
            ("a header without a colon", b"Content-Length\r\n", hidden, 400),
            ("a header without a name", b": 0\r\n", hidden, 400),
            ("NUL in a value", b"X: a\x00b\r\n", hidden, 400),
            ("CR in a value", b"X: a\rb\r\n", hidden, 400),
            ("the end by LF LF", b"X: y\n\n", hidden, 400),
            ("the end by CR CR LF", b"X: y\r\r\n", hidden, 400),
            ("HTTP/1.0 in a header", b"Connection: close\nX: y\r\n", hidden, 400),
        ]
        for name, headers, body, *statuses in cases:
            self.check_refused(name, self.request(headers, body), *statuses)

    def test_doubtful_chunks_are_refused(self):
        hidden = self.hidden
        cases = [
            ("a size that is no number", b"g\r\n"), ("a negative size", b"-1\r\n"), ("0x", b"0x0\r\n\r\n"),
            ("a plus", b"+0\r\n\r\n"), ("no size", b"\r\n"), ("space before the size", b" 0\r\n\r\n"),
            ("space after the size", b"0 \r\n\r\n"), ("LF after the size", b"0\n\r\n"), ("CR after the size",
                                                                                         b"0\r\r\n"),
            ("LF after the data", b"2\r\n{}\n0\r\n\r\n"), ("data longer than its size", b"1\r\n{}\r\n0\r\n\r\n"),
            ("17 digits", b"00000000000000000\r\n\r\n"), ("a size of 2^64", b"10000000000000000\r\n"),
            ("a size that wraps", b"ffffffffffffffff\r\n{}\r\n"), ("a huge size", b"fffffffffffffff\r\n{}\r\n"),
            ("LF in an extension", b"0;a=b\n\r\n"), ("CR in an extension", b"0;a=b\rc\r\n\r\n"),
            ("NUL in an extension", b"0;a=\x00\r\n\r\n"), ("a long extension", b"0;" + b"a" * 2000 + b"\r\n\r\n"),
            ("many extensions", b"".join(b"1;" + b"a" * 90 + b"\r\n \r\n" for _ in range(20)) + b"0\r\n\r\n"),
            ("a folded trailer", b"0\r\nX: y\r\n z\r\n\r\n"), ("a trailer without a colon",
                                                               b"0\r\nGET / HTTP/1.1\r\n\r\n"),
            ("a trailer with LF", b"0\r\nX: y\n\r\n"), ("a trailer with a space", b"0\r\nX : y\r\n\r\n"),
            ("a long trailer", b"0\r\nX: " + b"y" * MAX_HEADERS + b"\r\n\r\n"),
        ]
        for name, body in cases:
            headers = b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n"
            self.check_refused(name, self.request(headers, body + hidden), 400, 413, 431)

    def test_doubtful_request_lines_are_refused(self):
        lines = [b"GET  /api/v1/jobs HTTP/1.1", b"GET /api/v1/jobs  HTTP/1.1", b"GET /api/v1/jobs HTTP/1.1 ",
                 b" GET / HTTP/1.1",
                 b"GET\t/api/v1/jobs HTTP/1.1", b"GET /api/v1/jobs", b"GET /api/v1/jobs HTTP/1.1\rX: y",
                 b"GET /a b HTTP/1.1",
                 b"GET /api/v1/jobs HTTP/1.1\nX: y", b"GET /api/v1/jobs\x00 HTTP/1.1", b"GET /\xc3\xa4 HTTP/1.1",
                 b"G\x00T / HTTP/1.1", b"GET / HTTP/1.1, HTTP/1.1", b"/ GET HTTP/1.1", b"GET api/v1/jobs HTTP/1.1",
                 b"GET ftp://127.0.0.1/api/v1/jobs HTTP/1.1", b"GET https://a@127.0.0.1/api/v1/jobs HTTP/1.1",
                 b"GET https:///api/v1/jobs HTTP/1.1", b"GET https://127.0.0.1/api/v1/../jobs HTTP/1.1",
                 b"GET https://127.0.0.1/..%2fjobs HTTP/1.1", b"GET https://[/api/v1/jobs HTTP/1.1",
                 b"CONNECT 127.0.0.1:22 HTTP/1.1", b"GET 127.0.0.1 HTTP/1.1", b"GET * HTTP/1.1",
                 b"GET /api/v1/jobs#x HTTP/1.1"]
        for line in lines:
            self.check_refused(repr(line), self.request(line=line) + self.hidden, 400)
        for line in (b"GET /api/v1/jobs HTTP/2.0", b"GET /api/v1/jobs HTTP/1.2", b"GET /api/v1/jobs HTTP/0.9",
                     b"GET /api/v1/jobs http/1.1", b"GET /api/v1/jobs HTTPS/1.1"):
            self.check_refused(repr(line), self.request(line=line) + self.hidden, 400, 505)
        self.check_refused("HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + self.hidden, 400, 505)

    def test_hosts_and_single_headers_are_not_repeated(self):
        line = b"GET /api/v1/session HTTP/1.1"
        for host in (b"", b"Host: 127.0.0.1\r\nHost: 127.0.0.1\r\n", b"Host: 127.0.0.1\r\nHost: evil.example\r\n",
                     b"Host: a b\r\n", b"Host: evil.example/..\r\n", b"Host: user@127.0.0.1\r\n",
                     b"Host: 127.0.0.1:x\r\n",
                     b"Host: [::1\r\n", b"Host: a,b\r\n", b"Host : 127.0.0.1\r\n", b"Host:\r\n 127.0.0.1\r\n"):
            self.check_refused(repr(host), self.request(line=line, host=host) + self.hidden, 400)
        for name in (b"Authorization", b"Content-Type", b"Idempotency-Key", b"If-Match", b"Origin", b"X-CSRF-Token",
                     b"X-Request-Id", b"Last-Event-ID", b"Expect", b"Content-Encoding"):
            value = b"100-continue" if name == b"Expect" else b"identity" if name == b"Content-Encoding" else b"1"
            self.check_refused(repr(name), self.request((name + b": " + value + b"\r\n") * 2,
                                                        line=line) + self.hidden, 400)

    # RFC 9112 section 3.2.2: the target's host counts, and not the header.
    def test_targets_with_a_host_have_the_same_rights(self):
        close = b"Connection: close\r\n"
        for target, host, secret, expected in (
                (b"https://127.0.0.1/api/v1/session", b"127.0.0.1", True, 200),
                (b"https://127.0.0.1/api/v1/session", b"127.0.0.1", False, 401),
                (b"https://evil.example/api/v1/session", b"127.0.0.1", False, 401),
                (b"https://127.0.0.1/api/v1/openapi.json?x=1", b"evil.example", False, 200),
                (b"https://evil.example/login", b"127.0.0.1", False, 403),
                (b"https://127.0.0.1/login", b"evil.example", False, 303)):
            request = b"GET " + target + b" HTTP/1.1\r\nHost: " + host + b"\r\n" + close
            answers, _ = self.exchange(request + (self.bearer if secret else b"") + b"\r\n")
            self.assertEqual((answers.count, answers.status), (1, expected), target)

    # A request in the body of another one is a body.
    def test_bodies_are_not_requests(self):
        for line in (b"POST /api/v1/jobs/check HTTP/1.1", b"GET /api/v1/session HTTP/1.1", b"PUT /api/v1/none HTTP/1.1",
                     b"POST /login/refresh HTTP/1.1", b"OPTIONS * HTTP/1.1", b"GET / HTTP/1.0"):
            sized = self.request(b"Connection: close\r\nContent-Length: %d\r\n" % len(self.hidden), self.hidden, line)
            chunk = b"%x\r\n" % len(self.hidden) + self.hidden + b"\r\n0\r\n\r\n"
            chunked = self.request(b"Connection: close\r\nTransfer-Encoding: chunked\r\n", chunk, line)
            for request in (sized, chunked):
                # Also when the request is refused before its body is read.
                for each in (request, request.replace(self.secret.encode(), b"none", 1)):
                    answers, closed = self.exchange(each)
                    self.assertEqual(answers.count, 1, answers.raw)
                    self.assertTrue(closed)
                    self.assertEqual(self.sequence(), self.before, line)

    def test_nothing_is_answered_after_the_last_request(self):
        for request in (self.request(b"Connection: close\r\n", line=b"GET /api/v1/session HTTP/1.1"),
                        self.request(line=b"GET /api/v1/session HTTP/1.0"),
                        self.request(line=b"GET /api/v1/events HTTP/1.1")):
            with socket.create_connection(("127.0.0.1", self.lab.port), timeout=60) as plain:
                with self.lab.tls().wrap_socket(plain, server_hostname="127.0.0.1") as secure:
                    secure.sendall(request + self.hidden)
                    while b"\r\n\r\n" not in secure.recv(1 << 16):
                        pass
            self.assertEqual(self.sequence(), self.before)

    def test_trailers_are_not_headers(self):
        request = (b"POST /api/v1/jobs/check HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
                   b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n" + self.bearer + b"\r\n")
        answers, _ = self.exchange(request)
        self.assertEqual((answers.count, answers.status), (1, 401))

    def test_plain_http_is_told_nothing(self):
        with socket.create_connection(("127.0.0.1", self.lab.port), timeout=60) as plain:
            plain.sendall(self.hidden)
            received = b""
            while part := plain.recv(1 << 16):
                received += part
        self.assertEqual(Answers(received).status, 400)
        self.assertNotIn(b"weft-sequence", received.lower())
        self.assertEqual(self.sequence(), self.before)


class ApiInjection(_OneLab):
    USUAL = {"content-type", "content-length", "cache-control", "x-content-type-options", "strict-transport-security",
             "x-request-id", "connection", "weft-sequence", "www-authenticate", "allow", "etag", "location",
             "set-cookie",
             "content-security-policy", "referrer-policy", "weft-next-page"}

    def check_headers(self, answers, place):
        self.assertEqual(answers.count, 1, place)
        self.assertLessEqual(set(answers.names), self.USUAL, place)
        self.assertEqual(len(answers.names), len(set(answers.names)), place)
        self.assertNotIn("zq", "".join(answers.names), place)
        self.assertEqual(self.sequence(), self.before, place)

    def get(self, target, headers=b""):
        answers, _ = self.exchange(self.request(headers + b"Connection: close\r\n",
                                                line=b"GET " + target + b" HTTP/1.1"))
        return answers

    def test_line_ends_in_targets_add_no_headers(self):
        for end in (b"%0d%0a", b"%0D%0A", b"%0a", b"%0d", b"%e5%98%8a%e5%98%8d", b"%c4%8d%c4%8a", b"\\r\\n",
                    b"%250d%250a",
                    b"%u000d%u000a", b"%c0%8d%c0%8a", b"%e2%80%a8", b"%c2%85"):
            inside = b"x" + end + b"zq-injected:%20y" + end + end + b"HTTP/1.1%20200"
            for target in (b"/api/v1/jobs/" + inside, b"/api/v1/" + inside, b"/" + inside,
                           b"/api/v1/jobs?user=" + inside,
                           b"/api/v1/jobs?" + inside + b"=1", b"/api/v1/jobs?sort=" + inside,
                           b"/api/v1/jobs?page=" + inside,
                           b"/api/v1/nodes/" + inside, b"/login?return=/" + inside, b"/login?return=" + inside,
                           b"/login/callback?state=" + inside + b"&code=" + inside, b"/docs?x=" + inside):
                answers = self.get(target)
                self.check_headers(answers, target)
                self.assertIn(answers.status, (200, 303, 400, 404), target)
                # What decodes to a line end is none of the characters that are accepted.
                if end in (b"%0d%0a", b"%0D%0A", b"%0a", b"%0d", b"%c2%85", b"%c0%8d%c0%8a"):
                    self.assertEqual(answers.status, 400, target)

    def test_real_line_ends_in_targets_are_refused(self):
        for end in (b"\r\n", b"\n", b"\r"):
            for target in (b"/api/v1/jobs/x" + end + b"zq-injected: y", b"/api/v1/jobs?user=x" + end + b"zq: y"):
                self.check_refused(repr(target), self.request(line=b"GET " + target + b" HTTP/1.1"), 400)

    def test_values_that_come_back_add_no_headers(self):
        good = ["a", "r.1_-Z", "x" * 64]
        for each in good:
            answers = self.get(b"/api/v1/session", b"X-Request-Id: " + each.encode() + b"\r\n")
            self.assertEqual(answers.headers["x-request-id"], each)
        for bad in (b"a b", b"a%0d%0azq: y", b"x" * 65, b"a;b", b"<b>", "\u00e9".encode(), b"a,b", b'"a"',
                    b"a:b"):
            answers = self.get(b"/api/v1/session", b"X-Request-Id: " + bad + b"\r\n")
            self.check_headers(answers, bad)
            self.assertEqual(answers.status, 200, bad)
            self.assertRegex(answers.headers["x-request-id"], r"^[A-Za-z0-9._-]{1,64}$")
            self.assertNotIn(bad, answers.raw)
        for bad in (b"a\x01b", b"a\x7fb", b"a\x00b", b"a\x0bzq: y", b"a\x1b[1m"):
            for name in (b"X-Request-Id", b"Idempotency-Key", b"If-Match", b"Origin", b"Cookie", b"User-Agent",
                         b"X-Other"):
                self.check_refused((name, bad), self.request(name + b": " + bad + b"\r\n") + self.hidden, 400)

    def test_hosts_come_back_nowhere(self):
        for host in (b"evil.example", b"evil.example:443", b"127.0.0.1.evil.example", b"localhost.evil"):
            answers, _ = self.exchange(self.request(b"Connection: close\r\n", line=b"GET /login HTTP/1.1",
                                                    host=b"Host: " + host + b"\r\n"))
            self.check_headers(answers, host)
            self.assertEqual(answers.status, 403, host)
            self.assertNotIn(b"evil", answers.raw)

    # Members of a body are in error texts, never in headers.
    def test_members_of_bodies_add_no_headers(self):
        text = b'"x\\r\\nzq-injected: y\\r\\n\\r\\n"'
        for path, member in ((b"/api/v1/jobs/check", b"name"), (b"/api/v1/reservations", b"name"),
                             (b"/api/v1/tokens", b"name"), (b"/api/v1/nodes/train001/drain", b"reason")):
            body = b"{" + b'"' + member + b'":' + text + b"}"
            answers, _ = self.exchange(self.request(
                b"Connection: close\r\nContent-Type: application/json\r\nContent-Length: %d\r\n" % len(body), body,
                b"POST " + path + b" HTTP/1.1"))
            self.check_headers(answers, path)
            self.assertEqual(answers.status, 400, path)


class ApiTraversal(_OneLab):
    UP = ["..", "%2e%2e", "%2E%2E", ".%2e", "%2e.", "%252e%252e", "..%2f", "..%5c", "..\\", "..;", "%2e%2e%2f",
          "%c0%ae%c0%ae",
          "%uff0e%uff0e", "....", ".", "%2e", "..%00", "%e3%80%82%e3%80%82"]

    def get(self, target, secret):
        head = f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n".encode()
        return self.exchange(head + (self.bearer if secret else b"") + b"\r\n")[0]

    def test_paths_do_not_leave_their_place(self):
        targets = []
        for up in self.UP:
            for base in ("/docs", "/docs/docs.js", "/api/v1", "/api/v1/jobs/1", "/api/v1/jobs/1/logs", "/login", ""):
                targets += [f"{base}/{up}/{up}/{up}/{up}/etc/passwd", f"{base}/{up}/{up}{up}/etc/passwd"]
            targets += [f"/api/v1/nodes/{up}", f"/api/v1/jobs/{up}/logs", f"/api/v1/oob/runbooks/{up}",
                        f"/docs/{up}/api/v1/tokens"]
        targets += ["/etc/passwd", "//etc/passwd", "/docs//etc/passwd", "/docs/%2fetc%2fpasswd", "/%2fetc/passwd",
                    "/api/v1/oob/runbooks/%2fetc%2fpasswd", "/docs/file:///etc/passwd", "/docs/access.yaml",
                    "/access.yaml"]
        for target in targets:
            answers = self.get(target, True)
            self.assertEqual(answers.count, 1, target)
            # 501: a name of a runbook on a server without --oob.
            self.assertIn(answers.status, (400, 404, 501), target)
            self.assertNotIn(b"root:", answers.raw, target)
            self.assertIn("x-request-id", answers.headers, target)

    # Whatever the spelling, only pages and the document are for everyone.
    def test_no_spelling_of_a_path_is_without_rights(self):
        public = self.lab.http("GET", "/api/v1/openapi.json").body
        targets = ["/api/v1/%6aobs", "/api/v1/jobs/", "/api/v1/jobs//", "//api/v1/jobs", "/api//v1/jobs",
                   "/api/v1//jobs",
                   "/api%2fv1/jobs", "/API/v1/jobs", "/api/V1/jobs", "/api/v1/./jobs", "/docs/../api/v1/jobs",
                   "/%61pi/v1/jobs",
                   "/api/v1/openapi.json/../jobs", "/api/v1/openapi.json/%2e%2e/jobs", "/api/v1/jobs;/openapi.json",
                   "/api/v1/openapi.json;x/jobs", "/api/v1/jobs/openapi.json", "/api/v1/jobs%00/openapi.json",
                   "/api/v1/jobs?/api/v1/openapi.json", "/api/v1/jobs%3f/openapi.json", "/api/v1/jobs%23",
                   "/api/v1/jobs.json",
                   "/login/../api/v1/jobs", "/healthz/../api/v1/tokens", "/healthz/api/v1/tokens",
                   "/docs/api/v1/tokens",
                   "/api/v1/openapi.jso%6e/../tokens", "/api/v1", "/api/v1/", "/api/v10/jobs", "/api/v1.0/jobs",
                   "/api/v1x"]
        for target in targets:
            answers = self.get(target, False)
            self.assertIn(answers.status, (400, 401, 404), target)
            if target.startswith(("/api/v1/%6a", "/api/v1/jobs?", "/%61pi", "/api/v1/jobs/")) and "//" not in target:
                self.assertEqual(answers.status, 401, target)
            self.assertNotIn(b"train001", answers.raw, target)
        for target in ("/api/v1/openapi.json", "/api/v1/openapi.jso%6e", "/api/v1/openapi.json/",
                       "/api/v1/openapi.json?x=1"):
            answers = self.get(target, False)
            self.assertEqual((answers.status, answers.body), (200, public), target)

    def test_methods_do_not_change_rights(self):
        for headers in (b"X-HTTP-Method-Override: GET\r\n", b"X-Original-URL: /docs\r\n", b"X-Rewrite-URL: /docs\r\n",
                        b"X-Forwarded-For: 127.0.0.1\r\n", b"Forwarded: for=127.0.0.1;host=x\r\n",
                        b"X-Real-IP: 127.0.0.1\r\n",
                        b"X-Forwarded-User: adam\r\n", b"Remote-User: root\r\n", b"X-Remote-Group: admins\r\n",
                        b"X-SSL-Client-CN: adam\r\n", b"X-Client-Cert: x\r\n"):
            request = b"GET /api/v1/session HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n" + headers + b"\r\n"
            self.assertEqual(self.exchange(request)[0].status, 401, headers)


class ApiLimits(_OneLab):
    def test_headers_have_a_limit(self):
        line = b"GET /api/v1/session HTTP/1.1"
        size = len(self.request(line=line))
        fits = self.request(b"Connection: close\r\nX: " + b"a" * (MAX_HEADERS - size - 24) + b"\r\n", line=line)
        self.assertEqual(len(fits), MAX_HEADERS)
        answers, _ = self.exchange(fits)
        self.assertEqual((answers.count, answers.status), (1, 200))
        for name, request in (("one long value", self.request(b"X: " + b"a" * MAX_HEADERS + b"\r\n", line=line)),
                              ("a long name", self.request(b"X" * MAX_HEADERS + b": a\r\n", line=line)),
                              ("many", self.request(b"X: a\r\n" * (MAX_HEADERS // 6), line=line)),
                              ("many names", self.request(b"".join(b"X%d: a\r\n" % each for each in range(3000)),
                                                          line=line)),
                              ("a long target", self.request(line=b"GET /" + b"a" * MAX_HEADERS + b" HTTP/1.1")),
                              ("a long method", self.request(line=b"G" * MAX_HEADERS + b" / HTTP/1.1")),
                              ("a long version", self.request(line=b"GET / HTTP/1." + b"1" * MAX_HEADERS))):
            self.check_refused(name, request + self.hidden, 431, 505 if name == "a long version" else 431)

    # Nor does it help to send them one by one.
    def test_headers_that_come_slowly_have_the_same_limit(self):
        start = self.request(line=b"GET /api/v1/session HTTP/1.1")[:-2]
        answers, closed = self.exchange(start, *[b"X-%d: " % each + b"a" * 500 + b"\r\n" for each in range(100)])
        self.assertEqual((answers.count, answers.status, closed), (1, 431, True))

    def test_bodies_have_a_limit(self):
        kind = b"Content-Type: application/json\r\n"
        # By its length, before a byte of it has come, and not invited by 100.
        for headers in (b"", b"Expect: 100-continue\r\n"):
            for size in (MAX_BODY + 1, 1 << 40, (1 << 64) - 1):
                answers, closed = self.exchange(self.request(kind + headers + b"Content-Length: %d\r\n" % size))
                self.assertEqual((answers.count, answers.status, closed), (1, 413, True), size)
        chunk = b"%x\r\n" % (1 << 20) + b" " * (1 << 20) + b"\r\n"
        answers, closed = self.exchange(self.request(kind + b"Transfer-Encoding: chunked\r\n"), *[chunk] * 9)
        self.assertEqual((answers.count, answers.status, closed), (1, 413, True))
        # The largest that is read; it is no JSON.
        body = b" " * (MAX_BODY - 1) + b"["
        answers, _ = self.exchange(self.request(kind + b"Connection: close\r\nContent-Length: %d\r\n" % len(body),
                                                body))
        self.assertEqual((answers.count, answers.status), (1, 400))
        self.assertIn(b"JSON", answers.body)

    def test_a_body_is_invited_once(self):
        headers = b"Content-Type: application/json\r\nConnection: close\r\nContent-Length: 2\r\n"
        answers, _ = self.exchange(self.request(headers + b"Expect: 100-continue\r\n"), b"{}",
                                   after_first=b"HTTP/1.1 100 Continue\r\n\r\n")
        self.assertEqual(answers.raw.count(b"HTTP/1.1 100 Continue\r\n\r\n"), 1)
        self.assertEqual(re.findall(rb"HTTP/1\.1 (\d+)", answers.raw), [b"100", b"400"])
        self.check_refused("another expectation", self.request(b"Expect: 200-ok\r\n") + self.hidden, 417)

    # Requests that never end keep no other client waiting; the deadline for them is in the unit tests.
    def test_unfinished_requests_keep_nobody_waiting(self):
        context = self.lab.tls()
        stuck = []
        try:
            for number in range(60):
                plain = socket.create_connection(("127.0.0.1", self.lab.port), timeout=60)
                stuck.append(plain)
                if number % 3 == 0:
                    continue  # not even TLS
                secure = context.wrap_socket(plain, server_hostname="127.0.0.1")
                stuck[-1] = secure
                part = self.request(b"Content-Length: 100\r\n", b"{")
                secure.sendall(part if number % 3 == 1 else part[:40])
            for _ in range(20):
                self.assertEqual(self.lab.http("GET", "/session", token=self.secret).status, 200)
        finally:
            for each in stuck:
                each.close()

    def test_a_source_has_a_limit_on_connections(self):
        count = MAX_PER_SOURCE + 20
        sockets = [socket.create_connection(("127.0.0.1", self.lab.port), timeout=60) for _ in range(count)]
        try:
            for each in sockets:
                each.setblocking(False)
            closed = set()
            while len(closed) < count - MAX_PER_SOURCE:  # those beyond the limit are closed at once
                for each in sockets:
                    try:
                        if each not in closed and each.recv(1) == b"":
                            closed.add(each)
                    except BlockingIOError:
                        pass
                    except ConnectionError:
                        closed.add(each)
                time.sleep(0.02)
            # The Unix socket has its own share.
            self.assertEqual(self.lab.local("GET", "/server").status, 200)
            self.assertLess(len(closed), count)
        finally:
            for each in sockets:
                each.close()
        while True:  # and then there is room again
            try:
                if self.lab.http("GET", "/session", token=self.secret).status == 200:
                    break
            except (OSError, ssl.SSLError):
                time.sleep(0.02)

    def test_api_is_still_there(self):
        self.assertIsNone(self.lab.process.poll())
        self.assertEqual(self.lab.http("GET", f"{API}/session", token=self.secret).status, 200)


if __name__ == "__main__":
    run_tests()
