"""End-to-end tests of the audit log: what is in it and what never is, its hash chain, its export, and what happens when
it cannot be written."""

import hashlib
import http.client
import json
import os
import pathlib
import pwd
import re
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

import lab as lab_module
from lab import API, Issuer, Lab, needs, needs_program, run_tests

FIRST_PREVIOUS = "0" * 64


def wait_until(condition):
    """Returns what the condition returned at last."""
    while not (found := condition()):
        time.sleep(0.02)
    return found


def audit_files(state):
    return sorted(pathlib.Path(state, "audit").glob("audit-*.ndjson"))


def audit_lines(state):
    """Every entry, read from the files."""
    return [json.loads(line) for path in audit_files(state) for line in path.read_text(encoding="utf-8").splitlines()]


def chain_problem(path):
    """The chain of one file by its definition (src/oob/journal/line.h), computed here: "" if it holds."""
    previous = FIRST_PREVIOUS
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        entry = json.loads(line)
        claimed = entry.pop("hash")
        hashed = json.dumps(entry, ensure_ascii=False)
        if line != f'{hashed[:-1]}, "hash": "{claimed}"}}':
            return f"line {number}: another form"
        if (entry["number"], entry["previous"]) != (number, previous):
            return f"line {number}: does not follow"
        if hashlib.sha256((previous + hashed).encode()).hexdigest() != claimed:
            return f"line {number}: another hash"
        previous = claimed
    return ""


