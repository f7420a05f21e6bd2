#!/usr/bin/env python3
"""What stands between a client and the API: client certificates of browsers, tokens made with tokens, large bodies of
strangers, the entries of the audit log. gate_test.py EXECUTABLE [PATTERN...]
"""

import http.client
import json
import unittest

from certificates import CertificateLab
from lab import API, Lab, Response, run_tests


def public_part(token):
    """weft_t_ID of weft_t_ID_SECRET, whose secret may have a "_" too."""
    return "_".join(token.split("_")[:3])


class ApiCertificateOfABrowser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lab = CertificateLab()
        cls.addClassCleanup(cls.lab.close)
        cls.context = cls.lab.client("ada", "operators")

    def drain(self, **headers):
        connection = http.client.HTTPSConnection("127.0.0.1", self.lab.port, timeout=60, context=self.context)
        body = json.dumps({"reason": "fan"})
        connection.request("POST", f"{API}/nodes/train001/drain", body, {"Content-Type": "application/json", **headers})
        answer = connection.getresponse()
        response = Response(answer.status, answer.getheaders(), answer.read())
        connection.close()
        return response

    def test_pages_of_others_do_not_use_it(self):
        own = f"https://127.0.0.1:{self.lab.port}"
        for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"},
                        {"Sec-Fetch-Site": "same-site"}, {"Origin": "null"},
                        {"Origin": "https://evil.example", "Host": "evil.example"},
                        {"Sec-Fetch-Site": "same-origin", "Host": "evil.example"}):
            with self.subTest(headers=headers):
                self.assertEqual(self.drain(**headers).status, 403)
        self.assertEqual(self.drain(Origin=own, **{"Sec-Fetch-Site": "same-origin"}).status, 200)
        self.assertEqual(self.drain().status, 409, "drained already: a program sends neither header")


class ApiTokensOfTokens(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lab = Lab()
        cls.addClassCleanup(cls.lab.close)

    def create(self, token, **body):
        return self.lab.http("POST", "/tokens", {"name": "child", **body}, token=token)

    def test_they_do_not_outlive_it(self):
        parent = self.lab.token("ada", ["team-a"], expires_in="10m")
        self.assertEqual(self.create(parent, expires_in="52w").status, 400)
        child = self.create(parent).json["token"]
        expires = self.lab.http("GET", "/session", token=parent).json["session"]["expires"]
        self.assertEqual(child["expires"], expires)
        self.assertEqual(self.create(parent, expires_in="5m").status, 201)

    def test_they_end_with_it(self):
        parent = self.lab.token("bob", ["team-a"])
        child = self.create(parent).json["token"]["secret"]
        grandchild = self.create(child).json["token"]["secret"]
        self.assertEqual(self.lab.http("GET", "/jobs", token=grandchild).status, 200)
        self.assertEqual(self.lab.local("POST", f"/tokens/{public_part(parent)}/revoke", {"reason": "leaked"}).status, 200)
        for token in (parent, child, grandchild):
            self.assertEqual(self.lab.http("GET", "/jobs", token=token).status, 401)

    def test_restricted_ones_revoke_themselves_only(self):
        whole = self.lab.token("carol", ["team-b"])
        restricted = self.create(whole, role="user", tenant="team-b").json["token"]["secret"]
        answer = self.lab.http("POST", f"/tokens/{public_part(whole)}/revoke", {}, token=restricted)
        self.assertEqual(answer.status, 403)
        self.assertEqual(self.lab.http("GET", "/jobs", token=whole).status, 200)
        own = self.lab.http("POST", f"/tokens/{public_part(restricted)}/revoke", {}, token=restricted)
        self.assertEqual(own.status, 200)
        self.assertEqual(self.lab.http("GET", "/jobs", token=restricted).status, 401)

    def test_a_restriction_to_nothing_is_refused(self):
        user = self.lab.token("dora", ["team-a"])
        for body in ({"role": "viewer"}, {"role": "user", "tenant": "team-b"}):
            with self.subTest(body=body):
                answer = self.create(user, **body)
                self.assertEqual((answer.status, answer.json["errors"][0]["pointer"]), (400, "/role"))

    def test_sessions_say_when_they_end(self):
        token = self.create(self.lab.token("emil", ["team-a"]), expires_in="1h").json["token"]
        session = self.lab.http("GET", "/session", token=token["secret"]).json["session"]
        self.assertEqual(session["expires"], token["expires"])


class ApiStrangers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lab = Lab(oidc=True)
        cls.addClassCleanup(cls.lab.close)

    def test_large_bodies_have_small_answers(self):
        body = json.dumps({str(number): 1 for number in range(100_000)})
        for path in ("/login/refresh", "/login/device", "/login/device/token"):
            answer = self.lab.http("POST", path, body, Content_Type="application/json")
            self.assertEqual(answer.status, 413)
            self.assertLess(len(answer.body), 1000)
        admin = self.lab.token("ada", ["admins"])
        answer = self.lab.http("POST", "/reservations", body, token=admin, Content_Type="application/json")
        self.assertEqual((answer.status, len(answer.json["errors"])), (400, 20))

    def test_callbacks_lock_nobody_out(self):
        self.lab.stop()
        self.lab.write_access("limits: {failures_per_minute: 3}\n")
        self.lab.start()
        for _ in range(10):
            self.assertEqual(self.lab.http("GET", "/login/callback?state=x&code=y").status, 400)
        self.assertEqual(self.lab.http("GET", "/jobs", token=self.lab.issuer.token("ada")).status, 200)

    def test_a_source_has_a_limit(self):
        self.lab.stop()
        self.lab.write_access("limits: {requests_per_minute: 1000, source_requests_per_minute: 30}\n")
        self.lab.start()
        statuses = {self.lab.http("GET", path).status for path in ["/", "/healthz", "/jobs"] * 20}
        self.assertIn(429, statuses)
        self.assertEqual(self.lab.local("GET", "/jobs").status, 200)


class ApiAuditEvidence(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lab = Lab("second_person: [oob.power]\n")
        cls.addClassCleanup(cls.lab.close)

    def entry(self, operation, phase="outcome"):
        return next(each for each in self.lab.audit(operation=operation) if each.get("phase", phase) == phase)

    def test_it_names_what_was_made(self):
        job = self.lab.submit()
        self.assertEqual(json.loads(self.entry("job.submit")["evidence"])["job"], job)
        created = self.lab.local("POST", "/tokens", {"name": "ci"}).json["token"]
        text = json.dumps(self.entry("token.create"))
        self.assertIn(created["token"], text)
        self.assertNotIn(created["secret"], text)

    def test_refused_changes_are_in_it(self):
        user = self.lab.token("bob", ["team-a"])
        answer = self.lab.http("POST", "/nodes/train001/drain", {"reason": "x"}, token=user)
        self.assertEqual(answer.status, 403)
        entries = self.lab.audit(operation="request.refused")
        while not entries:  # it is written beside the answer
            entries = self.lab.audit(operation="request.refused")
        self.assertEqual((entries[0]["actor"], entries[0]["object"]), ("bob", "node.drain train001"))
        self.assertEqual(entries[0]["request_id"], answer.headers["x-request-id"])


if __name__ == "__main__":
    run_tests()
