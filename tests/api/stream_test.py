"""End-to-end tests of event streams and connections: resuming, rights that end, slow and stuck clients, limits on
connections, and a new certificate under load."""

import http.client
import json
import os
import signal
import socket
import ssl
import threading
import time
import unittest

from certificates import CertificateLab, der_of
from lab import API, ROLES, Lab, run_tests


def wait_until(condition):
    """Returns what the condition returned at last."""
    while not (found := condition()):
        time.sleep(0.02)
    return found


class Stream:
    """A client of /api/v1/events. Events are (number, name, data)."""

    def __init__(self, lab, *, token, since=None, last=None, query="", timeout=120):
        self.connection = lab.connect(timeout)
        self.connection.connect()
        self.port = self.connection.sock.getsockname()[1]
        query = query + (f"&since={since}" if since is not None else "")
        headers = {"Authorization": f"Bearer {token}", **({"Last-Event-ID": str(last)} if last is not None else {})}
        self.connection.request("GET", f"{API}/events?{query.lstrip('&')}", headers=headers)
        self.answer = self.connection.getresponse()
        self.status = self.answer.status

    def next(self):
        """The next event; None: the server ended the stream."""
        number, name, data = None, None, None
        while True:
            try:
                line = self.answer.readline().decode()
            except (ConnectionError, http.client.IncompleteRead, ssl.SSLError):
                return None
            if not line:
                return None
            line = line.rstrip("\n")
            if not line and data is not None:
                return number, name, json.loads(data)
            field, _, value = line.partition(": ")
            number = int(value) if field == "id" else number
            name = value if field == "event" else name
            data = value if field == "data" else data

    def up_to(self, number):
        """Every event with this number or a lower one."""
        found = []
        while not found or found[-1][0] < number:
            found.append(self.next())
            assert found[-1] is not None, "the stream ended"
        return found

    def close(self):
        self.connection.close()


class StreamCase(unittest.TestCase):
    lab, kind = None, Lab

    @classmethod
    def setUpClass(cls):
        cls.lab = cls.kind()
        cls.admin, cls.operator = cls.lab.token("anna", ["admins"]), cls.lab.token("ada", ["operators"])

    @classmethod
    def tearDownClass(cls):
        if cls.lab is not None:
            cls.lab.close()

    def end(self):
        """The number of the last record of the journal."""
        return int(self.lab.local("GET", "/server").headers["weft-sequence"])

    def change(self, node="train001", times=1):
        for _ in range(times):
            for verb in ("drain", "resume"):
                response = self.lab.local("POST", f"/nodes/{node}/{verb}", {"reason": "test"})
                self.assertEqual(response.status, 200, response)

    def reload(self, roles=ROLES):
        count = self.lab.log().count("access file read again")
        self.lab.write_access("", roles)
        self.lab.process.send_signal(signal.SIGHUP)
        wait_until(lambda: self.lab.log().count("access file read again") > count)


class ApiStreamResume(StreamCase):
    def test_resume_misses_none_and_repeats_none(self):
        """Over three runs of the server, one of which is killed; the journal has every number once."""
        lab, seen, last = self.lab, [], 0
        for stop in (signal.SIGTERM, signal.SIGKILL, None):
            self.change(times=3)
            # By the parameter, then by the header, which is what remains after a break.
            stream = Stream(lab, token=self.operator, since=last)
            seen += stream.up_to(self.end() - 3)
            stream.close()
            last = seen[-1][0]
            self.change(times=1)
            resumed = Stream(lab, token=self.operator, last=last, since=0)
            seen += resumed.up_to(self.end())
            last = seen[-1][0]
            if stop is None:
                break
            lab.stop(stop)
            self.assertIsNone(resumed.next(), "the stream ends with the server")
            resumed.close()
            lab.start()
        numbers = [number for number, _, _ in seen]
        self.assertEqual(numbers, list(range(1, numbers[-1] + 1)))
        for number, name, data in seen:
            self.assertEqual((data["sequence"], data["kind"]), (number, name))
        # What the journal has now, in one piece.
        whole = Stream(lab, token=self.operator, since=0)
        self.assertEqual(whole.up_to(numbers[-1]), seen)
        whole.close()
        resumed.close()

    def test_live_events_continue_what_was_read(self):
        stream, start = Stream(self.lab, token=self.operator, since=0), self.end()
        first = stream.up_to(start)
        self.change(times=2)
        live = stream.up_to(self.end())
        self.assertEqual([number for number, _, _ in first + live], list(range(1, self.end() + 1)))
        stream.close()

    def test_default_is_from_now_on(self):
        start = self.end()
        stream = Stream(self.lab, token=self.operator)
        self.change()
        self.assertEqual(stream.next()[0], start + 1)
        stream.close()

    def test_positions_beyond_the_journal_and_nonsense_are_refused(self):
        for last in (self.end() + 1000, 2 ** 64 - 1, 2 ** 64, "x", "-1", "1 2"):
            stream = Stream(self.lab, token=self.operator, last=last)
            self.assertEqual(stream.status, 400, last)
            stream.close()
        for query in ("since=x", "since=-1", f"since={2 ** 64}", "job=x", "since=1&since=2"):
            stream = Stream(self.lab, token=self.operator, query=query)
            self.assertEqual(stream.status, 400, query)
            stream.close()

    def test_events_of_one_job(self):
        job, other = self.lab.submit("one"), self.lab.submit("two", "team-b")
        wait_until(lambda: all(self.lab.local("GET", f"/jobs/{each}").json["job"]["state"] == "running"
                               for each in (job, other)))
        self.lab.local("POST", f"/jobs/{other}/cancel", {})
        self.lab.local("POST", f"/jobs/{job}/cancel", {})
        stream, names = Stream(self.lab, token=self.operator, query=f"job={job}&since=0"), []
        while "attempt_ended" not in names:
            _, name, data = stream.next()
            self.assertEqual(data["job"], job)
            names.append(name)
        self.assertEqual(names[0], "job_submitted")
        stream.close()


