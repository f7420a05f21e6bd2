#!/usr/bin/env python3
"""`weft check --live`: what was seen is counted, and what could not be judged is said, whatever the findings are."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WEFT = str(pathlib.Path(sys.argv[1]).resolve()) if len(sys.argv) > 1 else str(ROOT / "build/product/weft")
EXAMPLE = str(ROOT / "examples/pod16.yaml")


def weft(*arguments):
    done = subprocess.run([WEFT, *arguments], capture_output=True, text=True, check=False, timeout=120)
    return done.returncode, done.stdout, done.stderr


def neighbor(interface, switch, port):
    return {interface: {"via": "LLDP", "chassis": {switch: {"id": {"type": "mac", "value": "aa:bb:cc:00:00:01"}}},
                        "port": {"id": {"type": "ifname", "value": port}}}}


class Live(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def check(self, rows, *more):
        (self.folder / "train001.lldp.json").write_text(json.dumps({"lldp": {"interface": rows}}))
        return weft("check", EXAMPLE, "--live", str(self.folder), *more)

    def test_names_that_the_design_lacks_are_said_to_be_assumed(self):
        # Rails 1 and 2 are swapped at the host, or not: the kernel's names do not tell.
        rows = [neighbor("ens2f0np0", "be-train-u001-leaf1", "Ethernet0"),
                neighbor("ens1f0np0", "be-train-u001-leaf2", "Ethernet0")]
        code, out, err = self.check(rows)
        self.assertEqual(code, 0, out + err)
        self.assertRegex(out, r"\d+ planned cables: 2 as planned \(0 seen from both ends\), 0 different")
        self.assertIn("2 ports of train001 are known by interface names", err)
        self.assertIn("weft discover", err)
        answer = json.loads(self.check(rows, "-o", "json")[1])
        self.assertEqual(answer["live"]["cables"]["matching"], 2)
        self.assertTrue(any("train001" in note for note in answer["live"]["notes"]))

    def test_rules_without_input_are_not_counted_as_run(self):
        summary = json.loads(self.check([neighbor("be1", "be-train-u001-leaf1", "Ethernet0")], "-o", "json")[1])["summary"]
        rules = json.loads(weft("rules", "-o", "json")[1])["rules"]
        needs = {"design": 0, "design and live state": 0, "configuration": 0, "design and configuration": 0}
        for rule in rules:
            if rule["needs"] in needs:
                needs[rule["needs"]] += 1
        self.assertEqual(summary["rules_passed_over"], needs["configuration"] + needs["design and configuration"])
        self.assertGreater(summary["rules_run"], needs["design and live state"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2)
