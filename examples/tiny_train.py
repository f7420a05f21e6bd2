#!/usr/bin/env python3
"""A training job in miniature, for tests and as an example of how a job works with weft.

Every rank "trains" for --steps steps of --step-time seconds; after each step all ranks wait for each other through rank 0
(MASTER_ADDR, MASTER_PORT), as an all-reduce does, so a rank that dies makes the others fail. Rank 0 writes a checkpoint
every --checkpoint-steps steps, and when weft asks for one: by SIGUSR1, or through the file WEFT_CHECKPOINT_REQUEST.
After a restart it continues from WEFT_RESTORE.

A checkpoint is a directory of one of WEFT_CHECKPOINT_DIRS, used alternately. It is written under a temporary name, gets a
manifest with the size and the SHA-256 of every file, is synced, and is renamed last. Only the standard library is needed.
"""

import argparse
import hashlib
import json
import os
import shutil
import signal
import socket
import sys
import time

RANK = int(os.environ.get("RANK", "0"))
WORLD_SIZE = int(os.environ.get("WORLD_SIZE", "1"))
DIRECTORIES = [path for path in os.environ.get("WEFT_CHECKPOINT_DIRS", "").split(":") if path]

signaled = False


def on_notice(_signal, _frame):
    global signaled
    signaled = True


def read_request():
    try:
        with open(os.environ.get("WEFT_CHECKPOINT_REQUEST", ""), encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def sync(path):
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


def write_checkpoint(state, number):
    """The protocol of src/world/local/checkpoint.h."""
    directory = DIRECTORIES[number % len(DIRECTORIES)]
    name = f"step-{state['step']:012}"
    aside = os.path.join(directory, ".tmp-" + name)
    final = os.path.join(directory, name)
    shutil.rmtree(aside, ignore_errors=True)
    os.makedirs(aside)
    content = json.dumps(state).encode()
    with open(os.path.join(aside, "state.json"), "wb") as file:
        file.write(content)
    manifest = {"format": 1, "job": int(os.environ["WEFT_JOB_ID"]), "attempt": int(os.environ["WEFT_ATTEMPT"]),
                "step": state["step"],
                "files": [{"path": "state.json", "bytes": len(content),
                           "sha256": hashlib.sha256(content).hexdigest()}]}
    with open(os.path.join(aside, "manifest.json"), "w", encoding="utf-8") as file:
        json.dump(manifest, file)
    for path in (os.path.join(aside, "state.json"), os.path.join(aside, "manifest.json"), aside):
        sync(path)
    shutil.rmtree(final, ignore_errors=True)  # of an earlier attempt, which has been restored from an older one
    os.rename(aside, final)
    sync(directory)
    print(f"rank 0 checkpoint {final}", flush=True)


def receive(connection):
    data = connection.recv(1)
    if not data:
        sys.exit(f"rank {RANK}: another rank is gone")


class Barrier:
    """Rank 0 waits for a byte of every other rank, then answers each."""

    def __init__(self):
        address = (os.environ.get("MASTER_ADDR", "127.0.0.1"), int(os.environ.get("MASTER_PORT", "29500")))
        self.connections = []
        if WORLD_SIZE == 1:
            return
        if RANK == 0:
            listener = socket.create_server(address)
            self.connections = [listener.accept()[0] for _ in range(WORLD_SIZE - 1)]
            return
        deadline = time.monotonic() + 60
        while True:
            try:
                self.connections = [socket.create_connection(address)]
                return
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)

    def wait(self):
        try:
            if RANK != 0:
                self.connections[0].sendall(b"x")
                receive(self.connections[0])
                return
            for connection in self.connections:
                receive(connection)
            for connection in self.connections:
                connection.sendall(b"x")
        except OSError as error:
            sys.exit(f"rank {RANK}: another rank is gone: {error}")


def restore():
    path = os.environ.get("WEFT_RESTORE", "")
    if not path:
        return {"step": 0, "loss": 10.0}
    with open(os.path.join(path, "state.json"), encoding="utf-8") as file:
        state = json.load(file)
    print(f"rank {RANK} restored step {state['step']} from {path}", flush=True)
    return state


def main():
    global signaled
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--step-time", type=float, default=0.1, metavar="SECONDS")
    parser.add_argument("--checkpoint-steps", type=int, default=20, help="0: only on request")
    parser.add_argument("--pause-step", type=int, default=-1, metavar="STEP", help="wait after it for --pause-file")
    parser.add_argument("--pause-file", default="", metavar="FILE", help="what --pause-step waits for")
    options = parser.parse_args()
    signal.signal(signal.SIGUSR1, on_notice)
    print(f"rank {RANK} of {WORLD_SIZE}, process {os.getpid()}", flush=True)
    state, request, written = restore(), read_request(), 0
    barrier = Barrier()
    while state["step"] < options.steps:
        time.sleep(options.step_time)
        state["step"] += 1
        state["loss"] *= 0.99
        barrier.wait()
        if RANK != 0:
            continue
        print(f"rank 0 step {state['step']} loss {state['loss']:.4f}", flush=True)
        now = read_request()
        asked, signaled, request = signaled or now != request, False, now
        due = options.checkpoint_steps > 0 and state["step"] % options.checkpoint_steps == 0
        if DIRECTORIES and (asked or due):
            write_checkpoint(state, written)
            written += 1
        while state["step"] == options.pause_step and not os.path.exists(options.pause_file):
            time.sleep(0.02)
    print(f"rank {RANK} done", flush=True)


if __name__ == "__main__":
    main()
