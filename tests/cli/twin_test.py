#!/usr/bin/env python3
"""weft twin: inputs that cannot be used, results that add up and repeat. twin_test.py EXECUTABLE [PATTERN...]"""

import csv
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests/api"))

import lab  # noqa: E402  pylint: disable=wrong-import-position
from lab import run_tests  # noqa: E402  pylint: disable=wrong-import-position

FAULTS = """faults: 1
source: a test
node_spread: 0
together: 0
recurs: 0
recurs_after: 24h
respond: 30m
repair_spread: 0
power_cycle: 30s
boot: 8m
validate: 10m
causes:
  - {name: gpu, title: GPU fault, rate: 20000, effect: exit, signal: Xid 79, detect: 60s, restart: 0, power_cycle: 100, repair: 24h}
"""
MEASURES = ["ettr", "goodput", "availability", "interruptions", "lost_gpu_hours", "later_waits_h"]


class TwinFolder(unittest.TestCase):
    """A test in a temporary folder of its own."""

    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="weft_twin_")
        self.folder = pathlib.Path(self.temporary.name)

    def tearDown(self):
        self.temporary.cleanup()

    def put(self, name, text):
        (self.folder / name).write_text(text, encoding="utf-8")
        return name

    def weft(self, *words, code=0):
        environment = {key: value for key, value in os.environ.items() if not key.startswith("WEFT_")}
        environment["HOME"] = environment["XDG_CONFIG_HOME"] = str(self.folder)
        done = subprocess.run([lab.EXECUTABLE, *words], cwd=self.folder, capture_output=True, encoding="utf-8",
                              check=False, env=environment)
        self.assertEqual(done.returncode, code, " ".join(words) + "\n" + done.stderr)
        return done

    def run_twin(self, *words):
        return json.loads(self.weft("twin", "run", *words, "-o", "json").stdout)

    def refused(self, *words):
        done = self.weft("twin", *words, code=2)
        self.assertEqual(done.stdout, "")
        return done.stderr


