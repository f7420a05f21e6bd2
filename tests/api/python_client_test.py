"""End-to-end tests of clients/python: the examples of its README as they are written, and what only a real server shows.
tests/python_client_test.py has the tests with a server of its own."""

import os
import pathlib
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import lab as lab_module
from lab import SLEEP_JOB, SOURCE, Lab, run_tests

CLIENT = SOURCE / "clients/python"
sys.dont_write_bytecode = True
sys.path.insert(0, str(CLIENT))
import weft  # noqa: E402  pylint: disable=wrong-import-position

ACCOUNT = "games" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
ACCESS = f"accounts: {{\"*\": {ACCOUNT}}}\nsecond_person: [node.drain]\n"
JOB = """job: 1
name: train
tenant: team-a
nodes: 1
command: [echo, the loss is 0.5]
"""


def wait_until(condition):
    """Returns what the condition returned at last."""
    while not (found := condition()):
        time.sleep(0.02)
    return found


class ClientCase(unittest.TestCase):
    lab = None

    @classmethod
    def setUpClass(cls):
        cls.lab = Lab(ACCESS, oidc=True)
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="weft_client_"))
        cls.folder.chmod(0o755)  # the job of another account begins there
        (cls.folder / "train.job.yaml").write_text(JOB, encoding="utf-8")
        shutil.copyfile(cls.lab.ca, cls.folder / "lab-ca.pem")

    @classmethod
    def tearDownClass(cls):
        if cls.lab is not None:
            cls.lab.close()
            shutil.rmtree(cls.folder, ignore_errors=True)

    def client(self, user="bob", **options):
        options.setdefault("ca", self.lab.ca)
        return weft.Client(self.lab.url, token=self.lab.issuer.token(user), **options)


