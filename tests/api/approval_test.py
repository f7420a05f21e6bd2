"""End-to-end tests of the second person (two-person approval): who may approve, what is carried out, and when it is
not. Persons are users of the provider: a token that the lab makes for a user counts as made by the lab's own user.
"""

import concurrent.futures
import grp
import http.client
import json
import os
import pathlib
import pwd
import signal
import ssl
import subprocess
import sys
import time
import unittest

from certificates import CertificateLab
from lab import API, ROLES, SLEEP_JOB, Issuer, Lab, needs, needs_program, run_tests

SECOND = "second_person: [node.confirm-off, node.drain, node.resume, job.cancel, job.submit, reservation.create]\n"
USERS = {**Issuer.USERS,
         "ivan": {"password": "fifth-55555", "groups": ["operators"]},
         "anna": {"password": "admin-66666", "groups": ["admins"]},
         "mallory": {"password": "giver-44444", "groups": ["operators"]},
         "vera": {"password": "viewer-7777", "groups": ["viewers"]},
         "lena": {"password": "leader-8888", "groups": ["leads-a"]},
         "ada@corp": {"password": "mapped-9999", "groups": ["operators"]}}

# Replaces the wall clock of a program: it is ahead by the seconds in the file CLOCK_AHEAD.
CLOCK = """#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int clock_gettime(clockid_t which, struct timespec* now) {
  static int (*real)(clockid_t, struct timespec*);
  if (!real) real = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
  int code = real(which, now);
  const char* path = getenv("CLOCK_AHEAD");
  FILE* file = which == CLOCK_REALTIME && path ? fopen(path, "re") : NULL;
  long ahead = 0;
  if (file) {
    if (fscanf(file, "%ld", &ahead) == 1) now->tv_sec += ahead;
    fclose(file);
  }
  return code;
}
"""


def wait_until(condition):
    """Returns what the condition returned at last."""
    while not (found := condition()):
        time.sleep(0.02)
    return found


def browser_session(lab, user):
    """Headers of a browser that has signed in at the provider."""
    context = ssl.create_default_context(cafile=lab.ca)
    connection = http.client.HTTPSConnection("127.0.0.1", lab.port, timeout=60, context=context)

    def ask(path, cookie=""):
        connection.request("GET", path, headers={"Cookie": cookie} if cookie else {})
        answer = connection.getresponse()
        return answer, answer.read()
    begun, _ = ask("/login?return=/")
    assert begun.status == 303, begun.status
    back = lab.issuer.request("GET", begun.getheader("Location"))
    assert back.status == 200, back
    form = f"user={user}&password={USERS[user]['password']}&submit=yes"
    sent = lab.issuer.request("POST", begun.getheader("Location"), form,
                              {"Content-Type": "application/x-www-form-urlencoded"})
    assert sent.status == 302, sent
    done, _ = ask(sent.headers["location"].split(str(lab.port), 1)[1], begun.getheader("Set-Cookie").split(";")[0])
    cookie = next(value.split(";")[0] for name, value in done.getheaders()
                  if name == "Set-Cookie" and value.startswith("__Host-weft="))
    shown, body = ask(f"{API}/session", cookie)
    assert shown.status == 200, shown.status
    connection.close()
    return {"Cookie": cookie, "X-CSRF-Token": json.loads(body)["session"]["csrf_token"]}


def cli_token(lab, user):
    """The access token of `weft login`."""
    lab.issuer.control("mode", interval=1)
    begun = lab.http("POST", "/login/device", {}).json
    assert lab.issuer.control("device", user_code=begun["user_code"], user=user)["found"]
    answer = None
    while answer is None or answer.json.get("error") in ("authorization_pending", "slow_down"):
        time.sleep(begun["interval"])
        answer = lab.http("POST", "/login/device/token", {"handle": begun["handle"]})
    assert answer.status == 200, answer
    return answer.json["access_token"]


