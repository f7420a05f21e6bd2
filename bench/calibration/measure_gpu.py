#!/usr/bin/env python3
"""Measures on one GPU what weft's compute model is made of or held against: matrix products in FP8 and at shapes beyond
the given table, fused element-wise kernels, loss and optimizer, and whole training steps of decoder models.

    python3 bench/calibration/measure_gpu.py OUT_FOLDER [part...]     parts: gemm fp8 accumulate loaded fused
                                                                     loss launch steps power sustained grouped

Needs PyTorch with CUDA. Writes OUT_FOLDER/<part>.csv. Times are the mean of timed runs after warm-up, in microseconds
(steps: milliseconds), on random data.
"""

import csv
import os
import subprocess
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

DEVICE = "cuda"


def timed(function, least_seconds=0.15, warm=3):
    """Mean seconds of a call, by events around as many calls as fill `least_seconds`."""
    for _ in range(warm):
        function()
    torch.cuda.synchronize()
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    function()
    end.record()
    torch.cuda.synchronize()
    calls = max(3, min(200, int(least_seconds / max(1e-6, start.elapsed_time(end) / 1e3))))
    start.record()
    for _ in range(calls):
        function()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) / 1e3 / calls


def write(folder, name, header, rows):
    with open(os.path.join(folder, name + ".csv"), "w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(header)
        writer.writerows(rows)
    print(f"{name}: {len(rows)} rows", flush=True)


GEMMS = [(m, n, k) for m in (2048, 4096, 8192) for n, k in (
    (2560, 8192), (8192, 2048), (14336, 8192), (8192, 7168), (6144, 4096), (4096, 4096), (28672, 4096), (4096, 14336),
    (9216, 12288), (12288, 3072), (12288, 12288), (3072, 12288), (32064, 8192), (128256, 4096), (12800, 12288))]


def gemm(folder):
    rows = []
    for m, n, k in GEMMS:
        a = torch.randn(m, k, device=DEVICE, dtype=torch.bfloat16)
        b = torch.randn(n, k, device=DEVICE, dtype=torch.bfloat16)
        g = torch.randn(m, n, device=DEVICE, dtype=torch.bfloat16)
        for kind, call in (("nt", lambda: a @ b.t()), ("nn", lambda: g @ b), ("tn", lambda: g.t() @ a)):
            seconds = timed(call)
            rows.append((kind, m, n, k, f"{seconds * 1e6:.2f}", f"{2 * m * n * k / seconds / 1e12:.1f}"))
    write(folder, "gemm", ("kind", "m", "n", "k", "us", "tflops"), rows)


def fp8(folder):
    rows = []
    for m, n, k in GEMMS + [(8192, 8192, 8192), (16384, 8192, 8192), (1024, 4096, 4096), (512, 1024, 4096)]:
        if n % 16 or k % 16:
            continue
        a = torch.randn(m, k, device=DEVICE).to(torch.float8_e4m3fn)
        b = torch.randn(n, k, device=DEVICE).to(torch.float8_e4m3fn)
        one = torch.ones((), device=DEVICE)
        try:
            seconds, split = [
                timed(lambda: torch._scaled_mm(a, b.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16,
                                               use_fast_accum=fast)) for fast in (True, False)]
        except RuntimeError as error:
            print("fp8", m, n, k, error)
            continue
        rows.append((m, n, k, f"{seconds * 1e6:.2f}", f"{2 * m * n * k / seconds / 1e12:.1f}", f"{split * 1e6:.2f}"))
    write(folder, "fp8", ("m", "n", "k", "us", "tflops", "split_accumulation_us"), rows)


def accumulate(folder):
    """Weight gradients that are added to what is there: bf16 and fp32, against a plain product."""
    rows = []
    for n, k, m in ((14336, 8192, 4096), (8192, 7168, 4096), (2560, 8192, 4096), (8192, 2048, 4096),
                    (14336, 8192, 8192), (12288, 12288, 2048), (9216, 12288, 2048), (12288, 3072, 2048),
                    (28672, 4096, 4096), (4096, 14336, 4096), (6144, 6144, 16384), (13312, 16384, 4096)):
        y = torch.randn(m, n, device=DEVICE, dtype=torch.bfloat16)
        x = torch.randn(m, k, device=DEVICE, dtype=torch.bfloat16)
        low = torch.zeros(n, k, device=DEVICE, dtype=torch.bfloat16)
        full = torch.zeros(n, k, device=DEVICE)
        times = [timed(lambda: y.t() @ x), timed(lambda: low.addmm_(y.t(), x)),
                 timed(lambda: torch.addmm(full, y.t(), x, out_dtype=torch.float32, out=full))]
        rows.append((n, k, m, *(f"{t * 1e6:.2f}" for t in times)))
    write(folder, "accumulate", ("n", "k", "tokens", "plain_us", "bf16_us", "fp32_us"), rows)


def loaded(folder):
    """Attention and copies in a burst, and between products that keep the GPU at its power limit."""
    a, b = (torch.randn(8192, 8192, device=DEVICE, dtype=torch.bfloat16) for _ in range(2))
    rows = []

    def both(name, call):
        bursts = []
        for _ in range(4):
            time.sleep(0.5)
            bursts.append(timed(call, least_seconds=0.002))
        for _ in range(600):
            a @ b
        events = []
        for _ in range(250):
            a @ b, a @ b
            events.append((torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)))
            events[-1][0].record()
            call()
            events[-1][1].record()
        torch.cuda.synchronize()
        between = [start.elapsed_time(end) for start, end in events[20:]]
        rows.append((name, f"{min(bursts) * 1e6:.2f}", f"{1e3 * sum(between) / len(between):.2f}"))

    for batch, heads, length, width in ((8, 16, 2048, 128), (1, 32, 8192, 128), (1, 16, 4096, 128), (2, 32, 4096, 128),
                                        (1, 24, 2048, 128), (16, 16, 1024, 64)):
        q, k, v = (torch.randn(batch, heads, length, width, device=DEVICE, dtype=torch.bfloat16, requires_grad=True)
                   for _ in range(3))
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        grad = torch.randn_like(out)
        name = f"{batch}x{heads}x{length}x{width}"
        with torch.no_grad():
            both("attention " + name, lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True))
        both("attention backward " + name, lambda: torch.autograd.grad(out, (q, k, v), grad, retain_graph=True))
    to = torch.empty_like(a)
    both("copy 8192x8192", lambda: to.copy_(a))
    write(folder, "loaded", ("op", "burst_us", "between_products_us"), rows)


