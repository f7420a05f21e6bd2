#!/usr/bin/env python3
"""Writes a container image with a static busybox and nothing else, in the format of `docker save`.

    container_image.py BUSYBOX NAME FILE

The image keeps running without a command, so that it can also be the sandbox of pods. Its architecture is that of this
machine.
"""

import hashlib
import io
import json
import platform
import sys
import tarfile

COMMANDS = ("cat", "dd", "echo", "false", "ls", "mkdir", "sh", "sleep", "tail", "touch", "true")
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def add(archive, name, data=None, **fields):
    entry = tarfile.TarInfo(name)
    entry.mode = 0o755
    entry.size = len(data) if data is not None else 0
    for field, value in fields.items():
        setattr(entry, field, value)
    archive.addfile(entry, io.BytesIO(data) if data is not None else None)


def make_layer(busybox):
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as archive:
        for folder in ("bin", "dev", "etc", "proc", "sys", "tmp"):
            add(archive, folder, type=tarfile.DIRTYPE)
        with open(busybox, "rb") as program:
            add(archive, "bin/busybox", program.read())
        for command in COMMANDS:
            add(archive, "bin/" + command, type=tarfile.SYMTYPE, linkname="busybox")
    return layer.getvalue()


def main():
    busybox, name, path = sys.argv[1:]
    layer = make_layer(busybox)
    config = json.dumps({
        "architecture": ARCHITECTURES[platform.machine()],
        "os": "linux",
        "config": {"Entrypoint": ["/bin/tail", "-f", "/dev/null"], "Env": ["PATH=/bin"]},
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]},
    }).encode()
    config_name = hashlib.sha256(config).hexdigest() + ".json"
    manifest = json.dumps([{"Config": config_name, "RepoTags": [name], "Layers": ["layer.tar"]}]).encode()
    with tarfile.open(path, "w") as image:
        for member, data in ((config_name, config), ("layer.tar", layer), ("manifest.json", manifest)):
            add(image, member, data)


if __name__ == "__main__":
    main()
