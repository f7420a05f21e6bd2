#!/usr/bin/env python3
"""Load on the API of a real `weft serve`: many clients follow the events over TLS while others send requests, on loopback.

    bench/api_load.py EXECUTABLE [STREAMS [SECONDS [RATE]]]      1000 streams, 60 s, 100 requests/s

Nine of ten requests read (jobs, nodes, queue, server), one of ten changes something (holds or releases a job), which is an
event for every stream. Every tenth request uses a connection of its own. Some more clients follow from the beginning of
the journal and never read. Prints latencies of requests and events, the server's memory and processor time, and whether
the clients that do not read were cut. Streams and requests come from processes of their own, each of which records the
times that it saw; nothing is asserted about time.
"""

import asyncio
import json
import multiprocessing
import os
import pathlib
import resource
import socket
import ssl
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/api"))
import lab as api_lab  # noqa: E402

STUCK = 20
STREAMS_PER_SOURCE = 200  # the server's limit is 256 per address
STREAMS_PER_USER = 50     # and 64 per user
EARLIER_EVENTS = 12_000   # more bytes than the buffers between server and client hold
READS = ("/jobs", "/nodes", "/queue", "/server")


def allow_descriptors():
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else float("nan")


def milliseconds(values):
    return "  ".join(f"p{round(share * 100)} {percentile(values, share) * 1e3:.1f}" for share in (0.5, 0.9, 0.99)) + \
        f"  max {max(values) * 1e3:.1f} ms"


def source_of(number):
    return f"127.0.0.{2 + number // STREAMS_PER_SOURCE}"


def head(port, token, since=None):
    query = f"?since={since}" if since is not None else ""
    return (f"GET /api/v1/events{query} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n"
            "Accept: text/event-stream\r\n\r\n").encode()


async def follow(number, port, context, token, opened, seen):
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname="127.0.0.1",
                                                   local_addr=(source_of(number), 0))
    writer.write(head(port, token))
    answer = await reader.readuntil(b"\r\n\r\n")
    if not answer.startswith(b"HTTP/1.1 200 "):
        raise RuntimeError(f"the stream was refused: {answer.decode()}")
    opened.value += 1
    try:
        while True:
            line = await reader.readline()
            if not line:
                return
            if line.startswith(b"id:"):
                seen.setdefault(int(line[3:]), []).append(time.monotonic())
    finally:
        writer.close()


