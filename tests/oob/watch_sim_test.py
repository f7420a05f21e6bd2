#!/usr/bin/env python3
"""`weft oob watch`, `events` and `metrics` against simulated BMCs, which send events and lose, repeat or delay them:
every entry of every log is reported exactly once.
watch_sim_test.py EXECUTABLE [PATTERN...]
"""

import collections
import json
import subprocess
import unittest

from sim_bmc import WAIT, Listener, Simulator, wait_until
from small_bmc import ROOT, lab
from watch_test import Watch

run_tests = lab.run_tests
SERVICE = f"{ROOT}/EventService"


class SimCase(unittest.TestCase):
    def use(self, *faults, **options):
        simulator = Simulator(*faults, **options)
        self.addCleanup(simulator.close)
        return simulator

    def listen(self, simulator, *arguments, **options):
        listener = Listener(simulator, *arguments, **options)
        self.addCleanup(listener.close)
        return listener


class OobWatchSim(SimCase):
    def follow(self, simulator, state="streaming"):
        """A watch that reads the logs every 10 s if it gets a stream, else every second."""
        watch = Watch(simulator, "-o", "ndjson", "--interval", "1s")
        self.addCleanup(lambda: watch.process.poll() is not None or watch.process.kill())
        watch.wait_for(f'"{state}"')
        self.before = {entry["id"] for entry in simulator.entries()}
        return watch

    def wait_for_entries(self, simulator, watch):
        """Until the entries that the logs have now were reported."""
        wanted = {entry["id"] for entry in simulator.entries()} - self.before
        wait_until(lambda: wanted <= set(self.reported(watch)), lambda: f"{wanted}: {watch.lines} {watch.errors}")

    @staticmethod
    def reported(watch):
        """How often each entry was reported, by its id."""
        lines = [json.loads(line) for line in list(watch.lines)]
        return collections.Counter(line["id"] for line in lines if line["kind"] == "event")

    def check(self, simulator, watch):
        """What was reported is what the logs have, each entry once."""
        self.wait_for_entries(simulator, watch)
        entries = [entry for entry in simulator.entries() if entry["id"] not in self.before]
        self.assertEqual(watch.stop(), 0)
        keys = ("id", "device", "log", "time", "severity", "message")
        lines = [json.loads(line) for line in watch.lines]
        self.assertEqual(sorted(tuple(line[key] for key in keys) for line in lines if line["kind"] == "event"),
                         sorted(tuple(entry[key] for key in keys) for entry in entries))

    def test_what_happens_in_a_bmc(self):
        """Power, accounts and an XID of a GPU after the boot are sent as they happen."""
        simulator = self.use("xid:3:79")
        watch = self.follow(simulator)
        simulator.reset()
        simulator.reset("ForceRestart")
        accounts = f"{ROOT}/AccountService/Accounts"
        self.assertEqual(simulator.request("POST", accounts, {"UserName": "op", "Password": "long-enough",
                                                              "RoleId": "Operator"})[0], 201)
        self.assertEqual(simulator.request("PATCH", f"{accounts}/2", {"Enabled": False})[0], 204)
        self.assertEqual(simulator.request("DELETE", f"{accounts}/2")[0], 204)
        watch.wait_for("XID 79")
        self.check(simulator, watch)
        messages = [json.loads(line).get("message") for line in watch.lines]
        for message in ("Diagnostic interrupt", "Processors were reset", "Account 2 added", "Account 2 changed",
                        "Account 2 removed"):
            self.assertEqual(messages.count(message), 1, messages)

    def test_no_events(self):
        """Without an EventService the logs are read at the interval."""
        simulator = self.use("no_events")
        watch = self.follow(simulator, state="polling")
        for _ in range(3):
            simulator.reset()
        self.check(simulator, watch)
        self.assertEqual(simulator.request("GET", SERVICE)[0], 404)
        self.assertNotIn("EventService", simulator.request("GET", f"{ROOT}/")[1])

    def test_events_lost(self):
        """Those that were not sent are found in the log, and those that were are not printed again."""
        simulator = self.use("events_lost:2")
        watch = self.follow(simulator)
        for _ in range(5):
            simulator.reset()
        self.wait_for_entries(simulator, watch)
        # One more that is only in the log: the log was then read again after all others were reported.
        simulator.reset()
        while max(int(entry["id"]) for entry in simulator.entries()) % 2 != 0:
            simulator.reset()
        self.check(simulator, watch)

    def test_events_twice(self):
        simulator = self.use("events_twice")
        watch, other = self.follow(simulator), self.listen(simulator)
        for count in range(1, 6):
            simulator.reset()
            other.wait_for(2 * count)
        self.check(simulator, watch)
        self.assertEqual(len(other.ids), 2 * len(set(other.ids)))

    def test_events_late(self):
        """Found in the log before they are sent: they are not printed again."""
        simulator = self.use("events_late:12s")
        watch, other = self.follow(simulator), self.listen(simulator)
        simulator.reset()
        simulator.reset()
        other.wait_for(2)
        simulator.reset()
        self.check(simulator, watch)

    def test_stream_drops(self):
        """Each connection ends after one event; the next one goes on after it."""
        simulator = self.use("stream_drops:1")
        watch = self.follow(simulator)
        for _ in range(2):
            simulator.reset()
            self.wait_for_entries(simulator, watch)
        for _ in range(3):
            simulator.reset()
        self.wait_for_entries(simulator, watch)
        # One event per connection: five of them ended, and the sixth is open.
        wait_until(lambda: simulator.streams() >= 6, lambda: f"six streams: {watch.lines} {watch.errors}")
        simulator.reset()
        self.check(simulator, watch)

    def test_a_simulator_that_stops(self):
        """The streams end with it, and the watch says that the device is gone."""
        simulator = self.use()
        watch, other = self.follow(simulator), self.listen(simulator)
        self.assertEqual(simulator.stop(), 0)
        other.wait_for_end()
        watch.wait_for('"unreachable"')
        self.assertEqual(watch.stop(), 5)


