"""Debian's Chromium, driven by chromedriver over HTTP (WebDriver, https://www.w3.org/TR/webdriver2/)."""

import contextlib
import http.client
import json
import os
import re
import shutil
import subprocess
import tempfile
import time

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the key of an element's reference (WebDriver, section 12.1)
ARGUMENTS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--no-proxy-server",
             "--disable-background-networking", "--disable-component-update", "--disable-sync",
             "--disable-dev-shm-usage",
             "--hide-scrollbars", "--lang=en")


class Driver:
    """A chromedriver and its browsers."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="weft_chromium_")
        environment = {**os.environ, "HOME": self.folder, "LANG": "C.UTF-8"}
        self.process = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        text=True,
                                        env=environment)
        while True:
            line = self.process.stdout.readline()
            if not line:
                raise RuntimeError("chromedriver ended")
            found = re.search(r"started successfully on port (\d+)", line)
            if found:
                self.port = int(found.group(1))
                break
        self.count = 0
        self.sessions = []

    def request(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        content = None if body is None else json.dumps(body)
        connection.request(method, path, content, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        value = json.loads(answer.read())["value"]
        connection.close()
        if answer.status != 200:
            raise DriverError(value)
        return value

    def open(self, requests=False):
        """With `requests`, Page.requests() tells what the browser asked for."""
        self.count += 1
        options = {"args": [*ARGUMENTS, f"--user-data-dir={self.folder}/{self.count}"],
                   "binary": shutil.which("chromium")}
        wanted = {"browserName": "chrome", "acceptInsecureCerts": True, "goog:chromeOptions": options,
                  "goog:loggingPrefs": {"browser": "ALL", **({"performance": "ALL"} if requests else {})}}
        session = self.request("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]
        self.sessions.append(session)
        return Page(self, session)

    def close(self):
        for session in self.sessions:  # a browser outlives its driver
            with contextlib.suppress(DriverError):
                self.request("DELETE", f"/session/{session}")
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class DriverError(Exception):
    def __init__(self, value):
        super().__init__(f"{value['error']}: {value['message'][:300]}")
        self.name = value["error"]


class Page:
    """A browser with one window."""

    def __init__(self, driver, session):
        self.driver, self.session = driver, session

    def send(self, method, path, body=None):
        return self.driver.request(method, f"/session/{self.session}{path}", body)

    def close(self):
        self.send("DELETE", "")

    def open(self, url):
        self.send("POST", "/url", {"url": url})

    @property
    def url(self):
        return self.send("GET", "/url")

    def run(self, script, *arguments):
        return self.send("POST", "/execute/sync", {"script": script, "args": arguments})

    def run_async(self, script, *arguments):
        """A script that returns a promise: its value, or {"error": ...}."""
        return self.send("POST", "/execute/async", {"script": "const done = arguments[arguments.length - 1];"
                                                    f"(async (...given) => {{ {script} }})(...arguments)"
                                                    ".then(done, (error) => done({error: String(error)}));",
                                                    "args": arguments})

    def find(self, selector):
        """The element, once it is there."""
        while True:
            try:
                return self.send("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT]
            except DriverError as error:
                if error.name not in ("no such element", "stale element reference"):
                    raise
            time.sleep(0.02)

    def count(self, selector):
        return len(self.send("POST", "/elements", {"using": "css selector", "value": selector}))

    def click(self, selector):
        self.send("POST", f"/element/{self.find(selector)}/click", {})

    def type(self, selector, text):
        self.send("POST", f"/element/{self.find(selector)}/value", {"text": text})

    def text(self, selector="body"):
        while True:
            try:
                return self.send("GET", f"/element/{self.find(selector)}/text")
            except DriverError as error:  # the page was replaced in between
                if error.name != "stale element reference":
                    raise

    def wait_for(self, condition):
        while not condition():
            time.sleep(0.02)

    def cookies(self):
        return {cookie["name"]: cookie for cookie in self.send("GET", "/cookie")}

    def devtools(self, command, **parameters):
        return self.send("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def history(self):
        return [entry["url"] for entry in self.devtools("Page.getNavigationHistory")["entries"]]

    def messages(self):
        """Of the console since the last call."""
        return [entry["message"] for entry in self.send("POST", "/se/log", {"type": "browser"})]

    def requests(self):
        """Addresses that were asked for since the last call, of a browser that was opened with `requests`."""
        said = [json.loads(entry["message"])["message"] for entry in self.send("POST", "/se/log", {"type": "performance"})]
        return [one["params"]["request"]["url"] for one in said if one["method"] == "Network.requestWillBeSent"]
