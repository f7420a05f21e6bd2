#!/usr/bin/env python3
"""`weft oob watch` against small BMCs that send events (DSP0266, "Server-sent events"), log them, or both, and lose
connections.
watch_test.py EXECUTABLE [PATTERN...]
"""

import datetime
import json
import queue
import signal
import subprocess
import threading
import time
import unittest

from redfish_dump_server import DumpServer
from small_bmc import ROOT, SYSTEM, Bmcs, collection, lab, link, small_tree

needs_program, run_tests = lab.needs_program, lab.run_tests
SERVICE, LOGS = f"{ROOT}/EventService", f"{SYSTEM}/LogServices"
STREAM, ENTRIES = f"{SERVICE}/SSE", f"{LOGS}/SEL/Entries"
WAIT = 60  # seconds, far more than anything takes


def wait_until(true, what):
    end = time.monotonic() + WAIT
    while not true():
        assert time.monotonic() < end, f"waited {WAIT} s: {what}"
        time.sleep(0.02)


def stamp(offset=0):
    """The time now, and so many seconds later."""
    now = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=offset)
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")


def tree_with_log(sends=True):
    tree = small_tree()
    tree[ROOT] |= {"EventService": link(SERVICE)}
    tree[SYSTEM] |= {"LogServices": link(LOGS)}
    tree[LOGS] = collection(LOGS, f"{LOGS}/SEL")
    tree[f"{LOGS}/SEL"] = {"@odata.id": f"{LOGS}/SEL", "Id": "SEL", "Entries": link(ENTRIES)}
    tree[ENTRIES] = {"@odata.id": ENTRIES, "Members": []}
    tree[SERVICE] = {"@odata.id": SERVICE, "Id": "EventService", "ServiceEnabled": True}
    if sends:
        tree[SERVICE] |= {"ServerSentEventUri": STREAM, "SSEFilterPropertiesSupported": {"EventFormatType": True}}
    return tree


class EventServer(DumpServer):
    """A BMC with a log that grows, and a stream of what is sent to all who listen."""

    def __init__(self, *arguments, **options):
        self.listeners, self.joined, self.number, self.is_gone = [], [], 0, False
        super().__init__(*arguments, **options)

        class Handler(self.RequestHandlerClass):
            def do_GET(self):
                if self.server.is_gone:
                    self.close_connection = True
                elif self._place() == STREAM and SERVICE in self.server.tree.changes:
                    if self._is_allowed():
                        self.stream()
                else:
                    super().do_GET()

            def stream(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                texts = queue.Queue()
                with self.server.lock:
                    self.server.listeners.append(texts)
                    self.server.joined.append(self.headers.get("Last-Event-ID"))
                self.close_connection = True
                while (text := texts.get()) is not None:
                    self.wfile.write(f"{len(text):x}\r\n".encode() + text + b"\r\n")

        self.RequestHandlerClass = Handler

    def entry(self, message, severity="Warning", offset=0):
        """A new entry, which is not in the log."""
        self.number += 1
        return {"@odata.id": f"{ENTRIES}/{self.number}", "Id": str(self.number), "Created": stamp(offset),
                "Severity": severity, "Message": message, "MessageId": "Test.1.0.Event"}

    def log(self, *entries):
        with self.lock:
            document = self.tree.changes[ENTRIES]
            self.tree.changes[ENTRIES] = document | {"Members": document["Members"] + list(entries)}

    def send(self, *entries, linked=True):
        """The events of the entries, as one message to all who listen."""
        records = [{"EventId": f"e{one['Id']}", "EventTimestamp": one["Created"], "Message": one["Message"],
                    "MessageId": one["MessageId"], "MessageSeverity": one["Severity"]} |
                   ({"LogEntry": link(one["@odata.id"])} if linked else {}) for one in entries]
        text = f"id: {entries[-1]['Id']}\ndata: {json.dumps({'Events': records})}\n\n".encode()
        with self.lock:
            for texts in self.listeners:
                texts.put(text)

    def hang_up(self):
        with self.lock:
            for texts in self.listeners:
                texts.put(None)
            self.listeners.clear()

    def logs_read(self):
        return len(self.received("GET", ENTRIES))

    def wait_for_reading(self, times=1):
        """Until the log was read again from now on."""
        before = self.logs_read()
        wait_until(lambda: self.logs_read() >= before + times, "the log is read")

    def close(self):
        self.is_gone = True
        self.hang_up()
        super().close()


class Watch:
    """A running `weft oob watch`: the lines of its output and of its errors so far."""

    def __init__(self, bmcs, *words):
        line = bmcs.line("watch", str(bmcs.folder / "cluster.yaml"), "@box", *words)
        self.process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env=bmcs.variables())
        self.lines, self.errors = [], []
        self.threads = [threading.Thread(target=self.read, args=pair, daemon=True)
                        for pair in ((self.process.stdout, self.lines), (self.process.stderr, self.errors))]
        for thread in self.threads:
            thread.start()

    @staticmethod
    def read(file, lines):
        for line in file:
            lines.append(line.rstrip("\n"))

    def count(self, text):
        return sum(text in line for line in self.lines)

    def wait_for(self, text):
        wait_until(lambda: self.count(text), f"{text}\n{self.lines}\n{self.errors}")

    def wait_for_error(self, text):
        wait_until(lambda: any(text in line for line in self.errors), f"{text}\n{self.lines}\n{self.errors}")

    def stop(self, how=signal.SIGINT):
        """The exit code."""
        self.process.send_signal(how)
        return self.end()

    def end(self):
        code = self.process.wait(WAIT)
        for thread in self.threads:
            thread.join(WAIT)
        self.process.stdout.close()
        self.process.stderr.close()
        return code


