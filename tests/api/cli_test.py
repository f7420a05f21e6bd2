"""End-to-end tests of weft as a client of its own API: signing in, every command with a token and with a stored
context, and out-of-band operations through a server.
"""

import hashlib
import json
import os
import pathlib
import pty
import pwd
import re
import signal
import ssl
import subprocess
import tempfile
import threading
import time
import unittest

import lab as lab_module
from lab import Issuer, Lab, SOURCE, run_tests

# A token of the right form that no server has made.
WRONG_TOKEN = "weft_t_aaaaaaaaaaaa_" + "A" * 43


def wait_until(condition):
    """Returns what the condition returned at last."""
    while not (found := condition()):
        time.sleep(0.02)
    return found


def fingerprint(lab):
    der = ssl.PEM_cert_to_DER_cert(pathlib.Path(lab.ca).read_text(encoding="ascii"))
    return "sha256:" + hashlib.sha256(der).hexdigest()


def contexts(lab):
    """(current context, context -> row)"""
    rows = json.loads(lab.weft("context", "list", "-o", "json")[0])["contexts"]
    return [row["context"] for row in rows if row["current"]], {row["context"]: row for row in rows}


def sign_in(lab, name, token, *words, code=0):
    trust = words or ("--ca", lab.ca)
    return lab.weft("login", lab.url, "--context", name, *trust, "--token-stdin", input=token + "\n", code=code)


def subcommands(lab, group):
    """The commands of a group, as its help lists them."""
    text = lab.weft(group, "--help")[0] if group in ("whoami", "queue", "status") else lab.weft("help", group)[0]
    return set(re.findall(rf"^  ({group} [a-z-]+)\b", text, re.MULTILINE))


class ApiCliLogin(unittest.TestCase):
    lab = None

    @classmethod
    def setUpClass(cls):
        cls.lab = Lab(oidc=True)
        cls.token = cls.lab.token("ada", ["operators"])

    @classmethod
    def tearDownClass(cls):
        if cls.lab is not None:
            cls.lab.close()

    def test_failed_login_keeps_the_current_context(self):
        sign_in(self.lab, "good", self.token)
        out, err = sign_in(self.lab, "broken", WRONG_TOKEN, code=4)
        self.assertEqual(out, "")
        self.assertIn("does not accept this token", err)
        current, all_contexts = contexts(self.lab)
        self.assertEqual(current, ["good"])
        self.assertNotIn("broken", all_contexts)
        self.assertIn("ada", self.lab.weft("whoami")[0])

    def test_first_login_that_fails_leaves_no_context(self):
        with tempfile.TemporaryDirectory() as home:
            fresh = {"HOME": home}
            self.lab.weft("login", self.lab.url, "--ca", self.lab.ca, "--token-stdin", input=WRONG_TOKEN + "\n",
                          environment=fresh, code=4)
            listed = json.loads(self.lab.weft("context", "list", "-o", "json", environment=fresh)[0])
            self.assertEqual(listed["contexts"], [])

    def test_failed_login_keeps_the_pinned_certificate(self):
        pin = fingerprint(self.lab)
        sign_in(self.lab, "pinned", self.token, "--fingerprint", pin)
        sign_in(self.lab, "pinned", WRONG_TOKEN, "--ca", self.lab.ca, code=4)
        shown = json.loads(self.lab.weft("context", "show", "pinned", "-o", "json")[0])["context"]
        self.assertEqual((shown["fingerprint"], shown["ca"]), (pin, None))
        self.assertIn("ada", self.lab.weft("whoami", "--context", "pinned")[0])
        # A login that succeeds with another kind of trust replaces it.
        sign_in(self.lab, "pinned", self.token, "--ca", self.lab.ca)
        shown = json.loads(self.lab.weft("context", "show", "pinned", "-o", "json")[0])["context"]
        self.assertEqual((shown["fingerprint"], shown["ca"]), (None, self.lab.ca))

    def device_login(self, name):
        """A `weft login` that waits, and the code that it shows."""
        variables = {**os.environ, "HOME": str(self.lab.home)}
        words = [lab_module.EXECUTABLE, "login", self.lab.url, "--ca", self.lab.ca, "--context", name]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=variables)
        shown = ""
        while not (found := re.search(r"code\n  (\S+)\nWaiting", shown)):
            line = process.stderr.readline()
            self.assertNotEqual(line, "", shown)
            shown += line
        return process, found.group(1)

    def test_canceled_device_login_keeps_the_current_context(self):
        sign_in(self.lab, "before", self.token)
        process, _ = self.device_login("canceled")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.communicate()[0], "")
        self.assertNotEqual(process.returncode, 0)
        current, all_contexts = contexts(self.lab)
        self.assertEqual(current, ["before"])
        self.assertNotIn("canceled", all_contexts)

    def test_device_login_becomes_the_current_context(self):
        process, code = self.device_login("device")
        self.assertNotIn("device", contexts(self.lab)[1])
        self.assertTrue(self.lab.issuer.control("device", user_code=code, user="ada")["found"])
        self.assertIn("signed in to device", process.communicate()[0])
        self.assertEqual(process.returncode, 0)
        current, all_contexts = contexts(self.lab)
        self.assertEqual(current, ["device"])
        self.assertEqual(all_contexts["device"]["user"], "ada")
        self.assertIn("ada", self.lab.weft("whoami")[0])


