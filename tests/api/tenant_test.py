"""End-to-end tests of tenants: limits that hold for submissions at the same time, and nothing of another tenant in any answer:
names, numbers, texts, events, or the time that an answer takes."""

import bisect
import collections
import concurrent.futures
import http.client
import json
import os
import pwd
import random
import re
import time
import unittest

from lab import API, Lab, operations, run_tests

# 24 GPUs are lent among the two tenants; the cluster has 40.
CLUSTER = """weft: 1
name: bench4
pools:
  - {name: train, role: training, server: hgx-h100, count: 5, per_rack: 1}
tenants:
  - {name: team-a, quota: {gpus: 8}}
  - {name: team-b, quota: {gpus: 16}}
"""
JOB = """job: 1
name: {name}
nodes: {nodes}
gpus_per_node: {gpus}
command: [sleep, "{seconds}"]
"""
ACCOUNT = "games" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
ACCESS = f"accounts: {{\"*\": {ACCOUNT}}}\n"


def wait_until(condition):
    """Returns what the condition returned at last."""
    while not (found := condition()):
        time.sleep(0.02)
    return found


def read_events(lab, token, since=0):
    """Every event up to now."""
    end, number, data, found = int(lab.local("GET", "/server").headers["weft-sequence"]), since, None, []
    connection = lab.connect()
    connection.request("GET", f"{API}/events?since={since}", headers={"Authorization": f"Bearer {token}"})
    stream = connection.getresponse()
    while number < end:
        line = stream.readline().decode().rstrip("\n")
        number = int(line[4:]) if line.startswith("id: ") else number
        data = line[6:] if line.startswith("data: ") else data
        if not line and data:
            found.append(json.loads(data))
            data = None
        if line.startswith(": heartbeat"):  # nothing more that this reader may see
            break
    if number >= end:  # the rest of the last one
        while line := stream.readline().decode().rstrip("\n"):
            data = line[6:] if line.startswith("data: ") else data
        found.append(json.loads(data))
    connection.close()
    return found


class TenantCase(unittest.TestCase):
    lab, cluster, access = None, CLUSTER, ACCESS

    @classmethod
    def setUpClass(cls):
        cls.lab = Lab(cls.access, cluster=cls.cluster)
        cls.viewer, cls.operator = cls.lab.token("vera", ["viewers"]), cls.lab.token("ada", ["operators"])

    @classmethod
    def tearDownClass(cls):
        if cls.lab is not None:
            cls.lab.close()

    def submit(self, token, tenant, **job):
        job = {"name": "job", "nodes": 1, "gpus": 8, "seconds": "100000", **job}
        return self.lab.http("POST", "/jobs", {"text": JOB.format(**job), "name": "j", "tenant": tenant}, token=token)

    def jobs(self):
        return self.lab.http("GET", "/jobs?all=1&limit=1000", token=self.viewer).json["jobs"]


