#!/usr/bin/env python3
"""`weft oob firmware list` against dumps of real BMCs (see dumps_test.py): every entry of the inventories, differences
between machines of one model, baselines, and what cannot be read.
firmware_list_test.py EXECUTABLE [PATTERN...]
"""

import collections
import re

from dumps_test import FOLDERS, ROOT, Dump, Machines, OobCase, link, split_table
from lab import run_tests

SERVICE = f"{ROOT}/UpdateService"
INVENTORY = f"{SERVICE}/FirmwareInventory"
HEALTH = {"OK": "ok", "Warning": "warning", "Critical": "critical"}


def expected_rows(dump):
    """(id, name, version, updateable, state, health) of every entry, as the files say."""
    service, rows = dump.get(SERVICE), collections.Counter()
    for collection in ("FirmwareInventory", "SoftwareInventory"):
        for item in dump.members(link(service, collection)):
            status = item.get("Status") or {}
            rows[(item["Id"], item.get("Name"), (item.get("Version") or "").strip() or None, item.get("Updateable"),
                  status.get("State"), HEALTH.get(status.get("Health"), "unknown"))] += 1
    return rows


def told_rows(document, device):
    return collections.Counter((row["id"], row.get("name"), row.get("version"), row.get("updateable"),
                                row.get("state"), row["health"])
                               for row in document["firmware"] if row["device"] == device)


class OobFirmwareList(OobCase):
    @classmethod
    def make_machines(cls):
        return Machines()

    def listed(self, machines, hosts, *words, codes=(0,)):
        return machines.json("firmware", hosts, *words, codes=codes)

    def test_every_entry(self):
        """What is listed is what the dumps have, entry by entry."""
        document = self.machines.json("firmware list", ",".join(f"{name}001" for name in FOLDERS), codes=(0, 3))
        for name in FOLDERS:
            with self.subTest(dump=name):
                expected = expected_rows(Dump(name))
                self.assertGreater(sum(expected.values()), 0)
                self.assertEqual(told_rows(document, f"{name}001"), expected)

    def test_unread_members_are_named(self):
        """Members that a BMC answers with an error, or not at all, are named, and the exit code is 3."""
        for name in FOLDERS:
            dump = Dump(name)
            paths = [member["@odata.id"] for member in dump.get(INVENTORY)["Members"]]
            broken = {path for path in paths if not dump.get(path)}
            document = self.machines.json("firmware list", f"{name}001", codes=(3,) if broken else (0,))
            told = {row["part"] for row in document.get("unread", [])}
            self.assertEqual(told, {path.removeprefix(SERVICE + "/") for path in broken})

    def test_broken_member(self):
        """A link to nothing and an entry without an Id: the others are listed."""
        paths = [member["@odata.id"] for member in Dump("supermicro").get(INVENTORY)["Members"]]
        changes = {paths[0]: None, paths[1]: {"@odata.id": paths[1], "Name": "nothing"}}
        document = self.changed("supermicro", changes).json("firmware list", "supermicro001", codes=(3,))
        self.assertEqual({row["part"] for row in document["unread"]},
                         {path.removeprefix(SERVICE + "/") for path in paths[:2]})
        self.assertEqual(len(document["firmware"]), len(paths) - 2)

    def test_pages(self):
        """An inventory in pages is read to its end."""
        whole, changes, size = Dump("viking").get(INVENTORY), {}, 20
        for first in range(0, len(whole["Members"]), size):
            page = {**whole, "Members": whole["Members"][first:first + size]}
            if first + size < len(whole["Members"]):
                page["Members@odata.nextLink"] = f"{INVENTORY}?$skip={first + size}"
            changes[f"{INVENTORY}?$skip={first}" if first else INVENTORY] = page
        document = self.changed("viking", changes).json("firmware list", "viking001", codes=(0, 3))
        self.assertEqual(told_rows(document, "viking001"), expected_rows(Dump("viking")))

    def test_no_update_service(self):
        root = Dump("hpe").get(ROOT)
        del root["UpdateService"]
        _, errors = self.changed("hpe", {ROOT: root}).weft("firmware list", "hpe001", codes=(3,))
        self.assertEqual(errors, "")

    def test_stored_images(self):
        """Dell lists what a rollback would install: it is no version that runs."""
        rows = self.machines.json("firmware list", "dell001")["firmware"]
        self.assertEqual({row["component"] for row in rows if row["stored"]}, {"BIOS.Setup.1-1", "iDRAC.Embedded.1-1"})
        bios, = {row["version"] for row in rows if row["component"] == "BIOS.Setup.1-1" and not row["stored"]}
        self.assertEqual(bios, "1.8.2")

    def baseline(self, text):
        path = self.machines.folder / "baseline.yaml"
        path.write_text("weft_firmware: 1\n" + text, encoding="utf-8")
        return "--baseline", str(path)

    def test_baseline(self):
        """Below a minimum, another than wanted, affected by an advisory; an unknown order is said."""
        words = self.baseline("""components:
  - {vendor: Dell*, component: "Integrated Dell Remote Access Controller", minimum: 6.10.00.00}
  - {vendor: Dell*, component: BIOS.*, wanted: 1.8.2}
  - {component: "NVMe Drive", minimum: MPK9999Q}
  - {vendor: NVIDIA, component: HGX_FW_BMC_0, minimum: HGX-22.10-1-rc58}
advisories:
  - id: CVE-2099-0001
    title: test
    severity: error
    url: https://example.org/1
    affects: [{vendor: HPE, component: iLO 5, versions: {from: "2.0", below: "2.73"}}]
""")
        hosts = "dell001,hpe001,viking001"
        found = self.machines.json("firmware list", hosts, *words, codes=(1,))["findings"]
        self.assertEqual({(row["device"], row["severity"], row["rule"], row["component"]) for row in found},
                         {("dell001", "warning", "minimum", "iDRAC.Embedded.1-1"),
                          ("hpe001", "note", "minimum", "NVMe Drive"),
                          ("hpe001", "error", "CVE-2099-0001", "iLO 5"),
                          ("viking001", "warning", "minimum", "HGX_FW_BMC_0")})
        text, _ = self.machines.weft("firmware list", hosts, *words, codes=(1,))
        self.assertRegex(text, r"error +CVE-2099-0001 +iLO 5 +2\.72 Sep 04 2022 +2\.73 +1 +hpe001")

    def test_bad_baseline(self):
        """Each problem with its line; exit code 2, and no BMC is asked."""
        for name in FOLDERS:
            self.machines.servers[name].clear()
        for text, problem in (("components: [{component: BMC}]", "needs one of `wanted` and `minimum`"),
                              ("components: [{component: BMC, minimum: x}]", "a version must contain digits"),
                              ("components: 3", "must be a list"),
                              ("advisories: [{id: a, title: b, url: c, severity: bad, affects: []}]", "severity is"),
                              ("other: 1", "unknown key `other`")):
            _, errors = self.machines.weft("firmware list", "dell001", *self.baseline(text + "\n"), codes=(2,))
            self.assertRegex(errors, r"baseline\.yaml:2:\d+")
            self.assertIn(problem, errors)
        self.assertEqual(self.machines.servers["dell"].received("GET"), [])

    def test_verbs(self):
        """A missing or wrong verb is a usage error."""
        _, errors = self.machines.weft("firmware bogus", "dell001", codes=(2,))
        self.assertIn("unknown firmware verb `bogus`", errors)


