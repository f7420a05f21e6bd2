#!/usr/bin/env python3
"""Measures what the host needs to launch the kernels of a layer in PyTorch, beside the time of the kernels themselves.

    python3 bench/calibration/measure_host.py OUT_FOLDER

Dense layers and mixtures of experts, the latter with and without reading the tokens per expert back; eager, dense ones also
compiled. With small tensors ("tiny") the host is all that counts. Needs PyTorch with CUDA. Writes OUT_FOLDER/host.csv, per
layer: kernels, time from the first call to the end of the last kernel (wall), time until the last call returned (host) and
time of the kernels (gpu), in microseconds, on random data; and prints the time of an addition and of reading 64 counts back.
"""

import csv
import os
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.profiler import ProfilerActivity, profile

DEVICE = "cuda"


class Attention(nn.Module):
    def __init__(self, d, heads, kv):
        super().__init__()
        self.heads, self.kv, self.hd = heads, kv, d // heads
        self.norm = nn.RMSNorm(d)
        self.qkv = nn.Linear(d, (heads + 2 * kv) * self.hd, bias=False)
        self.out = nn.Linear(d, d, bias=False)

    def forward(self, x, cos, sin):
        b, s, d = x.shape
        q, k, v = self.qkv(self.norm(x)).split([self.heads * self.hd, self.kv * self.hd, self.kv * self.hd], -1)
        q = q.view(b, s, self.heads, self.hd).transpose(1, 2)
        k = k.view(b, s, self.kv, self.hd).transpose(1, 2)
        v = v.view(b, s, self.kv, self.hd).transpose(1, 2)

        def rope(t):
            a, c = t.chunk(2, -1)
            return torch.cat((a * cos - c * sin, c * cos + a * sin), -1)
        y = F.scaled_dot_product_attention(rope(q), rope(k), v, is_causal=True, enable_gqa=self.kv != self.heads)
        return x + self.out(y.transpose(1, 2).reshape(b, s, d))


class Dense(nn.Module):
    def __init__(self, d, ff):
        super().__init__()
        self.norm = nn.RMSNorm(d)
        self.up = nn.Linear(d, 2 * ff, bias=False)
        self.down = nn.Linear(ff, d, bias=False)

    def forward(self, x):
        g, u = self.up(self.norm(x)).chunk(2, -1)
        return x + self.down(F.silu(g) * u)


class Mixture(nn.Module):
    """Router, auxiliary loss, permutation, and one grouped product per matrix of the experts."""

    def __init__(self, d, ff, experts, active, read_back):
        super().__init__()
        self.experts, self.active, self.read_back = experts, active, read_back
        self.norm = nn.RMSNorm(d)
        self.router = nn.Linear(d, experts, bias=False)
        self.up = nn.Parameter(torch.randn(experts, d, 2 * ff) * .02)
        self.down = nn.Parameter(torch.randn(experts, ff, d) * .02)

    def forward(self, x):
        d = x.shape[-1]
        z = self.norm(x).view(-1, d)
        p = torch.softmax(self.router(z).float(), -1)
        weight, chosen = torch.topk(p, self.active, -1)
        weight = (weight / weight.sum(-1, keepdim=True)).to(z.dtype)
        ones = torch.ones(chosen.numel(), device=x.device)
        load = torch.zeros(self.experts, device=x.device).scatter_add_(0, chosen.view(-1), ones)
        auxiliary = (p.mean(0) * load).sum()
        flat = chosen.view(-1)
        counts = torch.bincount(flat, minlength=self.experts)
        order = torch.argsort(flat, stable=True)
        if self.read_back:
            counts.cpu()
        rows = order // self.active
        ends = torch.cumsum(counts, 0).to(torch.int32)
        g, u = torch._grouped_mm(z.index_select(0, rows), self.up, offs=ends).chunk(2, -1)
        h = F.silu(g) * u * weight.view(-1)[order].unsqueeze(-1)
        y = torch.zeros_like(z).index_add(0, rows, torch._grouped_mm(h, self.down, offs=ends))
        return x + y.view_as(x) + auxiliary.to(x.dtype) * 0