def loss(folder):
    """Cross entropy over a split vocabulary in the four compiled steps that Megatron-LM takes."""
    largest = torch.compile(lambda x: (x.float(), x.float().max(-1)[0]))

    @torch.compile
    def exponentials(x, top, target):
        x -= top[:, None]
        picked = x[torch.arange(x.shape[0], device=DEVICE), target].clone()
        torch.exp(x, out=x)
        return picked, x.sum(-1)

    @torch.compile
    def divide(x, total, picked):
        value = total.log() - picked
        x.div_(total[:, None])
        return x, value

    @torch.compile
    def gradient(x, target, scale):
        x[torch.arange(x.shape[0], device=DEVICE), target] -= 1.0
        x.mul_(scale[:, None])
        return x.to(torch.bfloat16)

    rows = []
    for tokens, vocab in ((4096, 128256), (16384, 64000)):
        logits = torch.randn(tokens, vocab, device=DEVICE, dtype=torch.bfloat16)
        target = torch.randint(0, vocab, (tokens,), device=DEVICE)
        scale = torch.ones(tokens, device=DEVICE)

        def forward():
            x, top = largest(logits)
            picked, total = exponentials(x, top, target)
            return divide(x, total, picked)[0]

        soft = forward()
        rows.append((tokens, vocab, f"{timed(forward) * 1e6:.2f}",
                     f"{timed(lambda: gradient(soft, target, scale)) * 1e6:.2f}"))
    write(folder, "loss", ("tokens", "vocabulary", "forward_us", "backward_us"), rows)


