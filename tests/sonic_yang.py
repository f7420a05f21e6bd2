#!/usr/bin/env python3
"""Holds config_db.json files against SONiC's YANG models with libyang (yanglint).

Usage: sonic_yang.py SCHEMAS documents FILE...   every file must be accepted
       sonic_yang.py SCHEMAS mutants FILE...     each file is spoilt in many ways; every spoilt one must be refused
       sonic_yang.py SCHEMAS vectors             SONiC's own test vectors must come out as SONiC says

SCHEMAS holds yang-models/, yang-templates/ and test-vectors/ of sonic-buildimage's src/sonic-yang-models. How rows of
the database become lists is read from the schema tree that yanglint prints; a table or field that no model knows is
an error. Data goes to yanglint as XML, where every value is plain text as it is in the database.
"""

import copy
import json
import pathlib
import re
import subprocess
import sys
import tempfile
from xml.sax.saxutils import escape


class Refused(Exception):
    """The document has no form in the schema."""


class Node:
    """A container, list, leaf or leaf-list of the schema."""

    def __init__(self, name, kind, keys):
        self.name, self.kind, self.keys = name, kind, keys
        self.children = {}


TREE_LINE = re.compile(r"^(?P<indent>[ |]*)\+--(?P<rest>.*)$")
TREE_NODE = re.compile(r"^(rw|ro|--) (?P<name>[^ ?*!]+)(?P<mark>[?*!]?)(?: +(?P<type>.*))?$")


def parse_tree(text):
    """The modules' tops from `yanglint -f tree`. Choices and cases are no nodes of the data: looked through."""
    tops, stack, module = {}, [], None
    for line in text.splitlines():
        if line.startswith("module: "):
            module, stack = line[len("module: "):].strip(), []
            continue
        found = TREE_LINE.match(line)
        if not found or module is None:
            continue
        depth, rest = len(found["indent"]), found["rest"]
        while stack and stack[-1][0] >= depth:
            stack.pop()
        parent = stack[-1][1] if stack else None
        node = TREE_NODE.match(rest)
        if "(" in rest.split(" ")[-1 if rest.startswith(":") else 1][:1] or rest.startswith(":("):
            stack.append((depth, parent))
            continue
        if not node:
            stack.append((depth, parent))
            continue
        kind, keys, what = "leaf", [], node["type"] or ""
        if node["mark"] == "*":
            kind = "list" if what.startswith("[") else "leaf-list"
            keys = what[1:what.index("]")].split() if kind == "list" else []
        elif not what:
            kind = "container"
        made = Node(node["name"], kind, keys)
        if parent is None:
            tops[module] = made
        else:
            parent.children[made.name] = made
        stack.append((depth, made))
    return tops


