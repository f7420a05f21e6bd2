"""The authorization matrix: every operation of the OpenAPI document that the running server serves, for every role and
for one's own, another user's, another tenant's and an absent object. What is expected is written down below, from
docs/access.md: an operation without a rule fails, and so does a rule without an operation.

Usage: matrix_test.py EXECUTABLE [PATTERN...]
"""

import csv
import getpass
import io
import json
import os
import re
import time
import unittest
import urllib.parse

from lab import API, Lab, METHODS, operations, run_tests

# Another tenant's names: no other text contains them. Those of team-a begin with zq5, those of team-b with zq7.
WORD_A, WORD_B = "zq5", "zq7"

# Who asks: user, groups, and how the token is restricted.
CALLERS = {
    "no role": ("norman", [], {}),
    "viewer": ("vera", ["viewers"], {}),
    "anna": ("zq5anna", ["team-a"], {}),
    "alan": ("zq5alan", ["team-a"], {}),
    "bert": ("zq7bert", ["team-b"], {}),
    "lead a": ("zq5lena", ["leads-a"], {}),
    "lead b": ("zq7lars", ["leads-b"], {}),
    "operator": ("oscar", ["operators"], {}),
    "admin": ("adam", ["admins"], {}),
    "operator as viewer": ("oscar", ["operators"], {"role": "viewer"}),
    "admin as operator": ("adam", ["admins"], {"role": "operator"}),
    "admin as user a": ("adam", ["admins"], {"role": "user", "tenant": "team-a"}),
    "lead as user": ("zq5lena", ["leads-a"], {"role": "user", "tenant": "team-a"}),
    "both as a": ("otto", ["team-a", "team-b"], {"tenant": "team-a"}),
}
# Without a credential; an admin over the Unix socket; an admin with a token of the provider, not by another user.
ANONYMOUS, SOCKET, BEARER = "anonymous", "socket", "bearer"
PEOPLE = {"adele": {"password": "unused-1", "groups": ["admins"]},
          "olga": {"password": "unused-2", "groups": ["operators"]}}  # asks for what the callers approve

OK = "ok"  # allowed: what is answered then is in the rule


class Table:
    """For each caller, what is answered for each object: a status, or OK. `none`: there is no such object."""

    def __init__(self, text):
        head, *lines = [line for line in text.splitlines() if line.strip()]
        self.objects = head.split()
        self.cells = {}
        for line in lines:
            name, *cells = [part.strip() for part in re.split(r"\s{2,}", line.strip())]
            assert len(cells) == len(self.objects), line
            self.cells[name] = {each: OK if cell == OK else int(cell) for each, cell in zip(self.objects, cells)
                                if cell != "none"}
        assert set(self.cells) == {ANONYMOUS, SOCKET, BEARER, *CALLERS}, text


