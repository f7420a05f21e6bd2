#!/usr/bin/env python3
"""What commands of weft say: exit codes, counts that agree, hints for misspelled words, environment variables, `weft fmt`.
commands_test.py EXECUTABLE [PATTERN...]
"""

import json
import os
import pathlib
import re
import stat
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests/api"))

import lab  # noqa: E402  pylint: disable=wrong-import-position
from lab import run_tests  # noqa: E402  pylint: disable=wrong-import-position


class Folder(unittest.TestCase):
    """A test in a temporary folder of its own."""

    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="weft_commands_")
        self.folder = pathlib.Path(self.temporary.name)

    def tearDown(self):
        self.temporary.cleanup()

    def weft(self, *words, code=0, text=None):
        done = subprocess.run([lab.EXECUTABLE, *words], cwd=self.folder, input=text or "", capture_output=True,
                              encoding="utf-8", check=False)
        if code is not None:
            self.assertEqual(done.returncode, code, " ".join(words) + "\n" + done.stderr)
        return done

    def json(self, *words, code=0):
        return json.loads(self.weft(*words, "-o", "json", code=code).stdout)


class Environment(Folder):
    def variables_of_source(self):
        """Every variable that the product reads by name."""
        calls = re.compile(r'\b(?:getenv|environment)\(\s*"([A-Z][A-Z0-9_]+)"')
        names = {}
        for file in sorted((SOURCE / "src").rglob("*")):
            if file.relative_to(SOURCE / "src").parts[0] in ("render", "check"):  # those write variables of jobs
                continue
            if file.suffix not in (".cc", ".h") or re.search(r"_test\.cc$|test_|_lab\.|fixture|kill_rounds\.h", file.name):
                continue
            for name in calls.findall(file.read_text(encoding="utf-8")):
                names.setdefault(name, str(file.relative_to(SOURCE)))
        return names

    def test_TopicIsComplete(self):
        topic = self.weft("help", "environment").stdout
        listed = {name for line in topic.splitlines() if line.startswith("  ") and not line.startswith("   ")
                  for name in re.findall(r"\b[A-Z][A-Z0-9_]{2,}\b", re.split(r"  +", line.strip())[0])}
        read = self.variables_of_source()
        self.assertGreater(len(read), 20)
        missing = {name: file for name, file in read.items() if name not in listed}
        self.assertEqual(missing, {}, "not in `weft help environment`")
        source = "".join(file.read_text(encoding="utf-8") for file in (SOURCE / "src").rglob("*.cc")
                         if file.name != "topics.cc")
        self.assertEqual([name for name in sorted(listed - {"NAME"}) if f'"{name}"' not in source], [],
                         "in the topic, but read nowhere")


class ExitCodes(Folder):
    def test_Checklist(self):
        """0 or 1 by the states in the answer itself, as --help says."""
        self.weft("design", "--gpus", "64", "-f", "all.yaml")
        ids = [item["id"] for item in self.json("checklist", "all.yaml")["items"]]
        done = (self.folder / "all.yaml").read_text(encoding="utf-8") + "checklist:\n"
        (self.folder / "done.yaml").write_text(done + "".join(f"  {one}: done\n" for one in ids), encoding="utf-8")
        (self.folder / "open.yaml").write_text(done + f"  {ids[-1]}: not-done\n", encoding="utf-8")
        seen = set()
        for file in ["all.yaml", "done.yaml", "open.yaml", *sorted((SOURCE / "examples").glob("*[0-9].yaml"))]:
            for strict in [False, True]:
                words = ["checklist", str(file), "-o", "json"] + ["--strict"] * strict
                answer = self.weft(*words, code=None)
                states = {item["state"] for item in json.loads(answer.stdout)["items"]}
                expected = 1 if "not done" in states or (strict and "unknown" in states) else 0
                self.assertEqual(answer.returncode, expected, words)
                seen.add((strict, expected))
        self.assertEqual(len(seen), 4)
        self.weft("checklist", "missing.yaml", code=2)
        self.weft("checklist", code=2)

    def test_Documented(self):
        self.weft("design", "--gpus", "64", "-f", "c.yaml")
        (self.folder / "bad.yaml").write_text("weft: 1\nnam: x\n", encoding="utf-8")
        for words in [["show"], ["checklist"], ["check"], ["fmt"], ["failures"], ["trace", "reach"]]:
            self.weft(*words, "bad.yaml", code=2)
            self.weft(*words, "missing.yaml", code=2)
        self.weft("render", "c.yaml", "-o", "out", "--target", "nxos", code=2)
        self.assertFalse((self.folder / "out").exists())
        self.weft("render", "c.yaml", "-o", "out")
        (self.folder / "out/mine").write_text("", encoding="utf-8")
        self.weft("render", "c.yaml", "-o", "out", code=4)
        (self.folder / "out/mine").unlink()
        self.weft("diff", "c.yaml", "out")
        next((self.folder / "out").rglob("*.sbatch"), self.folder / "out/manifest.json")
        self.weft("design", "--gpus", "128", "-f", "d.yaml")
        self.weft("diff", "d.yaml", "out", code=1)
        self.weft("status", "--socket", "none.sock", code=5)


