#!/usr/bin/env python3
"""bench/growth.py WEFT OUT.svg: CPU time of `weft sim traffic` against hosts, bytes and flows, as a log-log plot."""

import json
import math
import os
import subprocess
import sys

COLORS = {"packet": "#b3261e", "flow": "#1f5fbf", "analytic": "#2e7d32"}
SWEEPS = [
    ("hosts (permutation of 1 MB)", [16, 54, 128, 250, 432, 1024], lambda x: (x, "1MB", 1)),
    ("bytes of each transfer (128 hosts)", [10**5, 10**6, 10**7, 4 * 10**7], lambda x: (128, str(x), 1)),
    ("connections a host (128 hosts, 4 MB)", [1, 2, 4, 8, 16, 32], lambda x: (128, "4MB", x)),
]


def cpu_seconds(weft, fidelity, hosts, size, pairs):
    before = os.times()
    command = [weft, "sim", "traffic", "--topology", f"fat-tree:{hosts}", "-b", size, "--queue-pairs", str(pairs)]
    subprocess.run([*command, "--fidelity", fidelity, "-o", "json"], check=True, capture_output=True)
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return max(used, 0.005)


def panel(left, title, points):
    xs = sorted({x for series in points.values() for x, _ in series})
    x0, x1, y0, y1 = math.log10(xs[0]), math.log10(xs[-1]), -2.4, 1.8
    place = lambda x, y: (left + (math.log10(x) - x0) / (x1 - x0) * 240, 290 - (math.log10(y) - y0) / (y1 - y0) * 220)
    out = [f'<rect x="{left}" y="70" width="240" height="220" fill="none" stroke="#888"/>']
    out.append(f'<text x="{left + 120}" y="330" text-anchor="middle">{title}</text>')
    for power in range(-2, 2):
        _, y = place(xs[0], 10**power)
        out.append(f'<path d="M{left} {y:.1f}h240" stroke="#ddd"/><text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{10**power:g}</text>')
    for x in xs:
        px, _ = place(x, 1)
        label = f"{x / 1e6:g}M" if x >= 10**5 else str(x)
        out.append(f'<text x="{px:.1f}" y="306" text-anchor="middle">{label}</text>')
    for name, series in points.items():
        line = " ".join("%.1f,%.1f" % place(x, y) for x, y in series)
        out.append(f'<polyline points="{line}" fill="none" stroke="{COLORS[name]}" stroke-width="2"/>')
    return out


def main():
    weft, target = sys.argv[1:3]
    body = ['<text x="20" y="28" font-size="16" font-weight="bold">weft sim traffic: CPU time by size</text>']
    for i, name in enumerate(COLORS):
        body.append(f'<path d="M{20 + i * 110} 46h24" stroke="{COLORS[name]}" stroke-width="3"/><text x="{50 + i * 110}" y="50">{name}</text>')
    body.append('<text x="20" y="66">CPU seconds</text>')
    for i, (title, values, case) in enumerate(SWEEPS):
        points = {f: [(x, cpu_seconds(weft, f, *case(x))) for x in values] for f in COLORS}
        print(json.dumps({"sweep": title, "cpu_s": points}))
        body += panel(60 + i * 300, title, points)
    with open(target, "w", encoding="utf-8") as out:
        out.write('<svg xmlns="http://www.w3.org/2000/svg" width="940" height="350" font-family="sans-serif" font-size="11">')
        out.write('<rect width="940" height="350" fill="#fff"/>' + "".join(body) + "</svg>\n")


if __name__ == "__main__":
    main()
