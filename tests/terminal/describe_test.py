#!/usr/bin/env python3
"""`weft describe`, `weft find` and `weft diff` of two cluster files, against the lists of `weft show` and algebra.
describe_test.py EXECUTABLE [PATTERN...]
"""

import ipaddress
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests/api"))

import lab  # noqa: E402  pylint: disable=wrong-import-position

POD = SOURCE / "examples/pod16.yaml"
# Positions for more servers are free in every unit: another server needs no switch.
GROWING = """weft: 1
name: grow
pools:
  - {name: train, role: training, server: hgx-h100, count: 5, unit: 32, per_rack: 6}
  - {name: store, role: storage, server: storage-nvme-2u, count: 4, racks: service}
  - {name: infra, role: infrastructure, server: control-1u, count: 3}
"""


def run(*words, text=None):
    return subprocess.run([lab.EXECUTABLE, *map(str, words)], input=text, capture_output=True, text=True,
                          errors="replace", check=False)


def load(*words, text=None, code=0):
    done = run(*words, "-o", "json", text=text)
    if done.returncode != code:
        raise AssertionError(f"{words}: exit code {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def show(view, cluster=POD, text=None):
    return load("show", view, cluster, text=text)[view]


def sample(rows, count, seed=7):
    return random.Random(seed).sample(rows, min(count, len(rows)))


def described(name, cluster=POD, text=None):
    return load("describe", name, cluster, text=text)


class DescribeTest(unittest.TestCase):
    def test_neighbors_are_those_of_the_cable_list(self):
        cables = show("cables")
        devices = sorted({one[side] for one in cables for side in ("a_device", "b_device")})
        for device in sample(devices, 25):
            expected = set()
            for one in cables:
                for here, there in (("a", "b"), ("b", "a")):
                    if one[f"{here}_device"] == device:
                        expected.add((one[f"{here}_port"], one[f"{there}_device"], one[f"{there}_port"],
                                      one["label"], one["length_m"], one["speed_bps"]))
            found = {(one["port"], one["peer_device"], one["peer_port"], one["cable"], one["length_m"],
                      one["speed_bps"]) for one in described(device)["ports"]}
            self.assertEqual(found, expected, device)

    def test_the_neighbors_of_a_switch_add_up(self):
        for switch in sample(show("switches"), 8):
            document = described(switch["switch"])
            self.assertEqual(sum(one["links"] for one in document["neighbors"]), len(document["ports"]))
            self.assertEqual(document["device"]["ports_used"], switch["ports_used"])
            self.assertEqual(document["device"]["asn"] if "asn" in document["device"] else None, switch["asn"])
            self.assertEqual(document["device"].get("loopback"), switch["loopback"])
            for one in document["neighbors"]:
                self.assertEqual(one["total_bps"], one["links"] * one["speed_bps"])

    def test_servers_are_those_of_the_node_list(self):
        for node in sample(show("nodes"), 12):
            device = described(node["host"])["device"]
            for here, there in (("pool", "pool"), ("role", "role"), ("rack", "rack"), ("rack_unit", "rack_unit"),
                                ("bmc_address", "bmc_address"), ("power_w", "power_w"), ("feeds", "feeds")):
                self.assertEqual(device[here], node[there], node["host"])
            self.assertTrue(device["model"].startswith(node["model"]))
            self.assertIn("1 server lost", device["if_it_fails"])

    def test_every_kind_of_address_names_its_owner(self):
        addresses = show("addresses")
        for one in sample(addresses, 25):
            document = described(one["address"])
            self.assertIn((one["host"], one["port"]), [(o["device"], o["port"]) for o in document["owners"]])
            address = ipaddress.ip_address(one["address"])
            for subnet in document["subnets"]:
                self.assertIn(address, ipaddress.ip_network(subnet["prefix"]))

    def test_gateways_and_free_addresses_are_told_apart(self):
        taken = {one["address"] for one in show("addresses")}
        for subnet in sample([one for one in show("subnets") if one["gateway"]], 6):
            document = described(subnet["gateway"])
            self.assertIn(f"gateway of {subnet['subnet']}", document["address"]["assigned_to"])
            network = ipaddress.ip_network(subnet["prefix"])
            free = next(str(one) for one in network.hosts() if str(one) not in taken | {subnet["gateway"]})
            document = described(free)
            self.assertNotIn("owners", document)
            self.assertEqual(document["address"]["assigned_to"], "no device")

    def test_subnets_count_their_members(self):
        for subnet in show("subnets"):
            for name in (subnet["subnet"], f"subnet/{subnet['subnet']}"):
                document = described(name)
                self.assertEqual(sum(one["count"] for one in document["members"]), subnet["used"])
                self.assertEqual(document["subnet"]["prefix"], subnet["prefix"])
                self.assertEqual(document["subnet"]["size"], ipaddress.ip_network(subnet["prefix"]).num_addresses)

    def test_racks_have_the_devices_of_the_lists(self):
        nodes, switches, cables = show("nodes"), show("switches"), show("cables")
        for rack in show("racks"):
            name = rack["rack"]
            document = described(name)
            inside = {one["host"] for one in nodes if one["rack"] == name}
            inside |= {one["switch"] for one in switches if one["rack"] == name}
            found = [one["device"] for one in document["devices"] if one["role"] != "pdu"]
            self.assertEqual(set(found), inside)
            self.assertEqual(document["rack"]["power_w"], rack["power_w"])
            # Links between the rack and other racks, from either end.
            leaving = sum((one["a_rack"] == name) != (one["b_rack"] == name) for one in cables)
            self.assertEqual(sum(one["links"] for one in document.get("leaving", [])), leaving)

    def test_cables_have_both_ends_and_what_shares_their_plug(self):
        cables = show("cables")
        for one in sample(cables, 20):
            document = described(one["label"])
            ends = [(end["device"], end["port"], end["rack"]) for end in document["ends"]]
            self.assertEqual(ends, [(one["a_device"], one["a_port"], one["a_rack"]),
                                    (one["b_device"], one["b_port"], one["b_rack"])])
            self.assertEqual(document["cable"]["length_m"], one["length_m"])
            self.assertTrue(document["cable"]["part"].startswith(one["cable"]))
            if one["assembly"]:
                legs = {other["label"] for other in cables if other["assembly"] == one["assembly"]}
                shared = {other["cable"] for other in document["shared_plugs"]}
                self.assertLessEqual(legs - {one["label"]}, shared)
                self.assertEqual({leg["cable"] for leg in described(one["assembly"])["legs"]}, legs)

    def test_ports(self):
        for one in sample(show("ports"), 20):
            document = described(f"{one['device']}:{one['port']}")["port"]
            for key in ("fabric", "speed_bps", "mtu_bytes"):
                self.assertEqual(document[key], one[key])
            self.assertEqual(document.get("peer"), f"{one['peer_device']}:{one['peer_port']}")
            self.assertEqual(document.get("vlan"), one["vlan"])

    def test_one_name_for_several_things(self):
        document = described("train")
        self.assertEqual((document["pool"]["count"], document["partition"]["pools"]), (16, "train"))
        self.assertIn("pool/train or partition/train", document["notes"][0])
        self.assertNotIn("partition", described("pool/train"))

    def test_case_and_domain_do_not_matter(self):
        plain = described("train003")
        self.assertEqual(described("TRAIN003"), plain)
        self.assertEqual(described("train003.pod16.internal"), plain)

    def test_unknown_names(self):
        for name, hint in (("train01", "did you mean `train001`?"), ("train001:be11", "did you mean `train001:be1`?"),
                           ("42", "weft job show 42"), ("203.0.113.9", "is in no subnet"), ("zzz", "weft find zzz")):
            done = run("describe", name, POD)
            self.assertEqual((done.returncode, done.stdout), (2, ""), name)
            self.assertIn(hint, done.stderr)

    def test_long_tables_say_what_is_left_out(self):
        done = run("describe", "oob-leaf001", POD)
        self.assertRegex(done.stdout, r"Ports: 40 of \d+ rows; --all shows the rest")
        self.assertNotIn("--all", run("describe", "oob-leaf001", POD, "--all").stdout)

    def test_hostile_names(self):
        names = ["", " ", "\x01\x1b[31m", "\x7f", "-", "--", ":", "/", "rack/", "::", "x" * 100_000, "9" * 1000,
                 "10.60.0.0/99", "10.60.0.5/26", "BE-", "BE-S", "BE-999999999999999999999", "\u202etrain001", "train001\n",
                 "%s%n", "../../etc/passwd", "*", "??"]
        for command in ("describe", "find"):
            for name in names:
                done = run(command, "--", name, POD)
                allowed = (2,) if command == "describe" or not name else (0, 1, 2)
                self.assertIn(done.returncode, allowed, (command, name[:30], done.stderr[:200]))
                self.assertNotIn("\x1b", done.stdout + done.stderr)
                self.assertLess(len(done.stderr), 2000)
                if done.returncode:
                    self.assertTrue(done.stderr)


class FindTest(unittest.TestCase):
    def found(self, text, *more, code=0):
        return load("find", text, POD, *more, code=code)["matches"]

    def test_names_are_those_of_the_lists(self):
        nodes = {one["host"] for one in show("nodes")}
        for text in ("train", "RAIN0", "001", "infra"):
            found = {one["name"] for one in self.found(text) if one["kind"] == "device"} & nodes
            by_name = {one for one in nodes if text.lower() in one}
            self.assertLessEqual(by_name, found)
        found = {one["name"] for one in self.found("train00?")}
        self.assertEqual(found, {one for one in nodes if re.fullmatch("train00.", one)})

    def test_addresses_find_owner_and_subnet(self):
        subnets = show("subnets")
        for one in sample(show("addresses"), 15):
            matches = self.found(one["address"])
            self.assertIn(("address", f"{one['host']}:{one['port']}"), [(m["kind"], m["where"]) for m in matches])
            address = ipaddress.ip_address(one["address"])
            around = {s["subnet"] for s in subnets if address in ipaddress.ip_network(s["prefix"])}
            self.assertEqual({m["name"] for m in matches if m["kind"] == "subnet"}, around)

    def test_prefixes_find_the_subnets_that_overlap(self):
        for prefix in ("10.60.0.0/15", "10.0.0.0/8", "10.60.0.0/30"):
            wanted = ipaddress.ip_network(prefix)
            expected = {s["subnet"] for s in show("subnets") if wanted.overlaps(ipaddress.ip_network(s["prefix"]))}
            self.assertEqual({m["name"] for m in self.found(prefix) if m["kind"] == "subnet"}, expected)

    def test_models(self):
        expected = {one["switch"] for one in show("switches") if one["model"] == "sn5600"}
        self.assertEqual({one["name"] for one in self.found("SN5600") if one["kind"] == "device"}, expected)

    def test_each_result_can_be_described(self):
        for text in ("train001", "10.60.0.2", "be-spine", "BE-00001", "svc", "team", "scratch"):
            for match in sample(self.found(text), 6):
                if match["kind"] not in ("model", "address range"):
                    self.assertEqual(run("describe", match["name"], POD).returncode, 0, match)

    def test_nothing(self):
        done = run("find", "zzz", POD)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (1, "", "weft: no match for `zzz`\n"))
        self.assertEqual(self.found("zzz", code=1), [])

    def test_limit(self):
        everything = self.found("e")
        done = run("find", "e", POD)
        self.assertEqual(len(done.stdout.splitlines()), 50 + 1 + 2)
        self.assertIn(f"50 of {len(everything):,} matches; --limit 0 shows all.", done.stdout)
        self.assertEqual(self.found("e", "--limit", "3"), everything[:3])
        for wrong in ("-1", "x", "99999999999999999999999"):
            self.assertEqual(run("find", "e", POD, f"--limit={wrong}").returncode, 2)


class DiffTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def changed(self, *pairs, text=None):
        text = text or POD.read_text(encoding="utf-8")
        for before, after in pairs:
            self.assertIn(before, text)
            text = text.replace(before, after)
        return self.file("changed.yaml", text)

    def test_a_file_does_not_differ_from_itself(self):
        done = run("diff", POD, POD)
        self.assertEqual((done.returncode, done.stdout), (0, "No difference.\n"))

    def test_the_effective_file_is_the_same_cluster(self):
        effective = self.file("effective.yaml", run("show", "effective", POD).stdout)
        document = load("diff", POD, effective)
        self.assertEqual(document["notes"], ["No difference."])

    def test_one_more_server_adds_its_cables(self):
        before = self.file("before.yaml", GROWING)
        after = self.file("after.yaml", GROWING.replace("count: 5", "count: 6"))
        document = load("diff", before, after, code=1)
        old, new = show("cables", before), show("cables", after)
        own = [one for one in new if one["a_device"] == "train006"]
        added = [one for one in document["cables"] if one["change"] == "added"]
        self.assertEqual({one["label"] for one in added}, {one["label"] for one in own})
        self.assertEqual(len(own), len(new) - len(old))
        self.assertEqual(document["impact"]["renumbered"], 0)
        self.assertEqual([(one["change"], one["device"]) for one in document["devices"]], [("added", "train006")])
        self.assertEqual([(one["setting"], one["before"], one["after"]) for one in document["settings"]],
                         [("pools[train].count", "5", "6")])

    def ends(self, cables):
        return {((one["a_device"], one["a_port"]), (one["b_device"], one["b_port"])): one for one in cables}

    def test_cables_are_the_difference_of_the_cable_lists(self):
        changed = self.changed(("count: 16", "count: 17"), ("unit: 16", "unit: 17"))
        document = load("diff", POD, changed, code=1)
        old, new = self.ends(show("cables")), self.ends(show("cables", changed))
        by_change = {}
        for one in document["cables"]:
            by_change.setdefault(one["change"], []).append(one)
        gone, come = set(old) - set(new), set(new) - set(old)
        moved = by_change.get("moved", [])
        self.assertEqual(len(gone), len(moved) + len(by_change.get("removed", [])))
        self.assertEqual(len(come), len(moved) + len(by_change.get("added", [])))
        for one in moved:
            self.assertTrue((one["a"] == one["was_a"]) != (one["b"] == one["was_b"]), one)
        relabeled = sum(old[ends]["label"] != new[ends]["label"] for ends in set(old) & set(new))
        self.assertEqual(len(by_change.get("relabeled", [])), relabeled)
        self.assertEqual(document["impact"]["cables_relabeled"], relabeled)

    def test_addresses_are_the_difference_of_the_address_lists(self):
        changed = self.changed(("  frontend: {leaf: sn4600c,", "  frontend: {subnets: [10.77.0.0/16], leaf: sn4600c,"))
        done = run("diff", POD, changed)
        document = load("diff", POD, changed, code=1)

        def addresses(path):
            return {(one["host"], one["port"]): one["address"] for one in show("addresses", path)}

        old, new = addresses(POD), addresses(changed)
        expected = {key for key in set(old) & set(new) if old[key] != new[key]}
        found = {(one["device"], one["port"]) for one in document["addresses"] if one["change"] == "renumbered"}
        self.assertEqual(found, expected)
        self.assertGreater(len(found), 0)
        self.assertEqual(document["impact"]["renumbered"], len(expected))
        self.assertIn(f"warning: {len(expected)} addresses of existing devices CHANGE", done.stderr)
        self.assertRegex(done.stdout, rf"Renumbered: +{len(expected)} addresses of \d+ existing devices CHANGE")

    def test_the_bill_of_materials_is_the_difference_of_both(self):
        changed = self.changed(("name: login, role: login, server: login-1u, count: 2",
                                "name: login, role: login, server: login-1u, count: 5"))

        def bom(path):
            lines = load("show", "bom", path)
            table = next(value for value in lines.values() if isinstance(value, list) and value and "item" in value[0])
            return {(one["category"], one["fabric"], one["item"], one["purpose"]): one["count"] for one in table}

        old, new = bom(POD), bom(changed)
        expected = {key: (old.get(key, 0), new.get(key, 0)) for key in set(old) | set(new)
                    if old.get(key, 0) != new.get(key, 0)}
        found = {(one["category"], one["fabric"], one["item"], one["purpose"]): (one["before"], one["after"])
                 for one in load("diff", POD, changed, code=1)["bom"]}
        self.assertEqual(found, expected)

    def test_directions_mirror_each_other(self):
        for pairs in ([("count: 16", "count: 18"), ("unit: 16", "unit: 18")], [("name: embed", "name: encode")],
                      [("per_rack: 2\n    unit", "per_rack: 4\n    unit")], [("spines: 4", "spines: 8")]):
            changed = self.changed(*pairs)
            there, back = load("diff", POD, changed, code=1), load("diff", changed, POD, code=1)
            for key in ("devices", "cables", "subnets", "racks"):
                def count(document, change, table=key):
                    return sum(one["change"] == change for one in document.get(table, []))
                self.assertEqual(count(there, "added"), count(back, "removed"), (pairs, key))
                self.assertEqual(count(there, "removed"), count(back, "added"), (pairs, key))
                self.assertEqual(count(there, "moved"), count(back, "moved"), (pairs, key))
            for name in ("renumbered", "devices_renamed", "cables_moved", "cables_relabeled"):
                self.assertEqual(there["impact"][name], back["impact"][name], (pairs, name))
            self.assertEqual({(one["what"], one["before"], one["after"]) for one in there["totals"]},
                             {(one["what"], one["after"], one["before"]) for one in back["totals"]})
            settings = {(one["setting"], one["before"], one["after"]) for one in there["settings"]}
            self.assertEqual(settings, {(one["setting"], one["after"], one["before"]) for one in back["settings"]})

    def test_settings_name_both_lines(self):
        changed = self.changed(("oversubscription: 1:1", "oversubscription: 2:1"), ("    spines: 4\n", ""))
        rows = {one["setting"]: one for one in load("diff", POD, changed, code=1)["settings"]}
        old = POD.read_text(encoding="utf-8").splitlines()
        row = rows["fabrics.backend.oversubscription"]
        self.assertEqual((row["before"], row["after"]), ("1:1", "2:1"))
        line, column = row["before_source"].rsplit(":", 2)[1:]
        self.assertTrue(old[int(line) - 1][int(column) - 1:].startswith("1:1"))
        self.assertNotIn(":", rows["fabrics.backend.spines"]["after_source"] or "")

    def test_comments_and_order_of_keys_are_no_difference(self):
        text = POD.read_text(encoding="utf-8")
        blocks = re.split(r"\n\n(?=\w)", text)
        shuffled = self.file("shuffled.yaml", "\n\n# a comment\n".join([*reversed(blocks[1:]), blocks[0]]) + "\n")
        self.assertEqual(run("diff", POD, shuffled).stdout, "No difference.\n")

    def test_standard_input(self):
        text = POD.read_text(encoding="utf-8")
        self.assertEqual(run("diff", POD, "-", text=text).returncode, 0)
        self.assertEqual(run("diff", "-", "-", text=text).returncode, 2)

    def test_bad_input(self):
        broken = self.file("broken.yaml", "weft: 1\nname: [\n")
        wrong = self.file("wrong.yaml", POD.read_text(encoding="utf-8").replace("count: 16", "count: sixteen"))
        other = self.file("other.yaml", "hello: world\n")
        for words in ((POD, broken), (broken, POD), (POD, wrong), (wrong, wrong), (POD, other), (POD, "absent.yaml"),
                      (POD, POD, POD), (POD, POD, "--target", "sonic")):
            done = run("diff", *words)
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)
            self.assertTrue(done.stderr)


if __name__ == "__main__":
    lab.run_tests()
