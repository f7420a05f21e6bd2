#!/usr/bin/env python3
"""`weft oob` against dumps of real BMCs (shared/redfish/PROVENANCE.md), served over HTTPS by redfish_dump_server.py:
what the commands print is compared with what the JSON files say, by a walk of its own.
dumps_test.py EXECUTABLE [PATTERN...]
"""

import atexit
import collections
import datetime
import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests/api"))

import lab  # noqa: E402  pylint: disable=wrong-import-position
from lab import needs, needs_program, run_tests  # noqa: E402  pylint: disable=wrong-import-position
from redfish_dump_server import SESSIONS, DumpServer, Tree, make_certificate  # noqa: E402

ARCHIVE = "redfish/dumps.tar.gz"
FOLDERS = {"dell": "dell", "hpe": "hpe", "gb200": "nvidia_gb200", "viking": "nvidia_viking", "supermicro": "supermicro"}
PASSWORD = "calvin-test"
ROOT = "/redfish/v1"
SCHEMAS = re.compile(r"/(JsonSchemas|Schemas?|SchemaStore)[/?]", re.IGNORECASE)
UNSET = (1987, 2100)  # a clock outside these years was not set: 1970 after a reset, 9999 and 0000 as placeholders


def data_folder():
    return pathlib.Path(os.environ.get("WEFT_TEST_DATA") or SOURCE.parent / "shared")


@functools.cache
def unpacked():
    """The folder of the dumps, unpacked once, in memory where that is possible: there are thousands of small files.
    Schemas are left out."""
    folder = tempfile.mkdtemp(prefix="weft_dumps_", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with tarfile.open(data_folder() / ARCHIVE) as archive:
        archive.extractall(folder, [one for one in archive if one.isfile() and not SCHEMAS.search(one.name)])
    return pathlib.Path(folder, "mockups")


def link(document, name):
    """The target of a link; "" without one."""
    target = document.get(name)
    return target.get("@odata.id", "") if isinstance(target, dict) else ""


class Dump:
    """The resources of one dump, as a careful person reads them."""

    def __init__(self, name, changes=None):
        self.name, self.tree = name, Tree(unpacked() / FOLDERS[name], changes)

    def get(self, uri):
        """The document; {} for one that is absent, or that the BMC answered with an error."""
        found = self.tree.read(uri) if uri else None
        return json.loads(found[2]) if found and found[0] == 200 else {}

    def members(self, uri):
        """The members of a collection and of its further pages, each once, in order."""
        found, seen = {}, set()
        while uri and uri not in seen:
            seen.add(uri)
            page = self.get(uri)
            for member in page.get("Members", []):
                place = member["@odata.id"].rstrip("/")
                if place not in found:
                    found[place] = member if len(member) > 1 else self.get(place)
            uri = page.get("Members@odata.nextLink")
        return [document for document in found.values() if document]

    def collection(self, name):
        return self.members(f"{ROOT}/{name}")

    @functools.cached_property
    def system(self):
        """The ComputerSystem that can be reset: the machine, not its GPU baseboard."""
        return next(one for one in self.collection("Systems") if "#ComputerSystem.Reset" in one.get("Actions", {}))

    @functools.cached_property
    def manager(self):
        """The BMC of that system."""
        return self.get(self.system["Links"]["ManagedBy"][0]["@odata.id"])

    @functools.cached_property
    def network(self):
        return self.get(link(self.manager, "NetworkProtocol"))

    def templates(self, message_id):
        """The texts of a message in the registries that the BMC has."""
        prefix, _, key = message_id.partition(".")[0], None, message_id.rpartition(".")[2]
        found = []
        for file in self.collection("Registries"):
            if file.get("Registry", "").partition(".")[0] != prefix:
                continue
            for place in file.get("Location", []):
                message = self.get(place.get("Uri")).get("Messages", {}).get(key)
                if message and place.get("Language", "en").lower().startswith("en"):
                    found.append(message["Message"])
        return found


# Events


Event = collections.namedtuple("Event", "log id time severity state source messages message_id")
STATES = {"Assert": "asserted", "Deassert": "deasserted"}
SEVERITIES = {"OK": "ok", "Warning": "warning", "Critical": "critical"}


def raw_field(text, name):
    """A field of AMI's raw SEL messages, "Event_Data_1 : 2, Record_Type : ..., Sensor_Type : Drive Slot/Bay, "."""
    if "Event_Dir" not in (text or ""):
        return None
    found = re.search(rf"(?:^|, ){name} : (.*?)(?:, [A-Za-z_0-9]+ : |, ?$|$)", text)
    return found.group(1).strip() if found else None


def parse_time(text):
    """A moment; None if it is none, or of a clock that was not set."""
    try:
        moment = datetime.datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.timezone.utc)
    return moment if UNSET[0] <= moment.year < UNSET[1] else None


def fill(template, arguments):
    """A pattern of a registry's text with its arguments; what an argument is missing for may be anything."""
    pattern = ""
    for part in re.split(r"(%\d+)", template):
        number = int(part[1:]) if re.fullmatch(r"%\d+", part) else 0
        if not number:
            pattern += re.escape(part)
        elif number <= len(arguments):
            pattern += re.escape(str(arguments[number - 1]))
        else:
            pattern = pattern.removesuffix("\\ ") + ".*"
    return pattern


def message_patterns(dump, entry):
    """What the message may be."""
    text, message_id = entry.get("Message"), entry.get("MessageId")
    kind = raw_field(text, "Event_Type")
    if kind:
        return [f".*{re.escape(kind)}.*"]
    if text and text != message_id and not re.search(r"%\d", text):
        return [re.escape(text.strip())]
    templates = dump.templates(message_id) if message_id else []
    if templates:
        return [fill(template, entry.get("MessageArgs", [])) for template in templates]
    if text:
        return [re.escape(text.strip())]
    return ["", "-", re.escape(message_id or ""), f".*{re.escape(entry['Name'])}.*"]


