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


    def test_GpusUpDownAndSpareAreAll(self):
        cluster, trace = SOURCE / "examples/pod16.yaml", SOURCE / "examples/week.jobs.csv"
        self.assertIn("spares: 1", cluster.read_text(encoding="utf-8"))
        facts = self.json("sched", "status", str(cluster), str(trace), "--first", "1")["cluster"]
        nodes = [row for row in self.json("show", "nodes", str(cluster))["nodes"] if row["gpus"]]
        self.assertEqual((facts["nodes_down"], facts["nodes_spare"]), (0, 1))
        self.assertEqual(facts["up_gpus"] + facts["down_gpus"] + facts["spare_gpus"], sum(row["gpus"] for row in nodes))
        self.assertEqual(facts["spare_gpus"], 8)


class Differences(Folder):
    def test_ChangedPartIsShown(self):
        """Where a long line differs, and all of it with -o wide."""
        self.weft("design", "--gpus", "64", "-f", "c.yaml")
        self.weft("render", "c.yaml", "-o", "out")
        tried = 0
        for file in sorted((self.folder / "out").rglob("*.sh")):
            text = file.read_text(encoding="utf-8")
            line = max(text.splitlines(), key=len)
            if len(line) < 120 or text.count(line) != 1:
                continue
            for at in [5, len(line) // 2, len(line) - 5]:
                tried += 1
                file.write_text(text.replace(line, line[:at] + "MARK" + line[at:]), encoding="utf-8")
                words = ["diff", "c.yaml", "out", "--target", "slurm"] if "slurm" in str(file) else ["diff", "c.yaml", "out"]
                short = self.weft(*words, code=1).stdout
                self.assertIn("MARK", short)
                wide = self.weft(*words, "-o", "wide", code=1).stdout
                self.assertIn((line[:at] + "MARK" + line[at:]).strip(), wide)
                self.assertIn(line.strip(), wide)
            file.write_text(text, encoding="utf-8")
            if tried >= 6:
                break
        self.assertGreater(tried, 2)


class Streams(Folder):
    def test_FormatsOfAStream(self):
        self.weft("design", "--gpus", "64", "-f", "c.yaml")
        for words in [["oob", "watch", "c.yaml"], ["watch"]]:
            offered = re.search(r"--output FORMAT +((?:.*\n)+?)  +[-A-Z]|$", self.weft("help", *words[:2][:1 + (words[0] == "oob")]).stdout)[1]
            self.assertNotIn("csv", offered)
            for form in ["csv", "yaml", "wide"]:
                error = self.weft(*words, "-o", form, code=2).stderr
                self.assertIn(f"--output: `{form}` is not one of table, json or ndjson", error)

    def test_DefaultOfTheConfigurationFile(self):
        config = self.folder / "config.yaml"
        config.write_text("weft_config: 1\ndefaults: {output: csv}\n", encoding="utf-8")
        self.weft("design", "--gpus", "64", "-f", "c.yaml")
        line = ["oob", "watch", "c.yaml", "--credentials", "file:absent"]
        done = subprocess.run([lab.EXECUTABLE, *line], cwd=self.folder, input="", capture_output=True,
                              env={**os.environ, "WEFT_CONFIG": str(config)}, encoding="utf-8", check=False)
        self.assertNotIn("--output", done.stderr)
        self.assertIn("absent", done.stderr)


class Options(Folder):
    def test_TrustTakesCredentials(self):
        self.weft("design", "--gpus", "64", "-f", "c.yaml")
        line = ["oob", "trust", "c.yaml", "--list", "--state", "state"]
        self.assertEqual(self.weft(*line, "--credentials", "file:none").stdout, self.weft(*line).stdout)

    def test_Drill(self):
        error = self.weft("drill", "run", "5", code=2).stderr
        self.assertIn("unknown drill `5`\n", error)
        self.assertIn("weft drill run checkpoint --job 5\n", error)

    def test_BothSpellingsOfFiber(self):
        made = self.weft("design", "--gpus", "64").stdout
        self.assertIn("\n  backend:\n", made)
        shown = {}
        for word in ["fiber", "fibre"]:
            text = made.replace("\n  backend:\n", f"\n  backend:\n    media: [{word}]\n")
            (self.folder / "c.yaml").write_text(text, encoding="utf-8")
            shown[word] = self.weft("show", "cables", "c.yaml", "-o", "csv").stdout
            effective = self.weft("show", "effective", "c.yaml").stdout
            self.assertRegex(effective, r"\n    media:\n +- fiber\n")
            self.assertNotIn("fibre", effective)
        self.assertEqual(shown["fiber"], shown["fibre"])
        kinds = {row["cable_kind"] for row in self.json("catalog", "list", "cables")["cables"]}
        self.assertTrue({"fiber", "dac"} <= kinds and "fibre" not in kinds, kinds)


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
                 ("sim traffic c.yaml --pattern permutatio", "permutation"),
                 ("show nodes c.yaml --formt json", "--output"), ("show nodes c.yaml --format json", "--output"),
                 ("catalog show H100-sxn", "h100-sxm"), ("explain qo01", "QO001"),
                 ("oob power shutdown c.yaml train001", "soft"), ("oob power ccle c.yaml train001", "cycle"),
                 ("show cc.yaml", "c.yaml"), ("check ./cc.yaml", "./c.yaml"), ("describe train001 c.yml", "c.yaml"),
                 ("render c.yaml -o o --set slrum=24.05", "slurm"), ("validate c.yaml", "check"),
                 ("generate c.yaml", "render"), ("help drain", "node drain")]
        for line, wanted in cases:
            with self.subTest(line=line):
                done = self.weft(*line.split(), code=2)
                if wanted:
                    self.assertRegex(done.stderr, rf"did you mean `{re.escape(wanted)}`")

    def test_SeveralMeanings(self):
        ids = [row["id"] for row in self.json("catalog", "list", "gpus")["gpus"] if row["id"].startswith("h100-")]
        self.assertGreater(len(ids), 1)
        for line in ["catalog show h100", "design --gpus 8 --gpu h100"]:
            hint = self.weft(*line.split(), code=2).stderr.partition("did you mean ")[2]
            self.assertEqual([one for one in re.findall(r"`([^`]*)`", hint) if one.startswith("h100")], ids)
        self.weft("design", "--gpus", "64", "-f", "c.yaml")
        reboot = self.weft("oob", "power", "reboot", "c.yaml", "train001", code=2).stderr
        self.assertIn("did you mean `cycle` or `reset`?", reboot)

    def test_Headings(self):
        self.assertIn("`weft help simulate` lists the commands for it", self.weft("simulate", code=2).stderr)
        error = self.weft("show", "xyz", code=2).stderr
        self.assertIn("`xyz` is neither a file nor a view\n  views: summary, ", error)
        (self.folder / "cluster.yaml").write_text("", encoding="utf-8")
        self.assertIn("did you mean `cluster.yaml`?", self.weft("show", "cluster", code=2).stderr)

    def test_NothingNear(self):
        for option, table in [("--gpu", "gpus"), ("--server", "servers")]:
            error = self.weft("design", "--gpus", "8", option, "zzz", code=2).stderr
            for row in self.json("catalog", "list", table)[table]:
                self.assertRegex(error, rf"[ ,]{row['id']}[,\n]")
        self.weft("design", "--gpus", "64", "-f", "c.yaml")
        self.assertIn("Cumulus Linux reads the target `nvue`",
                      self.weft("render", "c.yaml", "-o", "o", "--target", "cumulus", code=2).stderr)
        error = self.weft("render", "c.yaml", "-o", "o", "--set", "bad.key=1", code=2).stderr
        self.assertIn("invalid option `bad.key=1`", error)
        self.assertNotIn("did you mean", self.weft("show", "zzz.yaml", code=2).stderr)
        self.assertFalse((self.folder / "o").exists())