class Counts(Folder):
    CLUSTERS = [["--gpus", "64"], ["--gpus", "256", "--network", "infiniband"], ["--gpus", "1024", "--inference", "25"],
                ["--servers", "40", "--gpu", "b200-sxm", "--profile", "split"], ["--gpus", "512", "--gpu", "b300-sxm", "--planes", "2"]]

    def test_CablesAndLinksAgree(self):
        """A link joins two ports; a cable is what is bought, with the links of a splitter on it."""
        files = [str(file) for file in sorted((SOURCE / "examples").glob("*[0-9].yaml"))]
        for number, words in enumerate(self.CLUSTERS):
            self.weft("design", *words, "-f", f"{number}.yaml")
            files.append(f"{number}.yaml")
        for file in files:
            with self.subTest(file=file):
                facts = self.json("show", file)["cluster"]
                rows = self.json("show", "cables", file)["cables"]
                splitters = {row["assembly"] for row in rows if row["assembly"]}
                cables = len(splitters) + sum(1 for row in rows if not row["assembly"])
                self.assertEqual(facts["links"], len(rows))
                self.assertEqual(facts["cables"], cables)
                lines = self.json("show", "bom", file)["lines"]
                self.assertEqual(sum(line["count"] for line in lines if line["category"] == "cable"), cables)
                racked = [item["why"] for item in self.json("checklist", file, code=None)["items"]
                          if item["id"] == "infrastructure.racked"][0]
                if "planned" in racked:
                    self.assertIn(f"{cables} cables ({len(rows)} links)", racked)
                links = 0
                for fabric in ["backend", "storage", "frontend", "oob"]:
                    links += len(self.json("show", "cables", file, "--fabric", fabric)["cables"])
                self.assertEqual(links, len(rows))
                self.assertIn(f" {len(rows)} links", self.weft("show", file, "-v").stderr)
                shown = self.weft("show", "cables", file).stdout
                self.assertIn(f"{len(rows):,} link", shown)
                self.assertIn(f"{cables:,} cable", shown)