class ApiTenantLimits(TenantCase):
    def occupancy(self, owners):
        """(GPUs of each tenant) after each record of the journal that places or ends an attempt, and of each node."""
        used, held = collections.Counter(), {}
        for event in read_events(self.lab, self.viewer):
            job = event.get("job")
            if event["kind"] == "attempt_placed":
                nodes = re.search(r" placed on (\S+)", event["text"]).group(1)
                self.assertRegex(nodes, r"^train00\d$")
                held[job] = nodes
                used[owners[job][0]] += owners[job][1]
            elif event["kind"] in ("attempt_ended", "attempt_unplaced"):
                used[owners[job][0]] -= owners[job][1]
                del held[job]
            else:
                continue
            by_node = collections.Counter()
            for other, node in held.items():
                by_node[node] += owners[other][1]
            yield dict(used), dict(by_node)

    def test_concurrent_submissions_never_exceed_what_the_tenants_have(self):
        lab, owners = self.lab, {}
        tokens = {name: lab.token(name, [f"team-{name[0]}"]) for name in ("a1", "a2", "b1", "b2")}
        draw = random.Random(19)
        wanted = [(name, draw.choice([1, 2, 4, 8]), draw.choice(["0", "0.1", "0.3"])) for name in tokens for _ in range(15)]
        draw.shuffle(wanted)

        def send(wish):
            name, gpus, seconds = wish
            response = self.submit(tokens[name], f"team-{name[0]}", gpus=gpus, seconds=seconds)
            self.assertEqual(response.status, 201, response)
            owners[response.json["answer"]["job"]] = (f"team-{name[0]}", gpus)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(send, wanted))
        wait_until(lambda: all(job["state"] in ("done", "failed", "canceled") for job in self.jobs()))
        self.assertEqual({job["state"] for job in self.jobs()}, {"done"})
        self.assertEqual(len(owners), len(wanted))
        most = collections.Counter()
        for tenants, nodes in self.occupancy(owners):
            self.assertLessEqual(sum(tenants.values()), 24)
            self.assertTrue(all(gpus <= 8 for gpus in nodes.values()), nodes)
            for tenant, gpus in tenants.items():
                most[tenant] = max(most[tenant], gpus)
        # Positive control: the limit was reached, and lending was used; without limits there was room for 40.
        self.assertGreater(sum(most.values()), 24)

    def test_demand_of_both_gets_what_each_has(self):
        """What was borrowed is given back: then each tenant has exactly its quota."""
        tokens = {name: self.lab.token(name, [f"team-{name[0]}"]) for name in ("a1", "b1")}
        owners = {}

        def send(name):
            number = self.submit(tokens[name], f"team-{name[0]}").json["answer"]["job"]
            owners[number] = (f"team-{name[0]}", 8)

        def running():
            return collections.Counter(job["tenant"] for job in self.jobs() if job["state"] == "running")
        for _ in range(4):
            send("a1")
        wait_until(lambda: running() == {"team-a": 3})  # 24 GPUs, of which 16 are borrowed
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(send, ["b1"] * 4))
        wait_until(lambda: running() == {"team-a": 1, "team-b": 2})
        for job in self.jobs():
            self.lab.local("POST", f"/jobs/{job['job']}/cancel", {})
        for job in self.jobs():
            owners.setdefault(job["job"], (job["tenant"], 0))
        for tenants, _ in self.occupancy(owners):
            self.assertLessEqual(sum(tenants.values()), 24)

    def test_job_larger_than_all_quotas_does_not_start(self):
        token = self.lab.token("a1", ["team-a"])
        response = self.submit(token, "team-a", nodes=4)
        if response.status == 201:
            number = response.json["answer"]["job"]
            sequence = lambda: int(self.lab.local("GET", "/server").headers["weft-sequence"])
            small = self.submit(token, "team-a", seconds="0").json["answer"]["job"]  # starts although it is later
            wait_until(lambda: self.lab.local("GET", f"/jobs/{small}").json["job"]["state"] == "done")
            self.assertIn(self.lab.local("GET", f"/jobs/{number}").json["job"]["state"], ("queued", "held", "failed"))
            self.assertGreater(sequence(), 0)
            self.lab.local("POST", f"/jobs/{number}/cancel", {})
        else:
            self.assertEqual(response.status, 422)


