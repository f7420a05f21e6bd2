#!/usr/bin/env python3
"""What `weft oob` reads from small BMCs with one peculiarity each, as seen in dumps of real ones.
readings_test.py EXECUTABLE [PATTERN...]
"""

import http.server
import threading
import unittest

from small_bmc import CHASSIS, MANAGER, ROOT, SYSTEM, Bmcs, collection, lab, link, small_tree

needs_program, run_tests = lab.needs_program, lab.run_tests


class ReadingsCase(unittest.TestCase):
    def setUp(self):
        needs_program("openssl")

    def use(self, tree):
        bmcs = Bmcs(1, {0: tree})
        self.addCleanup(bmcs.close)
        bmcs.write_files(defaults=f"ca: {bmcs.certificate}")
        return bmcs


def with_log(*entries):
    """A system with one log."""
    tree, log = small_tree(), f"{SYSTEM}/LogServices/SEL"
    tree[SYSTEM]["LogServices"] = link(f"{SYSTEM}/LogServices")
    tree[f"{SYSTEM}/LogServices"] = collection(f"{SYSTEM}/LogServices", log)
    tree[log] = {"@odata.id": log, "Id": "SEL", "Name": "Log", "Entries": link(f"{log}/Entries")}
    paths = [f"{log}/Entries/{i + 1}" for i in range(len(entries))]
    tree[f"{log}/Entries"] = collection(f"{log}/Entries", *paths)
    for i, (path, entry) in enumerate(zip(paths, entries)):
        tree[path] = {"@odata.id": path, "Id": str(i + 1), "Name": "Entry", "EntryType": "SEL", "Severity": "Critical",
                      "Created": "2026-03-01T10:00:00Z", "Message": f"message {i + 1}"} | entry
    return tree


def with_sensors(*sensors):
    tree = small_tree()
    tree[CHASSIS]["Sensors"] = link(f"{CHASSIS}/Sensors")
    paths = [f"{CHASSIS}/Sensors/{i}" for i in range(len(sensors))]
    tree[f"{CHASSIS}/Sensors"] = collection(f"{CHASSIS}/Sensors", *paths)
    for path, sensor in zip(paths, sensors):
        tree[path] = {"@odata.id": path, "Id": path.rpartition("/")[2], "Status": {"Health": "OK"}} | sensor
    return tree


class OobReadings(ReadingsCase):
    def test_repeat_count_of_an_entry(self):
        bmcs = self.use(with_log({"Oem": {"Hpe": {"Count": 7, "EventNumber": 12}}}, {"Oem": {"Hpe": {"Count": "x"}}},
                                 {"Oem": {"Hpe": {"Count": -3}}}, {}))
        counts = {one["id"]: one["count"] for one in bmcs.json("events")["events"]}
        self.assertEqual(counts, {"1": 7, "2": 1, "3": 1, "4": 1})
        self.assertRegex(bmcs.run("events")[0], r"critical +7 +box001 .*message 1")

    def test_resolved_entry_is_deasserted(self):
        bmcs = self.use(with_log({"Resolved": True}, {"Resolved": False}))
        states = {one["id"]: (one["state"], one["severity"]) for one in bmcs.json("events")["events"]}
        self.assertEqual(states, {"1": ("deasserted", "critical"), "2": (None, "critical")})
        self.assertNotIn("message 1", bmcs.run("events", "--level", "warning")[0])

    def test_health_with_conditions(self):
        tree = small_tree()
        tree[SYSTEM]["Status"] = {"State": "Enabled", "Health": "OK", "HealthRollup": "Critical", "Conditions": [
            {"Severity": "Warning", "MessageId": "Contoso.1.0.Dusty"},
            {"Severity": "Critical", "Message": "Fan 3 failed.", "MessageId": "Contoso.1.0.Fan"}]}
        bmcs = self.use(tree)
        row, = bmcs.json("status")["devices"]
        self.assertEqual((row["health"], row["cause"]), ("critical", "Fan 3 failed.; Contoso.1.0.Dusty"))
        self.assertIn("critical: Fan 3 failed.", bmcs.run("status")[0])
        row, = self.use(small_tree()).json("status")["devices"]
        self.assertEqual((row["health"], row["cause"]), ("ok", ""))

    def test_service_tag_and_firmware_of_another_manager(self):
        tree, other = small_tree(), f"{ROOT}/Managers/HGX_BMC_0"
        tree[SYSTEM] |= {"Manufacturer": "Dell Inc.", "SKU": "7F3K2V3", "SerialNumber": "CNIVC0033B00AA"}
        tree[f"{ROOT}/Managers"] = collection(f"{ROOT}/Managers", MANAGER, other)
        tree[other] = {"@odata.id": other, "Id": "HGX_BMC_0", "FirmwareVersion": "24.09-1"}
        row, = self.use(tree).json("inventory", "--probe")["devices"]
        self.assertEqual((row["serial"], row["service_tag"], row["firmware"], row["other_firmware"]),
                         ("CNIVC0033B00AA", "7F3K2V3", "1.0", "HGX_BMC_0 24.09-1"))

    def test_every_kind_that_is_printed_is_accepted(self):
        """ReadingType of DSP8010, and one of a vendor."""
        types = ("Temperature", "Percent", "EnergyJoules", "Frequency", "Altitude", "ContosoFlux")
        bmcs = self.use(with_sensors(*({"Name": f"S{i}", "ReadingType": one, "Reading": 1}
                                       for i, one in enumerate(types))))
        kinds = {one["kind"] for one in bmcs.json("sensors")["readings"]}
        self.assertEqual(len(kinds), len(types))
        for kind in kinds:
            rows = bmcs.json("sensors", "--kind", kind)["readings"]
            self.assertEqual([one["kind"] for one in rows], [kind])
        _, err = bmcs.run("sensors", "--kind", "loudness", code=2)
        self.assertIn("altitude", err)
        _, err = bmcs.run("sensors", "--kind", "altit", code=2)
        self.assertIn("did you mean `altitude`?", err)
        self.assertIn("temperature", bmcs.run("sensors", "--kind", "voltage")[1], "every BMC might have that kind")

    def test_chassis_that_cannot_be_read_is_named(self):
        tree = with_sensors({"Name": "Inlet", "ReadingType": "Temperature", "Reading": 21})
        broken, half = f"{ROOT}/Chassis/GPU_1", f"{ROOT}/Chassis/GPU_2"
        error = {"error": {"code": "Base.1.8.InternalError", "message": "internal error"}}
        tree[f"{ROOT}/Chassis"] = collection(f"{ROOT}/Chassis", CHASSIS, broken, half)
        tree[half] = {"@odata.id": half, "Id": "GPU_2", "Sensors": link(f"{half}/Sensors")}
        bmcs = self.use(tree)
        stored = bmcs.folder / "empty"
        for path in (broken, f"{half}/Sensors"):  # a stored error is answered with its status
            (stored / path.lstrip("/")).mkdir(parents=True)
            (stored / path.lstrip("/") / "index.json").write_text(str(error).replace("'", '"'), encoding="utf-8")
        found = bmcs.json("sensors", code=3)
        self.assertEqual([one["sensor"] for one in found["readings"]], ["Inlet"])
        self.assertEqual([one["part"] for one in found["unread_sensors"]], ["Chassis/GPU_1", "Chassis/GPU_2"])