# Objects of requests that name none: "-".
ANYONE = Table("""
                        -
    anonymous           ok
    no role             ok
    viewer              ok
    anna                ok
    alan                ok
    bert                ok
    lead a              ok
    lead b              ok
    operator            ok
    admin               ok
    socket              ok
    bearer              ok
    operator as viewer  ok
    admin as operator   ok
    admin as user a     ok
    lead as user        ok
    both as a           ok
""")
# Over the Unix socket there is nothing to sign in to.
LOGIN = Table("""
                        -
    anonymous           ok
    no role             ok
    viewer              ok
    anna                ok
    alan                ok
    bert                ok
    lead a              ok
    lead b              ok
    operator            ok
    admin               ok
    socket              409
    bearer              ok
    operator as viewer  ok
    admin as operator   ok
    admin as user a     ok
    lead as user        ok
    both as a           ok
""")
SIGNED_IN = Table("""
                        -
    anonymous           401
    no role             ok
    viewer              ok
    anna                ok
    alan                ok
    bert                ok
    lead a              ok
    lead b              ok
    operator            ok
    admin               ok
    socket              ok
    bearer              ok
    operator as viewer  ok
    admin as operator   ok
    admin as user a     ok
    lead as user        ok
    both as a           ok
""")
ANY_ROLE = Table("""
                        -
    anonymous           401
    no role             403
    viewer              ok
    anna                ok
    alan                ok
    bert                ok
    lead a              ok
    lead b              ok
    operator            ok
    admin               ok
    socket              ok
    bearer              ok
    operator as viewer  ok
    admin as operator   ok
    admin as user a     ok
    lead as user        ok
    both as a           ok
""")
OPERATOR = Table("""
                        -
    anonymous           401
    no role             403
    viewer              403
    anna                403
    alan                403
    bert                403
    lead a              403
    lead b              403
    operator            ok
    admin               ok
    socket              ok
    bearer              ok
    operator as viewer  403
    admin as operator   ok
    admin as user a     403
    lead as user        403
    both as a           403
""")
ADMIN = Table("""
                        -
    anonymous           401
    no role             403
    viewer              403
    anna                403
    alan                403
    bert                403
    lead a              403
    lead b              403
    operator            403
    admin               ok
    socket              ok
    bearer              ok
    operator as viewer  403
    admin as operator   403
    admin as user a     403
    lead as user        403
    both as a           403
""")
# Jobs of anna and alan of team-a and of bert of team-b, and one that does not exist. 404: also for those that exist.
SEE_JOB = Table("""
                        anna  alan  bert  absent
    anonymous           401   401   401   401
    no role             403   403   403   403
    viewer              ok    ok    ok    404
    anna                ok    ok    404   404
    alan                ok    ok    404   404
    bert                404   404   ok    404
    lead a              ok    ok    404   404
    lead b              404   404   ok    404
    operator            ok    ok    ok    404
    admin               ok    ok    ok    404
    socket              ok    ok    ok    404
    bearer              ok    ok    ok    404
    operator as viewer  ok    ok    ok    404
    admin as operator   ok    ok    ok    404
    admin as user a     ok    ok    404   404
    lead as user        ok    ok    404   404
    both as a           ok    ok    404   404
""")
# Changes, and reading the output.
CHANGE_JOB = Table("""
                        anna  alan  bert  absent
    anonymous           401   401   401   401
    no role             403   403   403   403
    viewer              403   403   403   404
    anna                ok    403   404   404
    alan                403   ok    404   404
    bert                404   404   ok    404
    lead a              ok    ok    404   404
    lead b              404   404   ok    404
    operator            ok    ok    ok    404
    admin               ok    ok    ok    404
    socket              ok    ok    ok    404
    bearer              ok    ok    ok    404
    operator as viewer  403   403   403   404
    admin as operator   ok    ok    ok    404
    admin as user a     403   403   404   404
    lead as user        403   403   404   404
    both as a           403   403   404   404
""")
# Tenants; a tenant of others is an unknown one, and a job file that names one is invalid.
SUBMIT = Table("""
                        team-a  team-b  team-none
    anonymous           401     401     401
    no role             403     403     403
    viewer              403     403     403
    anna                ok      422     422
    alan                ok      422     422
    bert                422     ok      422
    lead a              ok      422     422
    lead b              422     ok      422
    operator            ok      ok      422
    admin               ok      ok      422
    socket              ok      ok      422
    bearer              ok      ok      422
    operator as viewer  403     403     403
    admin as operator   ok      ok      422
    admin as user a     ok      422     422
    lead as user        ok      422     422
    both as a           ok      422     422
""")
# Static tokens: the one that asks, another one of the same user, one of another user, and none. A restricted token
# revokes only itself.
TOKEN = Table("""
                        itself  own  other  absent
    anonymous           none    401  401    401
    no role             ok      ok   404    404
    viewer              ok      ok   404    404
    anna                ok      ok   404    404
    alan                ok      ok   404    404
    bert                ok      ok   404    404
    lead a              ok      ok   404    404
    lead b              ok      ok   404    404
    operator            ok      ok   404    404
    admin               ok      ok   ok     404
    socket              none    ok   ok     404
    bearer              none    ok   ok     404
    operator as viewer  ok      403  404    404
    admin as operator   ok      403  404    404
    admin as user a     ok      403  404    404
    lead as user        ok      403  404    404
    both as a           ok      403  404    404
""")
# Creating a token of another user, or with other groups.
TOKEN_OF_OTHER = Table("""
                        -
    anonymous           401
    no role             403
    viewer              403
    anna                403
    alan                403
    bert                403
    lead a              403
    lead b              403
    operator            403
    admin               ok
    socket              ok
    bearer              ok
    operator as viewer  403
    admin as operator   403
    admin as user a     403
    lead as user        403
    both as a           403
""")


class Rule:
    """`ok`: the statuses of an allowed request in the state that the test makes. `body`: instead of the document's
    example."""

    def __init__(self, table, *ok, body=None):
        self.table, self.ok, self.body = table, set(ok) or {200}, body