class ApiCliCommands(unittest.TestCase):
    """Every command that talks to the server: with a URL, a token and a CA of the environment, and with a context."""
    lab = None

    @classmethod
    def setUpClass(cls):
        account = "nobody" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
        cls.lab = Lab(f"accounts: {{\"*\": {account}}}\nsecond_person: [node.confirm-off]\n")
        cls.admin = cls.lab.token("anna", ["admins"])
        sign_in(cls.lab, "stored", cls.admin)
        text = "job: 1\nname: done\ntenant: team-a\nnodes: 1\ncommand: [echo, hello]\n"
        (cls.lab.folder / "done.yaml").write_text(text, encoding="utf-8")
        cls.ways = {"token": (("--server", cls.lab.url), {"WEFT_TOKEN": cls.admin, "WEFT_CA": cls.lab.ca}),
                    "context": ((), {}), "named": (("--context", "stored"), {})}

    @classmethod
    def tearDownClass(cls):
        if cls.lab is not None:
            cls.lab.close()

    def run_all_ways(self, check):
        """Calls `check` with a function that runs weft, for each way to name the server."""
        for name, (words, environment) in self.ways.items():
            ran = set()

            def run(command, *arguments, code=0, words=words, environment=environment, ran=ran):
                ran.add(command)
                out, self.err = self.lab.weft(*command.split(" "), *arguments, *words, code=code,
                                              environment=environment)
                return out
            with self.subTest(way=name):
                check(run)
            self.ran = ran

    def test_every_job_command(self):
        job_file = self.lab.folder / "done.yaml"

        def check(weft):
            self.assertIn("valid", weft("job submit", "--check", job_file))
            number = weft("job submit", "-q", job_file, "--directory", "/tmp").strip()
            self.assertRegex(number, r"^\d+$")
            self.assertEqual(weft("job wait", number), f"job {number}: done\n")
            self.assertEqual(weft("job logs", number), "hello\n")
            jobs = json.loads(weft("job list", "--all", "-o", "json"))["jobs"]
            self.assertIn(number, [str(job["job"]) for job in jobs])
            self.assertEqual(json.loads(weft("job show", number, "-o", "json"))["job"]["state"], "done")
            self.assertIn(number, weft("job why", number))
            # Jobs that need all nodes: one runs, one waits.
            running, waiting = (self.lab.submit(f"big{i}", nodes=5, token=self.admin) for i in range(2))
            wait_until(lambda: self.lab.local("GET", f"/jobs/{running}").json["job"]["state"] == "running")
            self.assertIn(f"job {waiting}: ", weft("job hold", waiting, "--reason", "window"))
            self.assertEqual(json.loads(weft("job show", waiting, "-o", "json"))["job"]["state"], "held")
            self.assertIn(f"job {waiting}: ", weft("job release", waiting))
            canceled = weft("job cancel", waiting, running, "--reason", "end")
            self.assertEqual(len(canceled.splitlines()), 2)
            self.assertIn("canceled", weft("job wait", running, code=1))
        self.run_all_ways(check)
        self.assertEqual(self.ran, subcommands(self.lab, "job"))

    def test_every_node_command(self):
        def check(weft):
            self.assertIn("train003", weft("node list"))
            self.assertIn("node train004: ", weft("node drain", "train004", "--reason", "fans"))
            self.assertIn("drain", weft("node show", "train004"))
            self.assertIn("node train004: ", weft("node resume", "train004", "--reason", "fans replaced"))
            waiting = weft("node confirm-off", "train005", "--reason", "feed is off")
            self.assertRegex(waiting, r"^node train005: waiting for approval \S+ by another person: weft approval ")
            self.assertNotIn("train005", weft("node reservations"))
            weft("node reserve", "window", "train005", "--for", "1h", "--in", "2h")
            self.assertIn("window", weft("node reservations"))
            weft("node unreserve", "window")
            self.assertNotIn("window", weft("node reservations"))
        self.run_all_ways(check)
        self.assertEqual(self.ran, subcommands(self.lab, "node"))

    def test_every_lease_command(self):
        def check(weft):
            # With one engine there is nothing to lend: the server says so, after it has accepted the caller.
            for command, words in (("lease list", ()), ("lease show", ("train001",)),
                                   ("lease move", ("train001", "--to", "slurm", "--reason", "x"))):
                self.assertEqual(weft(command, *words, code=4), "")
                self.assertIn("one engine", self.err)
        self.run_all_ways(check)
        self.assertEqual(self.ran, subcommands(self.lab, "lease"))

    def test_status_queue_and_whoami(self):
        def check(weft):
            self.assertEqual(json.loads(weft("status", "-o", "json"))["server"]["nodes"], 5)
            self.assertEqual(json.loads(weft("queue", "-o", "json"))["kind"], "queue")
            session = json.loads(weft("whoami", "-o", "json"))["session"]
            self.assertEqual(session["user"], "anna")
        self.run_all_ways(check)

    def test_every_token_command(self):
        def check(weft):
            made = weft("token create", "ci", "--role", "viewer", "--expires", "1h").strip()
            self.assertRegex(made, r"^weft_t_[A-Za-z0-9]+_\S+$")
            identifier = made.split("_")[2]
            self.assertIn(identifier, weft("token list"))
            self.assertNotIn(made, weft("token list", "-o", "json"))
            whoami, _ = self.lab.weft("whoami", "--server", self.lab.url,
                                      environment={"WEFT_TOKEN": made, "WEFT_CA": self.lab.ca})
            self.assertIn("viewer", whoami)
            self.assertIn(f"token {identifier}: ", weft("token revoke", identifier, "--reason", "test"))
            self.lab.weft("whoami", "--server", self.lab.url, environment={"WEFT_TOKEN": made, "WEFT_CA": self.lab.ca},
                          code=4)
        self.run_all_ways(check)
        self.assertEqual(self.ran, subcommands(self.lab, "token"))

    def test_every_approval_command(self):
        olga = self.lab.token("olga", ["operators"])

        def check(weft):
            ids = []
            for node in ("train001", "train002"):
                response = self.lab.http("POST", f"/nodes/{node}/confirm-off", {"reason": "feed"}, token=olga)
                ids.append(response.json["answer"]["approval"])
            listed = weft("approval list", "-o", "json")
            self.assertLessEqual(set(ids), {row["approval"] for row in json.loads(listed)["approvals"]})
            # The lab made the token of both: the maker counts as the person, who cannot approve alone.
            weft("approval approve", ids[0], "--reason", "seen", code=4)
            self.assertIn(f"approval {ids[1]}: ", weft("approval reject", ids[1], "--reason", "wrong node"))
        self.run_all_ways(check)
        self.assertEqual(self.ran, subcommands(self.lab, "approval"))

    def test_every_audit_command(self):
        def check(weft):
            newest = json.loads(weft("audit list", "--limit", "3", "-o", "json"))
            self.assertEqual(len(newest["entries"]), 3)
            older = json.loads(weft("audit list", "--limit", "3", "--before", newest["page"]["next"], "-o", "json"))
            self.assertLess(older["entries"][0]["number"], newest["entries"][-1]["number"])
        self.run_all_ways(check)
        # The other command reads the files of the log.
        self.assertEqual(self.ran | {"audit verify"}, subcommands(self.lab, "audit"))
        self.lab.weft("audit", "verify", self.lab.state)

    def test_audit_list_names_the_older_page(self):
        shown, _ = self.lab.weft("audit", "list", "--limit", "2")
        last = shown.splitlines()[-1].split()[0]
        self.assertRegex(shown, rf"(?m)^Older entries: +--before {last}$")
        shown, _ = self.lab.weft("audit", "list", "--limit", "1000", "--object", "no-such-object")
        self.assertRegex(shown, r"(?m)^Older entries: +none$")
        self.assertNotIn("--before", shown)

    def test_problems_of_a_request_are_shown_once(self):
        _, err = self.lab.weft("node", "reserve", "window", "train005", "--for", "soon", code=2)
        self.assertEqual(len(err.splitlines()), 1, err)
        self.assertEqual(err.count("soon"), 1, err)
        # The member of the body is named, not its pointer.
        _, err = self.lab.weft("token", "create", "x" * 2000, code=2)
        self.assertRegex(err, r"^weft: name: ")
        self.assertEqual(len(err.splitlines()), 1, err)
        # Several: each in a line of its own.
        _, err = self.lab.weft("job", "list", "--limit", "many", "--status", "x" * 2000, code=2)
        self.assertEqual(err.count("many"), 1, err)
        # A job file is shown as the compiler shows it, with the line once.
        (self.lab.folder / "bad.yaml").write_text("job: 1\nname: x\ngpu: 7\n", encoding="utf-8")
        _, err = self.lab.weft("job", "submit", self.lab.folder / "bad.yaml", code=2)
        self.assertEqual(err.count("bad.yaml:3:"), 1, err)

    def test_token_that_could_do_nothing_is_refused(self):
        bob = self.lab.token("bob", ["team-a"])
        as_bob = {"WEFT_TOKEN": bob, "WEFT_CA": self.lab.ca}
        out, err = self.lab.weft("token", "create", "ro", "--role", "viewer", "--server", self.lab.url,
                                 environment=as_bob, code=2)
        self.assertEqual(out, "")
        self.assertRegex(err, r"^weft: role: ")
        self.assertEqual(len(err.splitlines()), 1, err)
        out, _ = self.lab.weft("token", "create", "ci", "--role", "user", "--tenant", "team-a", "--server",
                               self.lab.url, environment=as_bob)
        self.assertRegex(out, r"^weft_t_")