class TwinRun(TwinFolder):
    def test_InputsThatCannotBeUsed(self):
        for words, message in [
                (["run"], "missing CLUSTER"),
                (["run", "--plain", "8x8", "pod.yaml"], "cannot be combined with --plain"),
                (["run", "--plain", "8x8", "--spares", "8"], "no nodes are left for the job"),
                (["run", "--plain", "8x8", "--spares", "-1"], "--spares"),
                (["run", "--plain", "8x8", "--interval", "0"], "--interval"),
                (["run", "--plain", "8x8", "--interval", "500ms"], "at least one second"),
                (["run", "--plain", "8x8", "--days", "0"], "--days"),
                (["run", "--plain", "8x8", "--fault-rate", "-1"], "--fault-rate"),
                (["run", "--plain", "8x8", "--job", "job.yaml"], "--job needs a cluster file")]:
            with self.subTest(" ".join(words)):
                self.assertIn(message, self.refused(*words))

    def test_FilesThatDoNotExist(self):
        for words in (["none.yaml"], ["--plain", "8x8", "--faults", "none.yaml"], ["--plain", "8x8", "--jobs", "none.csv"]):
            with self.subTest(" ".join(words)):
                done = self.weft("twin", "run", *words, code=2)
                self.assertIn("none.", done.stderr)

    def test_FaultFilesThatCannotBeUsed(self):
        line = FAULTS.splitlines()[-1]
        for text, place, message in [
                (FAULTS.replace("respond:", "answer:"), "bad.yaml:7:1", "answer"),
                (FAULTS + line + "\n", "bad.yaml:14:", "gpu"),
                (FAULTS.replace("rate: 20000", "rate: -1"), "bad.yaml:13:", "rate"),
                (FAULTS.replace("respond: 30m", "respond: -30m"), "bad.yaml:7:", "respond"),
                (FAULTS.replace("restart: 0", "restart: 101"), "bad.yaml:13:", "restart"),
                (FAULTS.replace("effect: exit", "effect: explode"), "bad.yaml:13:", "explode"),
                (FAULTS.replace("faults: 1", "faults: 2"), "bad.yaml:1:", "2"),
                ("faults: 1\ncauses: [\n", "bad.yaml:", "")]:
            with self.subTest(message):
                self.put("bad.yaml", text)
                error = self.refused("run", "--plain", "4x8", "--faults", "bad.yaml")
                self.assertIn(place, error)
                self.assertIn(message, error)

    def test_TracesThatCannotBeUsed(self):
        for text, message in [("", "jobs.csv"), ("not a trace\n", "jobs.csv"),
                              ("name,tenant,submit,gpus,run_time\na,b,0,64,60\n", "jobs.csv:2")]:
            with self.subTest(text):
                self.put("jobs.csv", text)
                self.assertIn(message, self.refused("run", "--plain", "4x8", "--jobs", "jobs.csv"))

    def test_GpuTimeAddsUp(self):
        for words, gpu_hours in [(["--plain", "32x8", "--spares", "2", "--fault-rate", "10"], 32 * 8 * 30 * 24),
                                 (["--plain", "3x4", "--fault-rate", "50", "--days", "7.5"], 3 * 4 * 7.5 * 24),
                                 (["--plain", "16x8", "--fault-rate", "0", "--days", "1"], 16 * 8 * 24)]:
            with self.subTest(" ".join(words)):
                result = self.run_twin(*words)
                parts = {row["use"]: row["gpu_hours"] for row in result["time"]}
                self.assertAlmostEqual(sum(parts.values()) / gpu_hours, 1, 9)
                self.assertAlmostEqual(sum(row["share"] for row in result["time"]), 1, 9)
                self.assertAlmostEqual(parts["productive"] / gpu_hours, result["run"]["goodput"], 9)
                self.assertTrue(all(value >= 0 for value in parts.values()))
                out = sum(parts.get(use, 0) for use in ("broken", "repair", "person"))
                self.assertAlmostEqual(1 - out / gpu_hours, result["run"]["availability"], 9)

    def test_JsonHasEveryFigure(self):
        result = self.run_twin("--plain", "8x8", "--fault-rate", "20")
        self.assertEqual(result["kind"], "twin")
        for key in ("cluster", "seed", "length_s", "nodes", "gpus", "goodput", "ettr", "availability", "utilization",
                    "incidents", "interruptions", "fault_rate"):
            self.assertIn(key, result["run"])
        self.assertEqual(result["run"]["length_s"], 30 * 86400)
        self.assertEqual(sum(row["incidents"] for row in result["causes"]), result["run"]["incidents"])
        self.assertEqual(sum(row["interruptions"] for row in result["jobs"]), result["run"]["interruptions"])
        for row in result["causes"]:
            self.assertLessEqual(row["lost"] + row["undetected"] + row["stopping"] + row["starting"] + row["out"],
                                 row["lost_gpu_hours"] * (1 + 1e-9) + 1e-9)

    def test_NoFaultsLoseNothing(self):
        result = self.run_twin("--plain", "8x8", "--fault-rate", "0", "--checkpoint-stall", "30s", "--interval", "1h")
        self.assertEqual(result["run"]["incidents"], 0)
        self.assertEqual(result["run"]["availability"], 1)
        self.assertEqual([row for row in result["time"] if row["use"] in ("lost", "broken", "repair", "person")], [])

    def test_SeedDecides(self):
        words = ["--plain", "8x8", "--fault-rate", "20", "--days", "10", "-o", "json"]
        first = self.weft("twin", "run", *words, "--seed", "7").stdout
        self.assertEqual(first, self.weft("twin", "run", *words, "--seed", "7").stdout)
        self.assertNotEqual(first, self.weft("twin", "run", *words, "--seed", "8").stdout)

    def test_FaultFile(self):
        self.put("faults.yaml", FAULTS)
        result = self.run_twin("--plain", "8x8", "--faults", "faults.yaml")
        self.assertEqual([row["cause"] for row in result["causes"]], ["gpu"])
        self.assertEqual(result["run"]["fault_rate"], 20)
        self.assertEqual([row for row in result["time"] if row["use"] == "person"], [])  # power cycles repair all

    def test_Page(self):
        words = ["--plain", "8x8", "--fault-rate", "20", "--days", "10"]
        done = self.weft("twin", "run", *words, "--page", "twin.html")
        self.assertIn("wrote twin.html", done.stderr)
        page = (self.folder / "twin.html").read_text(encoding="utf-8")
        self.assertTrue(page.startswith("<!DOCTYPE html>"))
        self.assertTrue(page.endswith("</html>\n"))
        self.weft("twin", "run", *words, "--page", "again.html")
        self.assertEqual(page, (self.folder / "again.html").read_text(encoding="utf-8"))
        self.weft("twin", "run", *words, "--page", "none/twin.html", code=2)