NODES = "train005"
NEW_RESERVATION = {"name": "zq0new", "nodes": NODES, "in": "10h", "for": "1h"}
# This server has one engine (409: no leases) and no access to devices (501).
RULES = {
    "server.show": [Rule(ANY_ROLE)],
    "queue.show": [Rule(ANY_ROLE)],
    "event.follow": [Rule(ANY_ROLE)],
    "job.list": [Rule(ANY_ROLE)],
    "job.submit": [Rule(SUBMIT, 201)],
    "job.check": [Rule(SUBMIT, 200)],
    "job.show": [Rule(SEE_JOB)],
    "job.why": [Rule(SEE_JOB)],
    "job.logs": [Rule(CHANGE_JOB)],
    "job.cancel": [Rule(CHANGE_JOB)],
    "job.hold": [Rule(CHANGE_JOB)],
    "job.release": [Rule(CHANGE_JOB)],
    "job.drill": [Rule(CHANGE_JOB, 409)],  # it does not run
    "node.list": [Rule(ANY_ROLE)],
    "node.show": [Rule(ANY_ROLE)],
    "node.drain": [Rule(OPERATOR)],
    "node.resume": [Rule(OPERATOR)],
    "node.confirm-off": [Rule(OPERATOR, 202)],  # needs a second person
    "reservation.list": [Rule(ANY_ROLE)],
    "reservation.create": [Rule(OPERATOR, 200, 201, body=NEW_RESERVATION)],
    "reservation.remove": [Rule(OPERATOR)],
    "lease.list": [Rule(ANY_ROLE, 409)],
    "lease.show": [Rule(ANY_ROLE, 409)],
    "lease.move": [Rule(OPERATOR, 409)],
    "session.show": [Rule(SIGNED_IN)],
    "session.logout": [Rule(SIGNED_IN, 409)],  # a static token is no session
    "token.list": [Rule(SIGNED_IN)],
    "token.create": [Rule(SIGNED_IN, 201, body={"name": "matrix"}),
                     Rule(TOKEN_OF_OTHER, 201, body={"name": "matrix", "user": "paula"}),
                     Rule(TOKEN_OF_OTHER, 201, body={"name": "matrix", "groups": "admins"})],
    "token.revoke": [Rule(TOKEN)],
    "approval.list": [Rule(OPERATOR)],
    "approval.approve": [Rule(OPERATOR, 200, 409)],  # the node is not out of service
    "approval.reject": [Rule(OPERATOR)],
    "audit.list": [Rule(ADMIN)],
    "oob.inventory": [Rule(OPERATOR, 501)],
    "oob.status": [Rule(OPERATOR, 501)],
    "oob.sensors": [Rule(OPERATOR, 501)],
    "oob.device-sensors": [Rule(OPERATOR, 501)],
    "oob.events": [Rule(OPERATOR, 501)],
    "oob.device-events": [Rule(OPERATOR, 501)],
    "oob.users": [Rule(OPERATOR, 501)],
    "oob.settings": [Rule(OPERATOR, 501)],
    "oob.audit": [Rule(OPERATOR, 501)],
    "oob.drift": [Rule(OPERATOR, 501)],
    "oob.journal": [Rule(OPERATOR, 501)],
    "oob.journal-verify": [Rule(OPERATOR, 501)],
    "oob.power-incomplete": [Rule(OPERATOR, 501)],
    "oob.runbooks": [Rule(OPERATOR, 501)],
    "oob.runbook": [Rule(OPERATOR, 501)],
    "oob.power": [Rule(OPERATOR, 501)],
    "oob.power-resume": [Rule(OPERATOR, 501)],
    "oob.power-abandon": [Rule(OPERATOR, 501)],
    "oob.rotate": [Rule(OPERATOR, 501)],
    "oob.settings-change": [Rule(OPERATOR, 501)],
    "oob.user-disable": [Rule(OPERATOR, 501)],
    "oob.events-clear": [Rule(OPERATOR, 501)],
    "oob.audit-logins": [Rule(OPERATOR, 501)],
    "oob.console": [Rule(OPERATOR, 501)],
    "oob.backup": [Rule(OPERATOR, 501)],
    "oob.restore": [Rule(OPERATOR, 501)],
    "oob.restore-settle": [Rule(OPERATOR, 501)],
    "oob.rescue": [Rule(OPERATOR, 501)],
    "oob.rescue-resume": [Rule(OPERATOR, 501)],
    "oob.operation-list": [Rule(OPERATOR, 501)],
    "oob.operation-show": [Rule(OPERATOR, 501)],
    "login.begin": [Rule(LOGIN, 303)],
    "login.callback": [Rule(LOGIN, 400)],
    "login.device": [Rule(LOGIN, 200)],
    "login.device-token": [Rule(LOGIN, 400)],
    "login.refresh": [Rule(LOGIN, 400)],
    "page.home": [Rule(ANYONE)],
    "page.docs": [Rule(ANYONE)],
    "page.openapi": [Rule(ANYONE)],
    "page.health": [Rule(ANYONE)],
}
# What the document calls the tables.
NEEDS = {"anyone": {ANYONE, LOGIN}, "see": {ANY_ROLE, SEE_JOB},
         "signed_in": {SIGNED_IN, TOKEN, TOKEN_OF_OTHER}, "submit": {SUBMIT},
         "change": {CHANGE_JOB}, "output": {CHANGE_JOB}, "operate": {OPERATOR}, "administer": {ADMIN}}
# The operations that change nothing although they are no GET.
HARMLESS = {"job.check", "login.device", "login.device-token", "login.refresh"}

ABSENT_JOB = "987654"
ABSENT_TOKEN = "weft_t_aaaabbbbcccc"
ABSENT_APPROVAL = "aaaabbbbcccc"
JOB = """job: 1
name: {name}
tenant: {tenant}
nodes: {nodes}
command: [sh, -c, "echo {output}; {then}"]
restart: {{on_failure: fail}}
"""


def job_text(name, tenant, nodes=1, output="ready", then="exec sleep 100000"):
    return JOB.format(name=name, tenant=tenant, nodes=nodes, output=output, then=then)


def wait_until(condition):
    while not condition():
        time.sleep(0.02)


def open_events(lab, token, query):
    """A stream of events: (connection, answer)."""
    connection = lab.connect()
    connection.request("GET", f"{API}/events?{query}", headers={"Authorization": f"Bearer {token}"})
    return connection, connection.getresponse()


def read_events(answer, until=None):
    """(kind, text of the whole event) up to the one that `until` accepts, or the end of the stream."""
    events, lines = [], []
    while True:
        line = answer.readline().decode()
        if line.strip():
            if not line.startswith(":"):
                lines.append(line.rstrip("\n"))
            continue
        if lines:
            text = "\n".join(lines)
            data = json.loads(re.search(r"^data: ?(.*)$", text, re.M).group(1))
            events.append((data, text))
            lines = []
            if until and until(data):
                return events
        if not line:
            return events