class Plain(http.server.BaseHTTPRequestHandler):
    """Port 80 of a BMC: `answers` of the server by path, (status, location)."""

    def do_GET(self):
        status, location = self.server.answers.get(self.path, (404, None))
        self.server.seen.append((self.path, self.headers.get("Authorization")))
        self.send_response(status)
        if location:
            self.send_header("Location", location)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass


class OobPlainHttp(ReadingsCase):
    def audit(self, answers):
        """The finding about plain HTTP of a BMC that says that HTTP is enabled: severity, and what `settings` says."""
        tree = small_tree()
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Plain) as plain:
            plain.answers, plain.seen = answers or {}, []
            threading.Thread(target=plain.serve_forever, daemon=True).start()
            tree[MANAGER]["NetworkProtocol"] = link(f"{MANAGER}/NetworkProtocol")
            tree[f"{MANAGER}/NetworkProtocol"] = {
                "@odata.id": f"{MANAGER}/NetworkProtocol",
                "HTTP": {"ProtocolEnabled": True, "Port": plain.server_address[1] if answers is not None else 1}}
            bmcs = self.use(tree)
            code = 1 if answers and answers.get("/redfish/v1/", (0,))[0] in (200, 401) else 0
            code = 1 if answers and answers.get("/", (0,))[0] == 200 else code
            findings = bmcs.json("audit", code=code)["findings"]
            settings = {one["setting"]: one["value"] for one in bmcs.json("settings")["settings"]}
            plain.shutdown()
            self.assertEqual([one for one in plain.seen if one[1]], [], "credentials in plain text")
        self.assertEqual(settings["Plain HTTP"], "on")
        severity, = [one["severity"] for one in findings if one["rule"] == "OB040"]
        return severity, settings["Answer to plain HTTP"]

    def test_what_answers_decides(self):
        root = "/redfish/v1/"
        for answers, expected in (({root: (200, None)}, ("error", "served without TLS")),
                                  ({root: (401, None)}, ("error", "served without TLS")),
                                  ({"/": (200, None)}, ("error", "served without TLS")),
                                  ({root: (308, "https://bmc/redfish/v1/")}, ("note", "redirected to HTTPS")),
                                  ({"/": (301, "https://bmc/")}, ("note", "redirected to HTTPS")),
                                  ({root: (302, "http://bmc/login")}, ("warning", "no answer")),
                                  (None, ("warning", "no answer"))):
            self.assertEqual(self.audit(answers), expected, answers)


if __name__ == "__main__":
    run_tests()