# With what a runbook looks for; the out-of-band switch is of a system whose config is in examples/running/.
OOB_CLUSTER = """weft: 1
name: bench4
pools:
  - {name: train, role: training, server: hgx-h100, count: 5, per_rack: 1}
  - {name: infra, role: infrastructure, server: control-1u, count: 1}
  - {name: jump, role: jump, server: jump-1u, count: 1}
fabrics:
  oob: {leaf: nexus-9348gc-fx3}
tenants:
  - {name: team-a}
  - {name: team-b}
"""
CONFIG = SOURCE / "examples/running/oob-leaf001.cfg"


class OobLab(Lab):
    """A server with simulated BMCs, and a program instead of ssh that prints a switch's running config."""

    def __init__(self, access="", faults=(), **options):
        super().__init__(access, start=False, cluster=OOB_CLUSTER, **options)
        self.sim_folder = self.folder / "sim"
        programs = self.folder / "programs"
        programs.mkdir()
        (programs / "ssh").write_text(f"#!/bin/sh\nexec cat '{CONFIG}'\n", encoding="ascii")
        (programs / "ssh").chmod(0o755)
        self.environment["PATH"] = f"{programs}:{os.environ['PATH']}"
        words = [lab_module.EXECUTABLE, "oob", "sim", str(self.folder / "cluster.yaml"), "--dir",
                 str(self.sim_folder), "--power-time", "40ms", "--boot-time", "80ms", "--shutdown-time", "40ms",
                 "--base", f"127.21.{os.getpid() % 250}.1"]
        for fault in faults:
            words += ["--fault", fault]
        self.sim = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
        line = self.sim.stderr.readline()
        assert "port" in line, line
        threading.Thread(target=self.sim.stderr.read, daemon=True).start()
        self.arguments += ["--oob", "--oob-state", str(self.folder / "oob"), "--oob-endpoints", self.endpoints,
                           "--oob-credentials", self.credentials]
        self.start()

    @property
    def endpoints(self):
        return str(self.sim_folder / "endpoints.yaml")

    @property
    def credentials(self):
        return f"file:{self.sim_folder}/credentials.yaml"

    def close(self):
        self.sim.terminate()
        self.sim.wait()
        super().close()

    def journal(self):
        path = self.folder / "oob/journal.ndjson"
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