class Arguments(Folder):
    """A cluster file in the place of another argument, or another argument in its place."""

    def setUp(self):
        super().setUp()
        self.weft("design", "--gpus", "64", "-f", "c.yaml")
        (self.folder / "t.csv").write_text("", encoding="utf-8")

    def refused(self, line, problem, right):
        with self.subTest(line=line):
            error = self.weft(*line.split(), code=2).stderr
            command = re.match(r"weft ([^:]*): ", error)[1]
            self.assertIn(f"weft {command}: {problem}\n", error)
            self.assertIn(f"\n  {right}\n", error)

    def test_Exchanged(self):
        self.refused("find c.yaml train001", "CLUSTER must follow TEXT", "weft find train001 c.yaml")
        self.refused("describe c.yaml train001", "CLUSTER must follow NAME", "weft describe train001 c.yaml")
        self.refused("oob status train007 c.yaml", "CLUSTER must precede HOSTS", "weft oob status c.yaml train007")
        self.refused("oob power c.yaml on train001", "CLUSTER must follow VERB", "weft oob power on c.yaml train001")
        self.refused("oob power on train001 c.yaml", "CLUSTER must precede HOSTS", "weft oob power on c.yaml train001")
        self.refused("sched explain c.yaml 20 t.csv", "CLUSTER must follow JOB", "weft sched explain 20 c.yaml t.csv")
        self.refused("show c.yaml extra", "unknown view `extra`", "weft show VIEW c.yaml")
        self.refused("show c.yaml nodes", "the view must precede the cluster file", "weft show nodes c.yaml")
        self.refused("rescue c.yaml pfc-storm", "CLUSTER must follow NAME",
                     "usage: weft rescue NAME CLUSTER [--plan | --run | --resume ID] [OPTIONS]")

    def test_Omitted(self):
        self.refused("find c.yaml", "missing TEXT", "weft find TEXT c.yaml")
        self.refused("describe c.yaml", "missing NAME", "weft describe NAME c.yaml")
        self.refused("sched explain c.yaml t.csv", "missing JOB", "weft sched explain JOB c.yaml t.csv")
        self.refused("oob power c.yaml", "missing VERB", "weft oob power VERB c.yaml")
        self.refused("oob status train007", "missing CLUSTER", "weft oob status CLUSTER train007")
        self.refused("oob power on train007", "missing CLUSTER", "weft oob power on CLUSTER train007")
        # With a default cluster file, too.
        (self.folder / "c.yaml").rename(self.folder / "weft.yaml")
        (self.folder / "c.yaml").write_bytes((self.folder / "weft.yaml").read_bytes())
        self.refused("describe c.yaml", "missing NAME", "weft describe NAME c.yaml")
        self.refused("oob status train007 c.yaml", "CLUSTER must precede HOSTS", "weft oob status c.yaml train007")

    def test_OtherFiles(self):
        (self.folder / "j.yaml").write_text("job: 1\nname: a\n", encoding="utf-8")
        error = self.weft("sim", "life", "j.yaml", "c.yaml", code=2).stderr
        self.assertIn("j.yaml:1:1: error: this is a job file, not a cluster file\n", error)
        self.assertEqual(error.count("error:"), 1)

    def test_DefaultNames(self):
        """An unreadable cluster file that the command line does not name."""
        config = self.folder / "config.yaml"
        config.write_text(f"weft_config: 1\ndefaults: {{cluster: {self.folder}/gone.yaml}}\n", encoding="utf-8")
        folder = self.folder / "work"
        folder.mkdir()
        environment = {**os.environ, "WEFT_CONFIG": str(config)}
        for variables, origin in [({"WEFT_CLUSTER": str(self.folder / "cc.yaml")}, "the environment variable WEFT_CLUSTER"),
                                  ({}, f"`defaults: cluster:` of {config}")]:
            for line in ["show", "check", "oob status", "describe train001", "rescue pfc-storm --set tor=x"]:
                with self.subTest(line=line, origin=origin):
                    done = subprocess.run([lab.EXECUTABLE, *line.split()], cwd=folder, env={**environment, **variables},
                                          input="", capture_output=True, encoding="utf-8", check=False)
                    self.assertEqual(done.returncode, 2)
                    self.assertIn("cannot read: No such file or directory\n", done.stderr)
                    self.assertIn(f"\n  the name comes from {origin}\n", done.stderr)
                    self.assertEqual("did you mean" in done.stderr, bool(variables))
        self.assertNotIn("the name comes from", self.weft("show", "gone.yaml", code=2).stderr)

    def test_RescueUsesTheDefault(self):
        named = self.weft("rescue", "pfc-storm", "c.yaml", "--set", "tor=be-train-u001-leaf1", code=None)
        (self.folder / "c.yaml").rename(self.folder / "weft.yaml")
        for words in [["pfc-storm"], ["plan", "pfc-storm"], ["pfc-storm", "--plan"]]:
            done = self.weft("rescue", *words, "--set", "tor=be-train-u001-leaf1", code=named.returncode)
            self.assertEqual(done.stdout, named.stdout)
            self.assertIn("weft: cluster file weft.yaml (in this folder)\n", done.stderr)
        self.assertIn("pfc-storm", self.weft("rescue").stdout)