class ApiPythonReadme(ClientCase):
    BLOCKS = re.findall(r"```python\n(.*?)```", (CLIENT / "README.md").read_text(encoding="utf-8"), re.S)

    def run_block(self, text, **environment):
        variables = {name: value for name, value in os.environ.items() if not name.startswith(("WEFT_", "XDG_"))}
        variables.update(HOME=str(self.lab.home), PYTHONPATH=str(CLIENT), PYTHONDONTWRITEBYTECODE="1", **environment)
        done = subprocess.run([sys.executable, "-c", text], cwd=self.folder, env=variables, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def login(self, user):
        """`weft login`, as a person does it."""
        self.lab.issuer.control("mode", interval=1)
        process = subprocess.Popen([lab_module.EXECUTABLE, "login", self.lab.url, "--ca", self.lab.ca], text=True,
                                   env={**os.environ, "HOME": str(self.lab.home)}, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        code, shown = None, ""
        while not code:
            line = process.stderr.readline()
            self.assertTrue(line, shown)
            shown, code = shown + line, re.match(r"\s+([A-Z]{4}-[A-Z]{4})$", line)
        self.assertTrue(self.lab.issuer.control("device", user_code=code.group(1), user=user)["found"])
        out, errors = process.communicate()
        self.assertEqual(process.returncode, 0, out + errors)

    def test_both_examples_are_tested(self):
        self.assertEqual(len(self.BLOCKS), 2)
        self.assertIn("from_context()", self.BLOCKS[0])
        self.assertIn('os.environ["WEFT_TOKEN"]', self.BLOCKS[1])

    def test_first_example(self):
        self.login("bob")
        lines = self.run_block(self.BLOCKS[0]).splitlines()
        self.assertRegex(lines[0], r"^would start at \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        number = int(re.match(r"job (\d+) (queued|starting|running|done)$", lines[1]).group(1))
        facts = self.lab.local("GET", f"/jobs/{number}").json["job"]
        self.assertEqual((facts["state"], facts["user"], facts["name"]), ("done", "bob", "train"))
        events = [re.match(rf"(\d+) job {number}: ", line) for line in lines[2:-1]]
        self.assertTrue(events and all(events), lines)
        numbers = [int(each.group(1)) for each in events]
        self.assertEqual(numbers, sorted(set(numbers)))
        self.assertRegex(lines[2], r"^\d+ job \d+: submitted by bob as train$")
        self.assertEqual(lines[-1], "the loss is 0.5")

    def test_second_example(self):
        text = self.BLOCKS[1]
        self.assertEqual(text.count("https://weft.example.org:8443"), 1)
        created, _ = self.lab.weft("token", "create", "ci", "--role", "viewer", "--socket", self.lab.socket)
        out = self.run_block(text.replace("https://weft.example.org:8443", self.lab.url), WEFT_TOKEN=created.strip())
        nodes = self.lab.local("GET", "/nodes").json["nodes"]
        self.assertEqual(out.splitlines(), [f"{node['node']} {node['state']}" for node in nodes])
        self.assertEqual(len(nodes), 5)


class ApiPythonClient(ClientCase):
    def test_submission_across_a_restart_yields_one_job(self):
        client, done = self.client(retries=1000), []
        before = {job["job"] for job in client.jobs(all=True)}
        for stop in (signal.SIGTERM, signal.SIGKILL):
            self.lab.stop(stop)
            key = f"restart-{stop}"
            thread = threading.Thread(target=lambda: done.append(client.submit(
                text=SLEEP_JOB.format(name="once", tenant="team-a", nodes=1), directory="/tmp", key=key)))
            thread.start()
            self.lab.start()
            thread.join()
            self.assertGreater(done[-1].job, 0)
            # The journal keeps the key, also over another restart.
            self.lab.stop(stop)
            self.lab.start()
            again = client.submit(text=SLEEP_JOB.format(name="once", tenant="team-a", nodes=1), directory="/tmp", key=key)
            self.assertEqual(again.job, done[-1].job)
        after = {job["job"] for job in client.jobs(all=True)}
        self.assertEqual(after - before, {answer.job for answer in done})
        self.assertEqual(len(after - before), 2)
        for answer in done:
            client.cancel(answer.job)

    def test_events_continue_over_restarts(self):
        client, seen = self.client("olga"), []
        start = client.server()["sequence"]

        def follow():
            for event in client.events(since=start):
                seen.append(event)
                if event.data.get("text", "").endswith(" as the-last"):
                    return
        thread = threading.Thread(target=follow)
        thread.start()
        for round_, stop in enumerate((signal.SIGTERM, signal.SIGKILL, None)):
            jobs = [self.lab.submit(f"r{round_}-{each}") for each in range(3)]
            for job in jobs:
                self.lab.local("POST", f"/jobs/{job}/cancel", {"reason": "x"})
            if stop is not None:
                self.lab.stop(stop)
                self.lab.start()
        self.lab.submit("the-last")
        thread.join()
        numbers = [event.id for event in seen]
        self.assertEqual(numbers, list(range(start + 1, numbers[-1] + 1)))
        self.assertTrue(all(event.data["sequence"] == event.id for event in seen))

    def test_wait_follows_a_job_to_its_end(self):
        client = self.client()
        job = client.submit(text=JOB, directory="/tmp")
        self.assertEqual(job.message, "submitted")
        self.assertEqual(client.wait(job.job)["state"], "done")
        self.assertEqual(client.logs(job.job), "the loss is 0.5\n")
        sleeping = client.submit(text=SLEEP_JOB.format(name="s", tenant="team-a", nodes=1), directory="/tmp").job
        timer = threading.Timer(0.3, client.cancel, (sleeping,))
        timer.start()
        self.assertEqual(client.wait(sleeping)["state"], "canceled")

    def test_errors_say_where(self):
        client = self.client()
        text = JOB.replace("nodes: 1", "nodes: many").replace("command:", "comand:")
        with self.assertRaises(weft.WeftError) as caught:
            client.submit(text=text, name="train.job.yaml", directory="/tmp")
        self.assertEqual(caught.exception.status, 422)
        places = {place.line: place for place in caught.exception.places}
        for line, column, word in ((4, 8, "nodes"), (5, 1, "comand")):
            self.assertEqual((places[line].source, places[line].column), ("train.job.yaml", column), word)
        self.assertIn("train.job.yaml:4:8: ", str(caught.exception))
        operator = self.client("ada")
        for call, status, where in (
                (lambda: operator.request("POST", "/nodes/train001/drain", body={}), 400, ("pointer", "/reason")),
                (lambda: operator.request("GET", "/nodes", query={"sort": "absent"}), 400, ("parameter", "sort")),
                (lambda: operator.request("GET", "/nodes", query={"bogus": "1"}), 400, ("parameter", "bogus")),
                (lambda: operator.request("POST", "/session/logout", body={}, idempotency_key="k"), 400,
                 ("header", "Idempotency-Key"))):
            with self.assertRaises(weft.WeftError) as caught:
                call()
            self.assertEqual(caught.exception.status, status)
            self.assertEqual([getattr(place, where[0]) for place in caught.exception.places], [where[1]])
            self.assertRegex(caught.exception.request_id, "^[0-9a-f]+-[0-9]+$")
        with self.assertRaises(weft.WeftError) as caught:
            client.job(4711)
        self.assertEqual((caught.exception.status, caught.exception.detail), (404, "there is no job 4711"))

    def test_precondition(self):
        client = self.client("ada")
        with self.assertRaises(weft.WeftError) as caught:
            client.request("POST", "/nodes/train002/resume", body={"reason": "x"}, if_match='"another"')
        self.assertEqual(caught.exception.status, 412)

    def test_change_that_needs_a_second_person(self):
        ada, olga = self.client("ada"), self.client("olga")
        answer = ada.drain("train003", "fans")
        self.assertTrue(answer.approval)
        self.assertIn("second person", answer.message)
        row = next(row for row in olga.approvals() if row["approval"] == answer.approval)
        self.assertEqual((row["user"], row["operation"], row["reason"]), ("ada", "node.drain", "fans"))
        with self.assertRaises(weft.WeftError) as caught:
            ada.approve(answer.approval)
        self.assertEqual(caught.exception.status, 403)
        self.assertIsNone(olga.approve(answer.approval, "agreed").approval)
        self.assertEqual(olga.node("train003")["drained_by"], "ada")
        self.assertIsNone(ada.resume("train003", "fixed").approval)
        second = ada.drain("train003", "fans")
        ada.reject(second.approval)
        self.assertNotIn(second.approval, [row["approval"] for row in ada.approvals()])

    def test_lists_are_read_page_after_page(self):
        client = self.client("olga")
        names = [node["node"] for node in client.nodes()]
        self.assertEqual([node["node"] for node in client.nodes(limit=2)], names)
        self.assertEqual([node["node"] for node in client.nodes(limit=2, sort="-node")], names[::-1])
        self.assertEqual([node["node"] for node in client.nodes(node="train004")], ["train004"])

    def test_server_is_proven_before_a_token_is_sent(self):
        shown = subprocess.run(["openssl", "x509", "-in", self.lab.ca, "-noout", "-fingerprint", "-sha256"], check=True,
                               capture_output=True, text=True).stdout.split("=")[1].strip()
        self.assertEqual(self.client(ca="", fingerprint=shown).session()["user"], "bob")
        wrong = ("0" if shown[0] != "0" else "1") + shown[1:]
        for options in ({"ca": "", "fingerprint": wrong}, {"ca": ""}, {"ca": self.lab.issuer.ca}):
            with self.assertRaises(weft.ServerUnavailable) as caught:
                self.client(**options).session()
            self.assertTrue(caught.exception.untrusted, options)
        with self.assertRaises(weft.NotSignedIn):
            weft.Client(self.lab.url, token="weft_t_wrong", ca=self.lab.ca).session()

    def test_socket(self):
        client = weft.Client(socket=self.lab.socket)
        self.assertEqual(client.session()["user"], pwd.getpwuid(os.geteuid()).pw_name)


if __name__ == "__main__":
    run_tests()