class ApiTenantIsolation(TenantCase):
    """team-b runs, waits and has ended jobs; users of team-a look for them. Everything that team-b chose has a canary."""
    cluster = CLUSTER.replace(", quota: {gpus: 8}", "").replace(", quota: {gpus: 16}", "")
    CANARY = "zq7canary"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        lab = cls.lab
        cls.owner = lab.token(f"{cls.CANARY}-user", ["team-b"])
        cls.bob, cls.lena = lab.token("bob", ["team-a"]), lab.token("lena", ["leads-a"])
        submit = lambda **job: cls.submit(cls, cls.owner, "team-b", name=f"{cls.CANARY}-job", **job)
        state = lambda number: lab.local("GET", f"/jobs/{number}").json["job"]["state"]
        for _ in range(9):  # then all numbers have two digits
            submit(seconds="0")
        cls.ended = submit(seconds="0").json["answer"]["job"]
        wait_until(lambda: state(cls.ended) == "done")
        cls.running = submit(nodes=5).json["answer"]["job"]
        wait_until(lambda: state(cls.running) == "running")
        cls.waiting = submit(nodes=5).json["answer"]["job"]
        cls.held = submit(nodes=5).json["answer"]["job"]
        body = {"reason": f"{cls.CANARY}-reason"}
        assert lab.http("POST", f"/jobs/{cls.held}/hold", body, token=cls.owner).status == 200
        cls.own = cls.submit(cls, cls.bob, "team-a", name="mine").json["answer"]["job"]
        cls.absent = 90
        cls.foreign = [cls.ended, cls.running, cls.waiting, cls.held]
        wait_until(lambda: state(cls.held) == "held")

    def alike(self, response):
        """An answer without what differs between any two requests."""
        headers = {name: value for name, value in response.headers.items() if name not in ("date", "x-request-id")}
        return response.status, headers, re.sub(r'"request_id": ?"[^"]*"', "", response.text)

    def test_foreign_and_absent_jobs_are_answered_alike(self):
        requests = [(method, template, operation) for _, method, template, operation in operations(self.lab.openapi())
                    if "{job}" in template]
        self.assertGreaterEqual(len(requests), 7)
        count = len(self.lab.audit())
        for token in (self.bob, self.lena):
            for method, template, _ in requests:
                path = template if template.startswith(API) else API + template
                body = {"reason": "x"} if method == "POST" else None
                answers = {}
                for number in [*self.foreign, self.absent]:
                    response = self.lab.http(method, path.replace("{job}", str(number)), body, token=token,
                                             X_Request_Id="the-same")
                    status, headers, text = self.alike(response)
                    answers[number] = status, headers, re.sub(rf"\b{number}\b", "N", text)
                    self.assertEqual(status, 404, (method, path, response))
                for number in self.foreign:
                    self.assertEqual(answers[number], answers[self.absent], (method, path))
                own = self.lab.http(method, path.replace("{job}", str(self.own)), {"reason": "x"} if body else None,
                                    token=token)
                # Positive control; logs: there are none yet, which says something else.
                self.assertNotEqual(re.sub(rf"\b{self.own}\b", "N", self.alike(own)[2]), answers[self.absent][2])
                if template.endswith("/cancel"):
                    type(self).own = self.submit(self.bob, "team-a", name="mine").json["answer"]["job"]
        # A foreign object is not touched, and the audit log has no entry of an attempt that changed nothing.
        for entry in self.lab.audit()[:-count]:
            self.assertNotIn(entry["object"], [str(number) for number in (*self.foreign, self.absent)])
        self.assertEqual([self.lab.local("GET", f"/jobs/{n}").json["job"]["state"] for n in self.foreign],
                         ["done", "running", "queued", "held"])

    def test_no_answer_has_anything_of_another_tenant(self):
        """Every request that reads, with every list option, and the stream."""
        seen = 0
        for user in (self.bob, self.lena):
            for name, method, template, _ in operations(self.lab.openapi()):
                if method != "GET" or name == "event.follow" or name.startswith("login."):
                    continue
                path = template if template.startswith("/") else "/" + template
                for number in [self.own, *self.foreign]:
                    target = (path.replace("{job}", str(number)).replace("{node}", "train001"))
                    for query in ("", "?output=wide", "?all=1&limit=1000&sort=-job", "?limit=1", "?output=csv"):
                        response = self.lab.http(method, target + query, token=user)
                        content = response.text + json.dumps(response.headers)
                        if "{tenant" not in target:
                            self.assertNotIn(self.CANARY, content, target + query)
                        seen += response.status == 200
                    if "{job}" not in path:
                        break
        self.assertGreater(seen, 30)
        for token in (self.bob, self.lena):
            text = json.dumps(read_events_until(self.lab, token, self.bob, self))
            self.assertIn("mine", text)
            self.assertNotIn(self.CANARY, text)
            for number in self.foreign:
                self.assertNotIn(f'"job": {number},', text)
        # Positive control: a viewer finds it.
        self.assertIn(self.CANARY, self.lab.http("GET", "/jobs", token=self.viewer).text)
        self.assertIn(self.CANARY, json.dumps(read_events(self.lab, self.viewer)))

    def test_filters_and_sorting_reveal_nothing(self):
        """A filter by a foreign name finds what a filter by no one's name finds."""
        for column, there, absent in (("user", f"{self.CANARY}-user", "zq7absent-user"),
                                      ("name", f"{self.CANARY}-job", "zq7absent-job"), ("tenant", "team-b", "team-x")):
            answers = [self.alike(self.lab.http("GET", f"/jobs?all=1&{column}={value}", token=self.bob))
                       for value in (there, absent)]
            self.assertEqual(answers[0], answers[1], column)
            if answers[0][0] == 200:
                self.assertEqual(json.loads(answers[0][2])["jobs"], [])

    def test_why_speaks_of_a_job_of_another_tenant(self):
        wait_until(lambda: self.lab.local("GET", f"/jobs/{self.own}").json["job"]["state"] == "queued")
        response = self.lab.http("GET", f"/jobs/{self.own}/why", token=self.bob)
        self.assertEqual(response.status, 200)
        self.assertIn("another tenant", response.text)
        self.assertNotIn(self.CANARY, response.text)
        self.assertNotIn("team-b", response.text)
        everything = self.lab.http("GET", f"/jobs/{self.own}/why", token=self.viewer).text
        self.assertIn(self.CANARY, everything, "positive control")

    def test_cluster_has_totals_only(self):
        """Of other tenants: how much is in use, not by whom."""
        queue = self.lab.http("GET", "/queue?limit=1000", token=self.bob).text
        self.assertNotIn("team-b", queue)
        nodes = self.lab.http("GET", "/nodes", token=self.bob).json["nodes"]
        self.assertEqual({node["used_gpus"] for node in nodes}, {0}, "by jobs that bob sees")
        for node in nodes:
            self.assertNotIn(str(self.running), str(node["jobs"] or ""))
        nodes = self.lab.http("GET", "/nodes", token=self.viewer).json["nodes"]
        self.assertEqual({(node["used_gpus"], str(node["jobs"])) for node in nodes}, {(8, str(self.running))})

    def test_submitting_to_another_tenant_is_like_submitting_to_none(self):
        answers = []
        for tenant in ("team-b", "team-x"):
            for body in ({"text": JOB.format(name="j", nodes=1, gpus=8, seconds=1), "tenant": tenant},
                         {"text": JOB.format(name="j", nodes=1, gpus=8, seconds=1) + f"tenant: {tenant}\n"}):
                for path in ("/jobs", "/jobs/check"):
                    response = self.lab.http("POST", path, {"name": "j", **body}, token=self.bob)
                    self.assertIn(response.status, (400, 403, 404, 422), (tenant, path, response))
                    answers.append(re.sub(r'"request_id": ?"[^"]*"', "", response.text).replace(tenant, "T"))
        half = len(answers) // 2
        self.assertEqual(answers[:half], answers[half:])

    def test_idempotency_keys_belong_to_their_user(self):
        """A key that somebody else used is a new key: neither their job nor its existence shows."""
        text = {"text": JOB.format(name="keyed", nodes=1, gpus=8, seconds=100000), "name": "j"}
        first = self.lab.http("POST", "/jobs", {**text, "tenant": "team-b"}, token=self.owner, Idempotency_Key="shared")
        second = self.lab.http("POST", "/jobs", {**text, "tenant": "team-a"}, token=self.bob, Idempotency_Key="shared")
        self.assertEqual((first.status, second.status), (201, 201))
        self.assertNotEqual(first.json["answer"]["job"], second.json["answer"]["job"])
        again = self.lab.http("POST", "/jobs", {**text, "tenant": "team-a"}, token=self.bob, Idempotency_Key="shared")
        self.assertEqual(again.json["answer"]["job"], second.json["answer"]["job"])
        for number in (first, second):
            self.lab.local("POST", f"/jobs/{number.json['answer']['job']}/cancel", {})

    def test_time_does_not_tell_foreign_from_absent_jobs(self):
        """By rank, over one connection: see compare_times(). A difference would be there in all five attempts. bench/tenant_timing_http.py has a positive control, and a
        count of the work that does not depend on the machine is in src/serve/api/leak_timing_test.cc."""
        for path in ("/jobs/{}", "/jobs/{}/why", "/jobs/{}/logs"):
            for number in (self.running, self.waiting, self.ended):
                shares = []
                while not shares or (abs(shares[-1] - 0.5) >= TOLERANCE and len(shares) < 5):
                    shares.append(compare_times(self.lab, self.bob, path, number, self.absent, pairs=300))
                self.assertLess(abs(shares[-1] - 0.5), TOLERANCE, (path, number, shares))

    def test_measure_of_times_notices_a_difference(self):
        """The measure itself, with drawn times: equal ones, and such that differ by 20 %."""
        draw = random.Random(7)
        times = lambda factor: [factor * draw.lognormvariate(0, 0.15) for _ in range(400)]
        self.assertLess(abs(share_greater(times(1), times(1)) - 0.5), TOLERANCE)
        self.assertGreater(share_greater(times(1.2), times(1)) - 0.5, TOLERANCE)
        self.assertLess(share_greater(times(1), times(1.2)) - 0.5, -TOLERANCE)