class ApiStreamRights(StreamCase):
    def test_revoked_token_ends_the_stream(self):
        created = self.lab.http("POST", "/tokens", {"name": "short"}, token=self.operator).json["token"]
        start = self.end()
        ended, other = (Stream(self.lab, token=token, since=start) for token in (created["secret"], self.operator))
        self.change()
        for stream in (ended, other):
            stream.up_to(self.end())
        last = self.end()
        self.assertEqual(self.lab.http("POST", f"/tokens/{created['token']}/revoke", {}, token=self.operator).status, 200)
        revoked = self.end()
        self.change()
        found = ended.next()
        while found is not None:
            self.assertLessEqual(found[0], revoked, "nothing that came after the token was revoked")
            found = ended.next()
        end = self.end()  # it grows while the change takes effect
        self.assertEqual([number for number, _, _ in other.up_to(end)], list(range(last + 1, end + 1)))
        again = Stream(self.lab, token=created["secret"], last=last)
        self.assertEqual(again.status, 401)
        for stream in (ended, other, again):
            stream.close()

    def test_role_that_is_removed_ends_the_stream(self):
        vera = self.lab.token("vera", ["viewers"])
        stream = Stream(self.lab, token=vera, since=self.end())
        self.change()
        stream.up_to(self.end())
        try:
            self.reload(ROLES.replace("viewers", "nobody"))
            self.change()
            self.assertIsNone(stream.next())
            denied = Stream(self.lab, token=vera)
            self.assertEqual(denied.status, 403)
            denied.close()
        finally:
            self.reload()
            stream.close()

    def test_role_that_is_removed_narrows_the_stream(self):
        """A viewer who becomes a user of one tenant sees the jobs of that tenant from then on."""
        both = self.lab.token("eve", ["viewers", "team-a"])
        start = self.end()
        stream = Stream(self.lab, token=both, since=start)
        first = [self.lab.submit("before-a"), self.lab.submit("before-b", "team-b")]
        submitted = lambda: [(data["job"], data["text"]) for _, name, data in events if name == "job_submitted"]
        events = stream.up_to(self.end())
        self.assertEqual([job for job, _ in submitted()], first)
        try:
            self.reload(ROLES.replace("viewers", "nobody"))
            hidden, shown = self.lab.submit("hidden-b", "team-b"), self.lab.submit("after-a")
            events = []
            while shown not in [job for job, _ in submitted()]:
                events.append(stream.next())
            self.assertEqual([job for job, _ in submitted()], [shown])
            self.assertNotIn("team-b", json.dumps(events))
            self.assertNotIn(hidden, [data.get("job") for _, _, data in events])
        finally:
            self.reload()
            stream.close()
            for job in self.lab.local("GET", "/jobs").json["jobs"]:
                self.lab.local("POST", f"/jobs/{job['job']}/cancel", {})

    def test_restricted_token_has_a_narrower_stream(self):
        token = self.lab.token("eve", ["team-a", "viewers"], role="user", tenant="team-a")
        start = self.end()
        stream = Stream(self.lab, token=token, since=start)
        foreign, own = self.lab.submit("foreign", "team-b"), self.lab.submit("own")
        events = []
        while own not in [data.get("job") for _, _, data in events]:
            events.append(stream.next())
        self.assertNotIn(foreign, [data.get("job") for _, _, data in events])
        stream.close()
        for job in (foreign, own):
            self.lab.local("POST", f"/jobs/{job}/cancel", {})


