"""A few small BMCs for tests of `weft oob` that are not about what a vendor's BMC has: a service root, a system, a
manager, a chassis, served over HTTPS by redfish_dump_server.py, and the files of a cluster of them.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "api"))

import lab  # noqa: E402  pylint: disable=wrong-import-position
from redfish_dump_server import DumpServer, make_certificate  # noqa: E402  pylint: disable=wrong-import-position

ROOT = "/redfish/v1"
SYSTEM, MANAGER, CHASSIS = f"{ROOT}/Systems/1", f"{ROOT}/Managers/1", f"{ROOT}/Chassis/1"
PASSWORD = "calvin-test"


def link(path):
    return {"@odata.id": path}


def collection(path, *members):
    return {"@odata.id": path, "Name": "Collection", "Members": [link(one) for one in members],
            "Members@odata.count": len(members)}


def small_tree():
    """The resources by path; a fresh copy."""
    return {
        ROOT: {"@odata.id": f"{ROOT}/", "@odata.type": "#ServiceRoot.v1_5_0.ServiceRoot", "Id": "RootService",
               "Name": "Root", "RedfishVersion": "1.6.0", "Vendor": "Contoso", "Systems": link(f"{ROOT}/Systems"),
               "Managers": link(f"{ROOT}/Managers"), "Chassis": link(f"{ROOT}/Chassis"),
               "SessionService": link(f"{ROOT}/SessionService"),
               "Links": {"Sessions": link(f"{ROOT}/SessionService/Sessions")}},
        f"{ROOT}/Systems": collection(f"{ROOT}/Systems", SYSTEM),
        f"{ROOT}/Managers": collection(f"{ROOT}/Managers", MANAGER),
        f"{ROOT}/Chassis": collection(f"{ROOT}/Chassis", CHASSIS),
        SYSTEM: {"@odata.id": SYSTEM, "Id": "1", "Name": "System", "Manufacturer": "Contoso", "Model": "C1",
                 "SerialNumber": "SN1", "PowerState": "On", "Status": {"State": "Enabled", "Health": "OK"},
                 "Links": {"ManagedBy": [link(MANAGER)], "Chassis": [link(CHASSIS)]},
                 "Actions": {"#ComputerSystem.Reset": {"target": f"{SYSTEM}/Actions/ComputerSystem.Reset",
                                                       "ResetType@Redfish.AllowableValues": ["On", "ForceOff"]}}},
        MANAGER: {"@odata.id": MANAGER, "Id": "1", "Name": "Manager", "ManagerType": "BMC", "FirmwareVersion": "1.0",
                  "Status": {"State": "Enabled", "Health": "OK"}},
        CHASSIS: {"@odata.id": CHASSIS, "Id": "1", "Name": "Chassis", "ChassisType": "RackMount",
                  "Status": {"State": "Enabled", "Health": "OK"}},
    }


class Bmcs:
    """`count` BMCs of one kind, box001 and so on: their servers, and files in `folder`. `trees` replaces the resources,
    by number from 0; `server`: the class."""

    def __init__(self, count=1, trees=None, *, server=DumpServer, **options):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="weft_oob_bmcs_"))
        (self.folder / "empty").mkdir()
        self.state = self.folder / "state"
        self.certificate, key = make_certificate(self.folder)
        self.options = {"password": PASSWORD, "certificate": self.certificate, "key": key} | options
        self.servers = [server(self.folder / "empty", changes=(trees or {}).get(i) or small_tree(), **self.options)
                        for i in range(count)]
        self.write_files()

    def write_files(self, defaults="", endpoint=""):
        """`defaults` and `endpoint`: YAML for the endpoints file, such as `ca: file`."""
        (self.folder / "cluster.yaml").write_text(
            "weft: 1\nname: small\npools:\n"
            f"  - {{name: box, role: training, server: hgx-h100, count: {len(self.servers)}, per_rack: 1}}\n",
            encoding="utf-8")
        lines = ["weft_endpoints: 1", *([f"defaults: {{{defaults}}}"] if defaults else []), "endpoints:"]
        for i, server in enumerate(self.servers):
            more = f", {endpoint}" if endpoint else ""
            lines.append(f"  box{i + 1:03}: {{host: 127.0.0.1, port: {server.port}, protocol: redfish{more}}}")
        (self.folder / "endpoints.yaml").write_text("\n".join(lines) + "\n", encoding="utf-8")
        self.write_credentials(PASSWORD)

    def write_credentials(self, password):
        path = self.folder / "credentials.yaml"
        path.write_text(f"weft_credentials: 1\ndefault: {{user: root, password: {password}}}\n", encoding="utf-8")
        path.chmod(0o600)

    def line(self, *words, credentials=True):
        """The command line of `weft oob WORDS...`; the first word names the command."""
        given = [] if not credentials else ["--credentials", f"file:{self.folder}/credentials.yaml"]
        return [lab.EXECUTABLE, "oob", *words, "--endpoints", str(self.folder / "endpoints.yaml"), "--state",
                str(self.state), "--syslog", "none", "--timeout", "30s", *given]

    def variables(self):
        variables = {key: value for key, value in os.environ.items() if not key.startswith(("WEFT_", "XDG_"))}
        return variables | {"HOME": str(self.folder)}

    def run(self, command, *words, code=0, credentials=True, **more):
        """Runs `weft oob COMMAND CLUSTER WORDS...`, where the command may be "power off": (output, errors).
        `code` None: any exit code."""
        hosts = () if words and words[0].startswith("box") else ("@box",)
        line = self.line(*command.split(), str(self.folder / "cluster.yaml"), *hosts, *words, credentials=credentials)
        done = subprocess.run(line, capture_output=True, text=True, env=self.variables() | more.pop("env", {}),
                              timeout=120, check=False, **more)
        said = f"{line}: exit code {done.returncode}, expected {code}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
        assert code is None or done.returncode == code, said
        return done.stdout, done.stderr

    def json(self, command, *words, code=0, **more):
        return json.loads(self.run(command, *words, "-o", "json", code=code, **more)[0])

    def trust(self, *words, code=0, **more):
        return self.run("trust", *words, code=code, credentials=False, **more)

    def journal(self):
        """The entries of the journal."""
        path = self.state / "journal.ndjson"
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []

    def close(self):
        for server in self.servers:
            server.close()
        shutil.rmtree(self.folder, ignore_errors=True)