class ApiAudit(unittest.TestCase):
    lab = None

    @classmethod
    def setUpClass(cls):
        account = "games" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
        cls.lab = Lab(f"accounts: {{\"*\": {account}}}\n", oidc=True)
        cls.ada, cls.bob = cls.lab.issuer.token("ada"), cls.lab.issuer.token("bob")

    @classmethod
    def tearDownClass(cls):
        if cls.lab is not None:
            cls.lab.close()

    def pair(self, request_id):
        """The two entries of one request: before and after it was carried out."""
        found = wait_until(lambda: [e for e in self.lab.audit() if e["request_id"] == request_id and
                                    e["phase"] == "outcome"])
        self.assertEqual(len(found), 1)
        both = [e for e in self.lab.audit() if e["request"] == found[0]["request"]]
        self.assertEqual([e["phase"] for e in both], ["outcome", "intent"], "the newest first")
        return both[1], both[0]

    def test_change_has_an_entry_before_and_after(self):
        response = self.lab.http("POST", "/nodes/train001/drain", {"reason": "PFC storm"}, token=self.ada)
        self.assertEqual(response.status, 200)
        intent, outcome = self.pair(response.headers["x-request-id"])
        for entry in (intent, outcome):
            self.assertEqual({name: entry[name] for name in ("operation", "object", "actor", "method", "address")},
                             {"operation": "node.drain", "object": "train001", "actor": "ada", "method": "bearer",
                              "address": "127.0.0.1"})
            self.assertRegex(entry["credential"], "^oidc:.")
        self.assertEqual((intent["reason"], outcome["status"]), ("PFC storm", 200))
        self.assertNotIn("drained", intent["before"])
        self.assertIn("drained by ada", outcome["after"])
        sent = json.dumps({"reason": "PFC storm"}).encode()
        self.assertEqual((intent["body_bytes"], intent["body_sha256"]), (len(sent), hashlib.sha256(sent).hexdigest()))
        # The record of the journal is later than the entry, which was on disk by then.
        self.assertLess(intent["number"], outcome["number"])
        node = self.lab.local("GET", "/nodes/train001").text
        self.assertIn("PFC storm", node)

    def test_request_id_of_the_client_is_kept(self):
        response = self.lab.http("POST", "/nodes/train002/drain", {"reason": "x"}, token=self.ada,
                                 X_Request_Id="ticket-4711")
        self.assertEqual(response.headers["x-request-id"], "ticket-4711")
        intent, _ = self.pair("ticket-4711")
        self.assertEqual(intent["object"], "train002")

    def test_ways_of_signing_in_are_named(self):
        secret = self.lab.http("POST", "/tokens", {"name": "ci"}, token=self.ada).json["token"]
        by_token = self.lab.http("POST", "/nodes/train003/drain", {"reason": "x"}, token=secret["secret"])
        intent, _ = self.pair(by_token.headers["x-request-id"])
        self.assertEqual((intent["actor"], intent["method"], intent["credential"]), ("ada", "token", secret["token"]))
        local = self.lab.local("POST", "/nodes/train003/resume", {"reason": "x"})
        intent, outcome = self.pair(local.headers["x-request-id"])
        self.assertEqual((intent["actor"], intent["address"]), (pwd.getpwuid(os.geteuid()).pw_name, None))
        self.assertEqual(("drained" in intent["before"], "drained" in outcome["after"]), (True, False))

    def test_refused_change_has_its_outcome(self):
        """By the controller: the request was allowed, and could not be carried out."""
        first = self.lab.http("POST", "/reservations", {"name": "r1", "nodes": "train004", "for": "1h", "reason": "x"},
                              token=self.ada)
        self.assertIn(first.status, (200, 201))
        again = self.lab.http("POST", "/reservations", {"name": "r1", "nodes": "train004", "for": "1h", "reason": "x"},
                              token=self.ada)
        self.assertGreaterEqual(again.status, 400)
        intent, outcome = self.pair(again.headers["x-request-id"])
        self.assertEqual((intent["operation"], outcome["status"]), ("reservation.create", again.status))
        self.assertIn(outcome["message"], again.text)

    def test_refused_sign_ins_and_reading_the_log_are_noted(self):
        forged = "weft_t_" + "a" * 12 + "_" + "b" * 43
        response = self.lab.http("GET", "/jobs", token=forged)
        self.assertEqual(response.status, 401)
        entry = wait_until(lambda: [e for e in self.lab.audit(operation="sign-in.refused")
                                    if e["request_id"] == response.headers["x-request-id"]])[0]
        self.assertEqual(entry["address"], "127.0.0.1")
        self.assertNotIn("b" * 43, json.dumps(entry))
        reader = self.lab.token("anna", ["admins"])
        self.assertEqual(self.lab.http("GET", "/audit", token=reader).status, 200)
        self.assertTrue(wait_until(lambda: self.lab.audit(operation="audit.list", actor="anna")))

    def test_only_admins_read_it(self):
        for user in ("ada", "bob", "carol", "nobody-yet"):
            response = self.lab.http("GET", "/audit", token=self.lab.issuer.token(user))
            self.assertEqual(response.status, 403, user)

    def test_chain_holds_while_it_is_written(self):
        threads = [threading.Thread(target=lambda name=f"train00{i}": [
            self.lab.http("POST", f"/nodes/{name}/{verb}", {"reason": "x"}, token=self.ada)
            for _ in range(10) for verb in ("drain", "resume")]) for i in (4, 5)]
        for thread in threads:
            thread.start()
        out, _ = self.lab.weft("audit", "verify", self.lab.state)  # beside the server
        self.assertIn("yes", out)
        for thread in threads:
            thread.join()
        for path in audit_files(self.lab.state):
            self.assertEqual(chain_problem(path), "")
        entries = audit_lines(self.lab.state)
        listed = {e["hash"]: e for e in self.lab.audit()}
        for entry in entries:  # what the API shows is what is on disk
            self.assertEqual(listed[entry["hash"]]["number"], entry["number"])
        out, _ = self.lab.weft("audit", "verify", self.lab.state, "-o", "json")
        verdict = json.loads(out)["audit"]
        self.assertTrue(verdict["intact"])
        self.assertGreaterEqual(verdict["entries"], len(entries))

    def test_pages_have_every_entry_once(self):
        for _ in range(3):
            self.lab.http("POST", "/nodes/train005/drain", {"reason": "x"}, token=self.ada)
        entries, before = [], {}
        while True:
            answer = self.lab.local("GET", "/audit?limit=5" + "".join(f"&{k}={v}" for k, v in before.items())).json
            entries += [e["number"] for e in answer["entries"]]
            if not answer["page"]["next"]:
                break
            before = {"before": answer["page"]["next"]}
        self.assertEqual(entries, list(range(entries[0], 0, -1)))