def fused(folder):
    """Element-wise kernels as a compiler or a fused library makes them: forward, and forward with backward."""
    rows = []

    def both(name, function, inputs, compiled=True):
        call = torch.compile(function) if compiled else function
        leaves = [x.requires_grad_(x.is_floating_point()) for x in inputs]
        out = call(*leaves)
        grad = torch.randn_like(out)
        with torch.no_grad():
            forward = timed(lambda: call(*leaves))
        def step():
            for x in leaves:
                x.grad = None
            call(*leaves).backward(grad)
        rows.append((name, "x".join(map(str, inputs[0].shape)), f"{forward * 1e6:.2f}", f"{timed(step) * 1e6:.2f}"))

    bf16 = dict(device=DEVICE, dtype=torch.bfloat16)
    for tokens, width in ((8192, 4096), (4096, 8192), (16384, 2048), (2048, 12288)):
        weight = torch.ones(width, **bf16)
        both("rms_norm", lambda x, w: F.rms_norm(x, (x.shape[-1],), w), [torch.randn(tokens, width, **bf16), weight])
        both("add", lambda x, y: x + y, [torch.randn(tokens, width, **bf16), torch.randn(tokens, width, **bf16)])
        both("swiglu", lambda x: F.silu(x[:, : x.shape[1] // 2]) * x[:, x.shape[1] // 2:],
             [torch.randn(tokens, 2 * width, **bf16)])
        both("gelu", lambda x: F.gelu(x, approximate="tanh"), [torch.randn(tokens, width, **bf16)])
    for tokens, vocab in ((16384, 32000), (8192, 128256), (4096, 50304)):
        target = torch.randint(0, vocab, (tokens,), device=DEVICE)
        both("cross_entropy", lambda x, t: F.cross_entropy(x.float(), t), [torch.randn(tokens, vocab, **bf16), target])
        both("cross_entropy_eager", lambda x, t: F.cross_entropy(x.float(), t),
             [torch.randn(tokens, vocab, **bf16), target], compiled=False)
    for name, dtype in (("adamw_fused_bf16", torch.bfloat16), ("adamw_fused_fp32", torch.float32)):
        parameters = [nn.Parameter(torch.randn(8192, 8192, device=DEVICE, dtype=dtype)) for _ in range(8)]
        for p in parameters:
            p.grad = torch.randn_like(p)
        optimizer = torch.optim.AdamW(parameters, fused=True)
        rows.append((name, 8 * 8192 * 8192, f"{timed(optimizer.step) * 1e6:.2f}", ""))
    write(folder, "fused", ("op", "shape", "forward_us", "forward_backward_us"), rows)


def launch(folder):
    x = torch.zeros(8, device=DEVICE)
    rows = []
    for name, call in (("add_in_place", lambda: x.add_(1)), ("mul", lambda: x * 2)):
        for _ in range(100):
            call()
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(2000):
            call()
        torch.cuda.synchronize()
        rows.append((name, f"{(time.perf_counter() - start) / 2000 * 1e6:.2f}"))
    write(folder, "launch", ("op", "host_us_a_kernel"), rows)


class Block(nn.Module):
    def __init__(self, d, heads, kv, ff):
        super().__init__()
        self.heads, self.kv, self.hd = heads, kv, d // heads
        self.n1, self.n2 = nn.RMSNorm(d), nn.RMSNorm(d)
        self.qkv = nn.Linear(d, (heads + 2 * kv) * self.hd, bias=False)
        self.out = nn.Linear(d, d, bias=False)
        self.up = nn.Linear(d, 2 * ff, bias=False)
        self.down = nn.Linear(ff, d, bias=False)

    def forward(self, x, cos, sin):
        b, s, d = x.shape
        q, k, v = self.qkv(self.n1(x)).split([self.heads * self.hd, self.kv * self.hd, self.kv * self.hd], -1)
        q = q.view(b, s, self.heads, self.hd).transpose(1, 2)
        k = k.view(b, s, self.kv, self.hd).transpose(1, 2)
        v = v.view(b, s, self.kv, self.hd).transpose(1, 2)
        def rope(t):
            a, c = t.chunk(2, -1)
            return torch.cat((a * cos - c * sin, c * cos + a * sin), -1)
        q, k = rope(q), rope(k)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=self.kv != self.heads)
        x = x + self.out(y.transpose(1, 2).reshape(b, s, d))
        g, u = self.up(self.n2(x)).chunk(2, -1)
        return x + self.down(F.silu(g) * u)


class Decoder(nn.Module):
    def __init__(self, d, layers, heads, kv, ff, vocab, seq, checkpoint):
        super().__init__()
        self.embed = nn.Embedding(vocab, d)
        self.blocks = nn.ModuleList(Block(d, heads, kv, ff) for _ in range(layers))
        self.norm = nn.RMSNorm(d)
        self.head = nn.Linear(d, vocab, bias=False)
        self.checkpoint = checkpoint
        hd = d // heads
        angle = torch.outer(torch.arange(seq).float(), 10000.0 ** (-torch.arange(0, hd // 2).float() / (hd // 2)))
        self.register_buffer("cos", angle.cos().to(torch.bfloat16))
        self.register_buffer("sin", angle.sin().to(torch.bfloat16))

    def forward(self, tokens, target):
        x = self.embed(tokens)
        for block in self.blocks:
            if self.checkpoint:
                x = torch.utils.checkpoint.checkpoint(block, x, self.cos, self.sin, use_reentrant=False)
            else:
                x = block(x, self.cos, self.sin)
        logits = self.head(self.norm(x))
        return F.cross_entropy(logits.float().view(-1, logits.shape[-1]), target.view(-1))


# name, d, layers, heads, kv heads, ff, vocab, batch, sequence, compiled, recomputed
STEPS = [
    ("1.3b", 2048, 24, 16, 16, 5632, 32000, 8, 2048, True, False),
    ("1.3b-eager", 2048, 24, 16, 16, 5632, 32000, 8, 2048, False, False),
    ("350m", 1024, 24, 16, 16, 2816, 50304, 16, 1024, True, False),
    ("350m-eager", 1024, 24, 16, 16, 2816, 50304, 16, 1024, False, False),
    ("llama8b-8l", 4096, 8, 32, 8, 14336, 128256, 1, 8192, True, False),
    ("llama8b-8l-eager", 4096, 8, 32, 8, 14336, 128256, 1, 8192, False, False),
    ("7b-recompute", 4096, 32, 32, 32, 11008, 32000, 2, 4096, True, True),
    ("3b-gqa", 3072, 28, 24, 8, 8192, 128256, 2, 4096, True, False),
]


def steps(folder):
    rows = []
    for name, d, layers, heads, kv, ff, vocab, batch, seq, compiled, recomputed in STEPS:
        torch.cuda.empty_cache()
        torch._dynamo.reset()
        torch.manual_seed(1)
        model = Decoder(d, layers, heads, kv, ff, vocab, seq, recomputed).to(DEVICE, torch.bfloat16)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
        tokens = torch.randint(0, vocab, (batch, seq), device=DEVICE)
        target = torch.randint(0, vocab, (batch, seq), device=DEVICE)
        run = torch.compile(model) if compiled else model
        parts = [0.0, 0.0, 0.0]
        events = [torch.cuda.Event(enable_timing=True) for _ in range(4)]
        began, counted, total = time.time(), 0, 0.0
        torch.cuda.reset_peak_memory_stats()
        for i in range(60):
            events[0].record()
            loss = run(tokens, target)
            events[1].record()
            loss.backward()
            events[2].record()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            events[3].record()
            torch.cuda.synchronize()
            if i < 5:
                continue
            counted += 1
            for part in range(3):
                parts[part] += events[part].elapsed_time(events[part + 1])
            total += events[0].elapsed_time(events[3])
            if counted >= 8 and time.time() - began > 25:
                break
        peak = torch.cuda.max_memory_allocated() / 1e9
        mean = [part / counted for part in parts]
        rows.append((name, d, layers, heads, kv, ff, vocab, batch, seq, int(compiled), int(recomputed),
                     f"{total / counted:.2f}", *(f"{part:.2f}" for part in mean), f"{peak:.2f}"))
        print(rows[-1], f"{time.time() - began:.0f} s", flush=True)
        write(folder, "steps", ("name", "d", "layers", "heads", "kv_heads", "ff", "vocab", "batch", "seq", "compiled",
                                "recomputed", "step_ms", "forward_ms", "backward_ms", "optimizer_ms", "peak_gb"), rows)
        del model, optimizer, run, loss


class Sensors:
    """Means of the GPU's power and clock while it is open, read by nvidia-smi ten times per second."""

    def __enter__(self):
        self.process = subprocess.Popen(
            ["nvidia-smi", "--query-gpu=power.draw.instant,clocks.sm", "--format=csv,noheader,nounits", "-lms", "100"],
            stdout=subprocess.PIPE, text=True)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        lines = [line.split(",") for line in self.process.communicate()[0].splitlines() if line.count(",") == 1]
        half = lines[len(lines) // 2:-1]  # the clock has settled
        self.watts = sum(float(line[0]) for line in half) / len(half)
        self.mhz = sum(float(line[1]) for line in half) / len(half)


def held(call, flops, seconds=3.0):
    """Rate over the second half of `seconds` of calls, with power and clock."""
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    with Sensors() as sensors:
        began, counted, start = time.time(), 0, None
        while time.time() - began < seconds:
            if start is None and time.time() - began > seconds / 2:
                torch.cuda.synchronize()
                start = time.perf_counter()
            for _ in range(20):
                call()
            torch.cuda.synchronize()
            counted += 20 if start else 0
        each = (time.perf_counter() - start) / counted
    return f"{each * 1e6:.2f}", f"{flops / each / 1e12:.1f}", f"{sensors.watts:.0f}", f"{sensors.mhz:.0f}"


def power(folder):
    """Products of matrices with more and more values other than zero: power until the limit, then the clock."""
    rows, size = [], 8192
    one = torch.ones((), device=DEVICE)
    for share in (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0):
        a, b = ((torch.randn(size, size, device=DEVICE) * (torch.rand(size, size, device=DEVICE) < share))
                for _ in range(2))
        x, y = a.bfloat16(), b.bfloat16()
        rows.append(("bf16", share, *held(lambda: x @ y.t(), 2 * size**3)))
        u, v = a.to(torch.float8_e4m3fn), b.to(torch.float8_e4m3fn)
        rows.append(("fp8", share, *held(lambda: torch._scaled_mm(u, v.t(), scale_a=one, scale_b=one,
                                                                  out_dtype=torch.bfloat16), 2 * size**3)))
    write(folder, "power", ("precision", "share_not_zero", "us", "tflops", "watts", "mhz"), rows)


def sustained(folder):
    """Products of training shapes for seconds, not a burst."""
    rows = []
    one = torch.ones((), device=DEVICE)
    for m, n, k in ((4096, 2560, 8192), (4096, 8192, 2048), (4096, 14336, 8192), (4096, 8192, 7168),
                    (8192, 28672, 4096), (8192, 4096, 14336), (2048, 9216, 12288), (2048, 12288, 12288),
                    (2048, 12288, 3072), (4096, 6144, 6144), (4096, 24576, 6144), (4096, 6144, 24576)):
        a, b = torch.randn(m, k, device=DEVICE), torch.randn(n, k, device=DEVICE)
        x, y = a.bfloat16(), b.bfloat16()
        rows.append(("bf16", m, n, k, *held(lambda: x @ y.t(), 2 * m * n * k, 2.0)))
        u, v = a.to(torch.float8_e4m3fn), b.to(torch.float8_e4m3fn)
        for fast in (True, False):
            rows.append(("fp8" if fast else "fp8 split", m, n, k, *held(
                lambda: torch._scaled_mm(u, v.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16,
                                         use_fast_accum=fast), 2 * m * n * k, 2.0)))
    write(folder, "sustained", ("precision", "m", "n", "k", "us", "tflops", "watts", "mhz"), rows)


def grouped(folder):
    """Products of several experts: one after the other, on four streams, and as one grouped kernel."""
    rows = []
    for n, k in ((4096, 7168), (7168, 2048), (28672, 4096), (4096, 14336), (1536, 2048), (2048, 768)):
        for experts in (2, 4, 8, 32):
            for each in (64, 256, 1024, 4096):
                tokens = experts * each
                if tokens > 65536:
                    continue
                x = torch.randn(tokens, k, device=DEVICE, dtype=torch.bfloat16)
                w = torch.randn(experts, n, k, device=DEVICE, dtype=torch.bfloat16) / k**0.5
                y = torch.randn(tokens, n, device=DEVICE, dtype=torch.bfloat16)
                ends = torch.arange(1, experts + 1, device=DEVICE, dtype=torch.int32) * each
                parts = [(x[i * each:(i + 1) * each], w[i].t()) for i in range(experts)]
                calls = (lambda: [a @ b for a, b in parts],
                         lambda: torch._grouped_mm(x, w.transpose(1, 2), offs=ends),
                         lambda: torch._grouped_mm(y.t(), x, offs=ends))
                times = [timed(call, 0.05) for call in calls]
                rows.append((n, k, experts, each, *(f"{t * 1e6:.2f}" for t in times), streams(parts)))
    write(folder, "grouped", ("n", "k", "experts", "tokens_each", "loop_us", "grouped_us", "grouped_weights_us",
                              "four_streams_us"), rows)


def streams(parts):
    """The loop on four streams, replayed as a graph so that the host does not count."""
    side = [torch.cuda.Stream() for _ in range(4)]
    graph = torch.cuda.CUDAGraph()
    for a, b in parts:
        a @ b
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        here = torch.cuda.current_stream()
        for stream in side:
            stream.wait_stream(here)
        for i, (a, b) in enumerate(parts):
            with torch.cuda.stream(side[i % 4]):
                a @ b
        for stream in side:
            here.wait_stream(stream)
    return f"{timed(graph.replay, 0.05) * 1e6:.2f}"


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for name in sys.argv[2:] or ["gemm", "fp8", "accumulate", "loaded", "fused", "loss", "launch", "steps", "power", "sustained",
                                "grouped"]:
        globals()[name](folder)


if __name__ == "__main__":
    main()