class ApprovalCase(unittest.TestCase):
    """What the tests share: one server, and requests that wait."""
    access, lab = SECOND, None

    @classmethod
    def setUpClass(cls):
        # Jobs of everyone run under one account: another one than root's.
        account = "games" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
        cls.access = cls.access + f"accounts: {{\"*\": {account}}}\n"
        cls.lab = CertificateLab(cls.access, oidc=USERS)
        cls.ada, cls.olga, cls.ivan, cls.anna = (cls.lab.issuer.token(name) for name in ("ada", "olga", "ivan", "anna"))

    @classmethod
    def tearDownClass(cls):
        if cls.lab is not None:
            cls.lab.close()

    def node(self, name):
        return self.lab.local("GET", f"/nodes/{name}").json["node"]

    def is_drained(self, name):
        return "drained" in json.dumps(self.node(name))

    def ask(self, path, body=None, *, token="", **headers):
        """Sends a change that waits; the ID of its approval."""
        response = self.lab.http("POST", path, {"reason": "fans"} if body is None else body, token=token or self.ada, **headers)
        self.assertEqual(response.status, 202, response)
        self.assertIn("second person", response.json["answer"]["message"])
        return response.json["answer"]["approval"]

    def decide(self, approval, verb="approve", *, token="", body=None):
        return self.lab.http("POST", f"/approvals/{approval}/{verb}", body or {}, token=token or self.olga)

    def waiting(self):
        return {row["approval"]: row for row in self.lab.local("GET", "/approvals").json["approvals"]}

    def journal(self):
        return self.lab.local("GET", "/server").headers["weft-sequence"]

    def entries(self, **query):
        return self.lab.audit(**query)