class TwinCompare(TwinFolder):
    BASE = ("--plain", "6x8", "--fault-rate", "40", "--days", "5")

    def test_ThreadsDoNotMatter(self):
        words = ["twin", "compare", *self.BASE, "--seeds", "4", "--variant", "a: --spares 1", "--variant",
                 "b: --spares 2", "-o", "json"]
        one = self.weft(*words, "--threads", "1").stdout
        self.assertEqual(one, self.weft(*words, "--threads", "2").stdout)
        self.assertEqual(one, self.weft(*words).stdout)

    def test_MeansOfTheRuns(self):
        result = json.loads(self.weft("twin", "compare", *self.BASE, "--seeds", "3", "--seed", "5", "--variant",
                                      "a:--spares 1", "--variant", "b: --no-repair --spares=1", "-o", "json").stdout)
        self.assertEqual(result["kind"], "twin_comparison")
        runs = {(row["variant"], row["seed"]): row for row in result["runs"]}
        self.assertEqual(sorted(runs), [(name, seed) for name in "ab" for seed in (5, 6, 7)])
        self.assertEqual([(row["measure"], row["variant"]) for row in result["measures"]],
                         [(measure, name) for measure in MEASURES for name in "ab"])
        for row in result["measures"]:
            values = [runs[row["variant"], seed][row["measure"]] for seed in (5, 6, 7)]
            mean = sum(values) / 3
            self.assertAlmostEqual(row["mean"], mean, 9)
            error = (sum((value - mean) ** 2 for value in values) / 2 / 3) ** 0.5
            self.assertAlmostEqual(row["margin"], 4.303 * error, delta=0.001 * error + 1e-12)  # t, two degrees
            if row["variant"] == "b":
                differences = [runs["b", seed][row["measure"]] - runs["a", seed][row["measure"]] for seed in (5, 6, 7)]
                self.assertAlmostEqual(row["difference"], sum(differences) / 3, 9)
                self.assertEqual(row["distinguishable"], abs(row["difference"]) > row["difference_margin"])

    def test_ARunIsThatOfTwinRun(self):
        result = json.loads(self.weft("twin", "compare", *self.BASE, "--seeds", "11,4", "--variant", "a: --spares 1",
                                      "--variant", "b: --spares '2'", "-o", "json").stdout)
        run = self.run_twin(*self.BASE, "--spares", "2", "--seed", "4")["run"]
        [row] = [row for row in result["runs"] if (row["variant"], row["seed"]) == ("b", 4)]
        for key in ("ettr", "goodput", "availability", "interruptions"):
            self.assertEqual(row[key], run[key])

    def test_AnotherCluster(self):
        cluster = str(SOURCE / "examples/pod32.yaml")
        words = ("--days", "1", "--seeds", "1", "--threads", "1", "--variant", "file:", "--variant", "plain: --plain 4x8",
                 "-o", "json")
        from_file = json.loads(self.weft("twin", "compare", cluster, *words).stdout)
        words = words[:6] + ("--variant", f"file: --cluster {cluster}", "--variant", "plain:") + words[-2:]
        self.assertEqual(from_file["runs"], json.loads(
            self.weft("twin", "compare", "--plain", "4x8", *words).stdout)["runs"])

    def test_VariantsThatCannotBeUsed(self):
        good = ["--variant", "good: --spares 1"]
        for words, message in [
                ([], "at least two variants"), (good, "at least two variants"),
                ([*good, "--variant", "--spares 2"], "has no name"), ([*good, "--variant", ": --spares 2"], "has no name"),
                ([*good, *good], "`good`: this name is given twice"),
                ([*good, "--variant", "more: --spares 6"], "`more`:\nweft twin run: no nodes are left"),
                ([*good, "--variant", "more: --spare 2"], "variant `more`"),
                ([*good, "--variant", "more: --interval 'x"], "variant `more`: a quote (') is not closed"),
                ([*good, "--variant", "more: other.yaml"], "variant `more`"),
                ([*good, "--variant", "more: --cluster none.yaml"], "variant `more`"),
                ([*good, "--variant", "more: --seed 3"], "--seed is not an option of a variant"),
                ([*good, "--variant", "more: --page x.html"], "--page is not an option of a variant"),
                ([*good, "--variant", "more: --recording x.yaml"], "--recording is not an option of a variant"),
                ([*good, "--variant", "more: --help"], "variant `more`"),
                ([*good, "--variant", "more:", "--seeds", "0"], "--seeds"),
                ([*good, "--variant", "more:", "--seeds", "1,1"], "given twice"),
                ([*good, "--variant", "more:", "--threads", "0"], "--threads")]:
            with self.subTest(" ".join(words)):
                self.assertIn(message, self.refused("compare", *self.BASE, *words))


