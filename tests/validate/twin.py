#!/usr/bin/env python3
"""The twin beside published runs, through the command line: `tests/validate/twin.py WEFT [--quick]`.

The rows and their inputs were written down before the first run of any of them. What a source does not publish is swept
and shown as a range, never chosen. Sources are in docs/validation.md. Prints Markdown tables.
"""

import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

NODE_DAYS = 1000


def fault_file(causes, **settings):
    """A fault file; each cause is a mapping of keys. Without further settings nothing but the causes happens."""
    lines = ["faults: 1"]
    lines += [f"{key}: {value}" for key, value in settings.items()]
    lines.append("causes:")
    for number, cause in enumerate(causes):
        keys = {"name": f"cause-{number}", "effect": "exit", "restart": 100} | cause
        keys["rate"] = round(keys["rate"] * 1000)  # per 1,000 to per million node-days
        lines.append("  - {" + ", ".join(f"{key}: {value}" for key, value in keys.items()) + "}")
    return "\n".join(lines) + "\n"


class Twin:
    def __init__(self, weft):
        self.weft = weft
        self.folder = tempfile.TemporaryDirectory()

    def run(self, nodes, days, *options, faults=None, spares=0, seeds=1):
        """Mean ETTR and interruptions over the seeds, and the standard error of the ETTR."""
        arguments = [self.weft, "twin", "run", "--plain", f"{nodes + spares}x8", "--spares", str(spares)]
        arguments += ["--days", str(days), "-o", "json", *options]
        if faults is not None:
            path = Path(self.folder.name) / "faults.yaml"
            path.write_text(faults)
            arguments += ["--faults", str(path)]
        ratios, counts = [], []
        for seed in range(1, seeds + 1):
            done = subprocess.run([*arguments, "--seed", str(seed)], capture_output=True, text=True, check=False)
            if done.returncode != 0:
                sys.exit(f"{' '.join(arguments)}\n{done.stderr}")
            facts = json.loads(done.stdout)["run"]
            ratios.append(facts["ettr"])
            counts.append(facts["interruptions"])
        mean = sum(ratios) / len(ratios)
        spread = math.sqrt(sum((each - mean) ** 2 for each in ratios) / max(1, len(ratios) - 1))
        return mean, sum(counts) / len(counts), spread / math.sqrt(len(ratios))


def percent(share):
    return f"{share * 100:.1f} %"


def table(title, columns, rows):
    print(f"\n{title}\n")
    print("| " + " | ".join(columns) + " |")
    print("|" + "---|" * len(columns))
    for row in rows:
        print("| " + " | ".join(str(each) for each in row) + " |", flush=True)


def rsc(twin, quick):
    """Meta RSC: the published statements about E[ETTR], with their inputs; the twin adds what its control plane costs."""
    rows = []
    statements = [
        # source, nodes, rate, restart, interval, stall, published, formula
        ("RSC-1 as one job, hourly checkpoints (v1)", 2000, 6.50, 300, "60m", 0, "0.7", 0.684),
        ("the same, every 5 min (v1)", 2000, 6.50, 300, "5m", 0, "0.93", 0.932),
        ("8,000 GPUs, every 30 min, queue 1 min (v1)", 1000, 6.50, 360, "30m", 0, "0.9", 0.905),
        ("12,000 GPUs, writes of 10 s, Daly-Young (v2)", 1500, 6.50, 300, "7m", 10, ">= 0.9", 0.921),
    ]
    for name, nodes, rate, restart, interval, stall, published, formula in statements:
        faults = fault_file([{"rate": rate}])
        days = 2 if quick else 8
        ettr, _, error = twin.run(nodes, days, "--restart", f"{restart}s", "--interval", interval, "--checkpoint-stall",
                                  f"{stall}s", faults=faults, seeds=1 if quick else 3)
        rows.append((name, published, f"{formula:.3f}", f"{ettr:.3f} ± {2 * error:.3f}"))
    table("RSC (Kokolis et al., 2024), statements", ("statement", "published", "its formula", "twin"), rows)
    rows = []
    for gpus in (256, 512, 1024, 2048, 4096):
        nodes = gpus // 8
        faults = fault_file([{"rate": 6.50}])
        ettr, count, error = twin.run(nodes, 7, "--restart", "300s", "--interval", "60m", "--checkpoint-stall", "0s",
                                      faults=faults, seeds=4 if quick else 16)
        expected = 1 - nodes * 6.5e-3 / 1440 * (5 + 30)
        rows.append((f"{gpus:,}", f"{expected:.3f}", f"{ettr:.3f} ± {2 * error:.3f}", f"{count:.1f}"))
    table("RSC, runs of a week by size (6.5 per 1,000 node-days, hourly checkpoints, restart 5 min)",
          ("GPUs", "its formula", "twin", "interruptions"), rows)