class ApiApproval(ApprovalCase):
    def test_request_waits_and_nothing_changes(self):
        before, tag = self.node("train001"), self.lab.local("GET", "/nodes/train001").headers["etag"]
        approval = self.ask("/nodes/train001/drain", {"reason": "PFC storm"})
        row = self.waiting()[approval]
        self.assertEqual((row["operation"], row["object"], row["user"], row["reason"], row["state"]),
                         ("node.drain", "train001", "ada", "PFC storm", "waiting"))
        self.assertEqual(self.node("train001"), before)
        self.assertEqual(self.lab.local("GET", "/nodes/train001").headers["etag"], tag)
        asked = wait_until(lambda: self.entries(operation="approval.requested", object=approval))
        self.assertEqual([(e["actor"], e["address"]) for e in asked], [("ada", "127.0.0.1")])
        # A second request is another approval: nothing is merged.
        self.assertNotEqual(self.ask("/nodes/train001/drain", {"reason": "PFC storm"}), approval)

    def test_invalid_request_does_not_wait(self):
        count = len(self.waiting())
        for path, body, status in (("/nodes/absent/drain", {"reason": "fans"}, 404), ("/nodes/train001/drain", {"reason": 5}, 400),
                                   ("/nodes/train001/confirm-off", {}, 400),
                                   ("/reservations", {"name": "r", "nodes": "train001", "for": "soon"}, 400)):
            self.assertEqual(self.lab.http("POST", path, body, token=self.ada).status, status, path)
        self.assertEqual(len(self.waiting()), count)

    def test_requester_cannot_approve_with_any_credential(self):
        lab = self.lab
        approval = self.ask("/nodes/train002/drain", {"reason": "mine"})
        own = lab.http("POST", "/tokens", {"name": "second"}, token=self.ada).json["token"]["secret"]
        browser, certificate = browser_session(lab, "ada"), lab.client("ada", "operators")
        tokens = {"the same bearer token": self.ada, "another bearer token": lab.issuer.token("ada"),
                  "an own static token": own, "weft login": cli_token(lab, "ada"),
                  "a token that root made for ada": lab.token("ada", ["operators"])}
        answers = {how: self.decide(approval, token=token) for how, token in tokens.items()}
        target = f"/approvals/{approval}/approve"
        answers["browser"] = lab.http("POST", target, {}, **browser)
        connection = http.client.HTTPSConnection("127.0.0.1", lab.port, timeout=60, context=certificate)
        # Without a session this certificate is an operator: it sees the request that it may not approve.
        connection.request("GET", f"{API}/approvals")
        self.assertIn(approval.encode(), connection.getresponse().read())
        connection.request("POST", API + target, "{}", {"Content-Type": "application/json"})
        answer = connection.getresponse()
        self.assertIn(b"another person", answer.read())
        self.assertEqual(answer.status, 403)
        connection.close()
        for how, response in answers.items():
            self.assertEqual((response.status, "another person" in response.detail), (403, True), (how, response))
        self.assertIn(approval, self.waiting())
        self.assertFalse(self.is_drained("train002"))
        # Positive control: it is the person that matters.
        self.assertEqual(self.decide(approval).status, 200)
        self.assertTrue(self.is_drained("train002"))

    def test_admin_cannot_approve_with_tokens_made_for_others(self):
        """Also not with tokens that were made with those tokens."""
        lab = self.lab

        def create(token, **body):
            return lab.http("POST", "/tokens", {"name": "x", **body}, token=token)
        first = create(self.anna, user="mallory", groups="operators,admins").json["token"]["secret"]
        second = create(first).json["token"]["secret"]
        third = create(first, user="zoe", groups="operators").json["token"]["secret"]
        users = [lab.http("GET", "/session", token=token).json["session"]["user"] for token in (first, second, third)]
        self.assertEqual(users, ["mallory", "mallory", "zoe"])
        tokens = {"anna": self.anna, "mallory": lab.issuer.token("mallory"), "first": first, "second": second,
                  "third": third}
        for asking, approving in [(a, b) for a in tokens.values() for b in tokens.values()]:
            if {asking, approving} == {tokens["anna"], tokens["mallory"]}:
                continue  # two persons
            approval = self.ask("/nodes/train003/drain", token=asking)
            self.assertEqual(self.decide(approval, token=approving).status, 403)
            self.assertEqual(self.decide(approval, "reject").status, 200)
        self.assertFalse(self.is_drained("train003"))

    def test_requester_on_the_unix_socket_cannot_approve_remotely(self):
        me = self.lab.local("GET", "/session").json["session"]["user"]
        made = self.lab.local("POST", "/tokens", {"name": "own"}).json["token"]["secret"]
        other = self.lab.token("mallory", ["operators"])
        response = self.lab.local("POST", "/nodes/train003/drain", {"reason": "fans"})
        self.assertEqual(response.status, 202)
        approval = response.json["answer"]["approval"]
        self.assertEqual(self.waiting()[approval]["user"], me)
        self.assertEqual(self.lab.local("POST", f"/approvals/{approval}/approve", {}).status, 403)
        for token in (made, other):
            self.assertEqual(self.decide(approval, token=token).status, 403)
            reverse = self.ask("/nodes/train003/drain", token=token)
            self.assertEqual(self.lab.local("POST", f"/approvals/{reverse}/approve", {}).status, 403)
        self.assertFalse(self.is_drained("train003"))

    def test_another_operator_approves_and_it_is_done_once(self):
        since = self.journal()
        approval = self.ask("/nodes/train004/drain", {"reason": "fans"})
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            answers = list(pool.map(lambda _: self.decide(approval, body={"reason": "seen it"}), range(6)))
        self.assertEqual(sorted(answer.status for answer in answers), [200, 404, 404, 404, 404, 404], answers)
        self.assertTrue(self.is_drained("train004"))
        self.assertEqual(self.decide(approval).status, 404)
        self.assertNotIn(approval, self.waiting())
        entries = wait_until(lambda: [e for e in self.entries(operation="node.drain", object="train004")
                                      if e["phase"] == "outcome"] and
                             self.entries(operation="node.drain", object="train004"))
        self.assertEqual([(e["phase"], e["actor"]) for e in entries], [("outcome", "ada"), ("intent", "ada")])
        outcome, intent = entries
        self.assertEqual((intent["approved_by"], intent["reason"], outcome["status"]), ("olga", "fans", 200))
        self.assertEqual(("drained" in intent["before"], "drained" in outcome["after"]), (False, True))
        approvals = wait_until(lambda: [e for e in self.entries(operation="approval.approve", object=approval)
                                        if e["status"] == 200])
        self.assertEqual([e["actor"] for e in approvals], ["olga"])
        self.assertEqual({e["reason"] for e in self.entries(operation="approval.approve", object=approval)
                          if e["phase"] == "intent"} - {None}, {"seen it"})
        self.assertEqual(self.records(since, "node_drain"), 1)

    def records(self, since, kind):
        """How many records of a kind the journal has after `since`."""
        end = int(self.journal())
        connection = self.lab.connect()
        connection.request("GET", f"{API}/events?since={since}", headers={"Authorization": f"Bearer {self.olga}"})
        stream, number, found, line = connection.getresponse(), int(since), 0, "begins"
        while number < end or line:  # the last event to its end
            line = stream.readline().decode().strip()
            if line.startswith("id:"):
                number = int(line[3:])
            found += line == f"event: {kind}"
        connection.close()
        return found

    def test_reject_withdraw_and_unknown(self):
        rejected, withdrawn = self.ask("/nodes/train003/drain"), self.ask("/nodes/train003/drain")
        self.assertEqual(self.decide(rejected, "reject", body={"reason": "wrong node"}).status, 200)
        self.assertEqual(self.decide(withdrawn, "reject", token=self.ada).status, 200, "one's own")
        for approval in (rejected, withdrawn, "aaaaaaaaaaaa", "..", "%2e%2e%2f", "x" * 500, "0"):
            for verb in ("approve", "reject"):
                response = self.decide(approval, verb)
                self.assertIn(response.status, (400, 404), response)
                self.assertEqual(response.headers["content-type"], "application/problem+json")
        self.assertEqual(self.decide(rejected).status, 404)
        self.assertFalse(self.is_drained("train003"))
        seen = wait_until(lambda: [e for e in self.entries(operation="approval.reject", object=rejected)
                                   if e["phase"] == "outcome"])
        self.assertEqual([(e["actor"], e["status"]) for e in seen], [("olga", 200)])

    def test_only_operators_see_and_decide(self):
        approval = self.ask("/nodes/train003/drain", {"reason": "canary-reason"})
        for name in ("bob", "carol", "vera", "lena", "nobody-yet"):
            token = self.lab.issuer.token(name)
            listed = self.lab.http("GET", "/approvals", token=token)
            self.assertEqual(listed.status, 403, name)
            self.assertNotIn("canary-reason", listed.text)
            for verb in ("approve", "reject"):
                self.assertEqual(self.decide(approval, verb, token=token).status, 403, name)
                self.assertEqual(self.decide("aaaaaaaaaaaa", verb, token=token).status, 403, "alike")
        restricted = self.lab.http("POST", "/tokens", {"name": "r", "role": "viewer"}, token=self.olga)
        self.assertEqual(self.decide(approval, token=restricted.json["token"]["secret"]).status, 403)
        self.assertIn(approval, self.waiting())
        self.assertFalse(self.is_drained("train003"))

    def test_user_of_a_tenant_asks_and_an_operator_approves(self):
        bob, lena = self.lab.issuer.token("bob"), self.lab.issuer.token("lena")
        text = SLEEP_JOB.format(name="two", tenant="team-a", nodes=1)
        approval = self.ask("/jobs", {"text": text, "name": "job.yaml"}, token=bob, Idempotency_Key="key-of-bob")
        self.assertEqual(json.loads(self.waiting()[approval]["body"]), {"text": text, "name": "job.yaml"})
        again = self.ask("/jobs", {"text": text, "name": "job.yaml"}, token=bob, Idempotency_Key="key-of-bob")
        self.assertEqual(self.lab.local("GET", "/jobs").json["jobs"], [])
        answers = [self.decide(approval), self.decide(again)]
        jobs = [answer.json["answer"]["job"] for answer in answers]
        self.assertEqual(jobs[0], jobs[1], "the key of the request holds for what is carried out")
        self.assertEqual(self.lab.local("GET", f"/jobs/{jobs[0]}").json["job"]["user"], "bob")
        approval = self.ask(f"/jobs/{jobs[0]}/cancel", token=bob)
        self.assertEqual(self.decide(approval, token=lena).status, 403, "a tenant admin is no operator")
        self.assertEqual(self.decide(approval, token=bob).status, 403)
        self.assertNotIn(self.lab.local("GET", f"/jobs/{jobs[0]}").json["job"]["state"], ("canceling", "canceled"))
        self.assertEqual(self.decide(approval).status, 200)
        wait_until(lambda: self.lab.local("GET", f"/jobs/{jobs[0]}").json["job"]["state"] == "canceled")

    def test_what_is_approved_is_what_was_sent(self):
        body = '{ "for":"1h",\n  "nodes" : "train00[4-5]", "name":"fans\\u002d2",  "reason":"fans" }'
        approval = self.ask("/reservations", body, Content_Type="application/json")
        self.assertEqual(self.waiting()[approval]["body"], body, "byte for byte")
        response = self.decide(approval)
        self.assertEqual(response.status, 201, response)
        row = next(r for r in self.lab.local("GET", "/reservations").json["reservations"] if r["name"] == "fans-2")
        self.assertIn("train[004-005]", json.dumps(row))
        # The reason of the person who approves is not the reason of the change.
        entries = wait_until(lambda: [e for e in self.entries(operation="reservation.create")
                                      if e["phase"] == "intent" and e["reason"] == "fans"])
        self.assertEqual((entries[0]["members"] or "").count("train00[4-5]"), 1)

    def test_precondition_holds_when_it_is_carried_out(self):
        tag = self.lab.local("GET", "/nodes/train005").headers["etag"]
        stale = self.ask("/nodes/train005/drain", {"reason": "stale"}, If_Match=tag)
        fresh = self.ask("/nodes/train005/drain", {"reason": "fresh"}, If_Match=tag)
        self.assertEqual(self.decide(fresh).status, 200)
        after = self.node("train005")
        self.assertEqual(self.decide(stale).status, 412, "the node has changed since")
        self.assertEqual(self.node("train005"), after)

    def test_command_line(self):
        lab = self.lab

        def weft(token, *words, code=0):
            return lab.weft(*words, "--server", lab.url, code=code,
                            environment={"WEFT_TOKEN": token, "WEFT_CA": lab.ca})
        out, _ = weft(self.ada, "node", "drain", "train003", "--reason", "by hand")
        ids = [each for each in self.waiting() if each in out]
        self.assertEqual(len(ids), 1, out)
        self.assertIn(f"weft approval approve {ids[0]}", out)
        out, _ = weft(self.olga, "approval", "list", "-o", "json")
        self.assertEqual(next(r for r in json.loads(out)["approvals"] if r["approval"] == ids[0])["reason"], "by hand")
        self.assertIn(ids[0], weft(self.olga, "approval", "list")[0])
        _, errors = weft(self.ada, "approval", "approve", ids[0], code=None)
        self.assertIn("another person", errors)
        self.assertFalse(self.is_drained("train003"))
        weft(self.olga, "approval", "reject", ids[0], "--reason", "no")
        weft(self.olga, "approval", "approve", ids[0], code=2)
        out, _ = weft(self.ada, "node", "drain", "train003", "--reason", "again")
        again = next(each for each in self.waiting() if each in out)
        weft(self.ivan, "approval", "approve", again, "--reason", "agreed")
        self.assertTrue(self.is_drained("train003"))
        self.undo("train003")

    def undo(self, node):
        """Returns a node to service, for the other tests."""
        self.assertEqual(self.decide(self.ask(f"/nodes/{node}/resume")).status, 200)
        self.assertFalse(self.is_drained(node))