class ApiAuditSecrets(unittest.TestCase):
    """Secrets appear in no file and no answer but those that need them."""

    def test_tokens_and_texts_of_jobs_are_nowhere(self):
        account = "games" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
        canary = "canary-5c1e7d"
        with Lab(f"accounts: {{\"*\": {account}}}\nsecond_person: [node.confirm-off]\n", oidc=True,
                 arguments=["-v"]) as lab:
            bearer = lab.issuer.token("bob")
            secrets = {"bearer": bearer, "bearer's signature": bearer.rsplit(".", 1)[1]}
            for user, groups in (("ada", ["operators"]), ("anna", ["admins"])):
                secrets[user] = lab.token(user, groups)
            created = lab.http("POST", "/tokens", {"name": "own"}, token=bearer).json["token"]
            secrets["own"] = created["secret"]
            text = (f"job: 1\nname: hidden\ntenant: team-a\nnodes: 1\ncommand: [sleep, \"100000\", {canary}-word]\n"
                    f"environment: {{PASSWORD: {canary}}}\n")
            job = lab.submit(token=bearer, text=text)
            wait_until(lambda: lab.local("GET", f"/jobs/{job}").json["job"]["state"] == "running")
            # Tokens where they do not belong: a reason, a name, a path, a query, a header, a body that is refused.
            token = secrets["own"]
            for body in ({"reason": f"Bearer {bearer}"}, {"reason": f"with {token}"}, {"resaon": token}):
                lab.http("POST", "/nodes/train005/drain", body, token=secrets["ada"])
            lab.http("POST", f"/tokens/{token}/revoke", {"reason": token}, token=bearer)
            lab.http("GET", f"/jobs/{token}", token=secrets["ada"])
            lab.http("GET", f"/jobs?user={token}", token=secrets["ada"])
            lab.http("GET", "/jobs", token=token + "x")
            lab.http("POST", "/jobs", {"text": text.replace("nodes: 1", "nodes: many"), "name": "j"}, token=bearer)
            lab.http("POST", f"/jobs/{job}/cancel", {"reason": f"for {token}"}, token=secrets["own"])
            audit = wait_until(lambda: any(e["operation"] == "job.cancel" and e["phase"] == "outcome"
                                           for e in lab.audit()) and json.dumps(lab.audit()))
            admin = secrets["anna"]
            places = {"audit": audit, "log": lab.log(), "tokens": lab.http("GET", "/tokens", token=admin).text,
                      "server": lab.http("GET", "/server", token=admin).text,
                      "jobs for a viewer": lab.http("GET", "/jobs?all=1", token=lab.token("v", ["viewers"])).text,
                      "queue": lab.http("GET", "/queue", token=admin).text}
            viewer = lab.token("vera", ["viewers"])
            for path in (f"/jobs/{job}", f"/jobs/{job}/why"):
                places[path] = lab.http("GET", path, token=viewer).text
            end, number, events = int(lab.local("GET", "/server").headers["weft-sequence"]), 0, ""
            connection = lab.connect()
            connection.request("GET", f"{API}/events?since=0", headers={"Authorization": f"Bearer {viewer}"})
            stream, line = connection.getresponse(), "begins"
            while number < end or line:
                line = stream.readline().decode().strip()
                number = int(line[3:]) if line.startswith("id:") else number
                events += line + "\n"
            connection.close()
            places["events"] = events
            self.assertEqual(lab.stop(), 0)
            places["files"] = "".join(path.read_bytes().decode("latin-1") for path in lab.state.rglob("*")
                                      if path.is_file())
            self.assertIn(created["token"], places["files"], "the search finds what is there")
            for place, content in places.items():
                for what, secret in secrets.items():
                    shown = secret[-20:] if secret.startswith("weft_") else secret  # without the public id
                    self.assertNotIn(shown, content, f"{what} in {place}")
                # Jobs have to be in the journal, from which they are started again: only the server reads it.
                if place != "files":
                    self.assertNotIn(canary, content, place)
            for folder in (lab.state, lab.state / "journal", lab.state / "audit", lab.state / "access"):
                self.assertEqual(folder.stat().st_mode & 0o077, 0, folder)
            for path in [*lab.state.glob("audit/*"), *lab.state.glob("access/*")]:
                self.assertEqual(path.stat().st_mode & 0o077, 0, path)

    def test_no_core_dump_of_the_server(self):
        def allow_core():
            resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)

        def dumps_core(process):
            process.send_signal(signal.SIGSEGV)
            return os.WCOREDUMP(os.waitpid(process.pid, 0)[1])
        with Lab(start=False) as lab, tempfile.TemporaryDirectory() as folder:
            control = subprocess.Popen(["sleep", "1000"], cwd=folder, preexec_fn=allow_core)
            control_dumps = dumps_core(control)
            control.returncode = 0
            words = [lab_module.EXECUTABLE, "serve", str(lab.folder / "cluster.yaml"), "--state", str(lab.state),
                     "--socket", lab.socket, "--access", str(lab.folder / "access.yaml")]
            server = subprocess.Popen(words, cwd=folder, preexec_fn=allow_core, stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL)
            lab.process = server

            def answers():
                try:
                    return lab.local("GET", "/server").status == 200
                except (OSError, http.client.HTTPException):
                    return False
            wait_until(answers)
            if os.geteuid() != 0:
                limits = pathlib.Path(f"/proc/{server.pid}/limits").read_text(encoding="ascii")
                self.assertRegex(limits, r"Max core file size +0 ")
            server_dumps = dumps_core(server)
            server.returncode = lab.process = None
            self.assertFalse(server_dumps)
            needs(control_dumps, "core dumps of other programs")  # without them the above says little


