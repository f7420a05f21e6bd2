#!/usr/bin/python3
"""The HTML pages and pictures that commands write, in Debian's Chromium. Usage: pages_test.py EXECUTABLE [PATTERN...]

Each page is opened from disk at 390 and 1440 px, in light and dark: no message on the console, no request but the file
itself, no page wider than its window, and text with a contrast of at least 4.5 (WCAG 2.1, 1.4.3). With
WEFT_TEST_PICTURES=FOLDER the pages are saved there as PNG.
"""

import base64
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(SOURCE / "tests/api"))
import lab  # noqa: E402  pylint: disable=wrong-import-position
from chromium import Driver  # noqa: E402  pylint: disable=wrong-import-position
from lab import needs_program, run_tests  # noqa: E402  pylint: disable=wrong-import-position

WIDTHS = (390, 1440)
THEMES = ("light", "dark")
EVIL = "</script><script>document.documentElement.dataset.taken=1</script>\"'><img src=x onerror=alert(1)>"
# The contrast of each visible text to what is painted behind it: for SVG the shape under its center, else the nearest
# background. Returns those below 4.5.
CONTRAST = r"""
const numbers = (color) => (color.match(/[\d.]+/g) || []).map(Number);
const mix = (top, under) => {
  const a = top.length > 3 ? top[3] : 1;
  return [0, 1, 2].map((i) => top[i] * a + under[i] * (1 - a));
};
const light = (c) => {
  const [r, g, b] = c.map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const ratio = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
const canvas = numbers(getComputedStyle(document.body).backgroundColor);
const behind = (element) => {
  const layers = [];
  for (let at = element; at instanceof HTMLElement; at = at.parentElement) {
    const color = numbers(getComputedStyle(at).backgroundColor);
    if (color.length === 3 || color[3] > 0) layers.push(color);
    if (color.length === 3) break;
  }
  return layers.reverse().reduce((under, top) => mix(top, under), canvas.slice(0, 3));
};
const bad = [], seen = new Set();
const judge = (element, ink, paper) => {
  const got = ratio(mix(ink, paper), paper);
  if (got >= 4.5) return;
  const text = `${element.tagName} ${element.textContent.trim().slice(0, 40)}: ${got.toFixed(2)}`;
  if (!seen.has(text)) bad.push(text);
  seen.add(text);
};
let count = 0;
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  if (!walker.currentNode.textContent.trim() || !(element instanceof HTMLElement)) continue;
  if (['SCRIPT', 'STYLE', 'NOSCRIPT'].includes(element.tagName) || !element.checkVisibility()) continue;
  const style = getComputedStyle(element);
  if (style.visibility === 'hidden' || parseFloat(style.fontSize) === 0) continue;
  count += 1;
  judge(element, numbers(style.color), behind(element));
}
for (const svg of document.querySelectorAll('svg')) {
  const painted = [], under = behind(svg.parentElement);
  const inside = (element) => {  // its box, without a rotation
    const b = element.getBBox();
    if (!element.hasAttribute('transform')) return b;
    const [, angle, x, y] = element.getAttribute('transform').match(/rotate\(([^ )]+) ?([^ )]*) ?([^ )]*)\)/).map(Number);
    const middle = new DOMPoint(b.x + b.width / 2, b.y + b.height / 2);
    const turned = middle.matrixTransform(new DOMMatrix().translate(x, y).rotate(angle).translate(-x, -y));
    return {x: turned.x, y: turned.y, width: 0, height: 0};
  };
  for (const element of [...svg.querySelectorAll('rect,circle,text')].slice(0, 3000)) {
    if (element.closest('pattern')) continue;
    const style = getComputedStyle(element), fill = numbers(style.fill), b = inside(element);
    if (element.tagName !== 'text') {
      if (style.fill.startsWith('rgb')) painted.push({b, color: [...fill.slice(0, 3), Number(style.opacity)]});
      if (style.fill.startsWith('url')) painted.push({b, color: null});
      continue;
    }
    const x = b.x + b.width / 2, y = b.y + b.height / 2;
    const layers = painted.filter(({b: r}) => x >= r.x && x <= r.x + r.width && y >= r.y && y <= r.y + r.height);
    count += 1;
    if (layers.some(({color}) => color === null)) continue;  // a hatch has no single color
    judge(element, fill, layers.reduce((below, {color}) => mix(color, below), under));
  }
}
return {bad, count};
"""


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not shutil.which("chromium") or not shutil.which("chromedriver"):
            return  # setUp() skips each test
        cls.folder = tempfile.mkdtemp(prefix="weft_pages_")
        cls.addClassCleanup(shutil.rmtree, cls.folder, True)
        cls.driver = Driver()
        cls.addClassCleanup(cls.driver.close)
        cls.page = cls.driver.open(requests=True)
        cls.pictures = os.environ.get("WEFT_TEST_PICTURES", "")

    def setUp(self):
        needs_program("chromium")
        needs_program("chromedriver")

    def weft(self, *arguments):
        done = subprocess.run([lab.EXECUTABLE, *map(str, arguments)], cwd=self.folder, capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def put(self, name, text):
        path = pathlib.Path(self.folder, name)
        path.write_text(text, encoding="utf-8")
        return path

    def open(self, name, width=1440, theme="light"):
        page = self.page
        page.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])
        page.devtools("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        page.open("about:blank")
        page.messages()
        page.requests()
        page.open(f"file://{self.folder}/{name}")

    def check(self, name):
        """What holds for every page."""
        for theme in THEMES:
            for width in WIDTHS:
                with self.subTest(f"{name} {theme} {width}"):
                    self.open(name, width, theme)
                    self.save(f"{name}-{theme}-{width}")
                    self.assertLessEqual(self.page.run("return document.documentElement.scrollWidth"), width)
                    self.page.run("for (const fold of document.querySelectorAll('details')) fold.open = true")
                    self.assertLessEqual(self.page.run("return document.documentElement.scrollWidth"), width)
                    contrast = self.page.run(CONTRAST)
                    self.assertEqual(contrast["bad"], [])
                    self.assertGreater(contrast["count"], 20)
                    self.assertEqual(self.page.messages(), [])
                    self.assertEqual(self.page.requests(), [f"file://{self.folder}/{name}"])
        self.assertEqual(self.page.run("return document.documentElement.lang"), "en")
        self.assertNotEqual(self.page.run("return document.title"), "")
        policy = self.page.run("return document.querySelector('meta[http-equiv=Content-Security-Policy]').content")
        self.assertIn("default-src 'none'", policy)
        self.assertEqual(self.page.run("""return [...document.querySelectorAll('table')].filter((table) =>
            !table.querySelector('th[scope]')).length"""), 0)
        self.assertEqual(self.page.run("""return [...document.querySelectorAll('[id]')].map((e) => e.id)
            .filter((id, i, all) => all.indexOf(id) !== i)"""), [])
        self.assertEqual(self.page.run("""return [...document.querySelectorAll('[aria-labelledby],[aria-labeledby]')]
            .filter((e) => !(e.getAttribute('aria-labelledby') || '-').split(' ')
            .every((id) => document.getElementById(id))).length"""), 0)

    def save(self, name):
        if self.pictures:
            height = self.page.run("return Math.min(document.documentElement.scrollHeight, 12000)")
            picture = self.page.devtools(
                "Page.captureScreenshot", format="png", captureBeyondViewport=True,
                clip={"x": 0, "y": 0, "width": self.page.run("return innerWidth"), "height": height, "scale": 1})["data"]
            pathlib.Path(self.pictures, f"{name}.png").write_bytes(base64.b64decode(picture))

    def key(self, key, code=0):
        for kind in ("keyDown", "keyUp"):
            text = {"text": key} if len(key) == 1 and kind == "keyDown" else {}
            self.page.devtools("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, **text)

    def mouse(self, kind, x, y, **more):
        self.page.devtools("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def middle(self, selector):
        return self.page.run("""const e = document.querySelector(arguments[0]);
            e.scrollIntoView({block: 'center', behavior: 'instant'}); const box = e.getBoundingClientRect();
            return [box.x + box.width / 2, box.y + box.height / 2]""", selector)

    def click(self, selector):
        x, y = self.middle(selector)
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", clickCount=1)

    def focus_is_seen(self):
        """Tab moves the focus to a control that has an outline."""
        self.page.run("document.activeElement.blur(); scrollTo(0, 0)")
        seen = 0
        for _ in range(12):
            self.key("Tab", 9)
            seen += self.page.run("""const e = document.activeElement, style = getComputedStyle(e);
                return e !== document.body && style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2
                    ? 1 : 0""")
        self.assertGreaterEqual(seen, 10)

    # weft sim life --page

    def life(self):
        if not pathlib.Path(self.folder, "life.html").exists():
            self.weft("sim", "life", SOURCE / "examples/pod32.yaml", SOURCE / "examples/llama-70b.job.yaml",
                      "--no-what-if", "--page", "life.html")

    def test_life(self):
        self.life()
        self.check("life.html")
        self.focus_is_seen()

    def test_life_events_are_folded_and_found(self):
        self.life()
        self.open("life.html")
        page = self.page
        self.assertEqual(page.run("return document.querySelectorAll('.events details[open]').length"), 0)
        events = page.run("return document.querySelectorAll('.event-row').length")
        self.assertGreater(events, 30)
        page.type("#find", "NVMe-oF")
        left = page.run("""return [...document.querySelectorAll('.event-row')].filter((row) => row.checkVisibility())
            .map((row) => row.textContent)""")
        self.assertGreater(len(left), 1)
        self.assertLess(len(left), events)
        for text in left:
            self.assertIn("nvme-of", text.lower())
        self.assertIn(f"{len(left)} of {events} events", page.text("#found"))
        page.run("const f = document.getElementById('find'); f.value = ''; f.dispatchEvent(new Event('input'))")
        self.assertEqual(page.run("return document.querySelectorAll('.events details[open]').length"), 0)

    def test_life_details(self):
        self.life()
        self.open("life.html")
        page = self.page
        # A strip of the picture opens its event.
        page.run("document.querySelector('[data-event]').dispatchEvent(new MouseEvent('click'))")
        self.assertEqual(page.run("return document.querySelectorAll('.event-row[open]').length"), 1)
        text = page.text(".event-row[open]")
        for word in ("When", "Takes", "Network", "Bytes"):
            self.assertIn(word, text)
        # The next operation that matches, from the keyboard of the timeline.
        page.type("#find", "tensor all-gather")
        page.click("#find-next")
        self.assertEqual(page.run("return document.documentElement.dataset.chosen"), "tensor all-gather")
        panel = page.text("#op")
        for word in ("Where", "When", "Takes", "Network", "Algorithm", "Exposed", "Why so long"):
            self.assertIn(word, panel)
        first = panel
        page.run("document.getElementById('tl').focus()")
        self.key("n", 78)
        self.assertNotEqual(page.text("#op"), first)
        # A click on a span chooses it: the first row of the first track is busy in the middle.
        page.run("const f = document.getElementById('find'); f.value = ''; f.dispatchEvent(new Event('input'));"
                 "document.querySelector('[data-do=all]').click(); delete document.documentElement.dataset.chosen;")
        page.run("document.getElementById('tl').scrollTop = 0")
        self.middle("#tl-tools")
        left, top, width = page.run("""const box = document.querySelector('#tl canvas').getBoundingClientRect();
            return [box.left, box.top, box.width]""")
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, left + 0.5 * width, top + 24 + 20 + 7, button="left", clickCount=1)
        self.assertTrue(page.run("return document.documentElement.dataset.chosen || ''"))
        self.assertEqual(page.messages(), [])

    def test_life_hands_its_trace_to_perfetto(self):
        self.life()
        self.open("life.html")
        page = self.page
        # The browser of the test has no network: another window that answers as Perfetto does.
        sent = page.run_async("""
            const posted = [];
            window.open = (url) => ({closed: false, postMessage: (message, origin) => {
              posted.push([url, origin, message]);
              if (message === 'PING') dispatchEvent(new MessageEvent('message', {origin, data: 'PONG'}));
            }});
            document.getElementById('perfetto').click();
            while (posted.length < 2) await new Promise((next) => setTimeout(next, 20));
            const {buffer, title} = posted[1][2].perfetto;
            return [posted[0][0], posted[0][2], posted[1][1], title, new TextDecoder().decode(buffer)];""")
        self.assertEqual(sent[:4], ["https://ui.perfetto.dev", "PING", "https://ui.perfetto.dev", "llama-70b on pod32"])
        events = json.loads(sent[4])["traceEvents"]
        spans = [event for event in events if event["ph"] == "X"]
        self.assertEqual(len(spans), int(page.run("return document.documentElement.dataset.spans")))
        self.assertTrue(all(event["dur"] >= 0 and event["pid"] > 0 and event["tid"] > 0 for event in spans))
        named = {(event["pid"], event["tid"]) for event in events if event["name"] == "thread_name"}
        self.assertTrue({(event["pid"], event["tid"]) for event in spans} <= named)
        # And as a file.
        page.devtools("Browser.setDownloadBehavior", behavior="allow", downloadPath=self.folder)
        page.run("document.getElementById('download').click()")
        path = pathlib.Path(self.folder, "life.json")
        page.wait_for(path.exists)
        self.assertEqual(json.loads(path.read_text())["traceEvents"], events)

    # weft sched replay --page

    def test_schedule(self):
        self.weft("sched", "replay", SOURCE / "examples/pod32.yaml", SOURCE / "examples/week.jobs.csv", "--policy",
                  "fifo,greedy,easy,conservative,shortest,drf,weft", "--page", "schedule.html")
        self.check("schedule.html")
        text = self.page.text()
        for word in ("Which policy", "Better", "Worse", "fifo", "weft"):
            self.assertIn(word, text)
        self.assertEqual(self.page.run("return document.querySelectorAll('.choice article').length"), 7)
        self.assertEqual(self.page.run("return document.scripts.length"), 0)
        self.focus_is_seen()

    # weft twin run --page

    def test_twin(self):
        self.weft("twin", "run", "--plain", "64x8", "--spares", "2", "--fault-rate", "4", "--page", "twin.html")
        self.check("twin.html")
        text = self.page.text()
        for word in ("Effective training time ratio", "Goodput", "Where the GPU time went", "GPUs over time",
                     "Lost GPU-hours by cause", "Incidents over time", "Time out of service", "GPU fault"):
            self.assertIn(word, text)
        self.assertEqual(self.page.run("return document.scripts.length"), 0)

    def test_twin_of_a_trace(self):
        rows = ["name,tenant,submit,tasks,gpus,run_time"]
        rows += [f"{i},a,{7200 * i},{('1,1', '1,8', '4,8')[i % 3]},86400" for i in range(90)]
        self.put("jobs.csv", "\n".join(rows) + "\n")
        self.weft("twin", "run", "--plain", "8x8", "--jobs", "jobs.csv", "--days", "10", "--fault-rate", "20", "--page",
                  "trace.html")
        self.check("trace.html")
        self.assertIn("Effective training time ratio by job size", self.page.text())

    # weft design --goal --page

    def test_goal(self):
        self.weft("design", "--goal", "train llama-3.1-8b on 300B tokens in 12 days", "--gpu", "h100-sxm", "--network",
                  "ethernet", "--fault-rate", "20", "--max-power", "400kW", "--prices",
                  SOURCE / "examples/prices.yaml", "--page", "goal.html")
        self.check("goal.html")
        text = self.page.text()
        for word in ("Pareto front", "Power (MW) and days", "Cost (M USD) and days", "Why these designs",
                     "What one change would do", "Platforms", "micro-batch", "Assumptions"):
            self.assertIn(word, text)
        self.assertEqual(self.page.run("return document.scripts.length"), 0)

    # weft show page, and the pictures alone

    def test_cluster(self):
        self.weft("show", "page", SOURCE / "examples/pod32.yaml", "-f", "cluster.html")
        self.check("cluster.html")
        self.focus_is_seen()

    def test_cluster_zoom(self):
        self.weft("show", "page", SOURCE / "examples/pod32.yaml", "-f", "cluster.html")
        self.open("cluster.html")
        page = self.page
        zoom = lambda: float(page.run("return document.querySelector('#backend .zoom').dataset.zoom"))
        box = lambda: page.run("return document.querySelector('#backend svg').getAttribute('viewBox').split(' ').map(Number)")
        self.assertEqual(zoom(), 1)
        self.click("#backend [data-zoom-key='+']")
        self.assertAlmostEqual(zoom(), 1.6, 2)
        before = box()
        x, y = self.middle("#backend .zoom svg")
        self.mouse("mousePressed", x, y, button="left", clickCount=1)
        self.mouse("mouseMoved", x + 40, y + 10, button="left", buttons=1)
        self.mouse("mouseMoved", x + 80, y + 20, button="left", buttons=1)
        self.mouse("mouseReleased", x + 80, y + 20, button="left", clickCount=1)
        self.assertLess(box()[0], before[0])
        self.assertIsNone(page.run("return document.documentElement.dataset.chosen || null"))  # a drag chooses nothing
        page.run("document.querySelector('#backend .zoom').focus()")
        self.key("+", 187)
        self.assertAlmostEqual(zoom(), 2.56, 2)
        at = box()
        self.key("ArrowRight", 39)
        self.assertGreater(box()[0], at[0])
        self.mouse("mouseWheel", x, y, deltaX=0, deltaY=-200)
        page.wait_for(lambda: zoom() > 2.6)
        self.key("0", 48)
        self.assertEqual(zoom(), 1)
        # Two fingers that part.
        page.devtools("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=2)
        touch = lambda kind, *points: page.devtools(
            "Input.dispatchTouchEvent", type=kind,
            touchPoints=[{"x": px, "y": py, "id": i} for i, (px, py) in enumerate(points)])
        touch("touchStart", (x - 40, y), (x + 40, y))
        for gap in (60, 90, 120):
            touch("touchMove", (x - gap, y), (x + gap, y))
        touch("touchEnd")
        page.devtools("Emulation.setTouchEmulationEnabled", enabled=False)
        self.assertGreater(zoom(), 1.5)
        self.assertEqual(page.messages(), [])

    def test_cluster_devices(self):
        self.weft("show", "page", SOURCE / "examples/pod32.yaml", "-f", "cluster.html")
        cables = json.loads(self.weft("show", "cables", SOURCE / "examples/pod32.yaml", "-o", "json"))["cables"]
        of_host = [c for c in cables if "train001" in (c["a_device"], c["b_device"])]
        self.open("cluster.html")
        page = self.page
        page.type("#find", "train001")
        page.run("document.querySelector('#hits button').click()")
        self.assertEqual(page.run("return document.documentElement.dataset.chosen"), "train001")
        self.assertEqual(page.run("return document.querySelectorAll('#device tbody tr').length"), len(of_host))
        backend = [c for c in of_host if c["a_device"] == "train001" and c["b_device"].startswith("be-")]
        self.assertEqual(page.run("return document.querySelectorAll('#backend .lit').length"), len(backend))
        peers = {c["b_device"] for c in backend}
        near = set(page.run("""return [...document.querySelectorAll('#backend .near title')].map((t) =>
            t.textContent.split(':')[0])"""))
        self.assertEqual(near, peers)
        # On to a neighbor, and from a shape of the picture.
        page.run("document.querySelector('#device td button').click()")
        self.assertNotEqual(page.run("return document.documentElement.dataset.chosen"), "train001")
        page.run("document.getElementById('close').click()")
        self.assertEqual(page.run("return document.querySelectorAll('.own,.lit,.near').length"), 0)
        self.click("#backend rect[data-d]")
        self.assertTrue(page.run("return document.documentElement.dataset.chosen || ''"))
        self.assertEqual(page.messages(), [])

    def test_pictures_alone(self):
        """A picture has no script and follows the theme of its reader."""
        cluster = self.put("pod.yaml", "weft: 1\nname: pod\npools:\n  - {name: train, role: training, server: dgx-h100, "
                                       "count: 128, per_rack: 4}\nsite: {pdus_per_rack: 6}\n")
        self.weft("show", "svg-backend", cluster, "-f", "backend.svg")
        text = pathlib.Path(self.folder, "backend.svg").read_text(encoding="utf-8")
        self.assertNotIn("<script", text)
        for rail in range(1, 9):  # one bundle per rail and unit, not 1,024 links
            self.assertIn(f"rail {rail}: be-train-u001-leaf{rail} to train[001-064], 64 × 400G", text)
        self.assertLess(text.count("<path"), 40)
        colors = {}
        for theme in THEMES:
            self.open("backend.svg", 1440, theme)
            colors[theme] = self.page.run("return getComputedStyle(document.querySelector('rect')).fill")
            self.assertEqual(self.page.messages(), [])
        self.assertEqual(colors, {"light": "rgb(255, 255, 255)", "dark": "rgb(18, 22, 27)"})

    # Hostile names

    def test_hostile_names_stay_text(self):
        quoted = '"' + EVIL.replace('"', '""') + '"'
        rows = ["name,tenant,submit,gpus,run_time"]
        rows += [f"{i} {quoted[1:-1].replace(chr(34), '')},{quoted},{60 * i},{(1, 8)[i % 2]},600" for i in range(50)]
        name = "a<img src=x onerror=alert(1)>'.csv"
        self.put(name, "\n".join(rows) + "\n")
        self.weft("sched", "replay", "--plain", "2x8", name, "--policy", "fifo,weft", "--page", "evil.html")
        self.open("evil.html")
        self.assertIn("<img src=x onerror=alert(1)>", self.page.text())
        self.assertEqual(self.page.run("""return [document.documentElement.dataset.taken === undefined,
            document.querySelectorAll('img').length, document.scripts.length]"""), [True, 0, 0])
        self.assertEqual(self.page.messages(), [])
        self.weft("twin", "run", "--plain", "2x8", "--jobs", name, "--days", "1", "--page", "evil-twin.html")
        self.open("evil-twin.html")
        self.assertEqual(self.page.run("""return [document.documentElement.dataset.taken === undefined,
            document.querySelectorAll('img').length, document.scripts.length]"""), [True, 0, 0])
        self.assertEqual(self.page.messages(), [])
        # A name in a cluster file is a host name or a label: others are refused before a page is written.
        cluster = (SOURCE / "examples/pod32.yaml").read_text(encoding="utf-8")
        self.put("evil.yaml", cluster.replace("name: pod32", "name: " + json.dumps(EVIL)))
        done = subprocess.run([lab.EXECUTABLE, "show", "page", "evil.yaml", "-f", "none.html"], cwd=self.folder,
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertFalse(pathlib.Path(self.folder, "none.html").exists())


if __name__ == "__main__":
    run_tests()