def follow_all(count, port, ca, tokens, opened, stop, results):
    allow_descriptors()
    context = ssl.create_default_context(cafile=ca)
    seen = {}

    async def run():
        limit = asyncio.Semaphore(50)  # handshakes at a time

        async def one(number):
            async with limit:
                token = tokens[number // STREAMS_PER_USER]
                task = asyncio.ensure_future(follow(number, port, context, token, opened, seen))
                while opened.value <= number and not task.done():
                    await asyncio.sleep(0.01)
            await task
        tasks = [asyncio.ensure_future(one(number)) for number in range(count)]
        while not stop.is_set():
            await asyncio.sleep(0.1)
        ended = sum(task.done() for task in tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return ended
    results.put(("streams", asyncio.run(run()), seen))


def send_all(server, rate, seconds, tokens, job, results):
    """Each of 20 threads sends every 20/RATE seconds, at times that do not depend on the answers."""
    latencies = {"kept connection": [], "own connection": [], "change": []}
    failures, sent, lock = [], {}, threading.Lock()
    threads = 20
    begin = time.monotonic() + 0.5
    held = [False]

    def run(thread):
        for step in range(int(rate * seconds / threads)):
            due = begin + (step * threads + thread) / rate
            time.sleep(max(0.0, due - time.monotonic()))
            number = step * threads + thread
            kind = "change" if thread == 0 else "own connection" if thread in (1, 11) else "kept connection"
            start = time.monotonic()
            try:
                if kind == "change":
                    verb = "release" if held[0] else "hold"
                    held[0] = not held[0]
                    answer = server.http("POST", f"/jobs/{job}/{verb}", {}, token=tokens[0])
                    if answer.status == 200:
                        sent[len(sent)] = start
                else:
                    headers = {"Connection": "close"} if kind == "own connection" else {}
                    answer = server.http("GET", READS[number % len(READS)], token=tokens[number % len(tokens)], **headers)
                took = time.monotonic() - start
                with lock:
                    latencies[kind].append(took)
                    if answer.status != 200:
                        failures.append(answer.status)
            except OSError as problem:
                with lock:
                    failures.append(str(problem))
    running = [threading.Thread(target=run, args=(thread,)) for thread in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    results.put(("requests", latencies, failures, sent))


def processor_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def open_stuck(server, token, count):
    sockets = []
    for _ in range(count):
        plain = socket.socket()
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        plain.bind(("127.0.0.99", 0))
        plain.connect(("127.0.0.1", server.port))
        secure = server.tls().wrap_socket(plain, server_hostname="127.0.0.1")
        secure.sendall(head(server.port, token, since=0))
        sockets.append(secure)
    return sockets


def is_cut(secure):
    """Whether the server has closed the connection, once what was under way is read."""
    secure.settimeout(5)
    try:
        while secure.recv(1 << 16):
            pass
        return True
    except socket.timeout:
        return False
    except (OSError, ssl.SSLError):
        return True
    finally:
        secure.close()


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    api_lab.EXECUTABLE = os.path.abspath(sys.argv[1])
    streams, seconds, rate = (int(sys.argv[at]) if len(sys.argv) > at else default
                              for at, default in ((2, 1000), (3, 60), (4, 100)))
    allow_descriptors()
    with api_lab.Lab() as server:
        tokens = [server.token(f"user{number}", ["operators"]) for number in range(10)]
        followers = [server.token(f"follower{number}", ["operators"]) for number in range(streams // STREAMS_PER_USER + 1)]
        job = server.submit(nodes=5)
        job = server.submit(name="waits", nodes=5)
        for number in range(EARLIER_EVENTS):
            server.local("POST", f"/jobs/{job}/{'release' if number % 2 else 'hold'}", {})
        print(f"{EARLIER_EVENTS} earlier events; server {server.memory_kib() / 1024:.1f} MiB", flush=True)
        idle = server.memory_kib()
        results, stop = multiprocessing.Queue(), multiprocessing.Event()
        opened = multiprocessing.Value("i", 0)
        follower = multiprocessing.Process(target=follow_all,
                                           args=(streams, server.port, server.ca, followers, opened, stop, results))
        follower.start()
        while opened.value < streams and follower.is_alive():
            time.sleep(0.05)
        with_streams = server.memory_kib()
        print(f"{opened.value} streams: {with_streams / 1024:.1f} MiB, {(with_streams - idle) / max(1, streams):.1f} KiB "
              "per stream", flush=True)
        stuck = open_stuck(server, tokens[1], STUCK)
        before, began = processor_seconds(server.process.pid), time.monotonic()
        sender = multiprocessing.Process(target=send_all, args=(server, rate, seconds, tokens, job, results))
        sender.start()
        requests = results.get()
        sender.join()
        used = processor_seconds(server.process.pid) - before
        took = time.monotonic() - began
        busy = server.memory_kib()
        stop.set()
        followed = results.get()
        follower.join()
        _, latencies, failures, sent = requests
        for kind, values in latencies.items():
            print(f"{kind + ':':17} {len(values):6} requests  {milliseconds(values)}")
        everything = [value for values in latencies.values() for value in values]
        print(f"{'all:':17} {len(everything):6} requests  {milliseconds(everything)}; {len(failures)} failed {failures[:3]}")
        _, ended, seen = followed
        numbers = sorted(number for number in seen)[-len(sent):]
        delays = [at - sent[index] for index, number in enumerate(numbers) for at in seen[number]]
        complete = sum(len(seen[number]) == streams for number in numbers)
        print(f"events: {len(numbers)} to {streams} streams, {complete} of them reached every stream; from the request to "
              f"the client  {milliseconds(delays)}; {ended} streams ended early")
        print(f"server: {busy / 1024:.1f} MiB at the end, {used / took * 100:.0f} % of one processor")
        print(f"clients that never read: {sum(map(is_cut, stuck))} of {STUCK} were cut")


if __name__ == "__main__":
    main()