class OobCase(unittest.TestCase):
    access, lab = "", None

    @classmethod
    def setUpClass(cls):
        cls.lab = OobLab(cls.access)
        cls.token = cls.lab.token("olga", ["operators"])
        sign_in(cls.lab, "site", cls.token)

    @classmethod
    def tearDownClass(cls):
        if cls.lab is not None:
            cls.lab.close()

    def weft(self, *words, code=0, server=("--context", "site"), **options):
        return self.lab.weft(*words, *server, code=code, **options)

    def json(self, *words, code=0):
        return json.loads(self.weft(*words, "-o", "json", code=code)[0])

    def here(self, command, *words, cluster=True, code=0):
        """The same command without the server."""
        places = [str(self.lab.folder / "cluster.yaml")] if cluster else []
        return self.lab.weft(*command.split(" "), *places, *words, "--endpoints", self.lab.endpoints, "--credentials",
                             self.lab.credentials, "--state", self.lab.folder / "oob", "--syslog", "none", code=code)

    def power_states(self):
        rows = self.json("oob", "status", "@train")["devices"]
        return {row["host"]: row["state"] for row in rows}


class ApiCliOob(OobCase):
    def test_readings_are_those_of_the_local_command(self):
        for command in ("oob inventory", "oob users", "oob settings"):
            local = json.loads(self.here(command, "@train", "-o", "json")[0])
            self.assertEqual(self.json(*command.split(" "), "@train"), local, command)
        some = self.json("oob", "inventory", "train[001-002]")
        self.assertEqual(len(next(iter(value for value in some.values() if isinstance(value, list)))), 2)
        # The other formats have the same rows.
        table, _ = self.weft("oob", "users", "@train")
        self.assertIn("admin", table)
        self.assertIn("admin,administrator,", self.weft("oob", "users", "@train", "-o", "csv")[0])
        self.assertIn("kind: ", self.weft("oob", "users", "@train", "-o", "yaml")[0])
        rows = [json.loads(line) for line in self.weft("oob", "users", "@train", "-o", "ndjson")[0].splitlines()]
        self.assertIn("admin", [row.get("name") for row in rows])

    def test_every_reading(self):
        self.assertIn("train001", self.weft("oob", "status", "train001")[0])
        self.assertIn("train001", self.weft("oob", "power", "status", "train001")[0])
        self.assertIn("train001", self.weft("oob", "inventory", "train001", "--probe")[0])
        self.weft("oob", "sensors", "train001", "--kind", "fan")
        self.weft("oob", "events", "train001", "--level", "warning", "--since", "7d")
        self.weft("oob", "audit", "train001", code=1)  # the simulator offers IPMI, as in docs/oob.md
        self.weft("oob", "drift", "be-train-u001-leaf1", "--offline", code=3)  # nothing to compare with
        self.weft("oob", "power", "on", "train001", "--reason", "an entry of the journal", "--yes")
        self.assertEqual(len(self.json("oob", "journal", "--tail", "1")["entries"]), 1)
        self.assertTrue(self.json("oob", "journal", "--verify")["verdict"]["holds"])
        self.assertEqual(self.json("oob", "power", "--open")["operations"], [])
        self.assertIn("pfc-storm", self.weft("rescue", "list")[0])
        self.assertIn("weft_runbook: 1", self.weft("rescue", "show", "pfc-storm")[0])
        self.weft("oob", "operation")

    def test_exit_codes_of_readings(self):
        _, err = self.weft("oob", "status", "nosuch", code=2)
        self.assertIn("nosuch", err)
        self.weft("oob", "journal", "--head", "f" * 64, code=1)  # not in the chain

    def test_plan_changes_nothing_and_has_the_jobs(self):
        job = self.lab.submit("victim", nodes=5)
        wait_until(lambda: self.lab.local("GET", f"/jobs/{job}").json["job"]["state"] == "running")
        plan, err = self.weft("oob", "power", "off", "train001", "--dry-run", "-o", "json")
        radius = json.loads(plan)["blast_radius"]
        self.assertEqual((radius["devices"], radius["hosts"], radius["interrupts"]), (1, "train001", True))
        self.assertEqual([row["job"] for row in radius["running"]], [job])
        victim = f"{job} (victim, {radius['running'][0]['user']})"
        self.assertIn(victim, err)
        # Without --yes or a reason the plan is shown, and nothing is done.
        for words in ((), ("--yes",), ("--reason", "hang")):
            out, err = self.weft("oob", "power", "off", "train001", *words, code=4)
            self.assertEqual(out, "")
            self.assertIn("train001", err)
            self.assertIn(victim, err)
        self.assertIn("--reason TEXT is missing", self.weft("oob", "power", "off", "train001", "--yes", code=4)[1])
        self.assertEqual(self.power_states()["train001"], "on")
        self.lab.local("POST", f"/jobs/{job}/cancel", {"reason": "end"})

    def test_power_is_carried_out_and_followed(self):
        out, err = self.weft("oob", "power", "off", "train[002-003]", "--reason", "XID 79", "--yes", "-o", "json")
        self.assertEqual(json.loads(out)["kind"], "oob_power")
        self.assertEqual([row["end"] for row in json.loads(out)["devices"]], ["done", "done"])
        operation = re.search(r"operation ([0-9a-f]{16}) on ", err).group(1)
        self.assertIn("wave 1 of 1", err)
        states = self.power_states()
        self.assertEqual([states[name] for name in ("train001", "train002", "train003")], ["on", "off", "off"])
        names = [entry["who"] for entry in self.lab.journal() if operation in entry["who"]]
        self.assertTrue(names and all(name.startswith("olga via weft serve (") for name in names), names)
        # It can be looked at later, with the same result and exit code.
        self.assertEqual(json.loads(self.weft("oob", "operation", operation, "-o", "json")[0]), json.loads(out))
        self.assertIn(operation, self.weft("oob", "operation")[0])
        self.weft("oob", "power", "on", "train[002-003]", "--reason", "back", "--yes")
        self.assertEqual(self.power_states()["train003"], "on")

    def test_other_changes(self):
        reason = ("--reason", "drill", "--yes")
        self.weft("oob", "settings", "train004", "--ntp", "10.0.0.9", *reason)
        self.assertIn("10.0.0.9", json.dumps(self.json("oob", "settings", "train004")))
        self.weft("oob", "events", "train004", "--clear", *reason)
        rotated = self.json("oob", "rotate", "train004", *reason)
        self.assertEqual((rotated["rotation"]["done"], rotated["rotation"]["not_done"]), (1, 0))
        self.assertIn("train004", self.weft("oob", "status", "train004")[0])  # with the new password
        # weft's own account is not disabled: refused, as by the local command.
        self.here("oob users", "train004", "--disable", "admin", *reason, code=4)
        self.weft("oob", "users", "train004", "--disable", "admin", *reason, code=4)
        self.weft("oob", "users", "train004", "--disable", "nosuch", *reason, code=2)

    def test_switches(self):
        backup = self.json("oob", "backup", "oob-leaf001", "--good")
        self.assertEqual([row["state"] for row in backup["backups"]], ["first"])
        self.assertEqual(self.json("oob", "backup", "oob-leaf001")["backups"][0]["state"], "unchanged")
        self.weft("oob", "drift", "oob-leaf001", "--offline")
        plan = self.json("oob", "restore", "oob-leaf001", "--dry-run")
        self.assertEqual(plan["restore"][0]["message"], "already running")
        self.assertEqual(plan["blast_radius"]["devices"], 1)
        self.assertGreater(plan["blast_radius"]["servers_behind"]["devices"], 0)
        self.weft("oob", "restore", "oob-leaf001", "--settle")

    def test_too_many_devices_are_refused(self):
        _, err = self.weft("oob", "power", "off", "@train", "--limit", "2", "--reason", "x", "--yes", code=4)
        self.assertIn("5 devices exceed the limit of 2; allow it with --limit 5", err)
        self.assertEqual(set(self.power_states().values()), {"on"})

    def test_rescue_is_planned(self):
        plan, _ = self.weft("rescue", "pfc-storm", "--set", "tor=be-train-u001-leaf1")
        begun, _ = self.weft("rescue", "plan", "pfc-storm", "--set", "tor=be-train-u001-leaf1")
        self.assertEqual(plan, begun)
        self.assertIn("be-train-u001-leaf1", plan)
        _, err = self.weft("rescue", "pfc-storm", "--set", "tor=nosuch", code=2)
        self.assertIn("nosuch", err)
        _, err = self.weft("rescue", "resume", "pfc-storm", "--reason", "x", code=2)
        self.assertIn("no rescue with `pfc-storm` is incomplete", err)
        _, err = self.weft("rescue", "show", "./mine.yaml", code=2)
        self.assertIn("a file of this machine", err)

    def test_options_of_the_local_command_are_usage_errors(self):
        for words, named in ((("oob", "status", "train001", "--endpoints", "x"), "--endpoints"),
                             (("oob", "status", "train001", "--credentials", "x"), "--credentials"),
                             (("oob", "status", "train001", "--state", "x"), "--state"),
                             (("oob", "journal", "--state", "x"), "--state"),
                             (("oob", "power", "off", "train001", "--host-probe", "x"), "--host-probe"),
                             (("oob", "drift", "--rendered", "x"), "--rendered"),
                             (("oob", "audit", "--advisories", "x"), "--advisories"),
                             (("oob", "console", "train001", "--for", "1s"), "--log-only"),
                             (("oob", "rotate", "--reason", "x", "--yes"), "HOSTS"),
                             (("oob", "power", "off"), "HOSTS"),
                             (("oob", "power", "of", "train001"), "of"),
                             (("oob", "power", "--resume", "1", "--abandon", "2"), "--"),
                             (("oob", "events", "train001", "--clear", "--since", "1h"), "combined"),
                             (("oob", "status", "cluster.yaml", "train001"), "unexpected argument `train001`"),
                             (("oob", "backup", "--dry-run"), "--dry-run"),
                             (("oob", "power", "off", "train001", "--limit", "few"), "few")):
            # Nothing is sent: no server listens there.
            _, err = self.weft(*words, server=("--server", "https://127.0.0.1:1"), code=2)
            self.assertIn(named, err, words)
        self.weft("oob", "status", server=("--server", "https://127.0.0.1:1"), code=5)

    def test_ways_to_name_the_server(self):
        everywhere = json.loads(self.lab.weft("oob", "inventory", "@train", "--server", self.lab.url, "-o", "json",
                                              environment={"WEFT_TOKEN": self.token, "WEFT_CA": self.lab.ca})[0])
        socket = json.loads(self.lab.weft("oob", "inventory", "@train", "--socket", self.lab.socket, "-o", "json")[0])
        self.assertEqual(everywhere, socket)
        # Neither a current context nor a variable takes the lifeline away.
        self.assertEqual(contexts(self.lab)[0], ["site"])
        out, _ = self.lab.weft("oob", "inventory", self.lab.folder / "cluster.yaml", "@train", "-o", "json",
                               environment={"WEFT_SERVER": "https://127.0.0.1:1"})
        # The addresses of the cluster file: the server was started with those of the simulator.
        self.assertNotEqual(json.loads(out), socket)
        self.assertEqual(len(json.loads(out)["devices"]), len(socket["devices"]))
        self.assertIn("missing CLUSTER", self.lab.weft("oob", "status", code=2)[1])

    def test_who_is_no_operator_is_refused(self):
        viewer = {"WEFT_TOKEN": self.lab.token("vera", ["viewers"]), "WEFT_CA": self.lab.ca}
        for words in (("oob", "status", "train001"), ("oob", "power", "off", "train001", "--reason", "x", "--yes")):
            self.lab.weft(*words, "--server", self.lab.url, environment=viewer, code=4)
        self.assertEqual(self.power_states()["train001"], "on")

    def ask(self, answer):
        """Runs a change on a terminal, without --yes, and types the answer to its question."""
        ours, theirs = pty.openpty()
        variables = {"HOME": str(self.lab.home), "PATH": os.environ["PATH"]}
        words = [lab_module.EXECUTABLE, "oob", "power", "cycle", "train005", "--reason", "hang", "--context", "site"]
        with subprocess.Popen(words, stdin=theirs, stderr=theirs, stdout=subprocess.PIPE, env=variables) as process:
            os.close(theirs)
            shown = b""
            while b"Type yes: " not in shown:
                shown += os.read(ours, 4096)
            os.write(ours, answer.encode() + b"\n")
            reader = threading.Thread(target=_drain, args=(ours,))
            reader.start()
            out = process.stdout.read()
            process.wait()
        reader.join()
        os.close(ours)
        self.assertIn(b"train005", shown)
        return process.returncode, out.decode()

    def test_terminal_is_asked(self):
        cycles = len([entry for entry in self.lab.journal() if entry["verb"] == "power.cycle"])
        self.assertEqual(self.ask("y"), (4, ""))
        self.assertEqual(len([entry for entry in self.lab.journal() if entry["verb"] == "power.cycle"]), cycles)
        code, out = self.ask("yes")
        self.assertEqual(code, 0)
        self.assertIn("done", out)