def event_of(dump, log, entry):
    text = entry.get("Message")
    moment = parse_time(entry.get("EventTimestamp")) or parse_time(entry.get("Created"))
    direction = (raw_field(text, "Event_Dir") or "").partition("ion event")[0]
    return Event(log, entry["Id"], moment, SEVERITIES.get(entry.get("Severity"), "unknown"),
                 "deasserted" if entry.get("Resolved") is True else
                 STATES.get(entry.get("EntryCode")) or STATES.get(direction.removesuffix("ion")),
                 entry.get("SensorType") or raw_field(text, "Sensor_Type"), message_patterns(dump, entry),
                 entry.get("MessageId"))


def expected_events(dump):
    """Each entry once: one that several logs link to is of the log of a chassis."""
    found = {}
    for collection in ("Chassis", "Systems", "Managers"):
        for owner in dump.collection(collection):
            for service in dump.members(link(owner, "LogServices")):
                place = owner["@odata.id"].rstrip("/").rpartition("/")[2]
                log = f"{collection}/{place}/{service['@odata.id'].rstrip('/').rpartition('/')[2]}"
                for entry in dump.members(link(service, "Entries")):
                    found.setdefault(entry["@odata.id"], event_of(dump, log, entry))
    return list(found.values())


def compare_time(moment, text):
    """What is wrong with a time that was printed; sub-seconds may be left out."""
    if moment is None or text is None:
        return "" if moment is None and text is None else f"time {text!r}, expected {moment}"
    if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", text):
        return f"time {text!r} is not in UTC as 2024-07-08T16:38:52Z"
    off = abs((datetime.datetime.fromisoformat(text) - moment).total_seconds())
    return "" if off < 1 else f"time {text!r}, expected {moment.astimezone(datetime.timezone.utc).isoformat()}"


def compare_event(event, row):
    """What is wrong with a row."""
    wrong = [compare_time(event.time, row.get("time"))]
    for key in ("severity", "state", "message_id"):
        if row.get(key, "no such key") != getattr(event, key):
            wrong.append(f"{key} {row.get(key, 'no such key')!r}, expected {getattr(event, key)!r}")
    if event.source and row.get("source") != event.source:
        wrong.append(f"source {row.get('source')!r}, expected {event.source!r}")
    message = (row.get("message") or "").strip()
    if not any(re.fullmatch(pattern, message, re.DOTALL) for pattern in event.messages):
        wrong.append(f"message {message!r}, expected {event.messages}")
    return [text for text in wrong if text]


def count_by_log(what, keys):
    """A line per log: how many entries, and the first few."""
    logs = collections.defaultdict(list)
    for log, entry in keys.elements():
        logs[log].append(entry)
    return [f"{what}: {len(entries)} of {log}: {entries[:5]}" for log, entries in logs.items()]


def compare_events(events, rows):
    """Nothing missed, nothing invented, nothing changed."""
    found = collections.Counter((row.get("log"), row.get("id")) for row in rows)
    expected = collections.Counter((event.log, event.id) for event in events)
    wrong = count_by_log("missing", expected - found) + count_by_log("not in the dump, or twice", found - expected)
    by_key = {(row.get("log"), row.get("id")): row for row in rows}
    for event in events:
        row = by_key.get((event.log, event.id))
        for text in compare_event(event, row) if row else []:
            wrong.append(f"{event.log} {event.id}: {text}")
    return wrong


# Sensors


KINDS = {"Temperature": "temperature", "Rotational": "fan", "Voltage": "voltage", "Power": "power",
         "Current": "current", "": "discrete"}  # by ReadingType; weft may call others as it likes
UNITS = {"Cel": "C", "Percent": "%"}  # others are themselves
DEFAULT_UNITS = {"Temperature": "C", "Rotational": "RPM", "Voltage": "V", "Power": "W", "Current": "A",
                 "EnergyJoules": "J"}  # DSP0268, ReadingType
ARRAYS = (("Thermal", "Temperatures", "Temperature", ("ReadingCelsius",), "C"),
          ("Thermal", "Fans", "Rotational", ("Reading",), None),
          ("Power", "PowerControl", "Power", ("PowerConsumedWatts",), "W"),
          ("Power", "Voltages", "Voltage", ("ReadingVolts",), "V"))
# A power supply has what it takes, what it gives, or both: with both, it is two readings.
SUPPLIES = (("input", ("PowerInputWatts",)), ("output", ("PowerOutputWatts", "LastPowerOutputWatts")))
REPEATED = re.compile(r" \(\d+\)$")  # weft numbers sensors of one name in one list, from the second on

# `limits`: the lower and the upper critical threshold.
Copy = collections.namedtuple("Copy", "value units health is_absent limits")


class Reading:
    """A sensor, with each place where the BMC lists it: the copies may have been read at different moments."""

    def __init__(self, source, chassis, name, kind, copy):
        self.source, self.chassis, self.name, self.kind = source, chassis, name, kind
        self.copies = [copy]

    def fits(self, row):
        kind = KINDS.get(self.kind)
        return (kind is None or row["kind"] == kind) and any(fits_copy(copy, row) for copy in self.copies)

    def __repr__(self):
        return f"{self.name!r} {self.kind} {[tuple(copy) for copy in self.copies]}"


def fits_copy(copy, row):
    if copy.is_absent:
        return row["value"] is None and row["health"] not in ("critical", "warning")
    if copy.value is None or row["value"] is None:
        same = copy.value is None and row["value"] is None
    else:
        same = abs(copy.value - row["value"]) <= 0.0006 + abs(copy.value) * 1e-9  # three decimals are printed
    return same and row["health"] == copy.health and (row["unit"] or "") in copy.units


