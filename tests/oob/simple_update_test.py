#!/usr/bin/env python3
"""`weft oob firmware update --image-uri`: the SimpleUpdate action of DSP0268 (UpdateService), where the BMC fetches the
image by itself. The service here has no other way to take one.
simple_update_test.py EXECUTABLE [PATTERN...]
"""

import json
import threading
import unittest

from small_bmc import ROOT, Bmcs, DumpServer, collection, link, small_tree
from lab import run_tests

SERVICE = f"{ROOT}/UpdateService"
ACTION = f"{SERVICE}/Actions/UpdateService.SimpleUpdate"
INVENTORY = f"{SERVICE}/FirmwareInventory"
TASK = f"{ROOT}/TaskService/Tasks/1"
URI = "https://files.example/images/bmc-2.0.bin"
FAST = ("--poll", "50ms", "--quiet-time", "500ms", "--deadline", "20s")


def component(version):
    return {"@odata.id": f"{INVENTORY}/BMC", "Id": "BMC", "Name": "BMC firmware", "Version": version,
            "Updateable": True, "Status": {"State": "Enabled", "Health": "OK"}}


def tree():
    resources = small_tree()
    resources[f"{ROOT}/Systems/1"]["PowerState"] = "Off"
    resources[ROOT]["UpdateService"] = link(SERVICE)
    resources[SERVICE] = {
        "@odata.id": SERVICE, "Id": "UpdateService", "Name": "Update", "ServiceEnabled": True,
        "FirmwareInventory": link(INVENTORY),
        "Actions": {"#UpdateService.SimpleUpdate": {
            "target": ACTION, "TransferProtocol@Redfish.AllowableValues": ["HTTPS", "TFTP"]}}}
    resources[INVENTORY] = collection(INVENTORY, f"{INVENTORY}/BMC")
    resources[f"{INVENTORY}/BMC"] = component("1.0")
    return resources


class Fetcher(DumpServer):
    """Answers with a task, which has read the image after it was looked at a few times. `fate`: what becomes of it."""

    fate = "installed"

    def __init__(self, *words, **options):
        self.bodies, self.looks = [], 0
        self.guard = threading.Lock()
        super().__init__(*words, **options)
        read = self.tree.read
        self.tree.read = lambda target: self.look(target) or read(target)

    def look(self, target):
        """The task proceeds as it is looked at, so that nothing depends on time."""
        if target.rstrip("/") != TASK:
            return None
        with self.guard:
            self.looks += 1
            if self.looks < 3:
                state = {"TaskState": "Running", "PercentComplete": 20 * self.looks}
            elif self.fate == "installed":
                state = {"TaskState": "Completed", "TaskStatus": "OK", "PercentComplete": 100}
                self.tree.changes[f"{INVENTORY}/BMC"] = component("2.0")
            else:
                state = {"TaskState": "Exception", "TaskStatus": "Critical",
                         "Messages": [{"Message": "The image could not be read from the server."}]}
        body = json.dumps({"@odata.id": TASK, "Id": "1", "Name": "Update"} | state)
        return 200, "application/json", body.encode()

    def posted(self, path, body):
        if path != ACTION:
            return None
        with self.guard:
            self.bodies.append(body)
        if self.fate == "lost":
            return "close"
        if self.fate == "refused":
            error = {"error": {"code": "Base.1.8.ActionParameterNotSupported", "message": "No such host.",
                               "@Message.ExtendedInfo": [{"MessageId": "Base.1.8.ActionParameterNotSupported",
                                                          "Message": "No such host."}]}}
            return 400, error, ()
        return 202, {"@odata.id": TASK, "Id": "1", "Name": "Update", "TaskState": "New"}, (("Location", TASK),)


class SimpleUpdate(unittest.TestCase):
    def update(self, fate, *more, code=0):
        bmcs = Bmcs(trees={0: tree()}, server=Fetcher)
        self.addCleanup(bmcs.close)
        bmcs.servers[0].fate = fate
        bmcs.trust("--yes")
        rows = bmcs.json("firmware update", "box001", "--image-uri", URI, "--component", "BMC", "--expect", "2.0",
                         "--reason", "test", "--yes", *FAST, *more, code=code)["outcomes"]
        self.assertEqual([row["device"] for row in rows], ["box001"])
        return bmcs, rows[0]

    def test_the_bmc_fetches_the_image(self):
        bmcs, row = self.update("installed")
        self.assertEqual(row["end"], "done", row)
        self.assertEqual(bmcs.servers[0].bodies,
                         [{"ImageURI": URI, "TransferProtocol": "HTTPS", "Targets": [f"{INVENTORY}/BMC"]}])

    def test_an_address_that_the_bmc_refuses(self):
        bmcs, row = self.update("refused", code=3)
        self.assertNotIn(row["end"], ("done", "staged"), row)
        self.assertIn("No such host", json.dumps(row))
        self.assertEqual(len(bmcs.servers[0].bodies), 1)

    def test_an_image_that_the_bmc_cannot_read(self):
        bmcs, row = self.update("unreadable", code=3)
        self.assertNotIn(row["end"], ("done", "staged"), row)
        self.assertIn("could not be read", json.dumps(row))
        self.assertEqual(len(bmcs.servers[0].bodies), 1)

    def test_a_lost_answer_is_not_asked_for_again(self):
        bmcs, row = self.update("lost", code=3)
        self.assertNotIn(row["end"], ("done", "staged"), row)
        self.assertEqual(len(bmcs.servers[0].bodies), 1, "an image whose fate is not known is never sent again")


if __name__ == "__main__":
    run_tests()
