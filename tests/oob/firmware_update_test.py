#!/usr/bin/env python3
"""`weft oob firmware update` against simulated BMCs with the faults of real ones, and killed with SIGKILL during an
update: no image is sent twice, and what may be half-flashed is named.
firmware_update_test.py EXECUTABLE [PATTERN...]
"""

import hashlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests/api"))

import lab  # noqa: E402  pylint: disable=wrong-import-position
from lab import run_tests  # noqa: E402  pylint: disable=wrong-import-position

CLUSTER = """weft: 1
name: flash
pools:
  - {name: train, role: training, server: hgx-h100, count: 3, per_rack: 1}
"""
FAST = ("--poll", "50ms", "--quiet-time", "600ms", "--deadline", "20s")
KILLS = 14


class Machines:
    """Three simulated machines, powered off; `faults` by host."""

    def __init__(self, *faults, powered=False, times=("200ms", "200ms")):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="weft_flash_"))
        (self.folder / "cluster.yaml").write_text(CLUSTER, encoding="utf-8")
        for name, text in (("bmc.bin", "BMC 2.15.0"), ("old.bin", "BMC 2.14.0"), ("bios.bin", "BIOS 1.9.0")):
            (self.folder / name).write_text(f"weft-sim-firmware {text}\n" + "x" * 20000, encoding="utf-8")
        (self.folder / "wrong.bin").write_text("not an image", encoding="utf-8")
        (self.folder / "large.bin").write_text("x" * 50000, encoding="utf-8")
        number = os.getpid() % 60000
        words = [lab.EXECUTABLE, "oob", "sim", str(self.folder / "cluster.yaml"), "@train", "--dir", str(self.folder),
                 "--base", f"127.{40 + number % 80}.{number // 80 % 256}.1", "--flash-time", times[0],
                 "--restart-time", times[1], "--report", str(self.folder / "report.json")]
        words += [word for fault in faults for word in ("--fault", fault)] + ([] if powered else ["--off"])
        self.simulator = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env=self.environment())
        assert "BMCs on" in self.simulator.stderr.readline()

    def environment(self):
        variables = {key: value for key, value in os.environ.items() if not key.startswith(("WEFT_", "XDG_"))}
        return {**variables, "HOME": str(self.folder)}

    def line(self, *words):
        return [lab.EXECUTABLE, "oob", *words, "--syslog", "none", "--endpoints", str(self.folder / "endpoints.yaml"),
                "--state", str(self.folder / "state"), "--credentials", f"file:{self.folder}/credentials.yaml"]

    def weft(self, *words, codes=(0,)):
        done = subprocess.run(self.line(*words), capture_output=True, text=True, env=self.environment(), timeout=120,
                              check=False)
        assert done.returncode in codes, f"{words}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout, done.stderr

    def update_words(self, hosts="train001", image="bmc.bin", *more):
        return ("firmware", "update", str(self.folder / "cluster.yaml"), hosts, "--image-file", str(self.folder / image),
                "--reason", "test", "--yes", *FAST, *more)

    def update(self, hosts="train001", image="bmc.bin", *more, codes=(0,)):
        """The outcomes by device."""
        out, _ = self.weft(*self.update_words(hosts, image, *more), "-o", "json", codes=codes)
        return {row["device"]: row for row in json.loads(out)["outcomes"]}

    def versions(self, host="train001", component="BMC"):
        out, _ = self.weft("firmware", "list", str(self.folder / "cluster.yaml"), host, "-o", "json")
        return [row["version"] for row in json.loads(out)["firmware"] if row["component"] == component]

    def open_updates(self):
        words = [lab.EXECUTABLE, "oob", "firmware", "--open", "--state", str(self.folder / "state"), "-o", "json"]
        done = subprocess.run(words, capture_output=True, text=True, env=self.environment(), timeout=60, check=True)
        return json.loads(done.stdout)["operations"]

    def images(self):
        """How many images the BMCs took, by device."""
        path = self.folder / "report.json"
        path.unlink(missing_ok=True)
        self.simulator.send_signal(signal.SIGUSR1)
        end = time.monotonic() + 20
        while time.monotonic() < end:
            try:
                report = json.loads(path.read_text(encoding="utf-8"))
                return report["totals"]["images"]
            except (OSError, ValueError):
                time.sleep(0.02)
        raise AssertionError("the simulator wrote no report")

    def journal(self):
        text = (self.folder / "state/journal.ndjson").read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]

    def close(self):
        self.simulator.terminate()
        self.simulator.wait(30)
        self.simulator.stderr.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class OobFirmwareUpdate(unittest.TestCase):
    def machines(self, *faults, **options):
        made = Machines(*faults, **options)
        self.addCleanup(made.close)
        return made

    def test_update(self):
        """One machine after the other; the BMC restarts, and the version is read afterwards."""
        machines = self.machines()
        rows = machines.update("train[001-002]", "bmc.bin", "--component", "BMC", "--expect", "2.15.0")
        for row in rows.values():
            self.assertEqual((row["end"], row["reason"], row["half_flashed"]),
                             ("done", "BMC 2.14.0 to 2.15.0", False))
        self.assertEqual(machines.versions("train[001-003]"), ["2.15.0", "2.15.0", "2.14.0"])
        begin = next(line for line in machines.journal() if line["phase"] == "begin")["detail"]
        digest = hashlib.sha256((machines.folder / "bmc.bin").read_bytes()).hexdigest()
        self.assertEqual((begin["sha256"], begin["component"], begin["expected"]), (digest, "BMC", "2.15.0"))
        intents = [line["device"] for line in machines.journal() if line["phase"] == "intent"]
        self.assertEqual(intents, ["train001", "train002"])
        self.assertEqual(machines.open_updates(), [])
        # The same version is not sent again.
        rows = machines.update("train001", "bmc.bin", "--component", "BMC", "--expect", "2.15.0")
        self.assertEqual((rows["train001"]["end"], rows["train001"]["reason"]), ("done", "was already BMC 2.15.0"))
        self.assertEqual(machines.images(), 2)

    def test_dry_run_and_refusals(self):
        """Nothing is sent without --yes and --reason, to a running machine, or if the image cannot fit."""
        machines = self.machines()
        cluster, image = str(machines.folder / "cluster.yaml"), str(machines.folder / "bmc.bin")
        base = ("firmware", "update", cluster, "train001", "--image-file", image)
        out, _ = machines.weft(*base, "--component", "BMC", "--expect", "2.15.0", "--dry-run")
        self.assertIn("MultipartHttpPush to BMC: BMC 2.14.0 to 2.15.0", out)
        machines.weft(*base, codes=(4,))
        machines.weft(*base, "--yes", codes=(4,))
        machines.weft("firmware", "update", cluster, "train001", codes=(2,))
        machines.weft("firmware", "update", cluster, "train001", "--image-file", image + ".no", codes=(2, 5))
        self.assertIn("at most 49152 bytes", machines.update("train001", "large.bin", codes=(3,))["train001"]["reason"])
        self.assertEqual(machines.update("train001", "bmc.bin", "--component", "NIC", codes=(3,))["train001"]["reason"],
                         "has no component NIC")
        machines.weft("power", "on", cluster, "train001", "--yes", "--reason", "test")
        row = machines.update(codes=(3,))["train001"]
        self.assertIn("is not powered off", row["reason"])
        self.assertEqual(machines.images(), 0)
        self.assertEqual(machines.update("train001", "bmc.bin", "--force")["train001"]["end"], "done")

    def test_wrong_image(self):
        """The BMC declines it: nothing was flashed, the next machine is not started."""
        machines = self.machines()
        rows = machines.update("train[001-002]", "wrong.bin", codes=(3,))
        self.assertIn("declined the image", rows["train001"]["reason"])
        self.assertEqual(rows["train002"]["reason"], "not started, because train001 failed")
        self.assertEqual({row["half_flashed"] for row in rows.values()}, {False})

    def test_completed_without_effect(self):
        machines = self.machines("train001=update_unchanged")
        row = machines.update("train[001-002]", codes=(3,))["train001"]
        self.assertEqual((row["end"], row["half_flashed"]), ("not done", True))
        self.assertIn("the version is unchanged", row["reason"])
        self.assertEqual(machines.images(), 1)

    def test_task_lost_in_the_restart(self):
        machines = self.machines("train001=update_task_lost")
        row = machines.update()["train001"]
        self.assertEqual(row["end"], "done")

    def test_lost_answer(self):
        """The response to the push is lost: its task is found, and the image is not sent again."""
        machines = self.machines("train001=update_drops")
        row = machines.update()["train001"]
        self.assertEqual(row["end"], "done")
        self.assertIn("it is not known whether the image was received", row["evidence"])
        self.assertEqual(machines.images(), 1)

    def test_task_never_ends(self):
        machines = self.machines("train001=update_stuck")
        out, _ = machines.weft(*machines.update_words()[:-1], "2s", codes=(3,))
        self.assertIn("may be half-flashed: train001", out)
        self.assertIn("the task has not ended: Running", out)

    def test_failed_flash(self):
        machines = self.machines("train001=update_fails:half")
        row = machines.update(codes=(3,))["train001"]
        self.assertEqual((row["end"], row["half_flashed"]), ("not done", True))
        self.assertIn("the flash failed: Exception: The image was not written.", row["reason"])

    def test_rollback(self):
        """Another version than expected is a proven failure: the rollback image restores the one before."""
        machines = self.machines()
        row = machines.update("train001", "bmc.bin", "--component", "BMC", "--expect", "2.16.0", "--rollback-image",
                              str(machines.folder / "old.bin"), codes=(3,))["train001"]
        self.assertEqual((row["end"], row["half_flashed"]), ("not done", False))
        self.assertIn("was rolled back", row["reason"])
        self.assertEqual(machines.versions(), ["2.14.0"])

    def test_openbmc_push(self):
        """HttpPushUri: the image as it is, after its apply time was set."""
        machines = self.machines("train001=update_push_uri")
        row = machines.update("train001", "bmc.bin", "--apply-time", "immediate")["train001"]
        self.assertEqual(row["end"], "done")
        intent = next(line for line in machines.journal() if line["phase"] == "intent")["detail"]
        self.assertEqual(intent["method"], "HttpPush")

    def test_staged(self):
        """On reset: staged, and the version is there after the machine was switched on."""
        machines = self.machines()
        row = machines.update("train001", "bios.bin", "--apply-time", "on-reset")["train001"]
        self.assertEqual(row["end"], "staged")
        self.assertEqual(machines.versions(component="BIOS"), ["1.8.2"])
        machines.weft("power", "on", str(machines.folder / "cluster.yaml"), "train001", "--yes", "--reason", "test")
        self.assertEqual(machines.versions(component="BIOS"), ["1.9.0"])

    def kill(self, machines, seconds):
        child = subprocess.Popen(machines.line(*machines.update_words("train[001-002]")), stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL, env=machines.environment())
        try:
            child.wait(seconds)
        except subprocess.TimeoutExpired:
            child.kill()
        return child.wait()

    def test_killed(self):
        """Killed at many moments: an image that was sent is in the list of incomplete updates, no other operation may
        touch the machine, and --resume ends it without a second push."""
        began = time.monotonic()
        self.machines().update("train[001-002]")
        whole, named = time.monotonic() - began, 0
        for number in range(KILLS):
            machines = self.machines()
            code = self.kill(machines, whole * (number + 0.5) / KILLS)
            sent, left = machines.images(), machines.open_updates() if (machines.folder / "state").exists() else []
            if code == 0 or not left:
                self.assertTrue(code == 0 or sent == 0, f"round {number}: {sent} images, and no operation is open")
                machines.close()
                continue
            settled = {line["device"] for line in machines.journal() if line["phase"] == "outcome"}
            half = {host for host in ("train001", "train002") if host in left[0]["half_flashed"]
                    or left[0]["half_flashed"] == "train[001-002]"}
            self.assertGreaterEqual(len(half | settled), sent, f"round {number}: {left}, {settled}")
            named += len(half)
            cluster = str(machines.folder / "cluster.yaml")
            for words in (("power", "cycle", cluster, "train[001-002]", "--yes", "--reason", "test"),
                          machines.update_words("train[001-002]")):
                _, errors = machines.weft(*words, codes=(4,))
                self.assertIn("--resume", errors)
            out, _ = machines.weft("firmware", "update", cluster, "--resume", left[0]["operation"], *FAST, "-o", "json",
                                   codes=(0, 3))
            rows = {row["device"]: row for row in json.loads(out)["outcomes"]}
            self.assertEqual(machines.images(), sent, f"round {number}: an image was sent again")
            for host, version in zip(("train001", "train002"), machines.versions("train[001-002]")):
                verified = rows[host]["end"] == "done"
                self.assertEqual(version == "2.15.0", verified, f"round {number}: {rows[host]}")
                if host in half and not verified:
                    self.assertTrue(rows[host]["half_flashed"], f"round {number}: {rows[host]}")
            self.assertEqual(machines.open_updates(), [])
            subprocess.run([lab.EXECUTABLE, "oob", "journal", "--verify", "--state", str(machines.folder / "state")],
                           stdout=subprocess.DEVNULL, env=machines.environment(), timeout=60, check=True)
            machines.close()
        self.assertGreater(named, 0)


if __name__ == "__main__":
    run_tests()