def status_of(document):
    status = document.get("Status") or {}
    return SEVERITIES.get(status.get("Health"), "unknown"), status.get("State") == "Absent"


def sensor_copy(sensor):
    unit, kind = sensor.get("ReadingUnits"), sensor.get("ReadingType") or ""
    units = {UNITS.get(unit, unit)} if unit else {"", DEFAULT_UNITS.get(kind, "")}
    limits = tuple((sensor.get("Thresholds", {}).get(name) or {}).get("Reading")
                   for name in ("LowerCritical", "UpperCritical"))
    return Copy(sensor.get("Reading"), units, *status_of(sensor), limits)


def array_copy(entry, keys, unit):
    value = next((entry[key] for key in keys if entry.get(key) is not None), None)
    unit = unit or entry.get("ReadingUnits") or ""
    limits = (entry.get("LowerThresholdCritical"), entry.get("UpperThresholdCritical"))
    return Copy(value, {UNITS.get(unit, unit)} | ({""} if value is None else set()), *status_of(entry), limits)


def containers(dump):
    """For each chassis, those that contain it, at any depth."""
    parents = collections.defaultdict(set)
    for chassis in dump.collection("Chassis"):
        place, links = chassis["@odata.id"].rstrip("/"), chassis.get("Links", {})
        if link(links, "ContainedBy"):
            parents[place].add(link(links, "ContainedBy").rstrip("/"))
        for part in links.get("Contains", []):
            parents[part["@odata.id"].rstrip("/")].add(place)
    above = {}
    for place in list(parents):
        found, added = set(), set(parents[place])
        while added:
            found |= added
            added = {parent for one in added for parent in parents.get(one, ())} - found
        above[place] = found
    return above


def listed_sensors(dump):
    """(source, chassis, name, ReadingType, copy) for each place in which a sensor is listed: first the collections
    of Sensors, then the arrays of Thermal and Power."""
    chassis = {one["@odata.id"].rstrip("/"): one for one in dump.collection("Chassis")}
    for place, one in chassis.items():
        for sensor in dump.members(link(one, "Sensors")):
            yield link(one, "Sensors"), place, sensor["Name"], sensor.get("ReadingType") or "", sensor_copy(sensor)
    for place, one in chassis.items():
        for resource, array, kind, keys, unit in ARRAYS:
            for entry in dump.get(link(one, resource)).get(array, []):
                name = entry.get("Name") or entry.get("FanName")
                yield f"{place} {array}", place, name, kind, array_copy(entry, keys, unit)
        for supply in dump.get(link(one, "Power")).get("PowerSupplies", []):
            copies = [(word, array_copy(supply, keys, "W")) for word, keys in SUPPLIES]
            both = all(copy.value is not None and not copy.is_absent for _, copy in copies)
            for word, copy in copies if both else [max(copies, key=lambda pair: pair[1].value is not None)]:
                name = supply.get("Name") + (f" {word}" if both else "")
                yield f"{place} PowerSupplies", place, name, "Power", copy


def expected_sensors(dump):
    """Each sensor once. The same name and kind in another list of the same chassis, or of one that contains it or that
    it contains, is the same sensor; twice in one list are two."""
    above, readings, taken = containers(dump), collections.defaultdict(list), set()

    def is_near(one, other):
        return one == other or one in above.get(other, ()) or other in above.get(one, ())

    for source, chassis, name, kind, copy in listed_sensors(dump):
        same = None
        for known in readings[name, kind] if name else ():
            if known.source != source and (id(known), source) not in taken and is_near(known.chassis, chassis):
                same = known
                break
        if same:
            taken.add((id(same), source))
            same.copies.append(copy)
        else:
            readings[name, kind].append(Reading(source, chassis, name, kind, copy))
    return [reading for group in readings.values() for reading in group]


def assign(readings, rows):
    """Gives each reading a row of its own that fits it; those for which there is none."""
    if not readings:
        return []
    first, rest, fewest = readings[0], readings[1:], None
    for index, row in enumerate(rows):
        if first.fits(row):
            left = assign(rest, rows[:index] + rows[index + 1:])
            if not left:
                return []
            fewest = left if fewest is None or len(left) < len(fewest) else fewest
    left = [first, *assign(rest, rows)]
    return left if fewest is None or len(left) < len(fewest) else fewest


def compare_group(name, readings, rows):
    shown = [(row["kind"], row["value"], row["unit"], row["health"]) for row in rows]
    wrong = []
    if len(rows) != len(readings):
        wrong.append(f"{name!r} has {len(rows)} rows, expected {len(readings)}")
    for reading in assign(readings, rows) if rows else []:
        wrong.append(f"no row for {reading}: {shown}")
    return wrong


def compare_sensors(readings, rows):
    """Names, kinds, values, units and health. A reading without a name (HPE's PowerControl) may have any."""
    names = {reading.name for reading in readings if reading.name}
    wrong = [f"two rows have the name {name!r}"
             for name, count in collections.Counter((row["sensor"], row["kind"]) for row in rows).items() if count > 1]
    rows = [{**row, "sensor": REPEATED.sub("", row["sensor"])} if REPEATED.sub("", row["sensor"]) in names else row
            for row in rows]
    for name in sorted(names):
        wrong += compare_group(name, [one for one in readings if one.name == name],
                               [row for row in rows if row["sensor"] == name])
    unnamed, others = [one for one in readings if not one.name], [row for row in rows if row["sensor"] not in names]
    wrong += [f"no row for {reading}" for reading in assign(unnamed, others)]
    wrong += [f"not in the dump: {row}" for row in others if not any(one.fits(row) for one in unnamed)]
    return wrong + [f"a row without a name: {row}" for row in others if not row["sensor"]]