class ApiStreamClients(StreamCase):
    """Clients that do not read."""

    def facts(self):
        return self.lab.local("GET", "/server").json["server"]

    def test_stuck_and_slow_clients_do_not_stop_others(self):
        lab = self.lab
        while self.end() < 2500:  # more than the kernel's buffers and the server's hold for one client
            self.change(times=50)
        stuck = [self.open_without_reading() for _ in range(20)]
        memory = lab.memory_kib()
        whole = Stream(lab, token=self.operator, since=0)
        slow = self.open_without_reading()
        end = self.end()
        self.assertEqual([number for number, _, _ in whole.up_to(end)], list(range(1, end + 1)))
        self.change(times=20)
        self.assertEqual([number for number, _, _ in whole.up_to(self.end())], list(range(end + 1, self.end() + 1)))
        # A client that reads a little at a time gets everything, in order, though it is far behind.
        end, received = self.end(), b""
        slow.settimeout(120)
        while f"\nid: {end}\n".encode() not in received:
            part = slow.recv(1024)
            self.assertTrue(part, "the server closed it")
            received += part
        # Each stuck stream costs what the server buffers for one, which is bounded, not the whole journal.
        self.assertLess(lab.memory_kib() - memory, 20 * 1024 + 65536)
        for each in (slow, *stuck):
            each.close()
        whole.close()

    def open_without_reading(self):
        plain = socket.socket()
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        plain.connect(("127.0.0.1", self.lab.port))
        secure = self.lab.tls().wrap_socket(plain, server_hostname="127.0.0.1")
        secure.sendall(f"GET {API}/events?since=0 HTTP/1.1\r\nHost: localhost\r\n"
                       f"Authorization: Bearer {self.operator}\r\n\r\n".encode())
        return secure

    def test_stuck_client_is_cut(self):
        """After stream_stall_limit, a minute in which it reads nothing."""
        lab = self.lab
        while self.end() < 2500:
            self.change(times=50)
        stuck, good = self.open_without_reading(), Stream(lab, token=self.operator, since=self.end())
        ports = [stuck.getsockname()[1], good.port]

        def is_connected(port):
            with open("/proc/net/tcp", encoding="ascii") as table:
                ends = {tuple(line.split()[1:4]) for line in table}
            wanted = (f"0100007F:{lab.port:04X}", f"0100007F:{port:04X}", "01")
            return wanted in ends
        self.assertTrue(all(map(is_connected, ports)))
        while is_connected(ports[0]):
            self.change()
            good.up_to(self.end())
        self.assertTrue(is_connected(ports[1]), "the one that reads stays")
        stuck.close()
        good.close()


class ApiConnectionLimits(StreamCase):
    def test_connections_of_one_source_are_limited(self):
        """HttpOptions::max_connections_per_source: 256. The Unix socket has a part of its own."""
        limit, opened, refused = 256, [], 0
        try:
            for _ in range(limit + 20):
                plain = socket.create_connection(("127.0.0.1", self.lab.port))
                try:
                    opened.append(self.lab.tls().wrap_socket(plain, server_hostname="127.0.0.1"))
                except (ssl.SSLError, ConnectionError):
                    plain.close()
                    refused += 1
            self.assertEqual((len(opened), refused), (limit, 20))
            self.assertEqual(self.lab.local("GET", "/server").status, 200)
            self.assertIn("weft", self.lab.weft("status", "--socket", self.lab.socket)[0] + "weft")
            # Those that are open are served.
            for each in (opened[0], opened[-1]):
                each.sendall(f"GET {API}/server HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {self.operator}"
                             "\r\n\r\n".encode())
                self.assertIn(b"200 OK", each.recv(4096))
            # Another source has a limit of its own.
            other = socket.create_connection(("127.0.0.1", self.lab.port), source_address=("127.0.0.2", 0))
            other.close()
            opened.pop().close()

            def is_free():
                plain = socket.create_connection(("127.0.0.1", self.lab.port))
                try:
                    opened.append(self.lab.tls().wrap_socket(plain, server_hostname="127.0.0.1"))
                    return True
                except (ssl.SSLError, ConnectionError):
                    plain.close()
                    return False
            wait_until(is_free)
        finally:
            for each in opened:
                each.close()