class ApiAuditVerify(unittest.TestCase):
    """An audit log that somebody changed."""
    lab = None

    @classmethod
    def setUpClass(cls):
        cls.lab = Lab()
        for verb in ("drain", "resume") * 5:
            assert cls.lab.local("POST", f"/nodes/train001/{verb}", {"reason": f"why-{verb}"}).status == 200
        wait_until(lambda: sum(entry["phase"] == "outcome" and entry["operation"].startswith("node.")
                               for entry in cls.lab.audit()) == 10)
        assert cls.lab.stop() == 0
        cls.kept = cls.lab.folder / "kept"
        shutil.copytree(cls.lab.state / "audit", cls.kept)
        cls.lines = audit_files(cls.lab.state)[0].read_text(encoding="utf-8").splitlines(True)

    @classmethod
    def tearDownClass(cls):
        if cls.lab is not None:
            cls.lab.close()

    def setUp(self):
        self.audit = self.lab.state / "audit"
        shutil.rmtree(self.audit)
        shutil.copytree(self.kept, self.audit)
        self.file = audit_files(self.lab.state)[0]

    def write(self, lines):
        self.file.write_text("".join(lines), encoding="utf-8")

    def rehash(self, lines, first):
        """The lines with a chain that holds, from this one on: what somebody who knows the format can do."""
        previous = json.loads(lines[first - 1])["hash"] if first else FIRST_PREVIOUS
        out = lines[:first]
        for number, line in enumerate(lines[first:], first + 1):
            entry = json.loads(line)
            del entry["hash"]
            entry["number"], entry["previous"] = number, previous
            text = json.dumps(entry, ensure_ascii=False)
            previous = hashlib.sha256((previous + text).encode()).hexdigest()
            out.append(f'{text[:-1]}, "hash": "{previous}"}}\n')
        return out

    def verify(self, code):
        out, errors = self.lab.weft("audit", "verify", self.lab.state, "-o", "json", code=code)
        verdict = json.loads(out)
        self.assertEqual(verdict["audit"]["intact"], code == 0, errors)
        return [row["problem"] for row in verdict.get("problems", [])]

    def test_intact_log(self):
        self.assertEqual(self.verify(0), [])
        entries = json.loads(self.lab.weft("audit", "verify", self.audit, "-o", "json")[0])["audit"]
        self.assertEqual((entries["entries"], entries["head"]), (len(self.lines), json.loads(self.lines[-1])["hash"]))
        self.lab.start()
        self.assertEqual(self.lab.stop(), 0)

    def test_edited_line(self):
        for at in (0, 7, len(self.lines) - 1):
            self.setUp()
            lines = list(self.lines)
            lines[at] = lines[at].replace('"who": "', '"who": "x', 1)
            self.write(lines)
            problems = self.verify(1)
            self.assertIn(f"{self.file.name}: line {at + 1}", problems[0])

    def test_missing_line(self):
        for at in (0, 9):
            self.setUp()
            self.write(self.lines[:at] + self.lines[at + 1:])
            self.assertIn(f"line {at + 1}", self.verify(1)[0])

    def test_reordered_lines(self):
        lines = list(self.lines)
        lines[4], lines[6] = lines[6], lines[4]
        self.write(lines)
        self.assertIn("line 5", self.verify(1)[0])

    def test_inserted_line(self):
        self.write(self.lines[:6] + [self.lines[5]] + self.lines[6:])
        self.assertIn("line 7", self.verify(1)[0])

    def test_cut_log(self):
        for count in (len(self.lines) - 1, 3, 0):
            self.setUp()
            self.write(self.lines[:count])
            self.assertTrue(self.verify(1))

    def test_whole_chain_made_anew(self):
        self.write(self.rehash([line.replace("why-drain", "why-not") for line in self.lines], 0))
        self.assertEqual(chain_problem(self.file), "", "the chain itself holds")
        self.assertTrue(self.verify(1))

    def test_missing_or_damaged_files(self):
        for name in ("audit.head", self.file.name):
            self.setUp()
            (self.audit / name).unlink()
            self.assertTrue(any(name in problem for problem in self.verify(1)))
        (self.audit / "audit.head").write_bytes(b"x" * 1024)
        self.assertTrue(any("audit.head" in problem for problem in self.verify(1)))

    def test_changed_log_is_noticed_at_the_start(self):
        """All at once: a server that cannot have its log tries again for some seconds."""
        last = len(self.lines) - 1
        changed = {"cut": self.lines[:last], "cut more": self.lines[:3], "empty": [],
                   "altered": self.rehash([*self.lines[:last], self.lines[last].replace('"who": "', '"who": "x')], last),
                   "made anew": self.rehash([line.replace("why-drain", "why-not") for line in self.lines], 0)}
        wanted = {"cut": "the audit log was cut", "cut more": "the audit log was cut", "empty": "the audit log was cut",
                  "altered": "altered", "made anew": "altered", "no head": "audit.head is missing",
                  "no log": f"{self.file.name} is missing", "damaged head": "audit.head"}
        servers = {}
        for case in wanted:
            state = self.lab.folder / f"state {case}"
            shutil.copytree(self.lab.state, state)
            if case in changed:
                (state / "audit" / self.file.name).write_text("".join(changed[case]), encoding="utf-8")
            elif case == "damaged head":
                (state / "audit/audit.head").write_bytes(b"x" * 1024)
            else:
                (state / "audit" / {"no head": "audit.head", "no log": self.file.name}[case]).unlink()
            found = {path.name: path.read_bytes() for path in (state / "audit").glob("audit-*")}
            words = [lab_module.EXECUTABLE, "serve", self.lab.folder / "cluster.yaml", "--state", state, "--socket",
                     self.lab.folder / f"{len(servers)}.sock", "--access", self.lab.folder / "access.yaml"]
            servers[case] = (state, found, subprocess.Popen(words, stderr=subprocess.PIPE, text=True))
        for case, (state, found, process) in servers.items():
            _, errors = process.communicate()
            self.assertNotEqual(process.returncode, 0, case)
            self.assertIn(wanted[case], errors, case)
            self.assertEqual({path.name: path.read_bytes() for path in (state / "audit").glob("audit-*")}, found,
                             f"{case}: evidence is left as it was found")

    def test_folder_without_a_log(self):
        _, errors = self.lab.weft("audit", "verify", self.lab.folder / "absent", code=None)
        self.assertIn("absent", errors)
        self.lab.weft("audit", "verify", code=2)