def compare_limits(readings, rows):
    """The critical thresholds of sensors whose name there is once; 0 may stand for none."""
    count = collections.Counter(reading.name for reading in readings)
    by_name = {row["sensor"]: row for row in rows}
    wrong = []
    for reading in readings:
        row = by_name.get(reading.name)
        if row is None or count[reading.name] > 1 or any(copy.is_absent for copy in reading.copies):
            continue
        for index, key in enumerate(("low_critical", "high_critical")):
            told = {copy.limits[index] for copy in reading.copies}
            told |= {None} if told & {0, None} else set()
            if not any(same_number(row[key], one) for one in told):
                wrong.append(f"{reading.name!r}: {key} {row[key]}, expected one of {told}")
    return wrong


def same_number(one, other):
    return one is other if None in (one, other) else abs(one - other) <= 0.0006


# Identity, accounts and settings


WHOLE = ("Shelf", "RackMount", "Sled", "Blade", "StandAlone", "Enclosure", "Pedestal", "Chassis")  # not a part of one


def expected_identity(dump):
    """Manufacturer, model and serial number are those of the system; where it has none, those of the chassis that is
    the whole machine, rather than of the board that the system links to."""
    system = dump.system
    if not system.get("SerialNumber"):
        chassis = [one for one in dump.collection("Chassis")
                   if one.get("ChassisType") in WHOLE and not link(one.get("Links", {}), "ContainedBy")]
        assert len(chassis) == 1, [one["@odata.id"] for one in chassis]
        system = {**chassis[0], **{key: value for key, value in system.items() if value}}
    return {"manufacturer": system["Manufacturer"], "model": system["Model"], "serial": system["SerialNumber"],
            "firmware": dump.manager["FirmwareVersion"], "bios": system.get("BiosVersion") or ""}


def is_installed(dump, version):
    """Whether the BMC lists firmware of this version."""
    inventory = link(dump.get(f"{ROOT}/UpdateService"), "FirmwareInventory")
    return version in [one.get("Version") for one in dump.members(inventory)]


def role_names(dump, account):
    """What the role of an account may be called."""
    role = account["RoleId"]
    known = {"Administrator": {"administrator"}, "Operator": {"operator"}, "None": {"none"},
             "ReadOnly": {"read-only", "readonly", "user"}}
    if role in known:
        return known[role]
    path = link(account.get("Links", {}), "Role") or f"{ROOT}/AccountService/Roles/{role}"
    may = dump.get(path).get("AssignedPrivileges", [])
    return {role, role.lower()} | ({"administrator"} if {"ConfigureUsers", "ConfigureManager"} <= set(may) else set())


def expected_accounts(dump):
    """By name: (names of the role, values of enabled, of locked). A BMC that does not say whether an account is enabled
    (HPE) cannot disable one. Empty slots are no accounts."""
    found = {}
    for account in dump.members(link(dump.get(f"{ROOT}/AccountService"), "Accounts")):
        if account["UserName"] or account.get("Enabled"):
            enabled = {account["Enabled"]} if "Enabled" in account else {True, None}
            locked = {account["Locked"]} if "Locked" in account else {False, None}
            found[account["UserName"]] = role_names(dump, account), enabled, locked
    return found


def on_off(flag):
    return {None: "not reported", True: "on", False: "off"}[flag]


def expected_settings(dump):
    """By the name of the setting, what the standard resources of the BMC say."""
    def protocol(name):
        return on_off(dump.network.get(name, {}).get("ProtocolEnabled"))

    interfaces = [one.get("InterfaceEnabled") for one in dump.members(link(dump.manager, "HostInterfaces"))]
    found = {"IPMI over LAN": protocol("IPMI"), "Plain HTTP": protocol("HTTP"), "SSH": protocol("SSH"),
             "SNMP": protocol("SNMP"), "Host interface": on_off(any(interfaces) if interfaces else None)}
    if "NTP" in dump.network:
        servers = [one.strip() for one in dump.network["NTP"].get("NTPServers", []) if one and one.strip()]
        enabled = dump.network["NTP"].get("ProtocolEnabled")
        found["NTP servers"] = ", ".join(sorted(servers)) if servers and enabled else "none"
    return found


def expected_findings(dump):
    """Rules of the audit: whether the BMC breaks them."""
    settings = expected_settings(dump)
    accounts = expected_accounts(dump)
    return {"OB025": settings["IPMI over LAN"] == "on", "OB040": settings["Plain HTTP"] == "on",
            "OB030": settings["Host interface"] == "on", "OB043": settings.get("NTP servers") == "none",
            "OB044": "" in accounts, "OB047": False, "OB048": False}


# The machines


