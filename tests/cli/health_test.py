#!/usr/bin/env python3
"""weft health as a user runs it: explanations, the rules file and its errors, recorded files and exit codes.
health_test.py EXECUTABLE [PATTERN...]

The lines of logs are those of public reports: NVIDIA's Xid documents and NVIDIA/open-gpu-kernel-modules issues.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests/api"))

import lab  # noqa: E402  pylint: disable=wrong-import-position
from lab import run_tests  # noqa: E402  pylint: disable=wrong-import-position

FELL_OFF = ("2026-11-18T11:00:02.000000+00:00 train002 kernel: [1236.5] NVRM: Xid (PCI:0000:1a:00): 79, "
            "pid='<unknown>', name=<unknown>, GPU has fallen off the bus.\n")
CLEANUP = ("2026-11-18T12:00:04.000000+00:00 train004 kernel: [1236.5] NVRM: Xid (PCI:0000:1a:00): 45, pid=1, "
           "name=python3, Ch 00000008\n")


class Health(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="weft_health_")
        self.folder = pathlib.Path(self.temporary.name)

    def tearDown(self):
        self.temporary.cleanup()

    def weft(self, *words, code=0):
        done = subprocess.run([lab.EXECUTABLE, "health", *words], cwd=self.folder, capture_output=True,
                              encoding="utf-8", check=False)
        self.assertEqual(done.returncode, code, " ".join(words) + "\n" + done.stdout + done.stderr)
        return done

    def check(self, *words, code=0):
        return json.loads(self.weft("check", *words, "-o", "json", code=code).stdout)

    def write(self, name, text):
        (self.folder / name).write_text(text, encoding="utf-8")
        return name

    def test_explain_says_what_is_done_in_which_order(self):
        for words in (["79"], ["Xid", "79"], ["xid:79"], ["xid-79"]):
            text = self.weft("explain", *words).stdout
            self.assertIn("1. reboot, 2. power cycle, 3. replace the part", text)
            self.assertIn("NVIDIA Xid catalog", text)

    def test_explain_reads_a_line_of_the_log(self):
        text = self.weft("explain", "NVRM: Xid (PCI:0000:3b:00): 94, pid=7194, Contained: SM (0x1). RST: No, D-RST: No").stdout
        self.assertIn("xid:94", text)

    def test_explain_refuses_what_is_no_signal(self):
        self.assertIn("weft health rules", self.weft("explain", "nonsense", code=2).stderr)
        self.weft("explain", "webhook:", code=2)
        self.weft("explain", "made_up:signal", code=2)

    def test_printed_rules_are_a_valid_file(self):
        self.weft("rules", "--print", "-f", "rules.yaml")
        built_in = json.loads(self.weft("rules", "-o", "json").stdout)["rules"]
        read = json.loads(self.weft("rules", "--rules", "rules.yaml", "-o", "json").stdout)["rules"]
        self.assertEqual(read, built_in)
        self.assertGreater(len(built_in), 200)
        self.assertEqual(len({rule["id"] for rule in built_in}), len(built_in))

    def test_wrong_rules_are_reported_at_their_place(self):
        text = self.weft("rules", "--print").stdout.replace("severity: fatal", "severity: deadly", 1)
        line = next(i for i, each in enumerate(text.split("\n"), 1) if "deadly" in each)
        self.write("rules.yaml", text)
        self.assertIn(f"rules.yaml:{line}:", self.weft("rules", "--rules", "rules.yaml", code=2).stderr)
        self.weft("check", self.write("kern.log", FELL_OFF), "--rules", "rules.yaml", code=2)
        self.weft("rules", "--rules", "absent.yaml", code=2)

    def test_own_rules_replace_the_built_in_ones(self):
        text = self.weft("rules", "--print").stdout
        head, rest = text.split("  - id: xid-79\n")
        changed = head + "  - id: xid-79\n" + rest.replace("severity: fatal", "severity: warning", 1)
        self.write("rules.yaml", changed)
        self.write("kern.log", FELL_OFF)
        self.check("kern.log", code=1)
        self.check("kern.log", "--rules", "rules.yaml", code=0)

    def test_check_names_the_node_and_the_plan(self):
        self.write("kern.log", FELL_OFF + CLEANUP)
        found = self.check("kern.log", code=1)
        self.assertEqual([node["node"] for node in found["nodes"]], ["train002"])
        self.assertEqual(found["nodes"][0]["health"], "fatal")
        self.assertTrue(found["nodes"][0]["plan"].startswith("reboot"))
        self.assertEqual(found["incidents"][0]["opened"], "2026-11-18T11:00:02Z")

    def test_noise_alone_is_no_finding(self):
        self.write("kern.log", CLEANUP)
        found = self.check("kern.log")
        self.assertNotIn("incidents", found)
        self.assertEqual(found["summary"]["recorded"], 1)

    def test_nothing_read_is_not_nothing_found(self):
        for name, text in (("empty", ""), ("prose", "all is well\n"), ("table", "node,health\na,ok\n")):
            self.assertIn(name, self.weft("check", self.write(name, text), code=2).stderr)
        self.weft("check", "absent", code=2)
        self.weft("check", code=2)
        self.write("good", FELL_OFF)
        self.weft("check", "good", "empty", code=2)  # one unread file spoils the answer

    def test_metrics_of_one_node_are_scrapes_in_a_row(self):
        for number in range(3):
            self.write(f"s{number}", "# TYPE DCGM_FI_DEV_CLOCK_THROTTLE_REASONS gauge\n"
                                     'DCGM_FI_DEV_CLOCK_THROTTLE_REASONS{gpu="0"} 128\n')
        self.check("n1=s0", "n1=s1", code=0)
        found = self.check("n1=s0", "n1=s1", "n1=s2", "--every", "15s", code=1)
        self.assertEqual(found["nodes"][0]["node"], "n1")
        self.weft("check", "n1=s0", "--every", "soon", code=2)


if __name__ == "__main__":
    run_tests()