class Sections(Folder):
    """The headings of `weft help` are those of README.md and of the manual page."""

    def sections(self):
        text = self.weft("help").stdout
        listed = text[text.index("Usage: "):text.index("Options of every command:")]
        return {title: re.findall(r"^  (\S+(?: \S+)?)  +\S", lines, re.M)
                for title, lines in re.findall(r"^(\S.*):\n((?: .*\n)+)", listed, re.M)}

    def test_EveryCommandOnce(self):
        sections = self.sections()
        commands = [command for group in sections.values() for command in group]
        self.assertEqual(len(commands), len(set(commands)))
        for command in commands:
            self.assertIn(f"Usage: weft {command}", self.weft("help", *command.split()).stdout)
        self.assertGreater(len(commands), 100)
        self.assertLess(max(map(len, sections.values())), len(commands) / 2)
        readme = (SOURCE / "README.md").read_text(encoding="utf-8")
        tables = readme.split("<!-- commands:")[1].split("<!-- end of commands -->")[0]
        self.assertEqual(re.findall(r"^\*\*(.*)\*\*$", tables, re.M), list(sections))
        self.assertEqual(re.findall(r"^\| \[`weft ([^`]*)`\]", tables, re.M), commands)
        page = self.weft("man").stdout
        self.assertEqual(re.findall(r'^\.SS "(.*)"$', page, re.M)[:len(sections)], list(sections))

    def test_HelpOfASection(self):
        for title, commands in self.sections().items():
            with self.subTest(title=title):
                shown = self.weft("help", *title.lower().split()).stdout
                if title.lower() in commands:  # a command comes first
                    self.assertIn(f"Usage: weft {title.lower()}", shown)
                else:
                    self.assertEqual(re.findall(r"^  (\S+(?: \S+)?)  +\S", shown.split("Commands:")[1], re.M), commands)
        self.assertEqual(self.weft("help", "oob").stdout, self.weft("oob", "--help").stdout)


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