def read_events_until(lab, token, writer, case):
    """Every event that a user sees, up to one of a job that is submitted now: a stream of its own shows that one last."""
    number = case.submit(writer, "team-a", name="mine-last").json["answer"]["job"]
    connection = lab.connect()
    connection.request("GET", f"{API}/events?since=0", headers={"Authorization": f"Bearer {token}"})
    stream, found = connection.getresponse(), []
    while not found or found[-1].get("job") != number:
        line = stream.readline().decode()
        if line.startswith("data: "):
            found.append(json.loads(line[6:]))
    connection.close()
    lab.local("POST", f"/jobs/{number}/cancel", {})
    return found


TOLERANCE = 0.15


def share_greater(one, other):
    """The probability that a value of `one` is greater than one of `other` (Mann-Whitney), ties counted as half."""
    other, total = sorted(other), 0.0
    for value in one:
        low, high = bisect.bisect_left(other, value), bisect.bisect_right(other, value)
        total += low + 0.5 * (high - low)
    return total / (len(one) * len(other))


def compare_times(lab, token, path, one, other, pairs):
    """share_greater() of the times of requests for two objects, interleaved in random order over one connection. Of equal
    ones it is 0.5, with a standard deviation of 0.024 for 300 pairs."""
    connection = http.client.HTTPSConnection("127.0.0.1", lab.port, timeout=120, context=lab.tls())
    headers, draw = {"Authorization": f"Bearer {token}"}, random.Random()

    def measure(number):
        begun = time.perf_counter()
        connection.request("GET", API + path.format(number), headers=headers)
        connection.getresponse().read()
        return time.perf_counter() - begun
    times = {one: [], other: []}
    for _ in range(pairs):
        for number in draw.sample([one, other], 2):
            times[number].append(measure(number))
    connection.close()
    return share_greater(times[one], times[other])


if __name__ == "__main__":
    run_tests()