class OobWatch(unittest.TestCase):
    def setUp(self):
        needs_program("openssl")

    def use(self, *trees):
        bmcs = Bmcs(len(trees), dict(enumerate(trees)), server=EventServer)
        self.addCleanup(bmcs.close)
        bmcs.write_files(defaults=f"ca: {bmcs.certificate}")
        return bmcs

    def watch(self, bmcs, *words):
        watch = Watch(bmcs, *words)
        self.addCleanup(lambda: watch.process.poll() is not None or watch.process.kill())
        return watch

    def test_each_event_once(self):
        """What is sent, logged or both, with a link between them or without one, is one line."""
        bmcs = self.use(tree_with_log())
        bmc = bmcs.servers[0]
        bmc.log(bmc.entry("old", offset=-100))
        watch = self.watch(bmcs, "--interval", "1s")
        wait_until(lambda: bmc.listeners and bmc.logs_read(), "it listens")
        linked, unlinked, unlogged, unsent = (bmc.entry(name) for name in ("linked", "unlinked", "unlogged", "unsent"))
        bmc.send(linked, unlogged)
        bmc.send(unlinked, linked=False)
        for name in ("linked", "unlinked", "unlogged"):
            watch.wait_for(f" {name}")
        bmc.log(linked, unlinked, unsent)
        watch.wait_for(" unsent")
        bmc.send(unsent)
        last = bmc.entry("last", "Critical")
        bmc.send(last)
        watch.wait_for(" last")
        self.assertEqual(watch.stop(), 0)
        self.assertEqual(sorted(line.split()[-1] for line in watch.lines),
                         ["last", "linked", "unlinked", "unlogged", "unsent"])
        line = next(line for line in watch.lines if line.endswith("last"))
        self.assertEqual(line.split(), [last["Created"], "critical", "box001", "Systems/1/SEL", "last"])
        self.assertFalse(bmc.sessions, "the session is closed")

    def test_a_stream_that_ends(self):
        """It is opened again from where it ended, and what was missed is in the log."""
        bmcs = self.use(tree_with_log())
        bmc = bmcs.servers[0]
        watch = self.watch(bmcs, "--interval", "60s")
        wait_until(lambda: bmc.listeners and bmc.logs_read(), "it listens")
        first = bmc.entry("first")
        bmc.log(first)
        bmc.send(first)
        watch.wait_for("first")
        missed = bmc.entry("missed")
        bmc.hang_up()
        bmc.log(missed)
        watch.wait_for("missed")
        wait_until(lambda: bmc.listeners, "it listens again")
        bmc.send(first, missed)
        bmc.send(bmc.entry("later"))
        watch.wait_for("later")
        self.assertEqual(watch.stop(signal.SIGTERM), 0)
        self.assertEqual(bmc.joined, [None, "1"])
        self.assertEqual([line.split()[-1] for line in watch.lines], ["first", "missed", "later"])
        self.assertEqual(watch.errors, ["weft: following 1 device; press Ctrl-C to stop"])

    def test_a_bmc_that_sends_nothing(self):
        """Its logs are read at the interval; --since begins with what is there, --level leaves out the rest."""
        bmcs = self.use(tree_with_log(sends=False), tree_with_log(sends=False))
        one, two = bmcs.servers
        one.log(one.entry("older", offset=-7200), one.entry("recent", offset=-1800))
        watch = self.watch(bmcs, "--interval", "1s", "--since", "1h", "--level", "warning")
        watch.wait_for("recent")
        wait_until(two.logs_read, "the other one is read")
        two.log(two.entry("fine", "OK"), two.entry("hot", "Critical"))
        watch.wait_for("hot")
        two.wait_for_reading(2)
        self.assertEqual(watch.stop(), 0)
        self.assertEqual([(line.split()[2], line.split()[-1]) for line in watch.lines],
                         [("box001", "recent"), ("box002", "hot")])

    def test_a_bmc_that_goes_away(self):
        """It is named, dialed again, and its log says what happened meanwhile."""
        bmcs = self.use(tree_with_log(sends=False), tree_with_log())
        gone, other = bmcs.servers
        watch = self.watch(bmcs, "--interval", "1s")
        wait_until(lambda: gone.logs_read() and other.listeners, "both are watched")
        tree, port = gone.tree.changes, gone.port
        gone.close()
        watch.wait_for_error("box001: unreachable")
        other.send(other.entry("meanwhile"))
        watch.wait_for("meanwhile")
        back = EventServer(bmcs.folder / "empty", changes=tree, port=port, **bmcs.options)
        bmcs.servers[0] = back
        back.number = 7
        back.log(back.entry("restarted"))
        watch.wait_for("restarted")
        watch.wait_for_error("box001: answers again")
        self.assertEqual(watch.stop(), 0)

    def test_a_login_that_is_refused(self):
        """It is not tried again; the other devices are followed. Exit codes 3 and 5."""
        bmcs = self.use(tree_with_log(), tree_with_log(sends=False))
        bmcs.servers[0].password = "another"
        watch = self.watch(bmcs, "--interval", "1s")
        watch.wait_for_error("box001: given up: user or password refused")
        bmcs.servers[1].wait_for_reading(2)
        self.assertEqual(watch.stop(), 3)
        self.assertEqual(len(bmcs.servers[0].received("POST")), 1)
        bmcs.servers[1].password = "another"
        self.assertEqual(self.watch(bmcs).end(), 5)

    def test_lines_for_programs(self):
        """One JSON object per line: events as `weft oob events` has them, and what happens to devices and logs."""
        broken = tree_with_log(sends=False)
        broken[f"{LOGS}/Other"] = {"@odata.id": f"{LOGS}/Other", "Id": "Other", "Entries": link(f"{LOGS}/Other/None")}
        broken[LOGS] = collection(LOGS, f"{LOGS}/SEL", f"{LOGS}/Other")
        bmcs = self.use(broken, tree_with_log())
        bmcs.servers[0].log(bmcs.servers[0].entry("logged", offset=-60))
        watch = self.watch(bmcs, "-o", "ndjson", "--interval", "1s", "--since", "1h")
        watch.wait_for("logged")
        wait_until(lambda: bmcs.servers[1].listeners, "it listens")
        watch.wait_for('"polling"')
        watch.wait_for('"streaming"')
        bmcs.servers[1].send(bmcs.servers[1].entry("sent", "Critical"))
        watch.wait_for('"sent"')
        self.assertEqual(watch.stop(), 0)
        lines = [json.loads(line) for line in watch.lines]
        self.assertEqual([line for line in lines if line["kind"] == "unread_log"],
                         [{"kind": "unread_log", "device": "box001", "log": "Systems/1/Other",
                           "why": lines[[line["kind"] for line in lines].index("unread_log")]["why"]}])
        states = {line["device"]: line["state"] for line in lines if line["kind"] == "device"}
        self.assertEqual(states, {"box001": "polling", "box002": "streaming"})
        rows = bmcs.json("events", "box001", code=3)["events"]
        self.assertEqual([{key: value for key, value in line.items() if key != "kind"}
                          for line in lines if line["kind"] == "event" and line["device"] == "box001"], rows)
        sent = next(line for line in lines if line.get("message") == "sent")
        self.assertEqual((sent["severity"], sent["id"], sent["log"]), ("critical", "e1", "Systems/1/SEL"))

    def test_it_ends_by_itself(self):
        """After --for, and when its reader closes the pipe."""
        bmcs = self.use(tree_with_log(sends=False))
        line = bmcs.line("watch", str(bmcs.folder / "cluster.yaml"), "@box", "--for", "1s")
        done = subprocess.run(line, capture_output=True, text=True, env=bmcs.variables(), timeout=WAIT, check=False)
        self.assertIn((done.returncode, "no answer before the end: box001" in done.stderr), ((0, False), (5, True)),
                      done.stderr)
        self.assertEqual(done.stdout, "")
        bmcs.servers[0].log(bmcs.servers[0].entry("one", offset=-60))
        line = bmcs.line("watch", str(bmcs.folder / "cluster.yaml"), "@box", "--interval", "1s", "--since",
                         "1h")
        with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                              env=bmcs.variables()) as process:
            self.assertIn("one", process.stdout.readline())
            process.stdout.close()
            bmcs.servers[0].log(bmcs.servers[0].entry("two"))
            self.assertEqual(process.wait(WAIT), 0)
        wait_until(lambda: not bmcs.servers[0].sessions, "the session is closed")

    def test_options(self):
        bmcs = self.use(tree_with_log())
        for words in (("-o", "yaml"), ("-o", "csv"), ("--interval", "100ms"), ("--interval", "2h"), ("--for", "x"),
                      ("--since", "yesterday")):
            with self.subTest(words=words):
                _, err = bmcs.run("watch", *words, code=2)
                self.assertIn("weft oob watch: ", err)
        self.assertEqual(bmcs.servers[0].requests, [])


if __name__ == "__main__":
    run_tests()