class OobFirmwareDifferences(OobCase):
    """Two machines of one model."""

    @classmethod
    def make_machines(cls):
        return Machines(("hpe",))

    def test_differences_first(self):
        path = self.machines.folder
        cluster = path / "cluster.yaml"
        cluster.write_text(cluster.read_text(encoding="utf-8").replace("count: 1", "count: 2"), encoding="utf-8")
        item = {**Dump("hpe").get(f"{INVENTORY}/1"), "Version": "2.78 Mar 12 2023"}
        other = self.use(("hpe",), {f"{INVENTORY}/1": item})
        port = other.servers["hpe"].port
        endpoints = path / "endpoints.yaml"
        ca = re.search(r"ca: (\S+)}", endpoints.read_text(encoding="utf-8")).group(1)
        both = path / "ca.pem"
        both.write_text("".join((folder / "bmc.pem").read_text(encoding="utf-8") for folder in (path, other.folder)),
                        encoding="utf-8")
        text = endpoints.read_text(encoding="utf-8").replace(ca, str(both))
        endpoints.write_text(f"{text}  hpe002: {{host: 127.0.0.1, port: {port}, protocol: redfish}}\n",
                             encoding="utf-8")
        text, _ = self.machines.weft("firmware list", "hpe[001-002]")
        self.assertTrue(text.startswith("Versions that differ\n"), text[:100])
        rows = [row for row in split_table(text.partition("\n")[2])]
        self.assertEqual([(row["Component"], row["Version"], row["Devices"]) for row in rows],
                         [("iLO 5", "2.72 Sep 04 2022", "hpe001"), ("iLO 5", "2.78 Mar 12 2023", "hpe002")])


if __name__ == "__main__":
    run_tests()
