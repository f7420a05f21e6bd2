#!/usr/bin/env python3
"""`weft oob` against Redfish services of others: DMTF's Redfish-Mockup-Server and OpenStack's sushy-tools. Set
WEFT_REDFISH_SERVERS to a folder with their sources in `Redfish-Mockup-Server` and `sushy-tools`, and install Debian's
python3-flask, python3-requests, python3-bcrypt, python3-webob, python3-tenacity and python3-pbr.
reference_servers_test.py EXECUTABLE [PATTERN...]
"""

import json
import os
import pathlib
import shutil
import socket
import ssl
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest
import urllib.request

from small_bmc import Bmcs
from lab import needs, run_tests

SOURCE = pathlib.Path(__file__).resolve().parents[2]
SERVERS = pathlib.Path(os.environ.get("WEFT_REDFISH_SERVERS", "/nonexistent"))


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Other(Bmcs):
    """One service of others in the place of box001. `line` makes its command line; modules are looked for in `paths`,
    then in the folder `modules`."""

    def __init__(self, line, *paths):
        super().__init__()
        self.servers.pop().close()
        self.port = free_port()
        key = self.options["key"]
        self.log = open(self.folder / "server.log", "wb")  # pylint: disable=consider-using-with
        (self.folder / "modules").mkdir()
        modules = os.pathsep.join(str(path) for path in (*paths, self.folder / "modules"))
        self.process = subprocess.Popen(line(self, key), stdout=self.log, stderr=self.log,
                                        env=os.environ | {"PYTHONPATH": modules})
        self.wait_until_it_answers()
        (self.folder / "endpoints.yaml").write_text(
            f"weft_endpoints: 1\ndefaults: {{ca: {self.certificate}}}\nendpoints:\n"
            f"  box001: {{host: 127.0.0.1, port: {self.port}, protocol: redfish}}\n", encoding="utf-8")

    def wait_until_it_answers(self):
        context = ssl._create_unverified_context()  # pylint: disable=protected-access
        for _ in range(600):
            assert self.process.poll() is None, (self.folder / "server.log").read_text(errors="replace")[-2000:]
            try:
                with urllib.request.urlopen(f"https://127.0.0.1:{self.port}/redfish/v1/", context=context, timeout=5):
                    return
            except OSError:
                time.sleep(0.1)
        raise AssertionError((self.folder / "server.log").read_text(errors="replace")[-2000:])

    def close(self):
        self.process.kill()
        self.process.wait()
        self.log.close()
        super().close()


def mockup_server(mockup, *more):
    """The command line of DMTF's server."""
    def line(bmcs, key):
        # It uses grequests, which Debian does not have, for pushed events alone.
        (bmcs.folder / "modules/grequests.py").write_text("", encoding="utf-8")
        return [sys.executable, str(SERVERS / "Redfish-Mockup-Server/redfishMockupServer.py"), "-D", str(mockup), *more,
                "-H", "127.0.0.1", "-p", str(bmcs.port), "-s", "--cert", bmcs.certificate, "--key", key]
    return line


class MockupServer(unittest.TestCase):
    """DMTF's: the mockup is read by the test as files."""

    def setUp(self):
        self.source = SERVERS / "Redfish-Mockup-Server"
        needs(self.source.is_dir(), "WEFT_REDFISH_SERVERS")
        self.mockup = self.source / "public-rackmount1"

        self.bmcs = Other(mockup_server(self.mockup, "-S"))
        self.addCleanup(self.bmcs.close)

    def resource(self, path):
        return json.loads((self.mockup / path / "index.json").read_text(encoding="utf-8"))

    def test_status_and_sensors(self):
        row = self.bmcs.json("status", "--identity")["devices"][0]
        system = self.resource("Systems/437XR1138R2")
        self.assertEqual((row["state"], row["manufacturer"], row["model"], row["serial"]),
                         (system["PowerState"].lower(), system["Manufacturer"], system["Model"], system["SerialNumber"]))
        names = {one["sensor"] for one in self.bmcs.json("sensors")["readings"]}
        # One resource of the mockup is not a member of its collection.
        members = [one["@odata.id"] for one in self.resource("Chassis/1U/Sensors")["Members"]]
        expected = {self.resource(path.removeprefix("/redfish/v1/"))["Name"] for path in members}
        self.assertTrue(expected)
        self.assertLessEqual(expected, names)

    def test_events_and_users(self):
        entries = list(self.mockup.glob("*/*/LogServices/*/Entries/*/index.json"))
        self.assertTrue(entries)
        self.assertEqual(len(self.bmcs.json("events")["events"]), len(entries))
        accounts = {json.loads(file.read_text(encoding="utf-8"))["UserName"]
                    for file in self.mockup.glob("AccountService/Accounts/*/index.json")}
        found = {one["name"] for one in self.bmcs.json("users")["accounts"]}
        self.assertLessEqual(found, accounts)
        self.assertTrue(found)

    def test_a_reset_without_an_effect_is_not_done(self):
        rows = self.bmcs.json("power off", "--reason", "test", "--yes", "--deadline", "15s", code=3)["devices"]
        self.assertEqual(rows[0]["end"], "not done", rows)


