#!/usr/bin/env python3
"""Stands for a GPU program in tests with two engines: holds the device file of its node open and notes its use.

    hold_gpu.py ENGINE FOLDER SECONDS [FILE]

Ends after SECONDS, or when FILE exists. Under FOLDER: dev/NODE.gpuN are the devices; use/NODE has one file per process
that uses the node now, named ENGINE.PID; violations gets a line if a live process of another engine is there too. Both
of two processes that overlap write their file before they look, so at least one of them sees the other.
"""

import os
import pathlib
import signal
import sys
import time


def name_of_node():
    node = os.environ.get("WEFT_NODE") or os.environ.get("SLURMD_NODENAME")
    if node:
        return node
    return os.environ["WEFT_NODELIST"].split(",")[int(os.environ["GROUP_RANK"])]


def main():
    engine, folder, seconds = sys.argv[1], pathlib.Path(sys.argv[2]), float(sys.argv[3])
    stop = pathlib.Path(sys.argv[4]) if len(sys.argv) > 4 else None
    node = name_of_node()
    device = open(folder / "dev" / f"{node}.gpu{os.environ.get('LOCAL_RANK', '0')}", "rb")
    uses = folder / "use" / node
    uses.mkdir(parents=True, exist_ok=True)
    mine = uses / f"{engine}.{os.getpid()}"
    mine.write_text("")

    def end(*_):
        mine.unlink(missing_ok=True)
        device.close()
        os._exit(0 if not _ else 143)

    signal.signal(signal.SIGTERM, end)
    until = time.monotonic() + seconds
    while time.monotonic() < until and not (stop and stop.exists()):
        for other in list(uses.iterdir()):
            owner, pid = other.name.rsplit(".", 1)
            if owner != engine and os.path.exists(f"/proc/{pid}"):
                with open(folder / "violations", "a") as log:
                    log.write(f"{node}: {mine.name} and {other.name}\n")
        time.sleep(0.05)
    end()


if __name__ == "__main__":
    main()