class Machines:
    """A server per dump, and the files of a cluster that has one machine for each: NAME001."""

    def __init__(self, names=tuple(FOLDERS), changes=None, session_status=201):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="weft_oob_dumps_"))
        certificate, key = make_certificate(self.folder)
        self.servers = {name: DumpServer(unpacked() / FOLDERS[name], password=PASSWORD, changes=changes,
                                         session_status=session_status, certificate=certificate, key=key)
                        for name in names}
        self._write_files(certificate)

    def _write_files(self, certificate):
        cluster = "weft: 1\nname: dumps\npools:\n"
        endpoints = f"weft_endpoints: 1\ndefaults: {{ca: {certificate}}}\nendpoints:\n"
        for name, server in self.servers.items():
            cluster += f"  - {{name: {name}, role: training, server: hgx-h100, count: 1}}\n"
            endpoints += f"  {name}001: {{host: 127.0.0.1, port: {server.port}, protocol: redfish}}\n"
        (self.folder / "cluster.yaml").write_text(cluster, encoding="utf-8")
        (self.folder / "endpoints.yaml").write_text(endpoints, encoding="utf-8")
        credentials = self.folder / "credentials.yaml"
        login = f"{{user: root, password: {PASSWORD}}}"
        credentials.write_text(f"weft_credentials: 1\ndefault: {login}\n", encoding="utf-8")
        credentials.chmod(0o600)

    def weft(self, command, hosts, *words, codes=(0,)):
        """Runs a command: (output, errors). `codes`: the exit codes that are right."""
        variables = {key: value for key, value in os.environ.items() if not key.startswith(("WEFT_", "XDG_"))}
        variables["HOME"] = str(self.folder)
        line = [lab.EXECUTABLE, "oob", *command.split(), str(self.folder / "cluster.yaml"), hosts, *words, "--syslog", "none",
                "--endpoints", str(self.folder / "endpoints.yaml"), "--state", str(self.folder / "state"),
                "--credentials", f"file:{self.folder}/credentials.yaml", "--timeout", "120s"]
        done = subprocess.run(line, capture_output=True, text=True, env=variables, timeout=600, check=False)
        said = done.stdout[-3000:] + done.stderr[-3000:]
        assert done.returncode in codes, f"{line}: exit code {done.returncode}\n{said}"
        return done.stdout, done.stderr

    def json(self, command, hosts, *words, codes=(0,)):
        return json.loads(self.weft(command, hosts, *words, "-o", "json", codes=codes)[0])

    def close(self):
        for server in self.servers.values():
            server.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class OobCase(unittest.TestCase):
    machines = None  # of the class, made by the first test: setUp() may skip

    def setUp(self):
        needs((data_folder() / ARCHIVE).is_file(), f"data {ARCHIVE}")
        needs_program("openssl")
        if type(self).machines is None:
            type(self).machines = self.make_machines()
        self.used = [self.machines]

    @classmethod
    def make_machines(cls):
        return Machines()

    @classmethod
    def tearDownClass(cls):
        if cls.machines is not None:
            cls.machines.close()

    def tearDown(self):
        """Whatever the command was: no session stays open on a BMC."""
        left = {}
        for machines in self.used:
            for name, server in machines.servers.items():
                if server.sessions:
                    left[name] = list(server.sessions)
                server.sessions.clear()
        self.assertEqual(left, {}, "sessions that were not deleted")

    def use(self, *options):
        """Other machines, for this test; the options of Machines."""
        machines = Machines(*options)
        self.addCleanup(machines.close)
        self.used.append(machines)
        return machines

    def changed(self, name, changes):
        """Machines of one dump, of which some documents are replaced."""
        return self.use((name,), changes)

    def nothing_wrong(self, wrong, limit=15):
        if wrong:
            more = [f"... and {len(wrong) - limit} more"] if len(wrong) > limit else []
            self.fail(f"{len(wrong)} differences\n  " + "\n  ".join([*wrong[:limit], *more]))


def each_dump(check):
    """A test per dump of a method check(self, name, dump)."""
    def decorate(case):
        for name in FOLDERS:
            def test(self, name=name):
                check(self, name, Dump(name))
            test.__doc__ = check.__doc__
            setattr(case, f"test_{check.__name__.removeprefix('check_')}_{name}", test)
        return case
    return decorate


def check_events(self, name, dump):
    """Every entry of every log of every system, manager and chassis, once."""
    rows = self.machines.json("events", f"{name}001", codes=(0, 3) if name == "gb200" else (0,))["events"]
    self.nothing_wrong(compare_events(expected_events(dump), rows))
    self.assertEqual({row.get("device") for row in rows}, {f"{name}001"})


def check_sensors(self, name, dump):
    """Every sensor once, with its value, unit and health. None of the five has a sensor in critical state."""
    rows = self.machines.json("sensors", f"{name}001", codes=(0, 1))["readings"]
    readings = expected_sensors(dump)
    self.nothing_wrong(compare_sensors(readings, rows))
    self.assertEqual(len(rows), len(readings))


def check_limits(self, name, dump):
    """The critical thresholds."""
    rows = self.machines.json("sensors", f"{name}001", codes=(0, 1))["readings"]
    self.nothing_wrong(compare_limits(expected_sensors(dump), rows))


def check_inventory(self, name, dump):
    """Who made the machine, which one it is, and its firmware."""
    row, = self.machines.json("inventory", f"{name}001", "--probe")["devices"]
    expected = {**expected_identity(dump), "uuid": dump.system["UUID"]}
    expected["told_model"] = expected.pop("model")
    if not expected["bios"] and is_installed(dump, row["bios"]):
        expected.pop("bios")
    self.assertEqual({key: (row[key] or "").lower() if key == "uuid" else row[key] or "" for key in expected},
                     {**expected, "uuid": expected["uuid"].lower()})


def check_status(self, name, dump):
    """Power state and boot progress; with --identity also what the machine is."""
    row, = self.machines.json("status", f"{name}001", "--identity")["devices"]
    expected = {"host": f"{name}001", "state": dump.system["PowerState"].lower(), **expected_identity(dump),
                "boot_progress": (dump.system.get("BootProgress") or {}).get("LastState") or "",
                "error": "", "cause": ""}
    if not expected["bios"] and is_installed(dump, row["bios"]):
        expected.pop("bios")
    if "health" in row:
        expected["health"] = dump.system["Status"]["Health"].lower()
    self.assertEqual({key: row[key] or "" for key in expected}, expected)


def check_users(self, name, dump):
    """Every account, with its role, and whether it is enabled and locked."""
    rows = self.machines.json("users", f"{name}001")["accounts"]
    accounts = expected_accounts(dump)
    self.assertEqual(collections.Counter(row["name"] for row in rows), collections.Counter(list(accounts)))
    wrong = []
    for row in rows:
        for key, right in zip(("role", "enabled", "locked"), accounts[row["name"]]):
            if row[key] not in right:
                wrong.append(f"{row['name']}: {key} {row[key]!r}, expected one of {right}")
    self.nothing_wrong(wrong)


def settings_of(machines, name):
    rows = machines.json("settings", f"{name}001")["settings"]
    return {row["setting"]: row["value"] for row in rows}