class MockupServerOfDumps(unittest.TestCase):
    """The same server with the dumps of real BMCs: it ignores query parameters, so pages overlap. The numbers are those
    of tests/oob/dumps_test.py (docs/validation.md)."""

    def test_events_and_sensors(self):
        needs((SERVERS / "Redfish-Mockup-Server").is_dir(), "WEFT_REDFISH_SERVERS")
        archive = pathlib.Path(os.environ.get("WEFT_TEST_DATA") or SOURCE.parent / "shared") / "redfish/dumps.tar.gz"
        needs(archive.exists(), "data redfish/dumps.tar.gz")
        expected = {"nvidia_viking": (459, 16, 367), "nvidia_gb200": (81, 9, 236), "supermicro": (591, 2, 72),
                    "dell": (10, 2, 79), "hpe": (20, 4, 62)}
        with tempfile.TemporaryDirectory() as folder:
            with tarfile.open(archive) as dumps:
                dumps.extractall(folder)  # ours
            for name, wanted in expected.items():
                bmcs = Other(mockup_server(pathlib.Path(folder) / "mockups" / name))
                try:
                    events = json.loads(bmcs.run("events", "-o", "json", code=None)[0])["events"]
                    sensors = bmcs.run("sensors", "-o", "json", code=None)[0]
                finally:
                    bmcs.close()
                found = (len(events), len({one["log"] for one in events}), len(json.loads(sensors)["readings"]))
                self.assertEqual(found, wanted, name)


class SushyTools(unittest.TestCase):
    """OpenStack's, with machines that it only pretends to have. It has no sessions: HTTP Basic."""

    def setUp(self):
        self.source = SERVERS / "sushy-tools"
        needs(self.source.is_dir(), "WEFT_REDFISH_SERVERS")

        def line(bmcs, key):
            about = bmcs.folder / "modules/sushy_tools-2.0.dist-info"  # it asks for its own version
            about.mkdir()
            (about / "METADATA").write_text("Metadata-Version: 2.1\nName: sushy-tools\nVersion: 2.0\n", encoding="utf-8")
            settings = bmcs.folder / "sushy.conf"
            machine = {"uuid": "11111111-1111-4111-8111-111111111111", "name": "node1", "power_state": "Off",
                       "nics": [], "boot_device": "Hdd", "boot_mode": "UEFI", "fake": True}
            settings.write_text(
                f"SUSHY_EMULATOR_LISTEN_IP = '127.0.0.1'\nSUSHY_EMULATOR_LISTEN_PORT = {bmcs.port}\n"
                f"SUSHY_EMULATOR_SSL_CERT = {bmcs.certificate!r}\nSUSHY_EMULATOR_SSL_KEY = {key!r}\n"
                f"SUSHY_EMULATOR_STATE_DIR = {str(bmcs.folder)!r}\nSUSHY_EMULATOR_FAKE_DRIVER = True\n"
                f"SUSHY_EMULATOR_FAKE_SYSTEMS = [{machine!r}]\n", encoding="utf-8")
            return [sys.executable, "-m", "sushy_tools.emulator.main", "--fake", "--config", str(settings)]

        self.bmcs = Other(line, self.source)
        self.addCleanup(self.bmcs.close)

    def test_power_is_verified(self):
        for verb, state in (("on", "on"), ("cycle", "on"), ("off", "off")):
            rows = self.bmcs.json(f"power {verb}", "--reason", "test", "--yes", "--deadline", "90s")["devices"]
            self.assertEqual(rows[0]["end"], "done", rows)
            self.assertEqual(self.bmcs.json("status")["devices"][0]["state"], state)

    def test_what_it_lacks_is_named(self):
        sensors = self.bmcs.json("sensors")["readings"]
        self.assertTrue(any(one["kind"] == "temperature" for one in sensors), sensors)
        out, _ = self.bmcs.run("events", code=3)
        self.assertIn("has no event log", out)
        self.assertNotIn("Unreachable", out)


if __name__ == "__main__":
    if shutil.which("openssl") is None:
        sys.exit("needs openssl")
    run_tests()