class ApiAuditFull(unittest.TestCase):
    """The audit log cannot be written: its folder is a file system that is full."""

    def test_change_without_an_entry_is_refused(self):
        needs(os.geteuid() == 0, "root")
        needs_program("mount")
        with Lab("second_person: [node.resume]\n", oidc=True, start=False) as lab:
            folder = lab.state / "audit"
            for each in (lab.state, folder):
                each.mkdir(mode=0o700)
            mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k,mode=700", "tmpfs", folder], check=False)
            needs(mounted.returncode == 0, "permission to mount a tmpfs")
            try:
                self.check(lab, folder)
            finally:
                lab.stop(signal.SIGKILL)
                subprocess.run(["umount", "--lazy", folder], check=True)

    def check(self, lab, folder):
        lab.start()
        ada, olga = lab.issuer.token("ada"), lab.issuer.token("olga")
        drain = {"reason": "fans"}
        self.assertEqual(lab.http("POST", "/nodes/train001/drain", drain, token=ada).status, 200)
        waiting = lab.http("POST", "/nodes/train001/resume", drain, token=ada).json["answer"]["approval"]
        job = lab.submit()
        wait_until(lambda: lab.local("GET", f"/jobs/{job}").json["job"]["state"] == "running")
        with open(folder / "filler", "wb", buffering=0) as filler:
            try:
                while filler.write(b"x" * 512):
                    pass
            except OSError:
                pass
        sequence = lab.local("GET", "/server").headers["weft-sequence"]
        # The page that the log's end has may take some entries more; then none.
        wait_until(lambda: lab.local("POST", f"/tokens/{'a' * 12}/revoke", {}).status == 404 and
                   lab.local("POST", "/tokens", {"name": "t"}).status == 503)
        tokens = lab.local("GET", "/tokens").json["tokens"]
        changes = [("/nodes/train002/drain", drain), (f"/jobs/{job}/cancel", drain), (f"/jobs/{job}/hold", drain),
                   ("/jobs", {"text": lab_module.SLEEP_JOB.format(name="n", tenant="team-a", nodes=1)}),
                   ("/reservations", {"name": "r", "nodes": "train003", "for": "1h", "reason": "x"}),
                   ("/tokens", {"name": "t"}), ("/nodes/train002/confirm-off", drain)]
        for path, body in changes:
            response = lab.local("POST", path, body)
            self.assertEqual(response.status, 503, (path, response))
            self.assertIn("nothing was changed", response.detail)
        response = lab.http("POST", f"/approvals/{waiting}/approve", {}, token=olga)
        self.assertEqual(response.status, 503)
        self.assertEqual([r["approval"] for r in lab.local("GET", "/approvals").json["approvals"]], [waiting])
        # Reading goes on, jobs run, and the server says what is wrong.
        self.assertEqual(lab.local("GET", "/server").headers["weft-sequence"], sequence, "no record was written")
        self.assertEqual(lab.local("GET", "/tokens").json["tokens"], tokens)
        self.assertEqual(lab.local("GET", f"/jobs/{job}").json["job"]["state"], "running")
        self.assertNotIn("drained", lab.local("GET", "/nodes/train002").text)
        self.assertEqual(lab.http("GET", "/healthz").status, 503)
        (folder / "filler").unlink()
        self.assertEqual(wait_until(lambda: (r := lab.http("POST", "/nodes/train002/drain", drain, token=ada)).status
                                    != 503 and r).status, 200)
        self.assertEqual(lab.http("POST", f"/approvals/{waiting}/approve", {}, token=olga).status, 200)
        self.assertEqual(lab.http("GET", "/healthz").status, 200)
        self.assertEqual(lab.stop(), 0)
        out, _ = lab.weft("audit", "verify", lab.state)
        self.assertIn("yes", out)