def llama(twin, quick):
    days = 4 if quick else 54
    rows = []
    for restart, stall in (("2m", "5s"), ("5m", "30s"), ("10m", "60s")):
        ettr, count, _ = twin.run(2048, days, "--restart", restart, "--checkpoint-stall", stall, spares=64)
        rows.append((restart, stall, f"{count:.0f}", percent(ettr)))
    table(f"Llama 3, 16,384 GPUs, {days} days: 419 unexpected interruptions, more than 90 % effective",
          ("restart", "checkpoint stall", "interruptions", "ETTR"), rows)


def byterobust(twin, quick):
    """9,600 GPUs for three months: 175 incidents, by how they were resolved (table 4), with tables 3, 6 and 7."""
    rate = lambda count: count / (1200 * 91) * NODE_DAYS  # noqa: E731
    causes = [
        {"name": "evicted", "rate": rate(128), "restart": 0, "power_cycle": 0, "detect": "10s", "repair": "24h"},
        {"name": "update", "rate": rate(20)},
        {"name": "implicit", "rate": rate(15), "effect": "hang", "abort": "10m"},
        {"name": "rollback", "rate": rate(12), "effect": "hang", "abort": "4289s"},
    ]
    rows = []
    days = 10 if quick else 91
    for restart, how in (("65s", "warm standby and hot update: 46 to 65 s"), ("700s", "requeue: 635 to 768 s")):
        ettr, count, _ = twin.run(1200, days, "--restart", restart, "--interval", "60s", "--checkpoint-stall", "0s",
                                  faults=fault_file(causes, respond="30m"), spares=24)
        rows.append((how, f"{count:.0f}", percent(ettr)))
    table(f"ByteRobust, dense job, 9,600 GPUs, {days} days: 175 incidents, up to 97 %",
          ("restart", "incidents", "ETTR"), rows)


def megascale(twin, quick):
    """More than 10,000 GPUs for several weeks: more than 100 restarts, more than 90 %."""
    rows = []
    for weeks in (1,) if quick else (3, 6):
        faults = fault_file([{"rate": 3.79, "effect": "hang", "abort": "10m"}])
        ettr, count, _ = twin.run(1250, weeks * 7, "--restart", "7m", "--interval", "16m", "--checkpoint-stall", "5s",
                                  faults=faults)
        rows.append((weeks, f"{count:.0f}", percent(ettr)))
    table("MegaScale, 10,000 GPUs: more than 100 restarts in several weeks, more than 90 %",
          ("weeks", "restarts", "ETTR"), rows)


def bloom(twin, quick):
    """48 nodes, 108 days; 1 to 2 GPU failures a week; three hangs of 18, 6 and 11 h; 40 s per save, every 2.9 h."""
    rows = []
    for restart in ("5m", "60m"):
        causes = [
            {"name": "gpu", "rate": 1.5 / (48 * 7) * NODE_DAYS, "restart": 0, "detect": "60s", "repair": "24h"},
            {"name": "hang", "rate": 3 / (48 * 108.4) * NODE_DAYS, "effect": "hang", "abort": f"{35 // 3}h"},
        ]
        ettr, count, error = twin.run(48, 108.4, "--restart", restart, "--interval", "175m", "--checkpoint-stall",
                                      "40s", faults=fault_file(causes, respond="30m"), spares=4, seeds=2 if quick else 20)
        rows.append((restart, f"{count:.1f}", f"{percent(ettr)} ± {200 * error:.1f} points"))
    table("BLOOM, 384 GPUs, 108 days: 92.2 to 93.3 % (iterations times step time over the time)",
          ("restart", "interruptions", "ETTR"), rows)


def main():
    quick = "--quick" in sys.argv
    names = [each for each in sys.argv[2:] if not each.startswith("--")]
    twin = Twin(sys.argv[1])
    for each in (rsc, bloom, byterobust, megascale, llama):
        if not names or each.__name__ in names:
            each(twin, quick)


main()
