#!/usr/bin/env python3
"""Compares `weft design --goal` with the GPU-hours of published training runs: tests/validate/goals.py WEFT [NAME...].

Each row asks for the published model, tokens, GPU, precision and batch in a time near the published one, and takes the
smallest design that weft finds. Nothing of weft is set by these figures. Publications count all GPU-hours of a model or of
its pre-training, restarts and experiments of its last configuration included; weft counts the GPUs of the job from
submission to the last step.
"""

import json
import subprocess
import sys

# name, goal, more words, published million GPU-hours, source
ROWS = [
    ("llama-3.1-8b", "train llama-3.1-8b on 15T tokens in 30 days", ["--gpu", "h100-sxm"], 1.46,
     "model card of Llama 3.1 (Meta, 2024), H100-80GB"),
    ("llama-3.1-70b", "train llama-3.1-70b on 15T tokens in 60 days", ["--gpu", "h100-sxm"], 7.0,
     "model card of Llama 3.1 (Meta, 2024), H100-80GB"),
    ("deepseek-v3", "train deepseek-v3 on 14.8T tokens in 60 days",
     ["--gpu", "h100-sxm", "--precision", "fp8", "--batch-tokens", "62914560"], 2.664,
     "DeepSeek-V3 Technical Report (2024), table 1: pre-training, H800; FP8, batches of 15,360 x 4,096 tokens"),
    ("llama-3.1-405b", "train llama-3.1-405b on 15.6T tokens in 78 days", ["--gpu", "h100-sxm", "--max-power", "30MW"],
     30.84, "model card of Llama 3.1 (Meta, 2024), H100-80GB"),
]
COMMON = ["--network", "ethernet", "--oversubscription", "1:1", "--data", "best", "--seeds", "1", "-o", "json"]


def main():
    executable, names = sys.argv[1], sys.argv[2:]
    print(f"{'model':16} {'published':>10} {'weft':>8} {'ratio':>6}  smallest design")
    for name, goal, words, published, source in ROWS:
        if names and name not in names:
            continue
        run = subprocess.run([executable, "design", "--goal", goal, *words, *COMMON], capture_output=True, text=True,
                             check=False)
        if run.returncode not in (0, 1):
            print(f"{name}: {run.stderr.strip()}", file=sys.stderr)
            return 1
        result = json.loads(run.stdout)
        point = result["front"][0]
        hours = point["gpus"] * point["days"] * 24 / 1e6
        print(f"{name:16} {published:8.2f} M {hours:6.2f} M {hours / published:6.2f}  {point['servers']} servers, "
              f"{point['days']:.1f} d, ETTR {point['ettr']:.3f}, MFU {point['mfu']:.3f}, {point['layout']} ({source})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