class Collector:
    """A syslog server: RFC 5424 messages over TCP with octet counting."""

    def __init__(self, port):
        self.listener = socket.create_server(("127.0.0.1", port))
        self.messages, self.text = [], b""
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.read, args=(connection.makefile("rb"),), daemon=True).start()

    def read(self, stream):
        while count := b"".join(iter(lambda: stream.read(1).strip(b" "), b"")):
            self.messages.append(stream.read(int(count)).decode())

    def close(self):
        self.listener.close()


class ApiAuditExport(unittest.TestCase):
    def test_every_entry_reaches_the_log_server(self):
        port = lab_module.find_ports(1)
        with Lab(f"audit: {{syslog: \"tcp://127.0.0.1:{port}\"}}\n", oidc=True) as lab:
            ada = lab.issuer.token("ada")
            for verb in ("drain", "resume"):  # nothing listens yet: the requests do not wait for it
                self.assertEqual(lab.http("POST", f"/nodes/train001/{verb}", {"reason": "fans"}, token=ada).status, 200)
            collector = Collector(port)
            try:
                self.check(lab, ada, collector)
            finally:
                collector.close()

    def check(self, lab, ada, collector):
        lab.http("POST", "/nodes/train002/drain", {"reason": "after"}, token=ada)
        secret = lab.http("POST", "/tokens", {"name": "own"}, token=ada).json["token"]["secret"]
        lab.http("GET", "/jobs", token="weft_t_forged")

        def is_complete():
            sent = "\n".join(collector.messages)
            return all(entry["hash"] in sent for entry in audit_lines(lab.state)) and "sign-in.refused" in sent
        wait_until(is_complete)
        for message in collector.messages:
            self.assertRegex(message, r"^<\d{1,3}>1 \d{4}-\d\d-\d\dT[\d:.]+Z \S+ \S+ \S+ \S+ ")
        refused = [m for m in collector.messages if "sign-in.refused" in m]
        done = [m for m in collector.messages if "node.drain" in m and '"intent"' not in m]
        severity = [int(re.match(r"<(\d+)>", messages[0]).group(1)) % 8 for messages in (refused, done)]
        self.assertEqual(severity[0], 4, "warning")
        self.assertGreater(severity[1], 4)
        self.assertNotIn(secret[-20:], "\n".join(collector.messages))


if __name__ == "__main__":
    run_tests()