class MatrixLab:
    """A server with jobs of both tenants, and a token of every caller."""

    def __init__(self):
        # Jobs of the users run under an account that is not root, where the test is.
        account = "nobody" if os.getuid() == 0 else getpass.getuser()
        self.lab = lab = Lab(f"accounts: {{\"*\": {account}}}\nsecond_person: [node.confirm-off]\n",
                             oidc=PEOPLE)
        try:
            self._fill()
        except BaseException:
            lab.close()
            raise

    def _fill(self):
        lab = self.lab
        self.tokens = {name: lab.token(user, groups, **restriction)
                       for name, (user, groups, restriction) in CALLERS.items()}
        lab.issuer.control("mode", lifetime=36000)
        self.tokens[BEARER] = lab.issuer.token("adele")
        self.asker = lab.issuer.token("olga")
        self.document = lab.openapi()
        self.operations = {name: (method, path, operation)
                           for name, method, path, operation in operations(self.document)}
        self.owners = {"anna": "team-a", "alan": "team-a", "bert": "team-b"}
        self.words = {"anna": WORD_A, "alan": WORD_A, "bert": WORD_B}
        self.jobs = {owner: str(self.submit(owner, "runs")) for owner in self.owners}
        self.jobs["absent"] = ABSENT_JOB
        for owner in self.owners:
            wait_until(lambda number=self.jobs[owner]: lab.local("GET", f"/jobs/{number}/logs").status == 200)
        assert lab.http("POST", "/reservations", {**NEW_RESERVATION, "name": "zq0kept"},
                        token=self.tokens["operator"]).status in (200, 201)
        self.approval = self.ask()
        users = {SOCKET: getpass.getuser(), BEARER: "adele"}
        self.users = {**{name: user for name, (user, *_) in CALLERS.items()}, **users, ANONYMOUS: "wanda"}
        self.kept_token = self.token_name(lab.token("wanda", name="kept"))
        self.own_tokens = {name: self.token_name(lab.token(user, name="own")) for name, user in self.users.items()}
        self.settle()

    def settle(self):
        """Waits until the journal grows no more."""
        calm, last = 0, -1
        while calm < 5:
            now = self.sequence()
            calm, last = calm + 1 if now == last else 0, now
            time.sleep(0.02)

    def submit(self, owner, name, nodes=1, then="exec sleep 100000", **headers):
        word = self.words[owner]
        text = job_text(word + name, self.owners[owner], nodes, word + "output", then)
        body = {"text": text, "directory": "/tmp"}
        answer = self.lab.http("POST", "/jobs", body, token=self.tokens[owner], **headers)
        assert answer.status in (200, 201), answer
        return answer.json["answer"]["job"]

    def ask(self):
        """A request of another operator that waits for a second person."""
        answer = self.lab.http("POST", f"/nodes/{NODES}/confirm-off", {"reason": "test"}, token=self.asker)
        assert answer.status == 202, answer
        return answer.json["answer"]["approval"]

    @staticmethod
    def token_name(secret):
        """Its public part: everything but the secret, which follows the identifier."""
        return "_".join(secret.split("_")[:3])

    def sequence(self):
        return int(self.lab.local("GET", "/server").headers["weft-sequence"])

    def state(self):
        """What a refused request must not change."""
        def rows(path, *without):
            answer = self.lab.local("GET", path)
            assert answer.status == 200, answer
            document = {name: rows for name, rows in answer.json.items() if name not in ("schema_version", "notes")}
            for section in document.values():
                for row in section if isinstance(section, list) else []:
                    for name in without:
                        row.pop(name, None)
            return document
        return [rows("/jobs?all=1"), rows("/nodes"), rows(f"/nodes/{NODES}"), rows("/reservations"),
                rows("/tokens", "used"), rows("/approvals")]

    def request(self, caller, name, rule, which, found=None):
        """Sends the request of one cell. `found`: parameters of the path that were made for it."""
        method, path, operation = self.operations[name]
        tokens = {"own": self.own_tokens[caller], "other": self.kept_token, "absent": ABSENT_TOKEN}
        standing = {"job": self.jobs.get(which), "node": NODES, "name": "zq0kept", "approval": self.approval,
                    "token": tokens.get(which), "device": "train001", "runbook": "pfc-storm",
                    "operation": "aaaabbbbccccdddd"}
        values = {**{key: value for key, value in standing.items() if value}, **(found or {})}
        target = re.sub(r"\{(\w+)\}", lambda match: urllib.parse.quote(values[match.group(1)]), path)
        body = None
        if method != "GET":
            body = rule.body or operation["requestBody"]["content"]["application/json"].get("example", {})
            if rule.table is SUBMIT:
                body = {"text": job_text("zq0submitted", which, 5), "directory": "/tmp"}
        return self.send(caller, method, target, body)

    def send(self, caller, method, target, body=None, **headers):
        if caller == SOCKET:
            return self.lab.local("HEAD" if target.startswith(f"{API}/events") else method, target, body, **headers)
        if caller != ANONYMOUS:
            headers["Authorization"] = f"Bearer {self.tokens[caller]}"
        if method == "GET" and target.startswith(f"{API}/events"):  # only the head: it does not end
            connection = self.lab.connect()
            connection.request(method, target, headers=headers)
            answer = connection.getresponse()
            stream = answer.headers["Content-Type"] == "text/event-stream"
            status, text = answer.status, b"" if stream else answer.read()
            connection.close()
            return Answer(status, answer.getheaders(), text)
        return self.lab.http(method, target, body, **headers)


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.body = status, body
        self.headers = {name.lower(): value for name, value in headers}
        self.text = body.decode()


def cells(table):
    for caller, row in table.cells.items():
        for which, expected in row.items():
            yield caller, which, expected


def matches(template, path):
    return re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", template), path) is not None


