#!/usr/bin/env python3
"""Times causal attention by kernel: cuDNN's (as Transformer Engine uses it on Hopper) and FlashAttention-2 (as PyTorch's
scaled_dot_product_attention uses it by default), forward and backward, in bursts and between products that hold the GPU at
its power limit; and what the host needs per product in a loop over experts.

    python3 bench/calibration/measure_attention.py OUT_FOLDER

Needs PyTorch with CUDA. Writes OUT_FOLDER/attention_kernels.csv (microseconds, random bf16 data) and prints the rest.
"""

import csv
import os
import sys
import time

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

DEVICE = "cuda"
SHAPES = [(batch, heads, length, width)
          for width in (64, 128)
          for batch, heads, length in ((16, 32, 1024), (8, 32, 2048), (4, 32, 4096), (1, 8, 8192), (1, 32, 8192),
                                       (1, 64, 8192), (1, 32, 16384), (1, 8, 32768), (1, 32, 32768), (1, 8, 131072))]


def timed(function, least_seconds=0.1, warm=2):
    for _ in range(warm):
        function()
    torch.cuda.synchronize()
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    function()
    end.record()
    torch.cuda.synchronize()
    calls = max(2, min(100, int(least_seconds / max(1e-6, start.elapsed_time(end) / 1e3))))
    start.record()
    for _ in range(calls):
        function()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) / 1e3 / calls


def loaded(function, seconds):
    """Mean seconds of a call between two products of 8,192 cubed, at the clock that the power limit leaves."""
    a = torch.randn(8192, 8192, device=DEVICE, dtype=torch.bfloat16)
    for _ in range(300):
        a @ a
    events = []
    for _ in range(max(5, min(60, int(0.3 / seconds)))):
        a @ a, a @ a
        events.append((torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)))
        events[-1][0].record()
        function()
        events[-1][1].record()
    torch.cuda.synchronize()
    times = [start.elapsed_time(end) for start, end in events[2:]]
    return sum(times) / len(times) / 1e3


def attention(backend, shape, dropout=0.0):
    q, k, v = (torch.randn(*shape, device=DEVICE, dtype=torch.bfloat16, requires_grad=True) for _ in range(3))
    with sdpa_kernel([backend]):
        def forward():
            with torch.no_grad():
                F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=dropout)
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=dropout)
        grad = torch.randn_like(out)

        def backward():
            torch.autograd.grad(out, (q, k, v), grad, retain_graph=True)
        burst = timed(forward), timed(backward)
        held = (loaded(forward, burst[0]), loaded(backward, burst[1])) if burst[1] < 0.2 else (0, 0)
    return burst + held


def kernels(folder):
    rows = []
    for shape in SHAPES:
        batch, heads, length, width = shape
        flops = 2 * batch * heads * length * length * width
        for name, backend, dropout in (("cudnn", SDPBackend.CUDNN_ATTENTION, 0.0),
                                       ("cudnn-dropout", SDPBackend.CUDNN_ATTENTION, 0.1),
                                       ("flash2", SDPBackend.FLASH_ATTENTION, 0.0),
                                       ("flash2-dropout", SDPBackend.FLASH_ATTENTION, 0.1)):
            if dropout and length > 8192:
                continue
            try:
                forward, backward, forward_held, backward_held = attention(backend, shape, dropout)
            except RuntimeError as error:
                print(name, shape, str(error).splitlines()[0])
                continue
            rows.append((name, width, batch * heads, length, f"{forward * 1e6:.1f}", f"{flops / forward / 1e12:.0f}",
                         f"{backward * 1e6:.1f}", f"{2.5 * flops / backward / 1e12:.0f}", f"{forward_held * 1e6:.1f}",
                         f"{backward_held * 1e6:.1f}"))
            print(*rows[-1], flush=True)
    with open(os.path.join(folder, "attention_kernels.csv"), "w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(("kernel", "width", "heads", "tokens", "forward_us", "forward_tflops", "backward_us",
                         "backward_tflops", "forward_loaded_us", "backward_loaded_us"))
        writer.writerows(rows)


def default_kernel():
    q = torch.randn(1, 32, 8192, 128, device=DEVICE, dtype=torch.bfloat16)
    seconds = timed(lambda: F.scaled_dot_product_attention(q, q, q, is_causal=True))
    print("PyTorch", torch.__version__, "default, 32 heads of 8192:", f"{seconds * 1e6:.1f} us")


def host_per_product():
    tiny = torch.randn(16, 16, device=DEVICE, dtype=torch.bfloat16)
    out = torch.empty_like(tiny)
    for name, call in (("mm", lambda: torch.mm(tiny, tiny, out=out)), ("add", lambda: torch.add(tiny, tiny, out=out))):
        for _ in range(1000):
            call()
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(5000):
            call()
        host = time.perf_counter() - start
        torch.cuda.synchronize()
        print(f"host per {name} in a loop: {host / 5000 * 1e6:.2f} us")


if __name__ == "__main__":
    default_kernel()
    host_per_product()
    kernels(sys.argv[1])
