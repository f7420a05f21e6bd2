#!/usr/bin/python3
"""Three servers with one journal in a real etcd of three members: the leader is killed, stopped and cut off; members are
lost; the quota is exhausted. Acknowledged jobs are all there, no attempt is started twice, and another server leads
within 15 s.
Usage: takeover_test.py EXECUTABLE [PATTERN...]; WEFT_TAKEOVERS is the number of takeovers (3).
"""

import os
import signal
import threading
import time
import unittest

from group import Etcd, Group, encode, needs_program, run_tests, wait_until

TAKEOVERS = int(os.environ.get("WEFT_TAKEOVERS", "3"))
TAKEOVER_S = 15


class Submitter:
    """Submits jobs to the server that takes them, each with its own key and again until it is acknowledged."""

    def __init__(self, group):
        self.group, self.stopped, self.count = group, False, 0
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.stopped:
            key = f"t{self.count}"
            self.count += 1
            turn = 0
            while not self.stopped and key not in self.group.acknowledged:
                server = self.group.servers[turn % len(self.group.servers)]
                turn += 1
                try:
                    self.group.submit(server, key)
                except AssertionError:
                    self.stopped = True
                    raise
                time.sleep(0.05)
            time.sleep(0.2)

    def stop(self):
        self.stopped = True
        self.thread.join()


class HaTakeover(unittest.TestCase):
    def setUp(self):
        needs_program("etcd")
        self.etcd = self.group = None

    def tearDown(self):
        if self.group:
            self.group.close()
        if self.etcd:
            self.etcd.close()

    def begin(self, **options):
        self.etcd = Etcd(3, options.pop("etcd", ()))
        self.etcd.wait()
        self.group = Group(self.etcd, **options)
        return self.group.leader()

    def record(self, times):
        print(f"takeovers in s: {' '.join(f'{each:.1f}' for each in sorted(times))}")
        self.assertLess(max(times), TAKEOVER_S)

    def test_kill_stop_and_cut_off_the_leader(self):
        leader = self.begin(proxied=True)
        submitter = Submitter(self.group)
        times = []
        for round_number in range(TAKEOVERS):
            enough = len(self.group.acknowledged) + 2
            wait_until(lambda wanted=enough: len(self.group.acknowledged) >= wanted, "jobs are accepted")
            began = time.monotonic()
            way = ("kill", "stop", "cut")[round_number % 3]
            if way == "kill":
                leader.kill()
            elif way == "stop":
                leader.process.send_signal(signal.SIGSTOP)
            else:
                leader.cut(True)
            following = self.group.leader_besides(leader)
            times.append(time.monotonic() - began)
            if way == "kill":
                leader.start()
            elif way == "stop":
                leader.process.send_signal(signal.SIGCONT)
                wait_until(lambda old=leader: old.health().startswith("ok: follower"), "the stopped server follows")
            else:
                self.assertFalse(leader.leads())
                leader.cut(False)
                wait_until(lambda old=leader: old.health().startswith("ok: follower"), "the cut off server follows")
            leader = following
        submitter.stop()
        self.record(times)
        self.assertGreater(len(self.group.acknowledged), TAKEOVERS)
        self.group.check_all_done()

    def test_members(self):
        leader = self.begin()
        self.assertIsNotNone(self.group.submit(leader))
        follower = next(server for server in self.group.servers if server is not leader)
        # What a follower says.
        wait_until(lambda: follower.http("GET", "/api/v1/jobs?all=1").json["jobs"], "the follower has the job")
        answer = follower.http("GET", "/api/v1/server")
        self.assertEqual((answer.headers["weft-role"], answer.json["server"]["leader"]), ("follower", leader.name))
        self.assertRegex(answer.headers["weft-stale"], r"^\d+\.\d s$")
        refused = follower.http("POST", "/api/v1/jobs/1/cancel", {})
        self.assertEqual((refused.status, refused.headers["weft-leader"]), (421, leader.name))
        # One member lost: nothing happens.
        self.etcd.members[0].kill()
        for _ in range(3):
            wait_until(lambda: self.group.submit(leader), "a job is accepted")
        self.assertTrue(leader.leads())
        # Two lost: no server acts, and each says why.
        self.etcd.members[1].kill()
        wait_until(lambda: all(not server.leads() and server.http("GET", "/healthz").status == 503
                               for server in self.group.servers), "no server leads")
        self.assertTrue(all(self.group.submit(server) is None for server in self.group.servers))
        self.assertIn("etcd", leader.health())
        self.etcd.members[0].start()
        wait_until(lambda: self.group.submit(self.group.leader()), "a job is accepted again")
        self.group.check_all_done()

    def test_quota(self):
        leader = self.begin(etcd=["--quota-backend-bytes", str(8 << 20)])
        self.assertIsNotNone(self.group.submit(leader))
        filler = {"key": encode("filler"), "value": encode("x" * 400_000)}
        for _ in range(100):
            try:
                self.etcd.call("/v3/kv/put", filler)
            except OSError:
                break
        wait_until(lambda: self.group.submit(leader) is None and "quota" in leader.health(), "/healthz says why")
        self.assertEqual(leader.http("GET", "/healthz").status, 503)
        self.assertEqual(self.group.submit(leader), None)
        before = len(list(self.group.starts.iterdir()))
        revision = self.etcd.call("/v3/kv/range", {"key": encode("filler")})["header"]["revision"]
        self.etcd.call("/v3/kv/compaction", {"revision": revision, "physical": True})
        for member in self.etcd.members:
            self.etcd.call("/v3/maintenance/defragment", {}, member, timeout=30)
        for alarm in self.etcd.call("/v3/maintenance/alarm", {"action": "GET"}).get("alarms", []):
            self.etcd.call("/v3/maintenance/alarm", dict(alarm, action="DEACTIVATE"))
        wait_until(lambda: self.group.submit(self.group.leader()), "a job is accepted again")
        self.group.check_all_done()
        self.assertGreater(len(list(self.group.starts.iterdir())), before)


if __name__ == "__main__":
    run_tests()