class _OneLab(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.made = MatrixLab()
        cls.lab = cls.made.lab

    @classmethod
    def tearDownClass(cls):
        cls.lab.close()


class ApiMatrix(_OneLab):
    def test_every_operation_has_a_rule(self):
        self.assertEqual(set(self.made.operations) - set(RULES), set(), "operations without a rule")
        self.assertEqual(set(RULES) - set(self.made.operations), set(), "rules without an operation")
        for name, (method, _, operation) in self.made.operations.items():
            with self.subTest(name):
                need = operation["x-weft-need"]
                for rule in RULES[name]:
                    self.assertIn(rule.table, NEEDS[need])
                self.assertEqual(operation["security"] == [], RULES[name][0].table in (ANYONE, LOGIN))
                self.assertEqual(operation["x-weft-changes"], method != "GET" and name not in HARMLESS)

    def test_what_is_refused_changes_nothing(self):
        before = self.made.state()
        sequence = self.made.sequence()
        for name, rules in RULES.items():
            for rule in rules:
                for caller, which, expected in cells(rule.table):
                    if expected == OK:
                        continue
                    answer = self.made.request(caller, name, rule, which)
                    place = f"{name} of {which} by {caller}: {answer.text[:300]}"
                    self.assertEqual(answer.status, expected, place)
                    self.assertEqual(answer.headers["content-type"], "application/problem+json", place)
                    self.assertEqual(json.loads(answer.text)["request_id"], answer.headers["x-request-id"], place)
                    self.assertEqual("www-authenticate" in answer.headers, expected == 401, place)
                    if self.made.operations[name][2]["x-weft-changes"]:
                        self.assertEqual(self.made.sequence(), sequence, place)
            self.assertEqual(self.made.state(), before, name)

    def test_what_is_allowed_is_carried_out(self):
        for name, rules in RULES.items():
            for rule in rules:
                for caller, which, expected in cells(rule.table):
                    if expected != OK:
                        continue
                    undo, found = self._prepare(name, caller, which)
                    answer = self.made.request(caller, name, rule, which, found)
                    place = f"{name} of {which} by {caller}: {answer.status} {answer.text[:300]}"
                    self.assertIn(answer.status, rule.ok, place)
                    self._clean_up(name, caller, answer, undo)
                    if which == "itself":
                        user, groups, restriction = CALLERS[caller]
                        self.made.tokens[caller] = self.lab.token(user, groups, **restriction)
        self.made.settle()

    def _prepare(self, name, caller, which):
        """An object that the request may change: what removes it again, and the parameter of the path."""
        made = self.made
        if name in ("job.cancel", "job.hold", "job.release", "job.drill"):
            number = str(made.submit(which, "waits", nodes=5))  # never starts: others hold nodes
            if name == "job.release":
                assert self.lab.local("POST", f"/jobs/{number}/hold", {"reason": "test"}).status == 200
            return [f"/jobs/{number}/cancel"], {"job": number}
        if name == "reservation.remove":
            body = {**NEW_RESERVATION, "name": "zq0made"}
            assert self.lab.local("POST", "/reservations", body).status in (200, 201)
            return [], {"name": "zq0made"}
        if name.startswith("approval.") and name != "approval.list":
            return [f"/nodes/{NODES}/resume"], {"approval": made.ask()}
        if name == "node.resume":
            drained = self.lab.local("POST", f"/nodes/{NODES}/drain", {"reason": "test"})
            assert drained.status == 200, drained
            return [], None
        if name == "token.revoke":
            if which == "itself":
                return [], {"token": made.token_name(made.tokens[caller])}
            user = made.users[caller] if which == "own" else "wanda"
            return [], {"token": made.token_name(self.lab.token(user))}
        return [], None

    def _clean_up(self, name, caller, answer, undo):
        undo = list(undo)
        if name == "job.submit":
            undo.append(f"/jobs/{answer.json['answer']['job']}/cancel")
        if name == "reservation.create":
            undo.append(f"/reservations/{NEW_RESERVATION['name']}/remove")
        if name == "node.drain":
            undo.append(f"/nodes/{NODES}/resume")
        if name == "node.confirm-off":
            undo.append(f"/approvals/{answer.json['answer']['approval']}/reject")
        if name == "token.create":
            undo.append(f"/tokens/{answer.json['token']['token']}/revoke")
        for path in undo:
            cleaned = self.lab.local("POST", path, {"reason": "test"})
            # A job that was canceled, or a node that stayed in service, refuses it.
            self.assertIn(cleaned.status, (200, 409), f"{name} by {caller}: {path}: {cleaned}")

    # What is wrong with a request is said only to those who may send it.
    def test_rights_are_decided_before_the_request_is_read(self):
        invalid = ((b"{", "application/json"), (b"x", "text/plain"), (b'{"no":1}', "application/json"))
        for name, rules in RULES.items():
            method, path, _ = self.made.operations[name]
            if rules[0].table not in (OPERATOR, ADMIN, SUBMIT, ANY_ROLE):
                continue
            target = re.sub(r"\{\w+\}", "x", path)
            refused = {caller: row for caller, row in rules[0].table.cells.items() if OK not in row.values()}
            for caller, row in refused.items():
                expected = min(row.values())
                for body, kind in invalid if method == "POST" else ():
                    answer = self.made.send(caller, method, target, body, **{"Content-Type": kind})
                    self.assertEqual(answer.status, expected, f"{name} by {caller} with {body}: {answer.text}")
                answer = self.made.send(caller, method, target + "?no=1&no=2&output=none")
                self.assertEqual(answer.status, expected, f"{name} by {caller}: {answer.text}")

    def test_wrong_methods_are_answered_with_the_right_ones(self):
        templates = {}
        for method, path, _ in self.made.operations.values():
            templates.setdefault(path, set()).add(method)
        for path in templates:
            if not path.startswith(f"{API}/") or path.endswith("openapi.json"):
                continue
            target = re.sub(r"\{\w+\}", "1", path)
            known = set().union(*(methods for each, methods in templates.items() if matches(each, target)))
            for method in {each.upper() for each in METHODS} - known:
                for caller in ("admin", "no role"):
                    answer = self.made.send(caller, method, target, "{}", **{"Content-Type": "application/json"})
                    self.assertEqual(answer.status, 405, f"{method} {target}")
                    allowed = {each.strip() for each in answer.headers["allow"].split(",")}
                    self.assertEqual(allowed - {"HEAD"}, known, f"{method} {target}")
                self.assertEqual(self.made.send(ANONYMOUS, method, target).status, 401, f"{method} {target}")

    def test_head_is_get_without_a_body(self):
        for name, (method, path, _) in self.made.operations.items():
            if method != "GET" or name.startswith("login."):
                continue
            for caller in (ANONYMOUS, "anna", "admin"):
                target = path.replace("{job}", self.made.jobs["anna"]).replace("{node}", NODES)
                target = re.sub(r"\{\w+\}", "x", target)
                got, head = self.made.send(caller, "GET", target), self.made.send(caller, "HEAD", target)
                self.assertEqual(head.status, got.status, f"{name} by {caller}")
                self.assertEqual(head.body, b"", f"{name} by {caller}")
                self.assertEqual(*(each.headers.get("content-type") for each in (head, got)), f"{name} by {caller}")

    def test_the_unknown_are_told_nothing_but_401(self):
        paths = [re.sub(r"\{\w+\}", "1", path) for _, path, _ in self.made.operations.values() if path.startswith(API)]
        paths += [path + "/more" for path in paths[:5]]
        paths += [f"{API}/none", f"{API}/jobs/1/none", f"{API}/openapi.json/none", f"{API}/openapi", API, f"{API}/",
                  f"{API}/jobs?no=1", f"{API}/nodes/none", f"{API}/nodes/train001", f"{API}/oob/none"]
        paths.remove(f"{API}/openapi.json")
        # Without a credential, and with ones that are not valid, some of which resemble a valid one.
        secret = self.made.tokens["admin"]
        wrong = [{}, {"Authorization": "Bearer "}, {"Authorization": f"Bearer {secret[:-1]}"},
                 {"Authorization": f"Bearer {secret}x"}, {"Authorization": f"bearer {secret[:-2]}"},
                 {"Authorization": f"Basic {secret}"}, {"Cookie": f"__Host-weft={secret}"},
                 {"Authorization": f"Bearer {self.made.token_name(secret)}"}]
        answers = set()
        for path in paths:
            for method in ("GET", "POST", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS"):
                for headers in wrong if path in (f"{API}/jobs", f"{API}/none") else wrong[:1]:
                    answer = self.made.send(ANONYMOUS, method, path, **headers)
                    self.assertEqual(answer.status, 401, f"{method} {path} {headers}: {answer.text}")
                    if method != "HEAD":
                        answers.add(comparable(answer))
        self.assertEqual(len(answers), 1, answers)

    def test_the_document_is_public(self):
        self.assertEqual(self.made.send(ANONYMOUS, "GET", f"{API}/openapi.json").json, self.made.document)

    # Status, headers and body: also the length, which the number of the job must not decide.
    def test_foreign_objects_are_answered_like_absent_ones(self):
        foreign = {"anna": "bert", "lead a": "bert", "lead as user": "bert", "both as a": "bert",
                   "admin as user a": "bert", "bert": "anna", "lead b": "alan"}
        compared = 0
        for name, (method, path, operation) in self.made.operations.items():
            for caller, owner in foreign.items():
                if "{job}" in path:
                    pair = (self.made.jobs[owner], ABSENT_JOB)
                elif name == "token.revoke":  # of wanda
                    pair = (self.made.kept_token, ABSENT_TOKEN)
                else:
                    continue
                bodies = [{}, {"reason": "r"}, {"no": 1}] if method == "POST" else [None]
                for body in bodies:
                    for headers in ({}, {"If-Match": "*"}, {"If-Match": '"x"'}, {"Idempotency-Key": "k"}):
                        for query in ("", "?output=table", "?no=1", "?task=7&attempt=3"):
                            targets = [re.sub(r"\{\w+\}", each, path) + query for each in pair]
                            both = [comparable(self.made.send(caller, method, target, body, **headers), each)
                                    for target, each in zip(targets, pair)]
                            self.assertEqual(*both, f"{name} {query} {headers} {body} by {caller}")
                            compared += 1
        self.assertGreater(compared, 1000)

    def test_foreign_tenants_are_answered_like_unknown_ones(self):
        for path in ("/jobs", "/jobs/check"):
            for where in ("file", "member"):
                both = []
                for tenant in ("team-b", "team-y"):
                    text = job_text("zq5job", tenant)
                    body = {"text": text} if where == "file" else {"text": text.replace(f"tenant: {tenant}\n", ""),
                                                                  "tenant": tenant}
                    both.append(comparable(self.made.send("anna", "POST", API + path, body), tenant))
                self.assertEqual(*both)
        for query in ("?tenant={}", "?user={}", "?name={}", "?tenant={}&output=csv", "?all=1&user={}&sort=job&limit=1"):
            for known, unknown in (("team-b", "team-y"), ("zq7bert", "zq7none"), ("zq7runs", "zq7walk")):
                both = [comparable(self.made.send("anna", "GET", f"{API}/jobs{query.format(each)}"), each)
                        for each in (known, unknown)]
                self.assertEqual(*both)

    def test_a_key_of_another_user_is_not_known(self):
        number = self.made.submit("bert", "keyed", nodes=5, Idempotency_Key="zq7key")
        other = self.made.submit("anna", "keyed", nodes=5, Idempotency_Key="zq7key")
        self.assertNotEqual(other, number)
        self.assertEqual(self.made.submit("anna", "keyed", nodes=5, Idempotency_Key="zq7key"), other)
        for each in (number, other):
            self.lab.local("POST", f"/jobs/{each}/cancel", {"reason": "test"})


def comparable(answer, name=""):
    """All of an answer but the request's id and the name of the object."""
    changing = ("x-request-id", "date", "content-length")
    text = answer.text.replace(answer.headers.get("x-request-id", "\0"), "ID")
    length_fits = not answer.body or int(answer.headers["content-length"]) == len(answer.body)
    if name:
        text = re.sub(rf"(?<!\d){re.escape(name)}(?!\d)", "NAME", text)
        text = re.sub(r"\^~+", "^~", text)
    return (answer.status, text, length_fits,
            tuple(sorted(each for each in answer.headers.items() if each[0] not in changing)))


FORMATS = ("json", "table", "wide", "yaml", "ndjson", "csv")


class ApiMatrixContent(_OneLab):
    """Nothing of one tenant is in any answer to the users of the other."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        made = cls.made
        lab = cls.lab
        cls.numbers = {"team-a": {int(made.jobs["anna"]), int(made.jobs["alan"])}, "team-b": {int(made.jobs["bert"])}}

        def own(owner, number):
            cls.numbers[made.owners[owner]].add(number)
            return number

        # Jobs in every state, for both tenants alike, so that each is the other's foreigner.
        for owner in ("anna", "bert"):
            word, token = made.words[owner], made.tokens[owner]
            own(owner, made.submit(owner, "waits", nodes=5))
            held = own(owner, made.submit(owner, "held", nodes=5))
            gone = own(owner, made.submit(owner, "gone", nodes=5))
            for number, verb in ((held, "hold"), (gone, "cancel")):
                answer = lab.http("POST", f"/jobs/{number}/{verb}", {"reason": f"{word}reason"}, token=token)
                assert answer.status == 200, answer
            failed = own(owner, made.submit(owner, "failed", then=f"echo {word}error >&2; exit 3"))
            wait_until(lambda number=failed: lab.local("GET", f"/jobs/{number}").json["job"]["state"] not in
                       ("queued", "starting", "running"))
            lab.token(CALLERS[owner][0], [made.owners[owner]], name=f"{word}token")
            # What an operator writes may be about anybody's work.
            node = "train004" if owner == "anna" else "train005"
            for path, body in ((f"/nodes/{node}/drain", {"reason": f"{word}drain"}),
                               (f"/nodes/{node}/resume", {"reason": f"{word}resume"}),
                               (f"/nodes/{node}/drain", {"reason": f"{word}drained"})):
                assert lab.http("POST", path, body, token=made.tokens["operator"]).status == 200
            made.send(owner, "POST", f"{API}/nodes/{node}/confirm-off", {"reason": f"{word}refused"})
        made.settle()
        cls.readers = {"anna": ("team-a", "team-b", WORD_B), "alan": ("team-a", "team-b", WORD_B),
                       "lead a": ("team-a", "team-b", WORD_B), "admin as user a": ("team-a", "team-b", WORD_B),
                       "both as a": ("team-a", "team-b", WORD_B), "bert": ("team-b", "team-a", WORD_A),
                       "lead b": ("team-b", "team-a", WORD_A)}

    def check(self, caller, answer, sent):
        own, foreign, word = self.readers[caller]
        text = answer.text + "".join(f"{name}: {value}\n" for name, value in answer.headers.items())
        for secret in (word, foreign):
            # What the caller has sent may come back, and otto's groups are his own.
            if secret not in sent and not (caller == "both as a" and sent.startswith(f"{API}/session")):
                self.assertNotIn(secret, text, f"{sent} by {caller}")
        mentioned = {int(number) for number in re.findall(r"\bjobs? (\d+)", text)}
        mentioned |= set(numbers_in(answer))
        mentioned -= {int(number) for number in re.findall(r"\d+", sent)}
        self.assertLessEqual(mentioned, self.numbers[own], f"{sent} by {caller}: {text}")

    def test_the_words_are_there_for_those_who_may_see_them(self):
        for word in (WORD_A, WORD_B):
            paths = ["/jobs?all=1", "/nodes/train004", "/nodes/train005", "/audit?limit=1000", "/tokens"]
            paths += [f"/jobs/{self.made.jobs[owner]}/logs" for owner in ("anna", "bert")]
            texts = "".join(self.made.send("admin", "GET", API + path).text for path in paths)
            for part in ("runs", "waits", "held", "gone", "failed", "reason", "token", "drained", "output"):
                self.assertIn(word + part, texts)

    def test_answers_have_nothing_of_other_tenants(self):
        everyone = sorted(self.numbers["team-a"] | self.numbers["team-b"])
        for name, (method, path, operation) in self.made.operations.items():
            if method != "GET" or not operation["security"] or name == "event.follow":
                continue
            values = {"job": everyone, "node": [f"train00{number}" for number in range(1, 6)]}
            part = re.search(r"\{(\w+)\}", path)
            targets = [path]
            if part:
                targets = [path.replace(part.group(0), str(each)) for each in values.get(part.group(1), ["x"])]
            queries = {"job.list": ["?all=1&", "?all=1&sort=-user&", "?state=held&", "?all=1&limit=1&", "?user=zq&"],
                       "node.list": ["?", "?sort=-jobs&"], "queue.show": ["?limit=1000&"]}.get(name, ["?"])
            for caller in self.readers:
                for target in targets:
                    for query in queries:
                        for output in FORMATS if name != "job.logs" else [""]:
                            sent = target + query + (f"output={output}" if output else "")
                            self.check(caller, self.made.send(caller, "GET", sent), sent)

    def test_pages_of_lists_have_nothing_of_other_tenants(self):
        for caller in self.readers:
            page, rows = "", 0
            while True:
                sent = f"{API}/jobs?all=1&limit=1&sort=-job{page}"
                answer = self.made.send(caller, "GET", sent)
                self.check(caller, answer, sent)
                rows += len(answer.json["jobs"])
                following = answer.headers.get("weft-next-page")
                if not following:
                    break
                value = bytes.fromhex(following.split(".")[0][1:]).decode()
                self.assertIn(int(value), self.numbers[self.readers[caller][0]])
                page = f"&page={following}"
            self.assertEqual(rows, len(self.numbers[self.readers[caller][0]]), caller)

    def test_refusals_have_nothing_of_other_tenants(self):
        everyone = sorted(self.numbers["team-a"] | self.numbers["team-b"])
        sequence = self.made.sequence()
        for name, (method, path, operation) in self.made.operations.items():
            if method == "GET" or "{job}" not in path:
                continue
            for caller, (own, _, _) in self.readers.items():
                for number in set(everyone) - self.numbers[own]:
                    for body in ({}, {"reason": "r"}, {"no": 1}, {"reason": 7}):
                        sent = path.replace("{job}", str(number))
                        answer = self.made.send(caller, "POST", sent, body)
                        self.assertIn(answer.status, (400, 404))
                        self.check(caller, answer, sent)
        self.assertEqual(self.made.sequence(), sequence)

    def test_waiting_for_another_tenant_says_no_more(self):
        number = min(number for number in self.numbers["team-a"]
                     if self.lab.local("GET", f"/jobs/{number}").json["job"]["name"] == "zq5waits")
        answer = self.made.send("anna", "GET", f"{API}/jobs/{number}/why")
        self.assertIn("a job of another tenant", answer.text)

    def test_events_have_nothing_of_other_tenants(self):
        # From the first record up to one that comes after all others: a job of the reader.
        for caller, owner in (("anna", "anna"), ("bert", "bert"), ("lead a", "anna")):
            own, foreign, word = self.readers[caller]
            number = self.made.submit(owner, "marker", nodes=5)
            self.numbers[own].add(number)
            connection, answer = open_events(self.lab, self.made.tokens[caller], "since=0")
            self.assertEqual(answer.status, 200)
            events = read_events(answer, lambda data, number=number: data.get("job") == number)
            connection.close()
            self.assertGreater(len(events), 10)
            for data, text in events:
                self.assertNotIn(word, text)
                self.assertNotIn(foreign, text)
                self.assertIn(data.get("job", number), self.numbers[own], text)
                self.assertLessEqual({int(each) for each in re.findall(r"\bjobs? (\d+)", text)}, self.numbers[own])
        # The admin gets both.
        connection, answer = open_events(self.lab, self.made.tokens["admin"], "since=0")
        number = self.made.submit("anna", "marker", nodes=5)
        self.numbers["team-a"].add(number)
        everything = "".join(text for _, text in
                             read_events(answer, lambda data: data.get("job") == number))
        connection.close()
        for word in (WORD_A, WORD_B):
            for part in ("bert" if word == WORD_B else "anna", "reason", "drained"):
                self.assertIn(word + part, everything)

    def test_events_of_a_foreign_job_are_those_of_an_absent_one(self):
        user, groups, _ = CALLERS["anna"]
        jobs = self.made.jobs
        for number, has_events in ((jobs["bert"], False), (ABSENT_JOB, False), (jobs["anna"], True)):
            secret = self.lab.token(user, groups)
            connection, answer = open_events(self.lab, secret, f"since=0&job={number}")
            self.assertEqual(answer.status, 200)
            # The stream ends with its token, after all that it had to send.
            revoked = self.lab.local("POST", f"/tokens/{self.made.token_name(secret)}/revoke", {})
            self.assertEqual(revoked.status, 200)
            self.assertEqual(bool(read_events(answer)), has_events, number)
            connection.close()


def numbers_in(answer):
    """Numbers of jobs in the members and columns of that name."""
    kind = answer.headers.get("content-type", "")

    def walk(value, name=""):
        if isinstance(value, dict):
            for key, each in value.items():
                yield from walk(each, key)
        elif isinstance(value, list):
            for each in value:
                yield from walk(each, name)
        elif name in ("job", "jobs") and isinstance(value, (int, str)) and not isinstance(value, bool):
            yield from (int(each) for each in re.findall(r"(?<![\w.-])\d+(?![\w.])", str(value)))

    if "json" in kind:
        document = json.loads(answer.text)
        # Totals of the cluster, and of each reason for which jobs wait, are numbers of jobs too.
        document = {name: value for name, value in document.items() if name not in ("server", "reasons")}
        yield from walk(document)
    elif answer.text.startswith(("section,", "job,", "node,")):
        for row in csv.DictReader(io.StringIO(answer.text)):
            if row.get("section") == "reasons" or row.get("key"):
                continue
            yield from walk({name: value for name, value in row.items() if name in ("job", "jobs")})


if __name__ == "__main__":
    run_tests()
