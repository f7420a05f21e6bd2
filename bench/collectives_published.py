#!/usr/bin/env python3
"""bench/collectives_published.py WEFT [CSV]: `weft sim nccl` with its defaults beside the published results of
bench/collectives_published.csv (or another file in its format), as a Markdown table: mean of the absolute errors of the
time, mean of the errors, and worst.

Each table's servers are put on a rail-optimized backend without oversubscription. Sizes between those that weft
prints (powers of two) are interpolated.
"""

import csv
import json
import os
import subprocess
import sys
import tempfile

CLUSTER = """weft: 1
name: published
profile: converged
site: {{row_length: 56, switches: row}}
pools:
  - {{name: train, role: training, server: {server}, count: {servers}}}
fabrics:
  backend: {{network: {network}, leaf: {leaf}, wiring: rail-optimized, oversubscription: 1:1}}
  frontend: {{subnets: [10.20.0.0/16]}}
"""


def predict(weft, folder, row):
    """Microseconds by bytes."""
    path = os.path.join(folder, f"{row['server']}-{row['servers']}.yaml")
    with open(path, "w", encoding="utf-8") as file:
        network = "ethernet" if row["leaf"].startswith("sn") else "infiniband"
        file.write(CLUSTER.format(network=network, **row))
    command = [weft, "sim", "nccl", path, "--ranks", row["gpus"], "--op", row["operation"], "--min-bytes", "1MiB", "-o", "json"]
    if row["nccl"]:
        command += ["--nccl", row["nccl"]]
    result = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    return {one["size_bytes"]: one["time_us"] for one in result["collective"]}


def interpolate(times, size):
    below = max(known for known in times if known <= size)
    above = min(known for known in times if known >= size)
    if below == above:
        return times[below]
    return times[below] + (times[above] - times[below]) * (size - below) / (above - below)


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    path = sys.argv[2] if len(sys.argv) == 3 else os.path.splitext(os.path.abspath(__file__))[0] + ".csv"
    with open(path, encoding="utf-8") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    errors = {}
    with tempfile.TemporaryDirectory() as folder:
        predicted = {}
        for row in rows:
            key = (row["table"], row["gpus"], row["operation"], row["nccl"])
            if key not in predicted:
                predicted[key] = predict(os.path.abspath(sys.argv[1]), folder, row)
            weft = interpolate(predicted[key], int(row["bytes"]))
            errors.setdefault(key, []).append(weft / float(row["time_us"]) - 1)
    print("| table | GPUs | operation | rows | mean | bias | worst |\n|---|---|---|---|---|---|---|")
    means = []
    for (table, gpus, operation, _), found in errors.items():
        means.append(100 * sum(map(abs, found)) / len(found))
        print(f"| {table} | {gpus} | {operation} | {len(found)} | {means[-1]:.1f} % | {100 * sum(found) / len(found):+.1f} % | "
              f"{100 * max(found, key=abs):+.1f} % |")
    every = [abs(error) for found in errors.values() for error in found]
    print(f"\n{len(every)} rows: {100 * sum(every) / len(every):.1f} % by row, {sum(means) / len(means):.1f} % by table")


if __name__ == "__main__":
    main()