def _drain(terminal):
    try:
        while os.read(terminal, 4096):
            pass
    except OSError:  # the other end is closed
        pass


class ApiCliOobFaults(OobCase):
    """Devices that fail: exit codes are those of the local command."""

    @classmethod
    def setUpClass(cls):
        cls.lab = OobLab(faults=("train001=stuck_on", "train002=dead:reset"))
        cls.token = cls.lab.token("olga", ["operators"])
        sign_in(cls.lab, "site", cls.token)

    def test_exit_codes(self):
        # Some devices do not answer: 3; none does: 5.
        self.here("oob status", "train[002-003]", code=3)
        self.weft("oob", "status", "train[002-003]", code=3)
        self.here("oob status", "train002", code=5)
        self.weft("oob", "status", "train002", code=5)
        # A change that is not done on a device is 3, with the result.
        words = ("--reason", "x", "--yes", "--deadline", "1s")
        local = json.loads(self.here("oob power off", "train001", *words, "-o", "json", code=3)[0])
        out = self.json("oob", "power", "off", "train001", *words, code=3)
        self.assertEqual([row["end"] for row in out["devices"]], [row["end"] for row in local["devices"]])
        _, err = self.weft("oob", "power", "off", "train002", *words, code=5)
        self.assertIn("train002", err)


