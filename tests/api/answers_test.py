#!/usr/bin/env python3
"""Answers of the real server against the OpenAPI document that it serves: every operation is called so that it succeeds,
and so that it fails; status, media type, headers and body must be as documented. answers_test.py EXECUTABLE [PATTERN...]
"""

import os
import pwd
import re
import time
import unittest

from lab import Lab, needs, operations, run_tests

try:
    import jsonschema
except ImportError:
    jsonschema = None

TWO_ENGINES = "needs two engines"  # leases: tests of engines cover them


class ApiAnswers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        needs(jsonschema is not None, "python jsonschema")
        account = "nobody" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
        cls.lab = Lab(f"accounts: {{\"*\": {account}}}\nsecond_person: [node.confirm-off]\n", oidc=True)
        cls.document = cls.lab.openapi()
        cls.operations = {name: (method, path, operation) for name, method, path, operation in operations(cls.document)}
        cls.admin = cls.lab.token("ada", ["admins"])
        cls.other = cls.lab.token("olga", ["operators"])
        text = "job: 1\nname: busy\ntenant: team-a\nnodes: 5\ncommand: [sh, -c, \"echo begun; sleep 100000\"]\n"
        cls.job = cls.lab.submit(text=text)
        cls.seen = set()

    @classmethod
    def tearDownClass(cls):
        if hasattr(cls, "lab"):
            cls.lab.close()

    def resolve(self, node):
        while "$ref" in node:
            target = self.document
            for part in node["$ref"].removeprefix("#/").split("/"):
                target = target[part]
            node = target
        return node

    def operation_of(self, method, path):
        """The operation of a path below /api/v1, or of a whole one."""
        path = path.split("?")[0]
        path = path if path.startswith(("/login", "/docs", "/healthz", "/api/")) or path == "/" else "/api/v1" + path
        for name, (known, template, operation) in sorted(self.operations.items(), key=lambda item: item[1][1].count("{")):
            pattern = "".join("[^/]+" if part.startswith("{") else re.escape(part)
                              for part in re.split(r"({[^}]*})", template))
            if known == method and re.fullmatch(pattern, path):
                return name, operation
        self.fail(f"{method} {path} is not in the document")

    def check(self, method, path, body=None, *, token=None, **headers):
        """Sends a request and compares the answer with the document; returns it."""
        response = self.lab.http(method, path, body, token=self.admin if token is None else token, **headers)
        name, operation = self.operation_of(method, path)
        self.seen.add(name)
        where = f"{name} {response!r}"
        self.assertIn(str(response.status), operation["responses"], where)
        documented = self.resolve(operation["responses"][str(response.status)])
        media_type = response.headers.get("content-type", "").split(";")[0]
        content = documented.get("content", {})
        if content:
            self.assertIn(media_type, content, where)
            if media_type.endswith("json"):
                schema = {"components": self.document["components"], **content[media_type]["schema"]}
                problems = [f"{list(error.absolute_path)}: {error.message}"
                            for error in jsonschema.Draft202012Validator(schema).iter_errors(response.json)]
                self.assertEqual(problems, [], where)
        else:
            self.assertEqual(response.body, b"", where)
        for header in response.headers:
            if header.startswith("weft-") or header in ("etag", "location"):
                self.assertIn(header, {known.lower() for known in documented.get("headers", {})}, where)
        self.assertIn("x-request-id", response.headers, where)
        return response

    def test_reads(self):
        lab, job = self.lab, self.job
        waiting = lab.submit(name="waits", nodes=5, tenant="team-b")
        lab.local("POST", "/nodes/train001/drain", {"reason": "DIMM"})
        lab.local("POST", "/reservations", {"name": "firmware", "nodes": "train002", "in": "2h", "for": "1h"})
        for path in ("/server", "/jobs", "/jobs?all=1&limit=1&sort=-job", f"/jobs/{job}", f"/jobs/{waiting}",
                     f"/jobs/{job}/why", f"/jobs/{waiting}/why", "/nodes", "/nodes?state=idle&limit=2", "/nodes/train001",
                     "/nodes/train002", "/queue", "/reservations", "/session", "/tokens", "/approvals", "/audit",
                     "/audit?limit=1", "/jobs?output=table", "/nodes?output=csv"):
            with self.subTest(path=path):
                self.assertEqual(self.check("GET", path).status, 200)
        # The output of a task exists once it has begun.
        while self.lab.local("GET", f"/jobs/{job}/logs").status != 200:
            time.sleep(0.02)
        self.assertEqual(self.check("GET", f"/jobs/{job}/logs").status, 200)
        tag = self.check("GET", f"/jobs/{job}").headers["etag"]
        self.assertEqual(self.check("GET", f"/jobs/{job}", If_None_Match=tag).status, 304)
        tag = self.check("GET", "/nodes/train001").headers["etag"]
        self.assertEqual(self.check("GET", "/nodes/train001", If_None_Match=tag).status, 304)
        self.assertEqual(self.check("GET", "/leases").status, 409, TWO_ENGINES)
        self.assertEqual(self.check("GET", "/leases/train001").status, 409, TWO_ENGINES)
        for path in ("/", "/docs", "/healthz", "/api/v1/openapi.json"):
            self.assertEqual(self.check("GET", path, token="").status, 200)

    def test_changes(self):
        text = "job: 1\nname: brief\ntenant: team-a\nnodes: 5\ncommand: [/bin/true]\n"
        body = {"text": text, "name": "brief.yaml", "directory": "/tmp"}
        self.assertEqual(self.check("POST", "/jobs/check", body).status, 200)
        first = self.check("POST", "/jobs", {**body, "expect": True}, Idempotency_Key="k1")
        self.assertEqual(first.status, 201)
        again = self.check("POST", "/jobs", {**body, "expect": True}, Idempotency_Key="k1")
        self.assertEqual((again.status, again.json["answer"]["job"]), (200, first.json["answer"]["job"]))
        number = first.json["answer"]["job"]
        self.assertEqual(first.headers["location"], f"/api/v1/jobs/{number}")
        tag = self.check("GET", f"/jobs/{number}").headers["etag"]
        self.assertEqual(self.check("POST", f"/jobs/{number}/hold", {"reason": "later"}, If_Match=tag).status, 200)
        self.assertEqual(self.check("POST", f"/jobs/{number}/hold", {}, If_Match=tag).status, 412)
        self.assertEqual(self.check("POST", f"/jobs/{number}/release", {}).status, 200)
        self.assertEqual(self.check("POST", f"/jobs/{number}/drill", {}).status, 409)
        self.assertEqual(self.check("POST", f"/jobs/{number}/cancel", {}).status, 200)
        self.assertEqual(self.check("POST", "/nodes/train005/drain", {"reason": "fan"}).status, 200)
        self.assertEqual(self.check("POST", "/nodes/train005/resume", {}).status, 200)
        held = self.check("POST", "/nodes/train005/confirm-off", {"reason": "seen"})
        self.assertEqual(held.status, 202)
        self.assertEqual(self.check("GET", "/approvals").status, 200)
        approval = held.json["answer"]["approval"]
        self.assertEqual(self.check("POST", f"/approvals/{approval}/approve", {}).status, 403, "the requester")
        self.check("POST", f"/approvals/{approval}/approve", {}, token=self.other)
        held = self.check("POST", "/nodes/train005/confirm-off", {"reason": "seen"})
        approval = held.json["answer"]["approval"]
        self.assertEqual(self.check("POST", f"/approvals/{approval}/reject", {}).status, 200)
        self.assertEqual(self.check("POST", f"/approvals/{approval}/reject", {}).status, 404)
        self.assertEqual(self.check("POST", "/leases/move", {"nodes": "train001", "to": "slurm"}).status, 409, TWO_ENGINES)

    def test_creates_are_idempotent(self):
        body = {"name": "psu", "nodes": ["train003", "train004"], "in": "3h", "for": "30m", "reason": "PSU"}
        self.assertEqual(self.check("POST", "/reservations", body, Idempotency_Key="r1").status, 201)
        before = self.check("GET", "/reservations").json["reservations"]
        self.assertEqual(self.check("POST", "/reservations", body, Idempotency_Key="r1").status, 200)
        self.assertEqual(self.check("GET", "/reservations").json["reservations"], before)
        self.assertEqual(self.check("POST", "/reservations", {**body, "for": "40m"}, Idempotency_Key="r1").status, 409)
        self.assertEqual(self.check("POST", "/reservations/psu/remove", {}).status, 200)
        self.assertEqual(self.check("POST", "/reservations/psu/remove", {}).status, 404)
        first = self.check("POST", "/tokens", {"name": "ci", "expires_in": "1h"}, Idempotency_Key="t1")
        self.assertEqual(first.status, 201)
        again = self.check("POST", "/tokens", {"name": "ci", "expires_in": "1h"}, Idempotency_Key="t1")
        self.assertEqual(again.status, 409)
        self.assertIn(first.json["token"]["token"], again.detail)
        self.assertNotIn(first.json["token"]["secret"], again.text)
        self.assertEqual(self.check("POST", f"/tokens/{first.json['token']['token']}/revoke", {}).status, 200)
        self.assertEqual(self.check("POST", "/tokens/weft_t_000000000000/revoke", {}).status, 404)
        self.assertEqual(self.check("POST", "/session/logout", {}).status, 409, "a token has no session")

    def test_errors(self):
        answer = self.check("POST", "/jobs", {"text": "job: 1\nname: x\nnodes: many\n", "directory": "/tmp"})
        self.assertEqual(answer.status, 422)
        self.assertEqual({(error["line"], error["column"] > 0) for error in answer.json["errors"] if "line" in error
                          and "nodes" in error["detail"] or error.get("line") == 3}, {(3, True)})
        answer = self.check("POST", "/nodes/train001/drain", {"reasn": "x"})
        self.assertEqual((answer.status, {error["pointer"] for error in answer.json["errors"]}),
                         (400, {"/reasn", "/reason"}))
        answer = self.check("GET", "/jobs?limit=many")
        self.assertEqual((answer.status, answer.json["errors"][0]["parameter"]), (400, "limit"))
        answer = self.check("POST", f"/jobs/{self.job}/hold", {}, Idempotency_Key="x")
        self.assertEqual((answer.status, answer.json["errors"][0]["header"]), (400, "Idempotency-Key"))
        self.assertEqual(self.check("POST", "/reservations", "x=1", Content_Type="text/plain").status, 415)
        self.assertEqual(self.check("GET", "/jobs", token="none").status, 401)
        user = self.lab.token("bob", ["team-a"])
        for method, path, body in (("POST", "/nodes/train001/drain", {"reason": "x"}), ("GET", "/audit", None),
                                   ("GET", "/approvals", None), ("GET", "/oob/operations", None)):
            self.assertEqual(self.check(method, path, body, token=user).status, 403)
        for path in ("/jobs/999999", "/nodes/nowhere", "/jobs/999999/why", "/jobs/999999/logs"):
            self.assertEqual(self.check("GET", path).status, 404)
        answer = self.check("GET", "/jobs/999999")
        self.assertEqual(answer.json["request_id"], answer.headers["x-request-id"])

    def test_devices_need_the_option(self):
        for name, (method, path, operation) in self.operations.items():
            if not name.startswith("oob."):
                continue
            with self.subTest(operation=name):
                body = None
                if method == "POST":
                    schema = operation["requestBody"]["content"]["application/json"]["schema"]
                    body = {member: self.example(schema["properties"][member]) for member in schema.get("required", [])}
                query = "&".join(f"{given['name']}={self.example(given['schema'])}" for given in operation.get("parameters", ())
                                 if given.get("in") == "query" and given.get("required"))
                target = re.sub("{[^}]*}", "x", path) + ("?" + query if query else "")
                answer = self.check(method, target, body)
                self.assertEqual(answer.status, 501, answer)

    @staticmethod
    def example(schema):
        if "enum" in schema or "examples" in schema:
            return (schema.get("enum") or schema["examples"])[0]
        return {"integer": 1, "boolean": True}.get(schema.get("type"), "x")


if __name__ == "__main__":
    run_tests()