class OobSimServices(SimCase):
    def test_a_stream(self):
        """Its type, its filter, where it goes on, and what was lost."""
        simulator = self.use()
        first = self.listen(simulator, query="?$filter=EventFormatType%20eq%20Event")
        self.assertEqual((first.status, first.type), (200, "text/event-stream"))
        simulator.reset()
        simulator.reset()
        first.wait_for(2)
        again = self.listen(simulator, last_id=first.ids[0])
        self.assertEqual(again.wait_for(1)[0], first.events[1])
        for _ in range(80):
            simulator.reset()
        late = self.listen(simulator, last_id=first.ids[0])
        self.assertTrue(late.wait_for(65)[0]["MessageId"].endswith(".EventBufferExceeded"), late.events[0])
        self.assertEqual(late.events[-1]["Message"], "Diagnostic interrupt")
        self.assertEqual(late.events[1:], first.wait_for(82)[-64:])
        for query in ("?$filter=EventFormatType%20eq%20MetricReport", "?$filter=x"):
            refused = simulator.request("GET", f"{SERVICE}/SSE{query}")
            self.assertEqual(refused[0], 400)

    def test_subscriptions(self):
        """There is one per stream; to delete it ends the stream. A destination is refused: there is no push."""
        simulator = self.use()
        listener = self.listen(simulator)
        _, found = simulator.request("GET", f"{SERVICE}/Subscriptions")
        path = found["Members"][0]["@odata.id"]
        self.assertEqual(simulator.request("GET", path)[1]["SubscriptionType"], "SSE")
        status, error = simulator.request("POST", f"{SERVICE}/Subscriptions", {"Destination": "https://127.0.0.1/",
                                                                               "Protocol": "Redfish"})
        self.assertEqual(status, 405)
        self.assertIn("ServerSentEventUri", error["error"]["message"])
        self.assertEqual(simulator.request("DELETE", path)[0], 204)
        listener.wait_for_end()
        self.assertEqual(simulator.request("GET", f"{SERVICE}/Subscriptions")[1]["Members"], [])

    def test_xids(self):
        """`weft oob events --log XID` lists the XIDs of GPUs, and nothing else."""
        simulator = self.use("xid:3:79", count=2)
        rows = simulator.weft("events", "--log", "XID")["events"]
        self.assertEqual([(row["device"], row["log"], row["severity"]) for row in rows],
                         [("box001", "Chassis/HGX_GPU_SXM_3/XID", "critical")])
        self.assertIn("XID 79", rows[0]["message"])

    def test_metrics_agree_with_sensors(self):
        """The same readings, which vary by 2 percent over time around one value."""
        simulator = self.use()
        sensors = {row["sensor"].replace(" ", "_"): row["value"] for row in simulator.weft("sensors")["readings"]}
        metrics = simulator.weft("metrics")["metrics"]
        gpus = {(row["part"], row["metric"]): float(row["value"]) for row in metrics if row["part"].startswith("HGX")}
        self.assertEqual(len(gpus), 16)
        for (part, name), value in gpus.items():
            sensor = sensors[f"{part}_{name}"]
            self.assertGreater(value, 0)
            self.assertAlmostEqual(value, sensor, delta=0.05 * sensor)
        fans = [row for row in metrics if row["metric"] in ("Fan1", "PSU1InputVoltage")]
        self.assertEqual(len(fans), 2)

    def test_one_simulator_per_folder(self):
        """A second one is refused, and leaves the files of the first alone."""
        simulator = self.use()
        files = {path: path.read_bytes() for path in (simulator.folder / "sim").iterdir()}
        done = subprocess.run(simulator.words, capture_output=True, text=True, env=simulator.variables(), timeout=WAIT,
                              check=False)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn(f"`kill {simulator.process.pid}`", done.stderr)
        self.assertEqual({path: path.read_bytes() for path in files}, files)
        self.assertEqual(simulator.stop(), 0)
        done = subprocess.run([*simulator.words, "--for", "1ms"], capture_output=True, text=True,
                              env=simulator.variables(), timeout=WAIT, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_faults_that_cannot_be(self):
        simulator = self.use()
        for fault, said in (("bxo001=dead", "did you mean"), ("box001=ded", "did you mean"),
                            ("box001=xid:9", "no GPU 9"), ("box001=xid:0", "from 1"), ("box001=xid:1:x", "from 1")):
            with self.subTest(fault=fault):
                done = subprocess.run([*simulator.words, "--dir", str(simulator.folder / "other"), "--for", "1ms",
                                       "--fault", fault], capture_output=True, text=True, env=simulator.variables(),
                                      timeout=WAIT, check=False)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(said, done.stderr)


if __name__ == "__main__":
    run_tests()