class ApiApprovalRights(ApprovalCase):
    """Rights that end while a request waits."""

    def refused(self, approval, status):
        response = self.decide(approval)
        self.assertEqual(response.status, status, response)
        self.assertFalse(self.is_drained("train001"))
        self.assertNotIn(approval, self.waiting(), "it is not tried again")

    def reload(self, roles):
        count = self.lab.log().count("access file read again")
        self.lab.write_access(self.access, roles)
        self.lab.process.send_signal(signal.SIGHUP)
        wait_until(lambda: self.lab.log().count("access file read again") > count)

    def test_revoked_token_of_the_requester(self):
        token = self.lab.http("POST", "/tokens", {"name": "short"}, token=self.ada).json["token"]
        approval = self.ask("/nodes/train001/drain", token=token["secret"])
        self.assertEqual(self.lab.http("POST", f"/tokens/{token['token']}/revoke", {}, token=self.ada).status, 200)
        self.refused(approval, 409)

    def test_ended_session_of_the_requester(self):
        browser = browser_session(self.lab, "ada")
        response = self.lab.http("POST", "/nodes/train001/drain", {"reason": "fans"}, **browser)
        approval = response.json["answer"]["approval"]
        self.assertEqual(self.lab.http("POST", "/session/logout", {}, **browser).status, 200)
        self.refused(approval, 409)

    def test_role_of_the_requester_was_removed(self):
        approval = self.ask("/nodes/train001/drain", token=self.lab.issuer.token("ivan"))
        kept = self.ask("/nodes/train001/drain")
        try:
            # ivan is left without any role, ada with the role of a user.
            self.reload(ROLES.replace("groups: [operators]", "users: [olga]"))
            self.refused(approval, 409)
            self.refused(kept, 403)
        finally:
            self.reload(ROLES)
        self.assertEqual(self.decide(self.ask("/nodes/train002/drain")).status, 200, "positive control")

    def test_role_of_the_second_person_was_removed(self):
        approval = self.ask("/nodes/train001/drain")
        try:
            self.reload(ROLES.replace("groups: [operators]", "users: [ada]"))
            self.assertEqual(self.decide(approval).status, 403)
            self.assertIn(approval, self.waiting())
        finally:
            self.reload(ROLES)
        self.assertEqual(self.decide(approval, "reject").status, 200)