def check_settings(self, name, dump):
    """Protocols, host interface and NTP servers, as the standard resources have them."""
    values = settings_of(self.machines, name)
    expected = expected_settings(dump)
    if "NTP servers" in expected:
        values["NTP servers"] = ", ".join(sorted(values["NTP servers"].split(", ")))
    self.assertEqual({key: values.get(key) for key in expected}, expected)


def check_audit(self, name, dump):
    """The rules that the standard resources decide; exit code 1 for a finding of severity error."""
    expected = expected_findings(dump)
    is_bad = any(expected[rule] for rule in ("OB025", "OB044"))
    findings = self.machines.json("audit", f"{name}001", codes=(1,) if is_bad else (0,))["findings"]
    found = {finding["rule"] for finding in findings}
    self.assertEqual({rule: rule in found for rule in expected}, expected)
    self.assertEqual({finding["devices"] for finding in findings}, {f"{name}001"} if findings else set())


def expected_metrics(dump):
    """(report, value, time) of every value of every report, with what it is about: [(property, id)]."""
    found = collections.defaultdict(list)
    for report in dump.members(link(dump.get(f"{ROOT}/TelemetryService"), "MetricReports")):
        for value in report.get("MetricValues", []):
            found[(report["Id"], value["MetricValue"], value["Timestamp"])].append(
                (value["MetricProperty"], value.get("MetricId")))
    return found


def is_about(row, place, metric_id):
    """Whether a row's part and metric are those of a property: the last names of its path, in order."""
    path, _, fragment = place.partition("#")
    names = re.split("[/ ]", row["part"])
    rest = iter(path.split("/"))
    if not all(name in rest for name in names):
        return False
    if metric_id:
        return row["metric"] == metric_id
    return (fragment or path).endswith(row["metric"])


def is_number(text, value):
    try:
        return float(text) == value
    except ValueError:
        return False


def check_metrics(self, name, dump):
    """Every value of every report, with the part and the property that it is about."""
    expected = expected_metrics(dump)
    rows = self.machines.json("metrics", f"{name}001").get("metrics", [])
    self.assertEqual(len(rows), sum(map(len, expected.values())))
    wrong = []
    for row in rows:
        value = row["value"]
        key = next((key for key in expected if key[0] == row["report"] and key[2] == row["time"] and
                    (key[1] == value or isinstance(value, (int, float)) and is_number(key[1], value)) and
                    any(is_about(row, *place) for place in expected[key])), None)
        if key is None:
            wrong.append(f"not in the reports: {row}")
            continue
        expected[key].remove(next(place for place in expected[key] if is_about(row, *place)))
    self.nothing_wrong(wrong + [f"not listed: {key}: {places}" for key, places in expected.items() if places])


@each_dump(check_events)
@each_dump(check_metrics)
@each_dump(check_sensors)
@each_dump(check_limits)
@each_dump(check_inventory)
@each_dump(check_status)
@each_dump(check_users)
@each_dump(check_settings)
@each_dump(check_audit)
class OobDumps(OobCase):
    """Each command for each dump, as it is."""

    def test_events_of_all(self):
        """One command for all machines lists what one per machine lists."""
        rows = self.machines.json("events", ",".join(f"{name}001" for name in FOLDERS), codes=(0, 3))["events"]
        found = collections.Counter((row.get("device"), row.get("log"), row.get("id")) for row in rows)
        expected = collections.Counter((f"{name}001", event.log, event.id) for name in FOLDERS
                                       for event in expected_events(Dump(name)))
        self.assertEqual(sum(found.values()), sum(expected.values()))
        self.assertEqual(found, expected)

    def test_inventory_gb200_is_the_tray(self):
        """The compute tray, not the board of its BMC (1583124820080)."""
        row, = self.machines.json("inventory", "gb200001", "--probe")["devices"]
        self.assertEqual((row["manufacturer"], row["told_model"], row["serial"]),
                         ("NVIDIA", "GB200 NVL", "1333024020524"))


# Events of changed dumps: what the five do not have


HEALTH_LOG = f"{ROOT}/Systems/1/LogServices/Log1/Entries"  # of supermicro
SEL = f"{ROOT}/Managers/BMC/LogServices/SEL/Entries"  # of viking


def split_table(text):
    """Rows of a table, by the names of its columns; where a cell begins is where its header does, or ends."""
    lines = text.splitlines()
    heads = [(match.group().strip(), match.start(), match.end()) for match in re.finditer(r"\S+(?: \S+)*", lines[0])]
    rows = []
    for line in lines[1:]:
        if not line.strip():
            break
        cells = [(match.group(), match.start(), match.end()) for match in re.finditer(r"\S+(?: \S+)*", line)]
        rows.append({name: next((cell for cell, first, last in cells if start == first or end == last), "")
                     for name, start, end in heads})
    return rows


