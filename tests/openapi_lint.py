#!/usr/bin/env python3
"""Checks an OpenAPI 3.1 document by itself.

    tests/openapi_lint.py FILE      prints what is wrong, one line each; exit code 1 if anything is

References resolve and everything in `components` is used; operationIds and tags are unique and declared; path parameters
are declared, and no parameter twice; every answer has content (but those without a body); every schema is a valid JSON
Schema (2020-12), and every example fits its schema. The latter two need python3-jsonschema.
"""

import json
import re
import sys

try:
    import jsonschema
except ImportError:
    jsonschema = None

METHODS = {"get", "put", "post", "delete", "options", "head", "patch", "trace"}
WITHOUT_BODY = {"204", "301", "302", "303", "304"}
OPERATION_ID = re.compile(r"^[a-z][a-z0-9-]*(\.[a-z][a-z0-9-]*)+$")


class Lint:
    def __init__(self, document):
        self.document = document
        self.problems = []
        self.used = set()

    def problem(self, where, what):
        self.problems.append(f"{where}: {what}")

    def resolve(self, node):
        while isinstance(node, dict) and "$ref" in node:
            node = self.at(node["$ref"])
        return node

    def at(self, pointer):
        node = self.document
        for part in pointer.removeprefix("#/").split("/"):
            node = node[part.replace("~1", "/").replace("~0", "~")]
        return node

    def references(self, node, where):
        if isinstance(node, list):
            for index, item in enumerate(node):
                self.references(item, f"{where}/{index}")
        if not isinstance(node, dict):
            return
        if isinstance(node.get("$ref"), str):
            self.used.add(node["$ref"])
            try:
                self.at(node["$ref"])
            except (KeyError, TypeError):
                self.problem(where, f"{node['$ref']} does not exist")
        for key, value in node.items():
            if key not in ("example", "examples"):
                self.references(value, f"{where}/{key}")

    def schema(self, schema, where):
        if jsonschema is None:
            return
        try:
            jsonschema.Draft202012Validator.check_schema(schema)
        except jsonschema.SchemaError as error:
            self.problem(where, f"is not a JSON Schema: {error.message}")

    def media(self, content, where):
        if not content:
            self.problem(where, "has no content")
        for kind, media in content.items():
            place = f"{where} {kind}"
            if "schema" not in media:
                self.problem(place, "has no schema")
                continue
            self.schema(media["schema"], place)
            if jsonschema is None or "example" not in media:
                continue
            schema = {"components": self.document["components"], **media["schema"]}
            for error in jsonschema.Draft202012Validator(schema).iter_errors(media["example"]):
                self.problem(place, f"the example does not fit the schema: {error.message}")

    def operation(self, path, method, operation):
        where = f"{method.upper()} {path}"
        for key in ("operationId", "summary", "tags", "responses", "security", "x-weft-need", "x-weft-changes"):
            if key not in operation:
                self.problem(where, f"has no {key}")
        if not OPERATION_ID.match(operation.get("operationId", "")):
            self.problem(where, "the operationId is not like node.confirm-off")
        declared = set()
        for given in operation.get("parameters", []):
            parameter = self.resolve(given)
            name = (parameter["in"], parameter["name"])
            if name in declared:
                self.problem(where, f"the parameter {name} occurs twice")
            declared.add(name)
            if not parameter.get("description"):
                self.problem(where, f"the parameter {name} has no description")
            self.schema(parameter["schema"], f"{where} {name}")
        in_path = set(re.findall(r"{([^}]*)}", path))
        if in_path != {name for place, name in declared if place == "path"}:
            self.problem(where, f"the path has the parameters {sorted(in_path)}, and others are declared")
        if "requestBody" in operation:
            if method == "get":
                self.problem(where, "a GET has no body")
            self.media(operation["requestBody"]["content"], f"{where} body")
        if operation.get("x-weft-changes") and method == "get":
            self.problem(where, "a GET changes something")
        for scheme in operation.get("security", []):
            for name in scheme:
                if name not in self.document["components"]["securitySchemes"]:
                    self.problem(where, f"unknown security scheme {name}")
        for status, given in operation.get("responses", {}).items():
            response = self.resolve(given)
            place = f"{where} {status}"
            if not response.get("description"):
                self.problem(place, "has no description")
            if status not in WITHOUT_BODY:
                self.media(response.get("content", {}), place)
        if not any(status < "400" for status in operation.get("responses", {})):
            self.problem(where, "has no answer without an error")

    def run(self):
        document = self.document
        if not re.match(r"^3\.1\.\d+$", document.get("openapi", "")):
            self.problem("openapi", "is not 3.1")
        for key in ("title", "version"):
            if not document.get("info", {}).get(key):
                self.problem("info", f"has no {key}")
        self.references(document, "#")
        if self.problems:
            return self.problems
        tags = [tag["name"] for tag in document["tags"]]
        ids = []
        used_tags = set()
        for path, item in document["paths"].items():
            for method, operation in item.items():
                if method not in METHODS:
                    self.problem(path, f"unknown method {method}")
                    continue
                ids.append(operation.get("operationId"))
                used_tags.update(operation.get("tags", []))
                self.operation(path, method, operation)
        for name, values in (("operationId", ids), ("tag", tags)):
            for value in sorted({value for value in values if values.count(value) > 1}):
                self.problem(name, f"{value} occurs twice")
        for tag in sorted(used_tags.symmetric_difference(tags)):
            self.problem("tags", f"{tag} is only declared or only used")
        patterns = [re.sub(r"{[^}]*}", "{}", path) for path in document["paths"]]
        for pattern in sorted({pattern for pattern in patterns if patterns.count(pattern) > 1}):
            self.problem("paths", f"{pattern} occurs twice")
        for kind, entries in document["components"].items():
            for name, entry in entries.items():
                if kind == "schemas":
                    self.schema(entry, f"schema {name}")
                if kind != "securitySchemes" and f"#/components/{kind}/{name}" not in self.used:
                    self.problem(f"components/{kind}/{name}", "is not used")
        return self.problems


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        problems = Lint(json.load(file)).run()
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