class ApiApprovalStart(unittest.TestCase):
    """Servers of their own."""

    def test_restart_drops_what_waits(self):
        with Lab(SECOND, oidc=USERS) as lab:
            ada, olga = lab.issuer.token("ada"), lab.issuer.token("olga")
            response = lab.http("POST", "/nodes/train001/drain", {"reason": "fans"}, token=ada)
            approval = response.json["answer"]["approval"]
            self.assertEqual(lab.stop(), 0)
            lab.start()
            self.assertEqual(lab.local("GET", "/approvals").json["approvals"], [])
            self.assertEqual(lab.http("POST", f"/approvals/{approval}/approve", {}, token=olga).status, 404)
            self.assertNotIn("drained", lab.local("GET", "/nodes/train001").text)

    def test_request_expires_after_an_hour(self):
        needs_program("cc")
        with Lab(SECOND, oidc=USERS, start=False) as lab:
            ahead, shim = lab.folder / "ahead", lab.folder / "clock.so"
            (lab.folder / "clock.c").write_text(CLOCK, encoding="ascii")
            subprocess.run(["cc", "-shared", "-fPIC", "-o", shim, lab.folder / "clock.c", "-ldl"], check=True)
            ahead.write_text("0", encoding="ascii")
            lab.environment = {"LD_PRELOAD": str(shim), "CLOCK_AHEAD": str(ahead)}
            lab.start()

            def token(user):  # one that is valid at all these times
                return lab.issuer.token(user, claims={"exp": int(time.time()) + 8000})
            ada, olga = token("ada"), token("olga")

            def ask(node):
                return lab.http("POST", f"/nodes/{node}/drain", {"reason": "fans"}, token=ada).json["answer"]["approval"]
            late, timely = ask("train001"), ask("train002")
            ahead.write_text("3500", encoding="ascii")
            self.assertEqual(lab.http("POST", f"/approvals/{timely}/approve", {}, token=olga).status, 200)
            ahead.write_text("3660", encoding="ascii")
            self.assertEqual(lab.http("POST", f"/approvals/{late}/approve", {}, token=olga).status, 404)
            self.assertEqual(lab.local("GET", "/approvals").json["approvals"], [])
            self.assertNotIn("drained", lab.local("GET", "/nodes/train001").text)
            self.assertIn("drained", lab.local("GET", "/nodes/train002").text)
            expired = wait_until(lambda: lab.audit(operation="approval.expired"))
            self.assertEqual([(e["object"], e["actor"]) for e in expired], [(late, "ada")])

    def test_operations_that_no_second_person_can_carry_out_are_refused(self):
        """An approval of approvals would never end, and the answer of token.create is a secret of the requester."""
        for name in ("approval.approve", "approval.reject", "token.create", "session.logout", "job.list", "node.dran"):
            with Lab(f"second_person: [{name}]\n", start=False) as lab:
                with self.assertRaises(RuntimeError) as caught:
                    lab.start()
                self.assertIn(f"unknown operation `{name}`", str(caught.exception))

    def test_account_of_the_requester_cannot_approve(self):
        """`accounts` says that ada@corp of the provider is one Unix account: it is the same person."""
        needs(os.geteuid() == 0, "root")
        account = "games"  # any that Debian has, with a group of its own
        group = grp.getgrgid(60).gr_name
        access = SECOND + f"accounts: {{ada@corp: {account}}}\n"
        with Lab(access, oidc=USERS, roles=ROLES + f"  - {{role: operator, groups: [{group}]}}\n") as lab:
            lab.folder.chmod(0o711)
            script = pathlib.Path(lab.folder, "post.py")
            script.write_text("import socket, sys\n"
                              "s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])\n"
                              "s.sendall(f'POST {sys.argv[2]} HTTP/1.1\\r\\nHost: weft\\r\\nConnection: close\\r\\n"
                              "Content-Length: 0\\r\\n\\r\\n'.encode())\n"
                              "print(b''.join(iter(lambda: s.recv(9999), b'')).decode())\n", encoding="ascii")
            script.chmod(0o644)

            def approve(approval):
                words = [sys.executable, script, lab.socket, f"{API}/approvals/{approval}/approve"]
                done = subprocess.run(words, user=account, group=group, extra_groups=[], capture_output=True, text=True,
                                      check=True, cwd="/")
                return done.stdout

            def ask(user):
                return lab.http("POST", "/nodes/train001/drain", {"reason": "fans"}, token=lab.issuer.token(user)).json["answer"]["approval"]
            self.assertIn(" 403 ", approve(ask("ada@corp")))
            self.assertNotIn("drained", lab.local("GET", "/nodes/train001").text)
            self.assertIn(" 200 ", approve(ask("ada")), "positive control")


if __name__ == "__main__":
    run_tests()