class Hints(Folder):
    def test_MisspelledWords(self):
        self.weft("design", "--gpus", "64", "-f", "c.yaml")
        cases = [("shwo", "show"), ("chekc", "check"), ("show cabels c.yaml", "cables"), ("show cabels", "cables"),
                 ("oob stauts", "status"), ("oob stauts c.yaml", "status"), ("job lst", "list"), ("node drian x", "drain"),
                 ("sim lief", "life"), ("trace recah", "reach"), ("sched replya", "replay"), ("catalog shw", "show"),
                 ("help evironment", "environment"), ("help shwo", "show"), ("help sim lief", "sim life"),
                 ("recah", "trace reach"), ("inventry c.yaml", "oob inventory"), ("life", "sim life"),
                 ("completion bahs", "bash"), ("schema clutser", "cluster"), ("catalog show h100-sxn", "h100-sxm"),
                 ("catalog list gpsu", "gpus"), ("rules --areaa x", ""), ("explain QO01", "QO001"),
                 ("check c.yaml --rule QO01", "QO001"), ("render c.yaml -o o --target sonik", "sonic"),
                 ("render c.yaml -o o --target kubernets", "kubernetes"), ("design --gpus 8 --gpu h100-smx", "h100-sxm"),
                 ("design --gpus 8 --server hgx-h10", "hgx-h100"), ("design --gpus 8 --leaf sn560", "sn5600"),
                 ("design --gpus 8 --network infinband", "infiniband"), ("design --gpus 8 --scheduler slrum", "slurm"),
                 ("init --yes --data beter", "better"), ("oob status c.yaml train0001", "train001"),
                 ("trace class c.yaml --from train01 --to train002", "train001"),
                 ("trace class c.yaml --from train001 --to tran002", "train002"),
                 ("trace recovery c.yaml --to be-train-u001-lef1", "be-train-u001-leaf1"),
                 ("trace class c.yaml --from train001 --to train002 --flow ncl", "nccl"),
                 ("show nodes c.yaml -o jsn", "json"), ("show cables c.yaml --fabric backnd", "backend"),
                 ("show c.yaml --fabirc backend", "--fabric"), ("--hepl", "--help"),
                 ("sim traffic c.yaml --pattern permutatio", "permutation")]
        for line, wanted in cases:
            with self.subTest(line=line):
                done = self.weft(*line.split(), code=2)
                if wanted:
                    self.assertRegex(done.stderr, rf"did you mean `{re.escape(wanted)}`")


class Format(Folder):
    def test_GeneratedFilesAreFormatted(self):
        for number, words in enumerate([*Counts.CLUSTERS, ["--gpus", "20000"], ["--gpus", "512", "--gpu", "gb200"]]):
            self.weft("design", *words, "-f", f"{number}.yaml")
            self.weft("fmt", "--check", f"{number}.yaml")

    def test_InPlace(self):
        made = self.weft("design", "--gpus", "64").stdout
        file = self.folder / "c.yaml"
        untidy = made.replace("weft: 1\n", "").replace("name: cluster\n", "name:   'cluster'   # ours\nweft: 1\n")
        file.write_text(untidy, encoding="utf-8")
        file.chmod(0o640)
        before = self.weft("show", "effective", "c.yaml").stdout
        self.assertEqual(self.weft("fmt", "--check", "c.yaml", code=1).stdout, "c.yaml\n")
        difference = self.weft("fmt", "--diff", "c.yaml").stdout
        self.assertIn("-name:   'cluster'   # ours\n", difference)
        self.assertIn("+name: cluster  # ours\n", difference)
        self.assertEqual(file.read_text(encoding="utf-8"), untidy)
        piped = self.weft("fmt", "-", text=untidy).stdout
        self.assertEqual(self.weft("fmt", "c.yaml").stdout, "c.yaml\n")
        now = file.read_text(encoding="utf-8")
        self.assertEqual(now, piped)
        self.assertEqual(now, made.replace("name: cluster\n", "name: cluster  # ours\n"))
        self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o640)
        self.assertEqual(self.weft("show", "effective", "c.yaml").stdout, before)
        self.assertEqual(self.weft("fmt", "c.yaml").stdout, "")
        self.assertEqual(sorted(os.listdir(self.folder)), ["c.yaml"])

    def test_RefusesAndContinues(self):
        for name, text in [("a.yaml", "weft: 1\nname: &x a\npools: []\n"), ("b.yaml", "pools: [\n")]:
            (self.folder / name).write_text(text, encoding="utf-8")
        made = self.weft("design", "--gpus", "64").stdout
        (self.folder / "c.yaml").write_text(made.replace("name: cluster", "name:  cluster"), encoding="utf-8")
        done = self.weft("fmt", "a.yaml", "c.yaml", "b.yaml", "missing.yaml", code=2)
        self.assertIn("a.yaml:2:7: error: anchor", done.stderr)
        self.assertIn("b.yaml:", done.stderr)
        self.assertIn("missing.yaml", done.stderr)
        self.assertEqual(done.stdout, "c.yaml\n")
        self.weft("fmt", "--check", "c.yaml")
        self.weft("fmt", "-", "c.yaml", code=2)


if __name__ == "__main__":
    run_tests()