class ApiCliOobApproval(OobCase):
    access = "second_person: [oob.power]\n"

    @classmethod
    def setUpClass(cls):
        cls.lab = OobLab(cls.access, oidc=True)

    def as_user(self, user, *words, code=0):
        return self.lab.weft(*words, "--server", self.lab.url, code=code,
                             environment={"WEFT_TOKEN": self.lab.issuer.token(user), "WEFT_CA": self.lab.ca})[0]

    def test_second_person(self):
        self.as_user("ada", "oob", "power", "off", "train001", "--dry-run")  # a plan needs no approval
        out = self.as_user("ada", "oob", "power", "off", "train001", "--reason", "smoke", "--yes")
        approval = re.search(r"waiting for approval (\S+) by another person: weft approval approve \1\n", out).group(1)
        rows = json.loads(self.as_user("olga", "approval", "list", "-o", "json"))["approvals"]
        self.assertEqual([(row["approval"], row["operation"]) for row in rows], [(approval, "oob.power")])
        self.as_user("ada", "approval", "approve", approval, code=4)
        self.assertEqual(json.loads(self.as_user("ada", "oob", "operation", "-o", "json"))["operations"], [])
        self.as_user("olga", "approval", "approve", approval)
        operation, = json.loads(self.as_user("ada", "oob", "operation", "-o", "json"))["operations"]
        self.assertEqual((operation["who"], operation["reason"]), ("ada", "smoke"))
        # The requester follows it to its end, with its result.
        result = json.loads(self.as_user("ada", "oob", "operation", operation["operation"], "-o", "json"))
        self.assertEqual([(row["host"], row["end"]) for row in result["devices"]], [("train001", "done")])


if __name__ == "__main__":
    run_tests()