class Schema:
    def __init__(self, folder, schemas):
        self.folder = pathlib.Path(folder)
        for model in sorted((schemas / "yang-models").glob("*.yang")):
            (self.folder / model.name).write_text(model.read_text())
        import jinja2  # pylint: disable=import-outside-toplevel
        for template in sorted((schemas / "yang-templates").glob("*.j2")):
            made = jinja2.Template(template.read_text(), trim_blocks=True).render(yang_model_type="py")
            (self.folder / template.stem).write_text(made)
        self.files = sorted(self.folder.glob("sonic-*.yang"))
        tree = subprocess.run(["yanglint", "-p", str(self.folder), "-f", "tree", *map(str, self.files)],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout
        self.tables, self.spaces = {}, {}
        for module, top in parse_tree(tree).items():
            source = (self.folder / f"{module}.yang").read_text()
            self.spaces[module] = re.search(r'\bnamespace\s+"([^"]+)"', source)[1]
            for name, table in top.children.items():
                self.tables[name] = (module, top.name, table)
        if "PORT" not in self.tables:
            raise SystemExit("yanglint printed no schema tree")

    def convert(self, config):
        """The document as one XML text."""
        modules = {}
        for name, rows in config.items():
            if name not in self.tables:
                raise Refused(f"no model knows table {name}")
            module, top, table = self.tables[name]
            if not isinstance(rows, dict):
                raise Refused(f"table {name} is no object")
            body = "".join(row_xml(table, key, fields) for key, fields in rows.items())
            modules.setdefault((module, top), []).append(f"<{name}>{body}</{name}>")
        return "".join(f'<{top} xmlns="{self.spaces[module]}">{"".join(bodies)}</{top}>\n'
                       for (module, top), bodies in modules.items())

    def refused(self, documents):
        """Names of the documents (name: XML) that libyang does not accept, each with what it says."""
        commands = [f"searchpath {self.folder}"] + [f"load {path.stem}" for path in self.files]
        for name, text in documents.items():
            path = self.folder / f"{name}.xml"
            path.write_text(text)
            commands.append(f"data -t config {path}")
        out = subprocess.run(["yanglint"], input="\n".join(commands) + "\n", stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, check=False).stdout
        found, said = {}, []
        for line in out.splitlines():
            if line.startswith("libyang[0]"):
                said.append(line)
            failed = re.search(r'Failed to parse input data file "[^"]*/([^/"]+)\.xml"', line)
            if failed:
                found[failed[1]] = "; ".join(said) or line
                said = []
        return found


def leaf_xml(node, value):
    texts = value if isinstance(value, list) else [value]
    if node.kind == "leaf-list" and isinstance(value, str):
        texts = value.split(",")
    elif node.kind == "leaf" and isinstance(value, list):
        raise Refused(f"{node.name} is a list")
    for one in texts:
        if isinstance(one, (dict, list)) or one is None:
            raise Refused(f"{node.name} is no text")
    return "".join(f"<{node.name}>{escape(plain(one))}</{node.name}>" for one in texts)


def plain(value):
    return str(value).lower() if isinstance(value, bool) else str(value)


def fields_xml(node, fields, done=()):
    inner = [child for child in node.children.values() if child.kind == "list"]
    out = []
    for name, value in fields.items():
        child = node.children.get(name)
        if child is not None and child.kind in ("leaf", "leaf-list") and name not in done:
            out.append(leaf_xml(child, value))
        elif len(inner) == 1 and len(inner[0].keys) == 1 and not isinstance(value, (dict, list)):
            # A row that is itself a map, such as DSCP to class: a list with one key and one more leaf.
            rest = [leaf for leaf in inner[0].children if leaf not in inner[0].keys]
            out.append(f"<{inner[0].name}><{inner[0].keys[0]}>{escape(name)}</{inner[0].keys[0]}>"
                       f"<{rest[0]}>{escape(plain(value))}</{rest[0]}></{inner[0].name}>")
        else:
            raise Refused(f"no model knows field {name} of {node.name}")
    return "".join(out)


def row_xml(table, key, fields):
    if not isinstance(fields, dict):
        raise Refused(f"{table.name}|{key} is no object")
    single = table.children.get(key)
    if single is not None and single.kind == "container":
        return f"<{key}>{fields_xml(single, fields)}</{key}>"
    parts = key.split("|")
    reasons = []
    for node in table.children.values():
        if node.kind != "list" or len(node.keys) != len(parts):
            continue
        try:
            keys = "".join(f"<{name}>{escape(part)}</{name}>" for name, part in zip(node.keys, parts))
            return f"<{node.name}>{keys}{fields_xml(node, fields, node.keys)}</{node.name}>"
        except Refused as reason:
            reasons.append(str(reason))
    raise Refused(f"{table.name}|{key}: {'; '.join(reasons) or 'no list of the model has such keys'}")


def database(schema, data):
    """YANG JSON back as the database has it."""
    config = {}
    for top in data.values():
        for name, body in top.items():
            name = name.split(":")[-1]
            if name not in schema.tables:
                raise Refused(f"no model knows table {name}")
            rows = config.setdefault(name, {})
            for part, content in body.items():
                node = schema.tables[name][2].children.get(part.split(":")[-1])
                if node is None:
                    raise Refused(f"no model knows {part} of {name}")
                if node.kind == "container":
                    rows[node.name] = content
                    continue
                for entry in content:
                    entry = {field.split(":")[-1]: value for field, value in entry.items()}
                    if any(key not in entry for key in node.keys):
                        raise Refused(f"{part} without its key")
                    key = "|".join(plain(entry[name]) for name in node.keys)
                    if key in rows:
                        raise Refused(f"{name}|{key} stands there twice")
                    rows[key] = dict(flat(node, entry))
    return config


def flat(node, entry):
    for name, value in entry.items():
        child = node.children.get(name)
        if name in node.keys:
            continue
        if child is not None and child.kind == "list":
            for pair in value:
                rest = [leaf for leaf in child.children if leaf not in child.keys]
                yield plain(pair[child.keys[0]]), pair[rest[0]]
        else:
            yield name, value


def check_documents(schema, paths):
    documents, bad = {}, []
    for number, path in enumerate(paths):
        try:
            documents[f"d{number}"] = schema.convert(json.loads(pathlib.Path(path).read_text()))
        except Refused as reason:
            bad.append(f"{path}: {reason}")
    for name, said in schema.refused(documents).items():
        bad.append(f"{paths[int(name[1:])]}: {said}")
    print(f"validated {len(paths)} documents, {len(bad)} refused")
    print("\n".join(bad))
    return not bad


def first(rows, wanted=lambda key: True):
    return next(key for key in rows if wanted(key))


def spoil(config):
    """Name and document of everything that can be done wrong to it, as far as its tables allow."""
    def mutant(change):
        made = copy.deepcopy(config)
        change(made)
        return made

    def set_field(table, field, value, key=None):
        def change(made):
            rows = made[table]
            rows[key if key is not None else first(rows)][field] = value
        return change

    def port_of(table):
        return first(config[table], lambda key: key.startswith("Ethernet"))

    yield "unknown table", mutant(lambda made: made.update(PROT={}))
    for table in config:
        rows = config[table]
        if table in ("DSCP_TO_TC_MAP", "TC_TO_QUEUE_MAP", "TC_TO_PRIORITY_GROUP_MAP", "MAP_PFC_PRIORITY_TO_QUEUE",
                     "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", "CABLE_LENGTH"):
            yield f"{table}: a key that is none", mutant(set_field(table, "sixty", "9"))
        elif rows:
            yield f"{table}: unknown field", mutant(set_field(table, "no_such_field", "1"))
    leafrefs = {"PORT_QOS_MAP": "dscp_to_tc_map", "QUEUE": "scheduler", "BUFFER_PG": "profile",
                "BUFFER_QUEUE": "profile", "BUFFER_PROFILE": "pool", "VLAN_INTERFACE": "vrf_name",
                "INTERFACE": "vrf_name", "LOOPBACK_INTERFACE": "vrf_name", "BGP_NEIGHBOR": "peer_group_name",
                "MCLAG_DOMAIN": "peer_link", "BUFFER_PORT_EGRESS_PROFILE_LIST": "profile_list"}
    for table, field in leafrefs.items():
        if table in config and field in config[table][first(config[table])]:
            yield f"{table}: {field} names nothing", mutant(set_field(table, field, "NoSuchThing"))
    for table in ("VLAN_MEMBER", "PORTCHANNEL_MEMBER", "PORT_QOS_MAP", "QUEUE", "BUFFER_PG", "PFC_WD", "INTERFACE"):
        if table in config:
            def rename(made, table=table):
                key = first(made[table], lambda key: "Ethernet" in key)
                made[table][re.sub(r"Ethernet\d+", "Ethernet9999", key)] = made[table].pop(key)
            if any("Ethernet" in key for key in config[table]):
                yield f"{table}: a port that is not there", mutant(rename)
    values = {"PORT": [("speed", "fast"), ("mtu", "9217"), ("fec", "reed-solomon"), ("admin_status", "on")],
              "SCHEDULER": [("weight", "101"), ("type", "FIFO")],
              "WRED_PROFILE": [("green_max_threshold", "1"), ("ecn", "all"), ("green_drop_probability", "200")],
              "BUFFER_PROFILE": [("dynamic_th", "8"), ("size", "-1")],
              "BUFFER_POOL": [("mode", "elastic")],
              "VLAN": [("vlanid", "2")], "VLAN_MEMBER": [("tagging_mode", "both")],
              "DEVICE_METADATA": [("type", "Switch"), ("bgp_asn", "4294967296"), ("buffer_model", "none")],
              "BGP_GLOBALS": [("local_asn", "0"), ("router_id", "here")],
              "MGMT_INTERFACE": [("gwaddr", "fe80::1")], "SYSLOG_SERVER": [("vrf", "Vrf_none")],
              "SWITCH_HASH": [("ecmp_hash", ["SRC_IPS"])], "ACL_RULE": [("PRIORITY", "1000000")],
              "STP": [("mode", "none")]}
    for table, changes in values.items():
        for field, value in changes:
            if table in config:
                yield f"{table}: {field} is {value}", mutant(set_field(table, field, value))
    if "PFC_WD" in config:
        yield "PFC_WD: a look takes longer than the detection", mutant(
            set_field("PFC_WD", "detection_time", "100", port_of("PFC_WD")))
        yield "PFC_WD: GLOBAL has a port's field", mutant(set_field("PFC_WD", "action", "drop", "GLOBAL"))
    if "DSCP_TO_TC_MAP" in config:
        yield "DSCP_TO_TC_MAP: DSCP 64", mutant(set_field("DSCP_TO_TC_MAP", "64", "0"))
        yield "DSCP_TO_TC_MAP: class 16", mutant(set_field("DSCP_TO_TC_MAP", "26", "16"))
        yield "PORT_QOS_MAP: pfc_enable 8", mutant(set_field("PORT_QOS_MAP", "pfc_enable", "8"))
    if "CABLE_LENGTH" in config:
        yield "CABLE_LENGTH: no meters", mutant(
            set_field("CABLE_LENGTH", port_of("PORT"), "five", first(config["CABLE_LENGTH"])))
    yield "PORT: without lanes", mutant(lambda made: made["PORT"][first(made["PORT"])].pop("lanes"))
    if "VRF" in config:
        yield "VRF: a name without Vrf", mutant(lambda made: made["VRF"].update(backend={}))
    if "MGMT_VRF_CONFIG" in config and "SYSLOG_SERVER" in config:
        yield "MGMT_VRF_CONFIG: missing", mutant(lambda made: made.pop("MGMT_VRF_CONFIG"))
    if "INTERFACE" in config and "VLAN_MEMBER" in config:
        def route_member(made):
            port = first(made["VLAN_MEMBER"], lambda key: "Ethernet" in key).split("|")[1]
            made["INTERFACE"][port] = {}
        if any("Ethernet" in key for key in config["VLAN_MEMBER"]):
            yield "INTERFACE: a port of a VLAN", mutant(route_member)


def fewer_ports(config):
    """The same document with its first and last four ports alone: there are many mutants, and each is read anew."""
    ports = list(config["PORT"])
    kept = set(ports[:4] + ports[-4:])

    def stays(text):
        return all(name in kept for name in re.findall(r"Ethernet\d+", text))

    made = {}
    for table, rows in config.items():
        if table == "BREAKOUT_CFG":
            continue
        made[table] = {key: {field: [one for one in value if stays(one)] if isinstance(value, list) else value
                             for field, value in fields.items() if stays(field)}
                       for key, fields in rows.items() if stays(key)}
    return {table: rows for table, rows in made.items() if rows}


def check_mutants(schema, paths):
    names, documents, caught, bad = {}, {}, 0, []
    for path in paths:
        config = fewer_ports(json.loads(pathlib.Path(path).read_text()))
        documents[f"m{len(names)}"] = schema.convert(config)
        names[f"m{len(names)}"] = None
        for name, made in spoil(config):
            label = f"m{len(names)}"
            names[label] = f"{path}: {name}"
            try:
                documents[label] = schema.convert(made)
            except Refused:
                caught += 1
    refused = schema.refused(documents)
    for label, name in names.items():
        if name is None and label in refused:
            bad.append(f"the whole document is refused: {refused[label]}")
        elif name is not None and label in documents and label not in refused:
            bad.append(f"accepted: {name}")
    total = sum(1 for name in names.values() if name is not None)
    print(f"spoilt {total} documents, {caught} refused by form, {len(refused)} by libyang, {len(bad)} wrong")
    print("\n".join(bad))
    return total > 0 and not bad


def check_vectors(schema, folder):
    documents, wanted, wrong, unformed = {}, {}, [], 0
    for path in sorted((folder / "tests_config").glob("*.json")):
        verdicts = json.loads((folder / "tests" / path.name).read_text())
        for name, data in json.loads(path.read_text()).items():
            if name not in verdicts:
                continue
            label = f"v{len(wanted)}"
            reject = any(key.startswith("eStr") for key in verdicts[name]) and verdicts[name].get("eStrKey") != "Verify"
            wanted[label] = (f"{path.stem} {name}", reject)
            try:
                documents[label] = schema.convert(database(schema, data))
            except Refused as reason:
                unformed += 1
                if not reject:
                    wrong.append(f"{path.stem} {name}: {reason}")
    refused = schema.refused(documents)
    for label in documents:
        name, reject = wanted[label]
        if reject != (label in refused):
            wrong.append(f"{name}: {'accepted' if reject else refused[label]}")
    rejects = sum(1 for _, reject in wanted.values() if reject)
    print(f"held {len(wanted)} vectors ({rejects} to be refused, {unformed} refused by form), {len(wrong)} otherwise")
    print("\n".join(wrong))
    return len(wanted), wrong


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    schemas, mode = pathlib.Path(sys.argv[1]), sys.argv[2]
    with tempfile.TemporaryDirectory(prefix="weft_yang_") as folder:
        schema = Schema(folder, schemas)
        if mode == "documents":
            good = check_documents(schema, sys.argv[3:])
        elif mode == "mutants":
            good = check_mutants(schema, sys.argv[3:])
        elif mode == "vectors":
            good = not check_vectors(schema, schemas / "test-vectors")[1]
        else:
            sys.exit(__doc__)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