class ApiCertificateReload(StreamCase):
    kind = CertificateLab

    def served(self):
        """The certificate that a new connection gets."""
        with socket.create_connection(("127.0.0.1", self.lab.port)) as plain:
            with self.lab.tls().wrap_socket(plain, server_hostname="127.0.0.1") as secure:
                return secure.getpeercert(binary_form=True)

    def replace(self, pair):
        self.lab.use(*pair)
        self.lab.process.send_signal(signal.SIGHUP)
        wait_until(lambda: self.served() == der_of(pair[0]))

    def test_new_certificate_under_load(self):
        lab, stop, problems, counts = self.lab, threading.Event(), [], []
        pairs = [lab.authority.issue() for _ in range(6)]
        context = lab.tls()

        def load():
            count = 0
            while not stop.is_set():
                connection = http.client.HTTPSConnection("127.0.0.1", lab.port, timeout=120, context=context)
                try:
                    for _ in range(2):  # the second one over the same connection
                        connection.request("GET", f"{API}/server", headers={"Authorization": f"Bearer {self.operator}"})
                        answer = connection.getresponse()
                        if answer.status != 200 or not answer.read():
                            problems.append(answer.status)
                        count += 1
                except (OSError, http.client.HTTPException) as problem:
                    problems.append(repr(problem))
                connection.close()
            counts.append(count)
        stream = Stream(lab, token=self.operator, since=self.end())
        threads = [threading.Thread(target=load) for _ in range(4)]
        for thread in threads:
            thread.start()
        shown = {self.served()}
        for pair in pairs:
            self.replace(pair)
            shown.add(self.served())
        stop.set()
        for thread in threads:
            thread.join()
        self.assertEqual(problems, [])
        self.assertEqual(len(shown), 1 + len(pairs))
        self.assertTrue(all(counts), counts)
        # The stream began under the first certificate.
        before = self.end()
        self.change()
        self.assertEqual([number for number, _, _ in stream.up_to(self.end())][-2:], [before + 1, before + 2])
        stream.close()

    def test_broken_certificate_leaves_the_former_in_use(self):
        lab = self.lab
        good = lab.authority.issue()
        self.replace(good)
        other = lab.authority.issue()
        empty = lab.authority.folder / "empty"
        empty.write_text("", encoding="ascii")
        torn = lab.authority.folder / "torn"
        torn.write_bytes(open(other[0], "rb").read()[:-200])
        for pair in ((str(torn), other[1]), (str(empty), str(empty)), (other[0], good[1]), (good[0], other[1])):
            count = lab.log().count("the former certificate stays in use")
            lab.use(*pair)
            lab.process.send_signal(signal.SIGHUP)
            wait_until(lambda: lab.log().count("the former certificate stays in use") > count)
            self.assertEqual(self.served(), der_of(good[0]), pair)
        # Also a key that others may read.
        count = lab.log().count("the former certificate stays in use")
        lab.use(*other)
        lab.tls_key.chmod(0o644)
        lab.process.send_signal(signal.SIGHUP)
        wait_until(lambda: lab.log().count("the former certificate stays in use") > count)
        self.assertEqual(self.served(), der_of(good[0]))
        self.replace(lab.authority.issue())

    def test_new_certificate_is_noticed_without_a_signal(self):
        pair = self.lab.authority.issue()
        self.lab.use(*pair)
        wait_until(lambda: self.served() == der_of(pair[0]))

    def test_client_certificate_of_another_authority_is_refused_after_the_reload(self):
        """The CA of clients is read again too."""
        lab = self.lab
        client = lab.client("vera", "viewers")

        def session():
            connection = http.client.HTTPSConnection("127.0.0.1", lab.port, timeout=60, context=client)
            try:
                connection.request("GET", f"{API}/session")
                answer = connection.getresponse()
                return answer.status, answer.read()
            except (OSError, http.client.HTTPException):
                return 0, b""
            finally:
                connection.close()
        self.assertEqual((session()[0], b"vera" in session()[1]), (200, True))
        own, other = lab.authority.pem.read_bytes(), CertificateLab(start=False)
        try:
            lab.authority.pem.write_bytes(other.authority.pem.read_bytes())
            lab.process.send_signal(signal.SIGHUP)
            wait_until(lambda: b"vera" not in self.quiet(session))
        finally:
            lab.authority.pem.write_bytes(own)
            lab.process.send_signal(signal.SIGHUP)
            other.close()
        wait_until(lambda: session()[0] == 200)

    @staticmethod
    def quiet(session):
        return session()[1]


if __name__ == "__main__":
    run_tests()