class OobDumpEvents(OobCase):
    """Logs that are in no dump as they are here."""

    @classmethod
    def make_machines(cls):
        return Machines(("gb200", "supermicro", "viking"))

    def deassert(self):
        """Machines with two events: a failure, and the end of one, which their BMC calls critical too."""
        page = Dump("supermicro").get(HEALTH_LOG)
        page["Members"] = [{**page["Members"][number], "Severity": "Critical", "EntryCode": code, "Message": text}
                           for number, code, text in ((0, "Assert", "PS8 broke"), (1, "Deassert", "PS9 broke"))]
        page["Members@odata.count"] = 2
        changes = {HEALTH_LOG: page, **{member["@odata.id"]: member for member in page["Members"]}}
        return self.changed("supermicro", changes)

    def test_deasserted_is_no_problem(self):
        """The end of a failure is not shown as a warning or critical."""
        rows = split_table(self.deassert().weft("events", "supermicro001")[0])
        shown = {text: [row for row in rows if text in row["Message"]] for text in ("PS8 broke", "PS9 broke")}
        self.assertEqual({text: len(found) for text, found in shown.items()}, {"PS8 broke": 1, "PS9 broke": 1})
        self.assertEqual(shown["PS8 broke"][0]["Severity"], "critical")
        self.assertNotIn(shown["PS9 broke"][0]["Severity"], ("critical", "warning"))

    def test_deasserted_is_below_warning(self):
        """--level warning and critical list the failure, not its end."""
        machines = self.deassert()
        for level in ("warning", "critical"):
            text = machines.weft("events", "supermicro001", "--level", level)[0]
            self.assertIn("PS8 broke", text)
            self.assertNotIn("PS9 broke", text)

    def test_deasserted_in_json(self):
        """JSON has the severity that the BMC gives, and the state."""
        rows = self.deassert().json("events", "supermicro001")["events"]
        found = {row["message"]: (row["severity"], row.get("state")) for row in rows if "broke" in row["message"]}
        self.assertEqual(found, {"PS8 broke": ("critical", "asserted"), "PS9 broke": ("critical", "deasserted")})

    def test_raw_text_has_the_state(self):
        """AMI's raw text says whether an event was asserted where there is no EntryCode."""
        page = Dump("viking").get(SEL)
        for member in page["Members"]:
            member.pop("EntryCode")
        changes = {SEL: page, **{member["@odata.id"]: member for member in page["Members"]}}
        events = expected_events(Dump("viking", changes))
        states = collections.Counter(event.state for event in events if event.log == "Managers/BMC/SEL")
        self.assertEqual(states, {"asserted": 38, "deasserted": 37})
        rows = self.changed("viking", changes).json("events", "viking001")["events"]
        self.nothing_wrong(compare_events(events, rows))

    def test_entry_of_two_logs(self):
        """An entry that the log of the baseboard and that of a GPU both list is one event, of the GPU."""
        log, gpu = f"{ROOT}/Systems/HGX_Baseboard_0/LogServices/EventLog/Entries", f"{ROOT}/Chassis/HGX_GPU_SXM_1"
        page, dump = Dump("viking").get(log), Dump("viking")
        page["Members"] += dump.get(f"{gpu}/LogServices/XID/Entries")["Members"]
        page["Members@odata.count"] = len(page["Members"])
        events = expected_events(Dump("viking", {log: page}))
        self.assertEqual(len(events), len(expected_events(dump)))
        rows = self.changed("viking", {log: page}).json("events", "viking001")["events"]
        self.nothing_wrong(compare_events(events, rows))

    def test_pages(self):
        """A log in pages of 50 entries is read to its end."""
        log, size = f"{ROOT}/Managers/1/LogServices/Log1/Entries", 50
        whole, changes = Dump("supermicro").get(log), {}
        for first in range(0, len(whole["Members"]), size):
            page = {**whole, "Members": whole["Members"][first:first + size]}
            if first + size < len(whole["Members"]):
                page["Members@odata.nextLink"] = f"{log}?$skip={first + size}"
            changes[f"{log}?$skip={first}" if first else log] = page
        rows = self.changed("supermicro", changes).json("events", "supermicro001")["events"]
        self.nothing_wrong(compare_events(expected_events(Dump("supermicro")), rows))

    def test_links_only(self):
        """A log whose collection has only links: each entry is read."""
        log = f"{ROOT}/Managers/BMC/LogServices/SEL/Entries"
        page = Dump("viking").get(log)
        page["Members"] = [{"@odata.id": member["@odata.id"]} for member in page["Members"]]
        rows = self.changed("viking", {log: page}).json("events", "viking001")["events"]
        self.nothing_wrong(compare_events(expected_events(Dump("viking", {log: page})), rows))

    def test_level_in_json(self):
        """--level warning keeps every warning and critical event that was not deasserted."""
        rows = self.machines.json("events", "viking001", "--level", "warning")["events"]
        expected = collections.Counter((event.log, event.id) for event in expected_events(Dump("viking"))
                                       if event.severity in ("warning", "critical") and event.state != "deasserted")
        self.assertEqual(collections.Counter((row.get("log"), row.get("id")) for row in rows), expected)

    def test_unreadable_logs_are_named(self):
        """Three logs of the GB200 answer with an error: the others are listed, and these are told."""
        done = self.machines.weft("events", "gb200001", "-o", "json", codes=(0, 3))
        told = json.dumps(json.loads(done[0]).get("unread_logs", [])) + done[1]
        for log in ("FDR", "FaultLog", "Dump"):
            self.assertIn(f"HGX_Baseboard_0/{log}", told.replace("LogServices/", ""))


class OobDumpSensors(OobCase):
    """What the table of sensors makes of them."""

    def test_absent_is_not_critical(self):
        """The GB200 says Critical of five ports that are absent: none is a problem, and the exit code is 0."""
        absent = {one.name for one in expected_sensors(Dump("gb200")) if any(copy.is_absent for copy in one.copies)}
        self.assertEqual(len(absent), 5)
        text, _ = self.machines.weft("sensors", "gb200001", "--bad", codes=(0, 1))
        self.assertEqual([name for name in sorted(absent) if name in text], [])
        self.machines.weft("sensors", "gb200001")

    def test_no_dump_is_critical(self):
        """No sensor of the five is in critical state: exit code 0."""
        wrong = []
        for name in FOLDERS:
            states = {copy.health for one in expected_sensors(Dump(name)) for copy in one.copies if not copy.is_absent}
            self.assertNotIn("critical", states)
            try:
                self.machines.weft("sensors", f"{name}001")
            except AssertionError as error:
                wrong.append(str(error)[-300:])
        self.nothing_wrong(wrong)

    def test_table_counts_devices(self):
        """The column Devices counts machines, not rows: one machine is asked."""
        wrong = []
        for name in FOLDERS:
            table = split_table(self.machines.weft("sensors", f"{name}001", codes=(0, 1))[0])
            wrong += [f"{name}: {row['Sensor']} is on {row['Devices']} devices" for row in table
                      if row["Devices"] != "1"]
        self.nothing_wrong(wrong)