class TwinSweep(TwinFolder):
    BASE = ("--plain", "6x8", "--fault-rate", "40", "--days", "4", "--seeds", "2")

    def test_GridInTheGivenOrder(self):
        words = ["twin", "sweep", *self.BASE, "--over", "spares=2,0", "--over", "interval=1h,20m"]
        result = json.loads(self.weft(*words, "-o", "json").stdout)
        self.assertEqual(result["kind"], "twin_sweep")
        self.assertEqual([(row["spares"], row["interval"]) for row in result["points"]],
                         [(2, "1h"), (2, "20m"), (0, "1h"), (0, "20m")])
        self.assertEqual(len(result["runs"]), 8)
        for row in result["points"]:
            name = f"spares={row['spares']} interval={row['interval']}"
            values = [run["ettr"] for run in result["runs"] if run["variant"] == name]
            self.assertAlmostEqual(row["ettr"], sum(values) / 2, 9)
        for measure in ("ettr", "goodput"):
            self.assertLessEqual(sum(row[f"{measure}_best"] for row in result["points"]), 1)
        self.assertEqual(json.dumps(result), json.dumps(json.loads(self.weft(*words, "--threads", "1", "-o", "json").stdout)))

    def test_Csv(self):
        text = self.weft("twin", "sweep", *self.BASE, "--over", "fault-rate=0,40", "-o", "csv").stdout
        rows = list(csv.DictReader(io.StringIO(text)))
        self.assertEqual([float(row["fault_rate"]) for row in rows], [0, 40])
        self.assertGreater(float(rows[0]["ettr"]), float(rows[1]["ettr"]))

    def test_Switches(self):
        result = json.loads(self.weft("twin", "sweep", *self.BASE, "--no-repair", "--over", "no-repair=yes,no", "-o",
                                      "json").stdout)
        self.assertEqual([row["no_repair"] for row in result["points"]], ["yes", "no"])
        self.assertNotEqual(result["points"][0]["goodput"], result["points"][1]["goodput"])

    def test_AxesThatCannotBeUsed(self):
        for words, message in [
                ([], "give --over"), (["--over", "spares"], "is not OPTION=VALUE"), (["--over", "=1"], "is not OPTION=VALUE"),
                (["--over", "color=1"], "`color` is not an option that can vary"),
                (["--over", "seed=1,2"], "`seed` is not an option that can vary"),
                (["--over", "spares=1,,2"], "a value is empty"), (["--over", "spares=1,1"], "`1` is given twice"),
                (["--over", "spares=1", "--over", "spares=2"], "spares is given twice"),
                (["--over", "no-repair=maybe"], "is not yes or no"),
                (["--over", "spares=0,9"], "variant `spares=9`"),
                (["--over", "interval=5m,0"], "variant `interval=0`")]:
            with self.subTest(" ".join(words)):
                self.assertIn(message, self.refused("sweep", *self.BASE, *words))


if __name__ == "__main__":
    run_tests()