class Layers(nn.Module):
    def __init__(self, layers, d, heads, kv, make, sequence):
        super().__init__()
        self.attention = nn.ModuleList(Attention(d, heads, kv) for _ in range(layers))
        self.rest = nn.ModuleList(make() for _ in range(layers))
        half = d // heads // 2
        angle = torch.outer(torch.arange(sequence).float(), 10000.0 ** (-torch.arange(0, half).float() / half))
        self.register_buffer("cos", angle.cos())
        self.register_buffer("sin", angle.sin())

    def forward(self, x):
        for attention, rest in zip(self.attention, self.rest):
            x = rest(attention(x, self.cos, self.sin))
        return x


def per_layer(call, layers, calls=20):
    """Wall and host microseconds."""
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(calls):
        call()
    host = time.perf_counter() - start
    torch.cuda.synchronize()
    return [(seconds / calls / layers) * 1e6 for seconds in (time.perf_counter() - start, host)]


def kernels(call, layers):
    """Number and microseconds of the kernels."""
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        call()
        torch.cuda.synchronize()
    found = [event.device_time for event in profiler.events() if event.device_type == torch.autograd.DeviceType.CUDA]
    return len(found) / layers, sum(found) / layers


def measure(name, net, x, layers):
    gradient = torch.ones_like(net(x))

    def both():
        net(x).backward(gradient)
    forward, all_time = per_layer(lambda: net(x), layers), per_layer(both, layers)
    forward_kernels, all_kernels = kernels(lambda: net(x), layers), kernels(both, layers)
    values = [forward_kernels[0], *forward, forward_kernels[1], all_kernels[0] - forward_kernels[0],
              all_time[0] - forward[0], all_time[1] - forward[1], all_kernels[1] - forward_kernels[1]]
    row = [name, layers] + [f"{value:.1f}" for value in values]
    print(*row, flush=True)
    return row


# name, layers, d, heads, kv heads, ff, experts, active, expert ff, sequence
SHAPES = [("tiny", 8, 512, 8, 8, 1024, 16, 4, 256, 128), ("qwen3-30b", 8, 2048, 32, 4, 6144, 16, 8, 768, 4096),
          ("mixtral", 2, 4096, 32, 8, 14336, 8, 2, 14336, 4096)]


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    torch.manual_seed(0)
    rows = []
    for name, layers, d, heads, kv, ff, experts, active, expert_ff, sequence in SHAPES:
        for kind in ("dense", "moe", "moe-nosync"):
            def make():
                return Dense(d, ff) if kind == "dense" else Mixture(d, expert_ff, experts, active, kind == "moe")
            net = Layers(layers, d, heads, kv, make, sequence).to(DEVICE).to(torch.bfloat16)
            x = torch.randn(1, sequence, d, device=DEVICE, dtype=torch.bfloat16, requires_grad=True)
            rows.append(measure(f"{name}-{kind}", net, x, layers))
            if kind == "dense":
                rows.append(measure(f"{name}-{kind}-compiled", torch.compile(net), x, layers))
    with open(os.path.join(folder, "host.csv"), "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("name", "layers", "fwd_kernels", "fwd_wall_us", "fwd_host_us", "fwd_gpu_us", "bwd_kernels",
                         "bwd_wall_us", "bwd_host_us", "bwd_gpu_us"))
        writer.writerows(rows)
    x, counts = torch.zeros(8, device=DEVICE), torch.zeros(64, device=DEVICE, dtype=torch.int64)
    for name, call in (("addition", lambda: x.add_(1)), ("reading 64 counts back", counts.cpu)):
        print(f"{name}: {per_layer(call, 1, 2000)[0]:.1f} us")


if __name__ == "__main__":
    main()