class OobDumpVendors(OobCase):
    """Settings that BMCs have outside the standard resources."""

    def test_ntp_hpe(self):
        """iLO has its NTP servers in its DateTime resource."""
        place = self.dump("hpe").manager["Oem"]["Hpe"]["Links"]["DateTimeService"]["@odata.id"]
        servers = [one for one in self.dump("hpe").get(place)["NTPServers"] if one]
        self.assertEqual(settings_of(self.machines, "hpe")["NTP servers"], ", ".join(servers))

    def rules(self, name):
        return {finding["rule"] for finding in self.machines.json("audit", f"{name}001", codes=(0, 1))["findings"]}

    def test_syslog(self):
        """Three BMCs log to no server (OB019); viking does not say."""
        self.assertFalse(self.dump("hpe").network["Oem"]["Hpe"]["RemoteSyslogEnabled"])
        self.assertFalse(self.dump("supermicro").get(f"{ROOT}/Managers/1/Oem/Supermicro/Syslog")["EnableSyslog"])
        found = {name: settings_of(self.machines, name)["Syslog servers"] for name in FOLDERS if name != "gb200"}
        self.assertEqual(found, {"dell": "none", "hpe": "none", "supermicro": "none",
                                 "viking": "not reported"})
        self.assertEqual({name for name in found if "OB019" in self.rules(name)}, {"dell", "hpe", "supermicro"})

    def test_syslog_gb200(self):
        """OpenBMC of NVIDIA has Rsyslog, which is disabled."""
        self.assertEqual(self.dump("gb200").network["Oem"]["Nvidia"]["Rsyslog"]["State"], "Disabled")
        self.assertEqual(settings_of(self.machines, "gb200")["Syslog servers"], "none")
        self.assertIn("OB019", self.rules("gb200"))

    def test_allowed_subnets_supermicro(self):
        """Access control that is off lets any address connect (OB029)."""
        place = f"{ROOT}/Managers/1/Oem/Supermicro/IPAccessControl"
        self.assertFalse(self.dump("supermicro").get(place)["ServiceEnabled"])
        self.assertEqual(settings_of(self.machines, "supermicro")["Allowed subnets"], "any address")
        self.assertIn("OB029", self.rules("supermicro"))

    @staticmethod
    def dump(name):
        return Dump(name)


class OobDumpSessions(OobCase):
    """Every session that was opened is deleted, whatever the status of the answer to the login."""

    COMMANDS = (("status", ()), ("inventory", ("--probe",)), ("sensors", ()), ("events", ()), ("users", ()),
                ("settings", ()), ("audit", ()))

    def check_sessions(self, machines, command, words):
        hosts = ",".join(f"{name}001" for name in machines.servers)
        for server in machines.servers.values():
            server.clear()
        machines.weft(command, hosts, *words, codes=(0, 1, 3))
        for name, server in machines.servers.items():
            with self.subTest(command=command, dump=name):
                self.assertEqual(len(server.received("POST", SESSIONS)), 1)
                self.assertEqual(len(server.opened), 1)
                self.assertEqual([one.status for one in server.received("DELETE", server.opened[0])], [204])
                self.assertEqual(server.sessions, {})
                self.assertEqual({one.status for one in server.requests if one.status == 401}, set())
                self.assertEqual({one.login for one in server.requests if one.login == "basic"}, set())

    def test_answer_201(self):
        for command, words in self.COMMANDS:
            self.check_sessions(self.machines, command, words)

    def test_answer_204(self):
        """DMTF's mockup server answers 204, with the token and the location in the headers."""
        machines = self.use(tuple(FOLDERS), None, 204)
        for command, words in self.COMMANDS:
            self.check_sessions(machines, command, words)

    def test_answer_204_is_read(self):
        machines = self.use(tuple(FOLDERS), None, 204)
        rows = machines.json("status", ",".join(f"{name}001" for name in FOLDERS))["devices"]
        self.assertEqual({row["host"]: row["state"] for row in rows}, {f"{name}001": "on" for name in FOLDERS})

    def test_wrong_password(self):
        """A BMC that refuses the login has no open session, and the command says so."""
        path = self.machines.folder / "credentials.yaml"
        text = path.read_text(encoding="utf-8")
        self.addCleanup(path.write_text, text, encoding="utf-8")
        path.write_text(text.replace(PASSWORD, "wrong"), encoding="utf-8")
        row, = self.machines.json("status", "hpe001", codes=(5,))["devices"]
        self.assertEqual((row["state"], row["cause"]), ("unreachable", "user or password refused"))
        self.assertTrue(row["error"])
        self.machines.servers["hpe"].clear()

    def test_untrusted_certificate(self):
        """Not a refused login, and nothing that other credentials would help against."""
        path = self.machines.folder / "endpoints.yaml"
        text = path.read_text(encoding="utf-8")
        self.addCleanup(path.write_text, text, encoding="utf-8")
        path.write_text(re.sub(r"defaults: .*\n", "", text), encoding="utf-8")
        row, = self.machines.json("status", "dell001", codes=(5,))["devices"]
        self.assertEqual((row["state"], row["cause"]), ("unreachable", "certificate not trusted"))
        self.assertIn("sha256//", row["error"])
        findings = self.machines.json("audit", "dell001", codes=(0, 1, 3))["findings"]
        self.assertNotIn("OB048", [one["rule"] for one in findings])
        self.assertEqual([one for one in findings if "rotate" in one["fix"]], [])


if __name__ == "__main__":
    run_tests()
