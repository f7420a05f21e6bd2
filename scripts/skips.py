#!/usr/bin/env python3
"""Counts the skipped tests of ctest logs and fails when a skip is not justified.

    scripts/skips.py [--list FILE] LOG...      LOG: build/<preset>/Testing/Temporary/LastTest.log

A test that lacks a prerequisite (base/test_prerequisites.h) is skipped with the message `prerequisite missing: WHAT`.
tests/permitted_skips.txt lists which tests may be skipped for what. The exit status is 1 when a log is absent, empty or
without tests; when a skip is not in the list or has no such message; and when its prerequisite is in fact there, which
the script verifies by itself: otherwise a faulty check in a test would skip it unnoticed.
"""

import argparse
import fnmatch
import os
import pathlib
import re
import shutil
import socket
import stat
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
MESSAGE = "prerequisite missing: "
SYSTEM_FOLDERS = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
MAX_SHOWN = 10

# Output of a test without a newline at its end may precede what GoogleTest prints.
RUN = re.compile(r"\[ RUN      \] (\S+)$")
SKIPPED = re.compile(r"\[  SKIPPED \] (\S+) \(\d+ ms\)$")


class ListError(Exception):
    """A line of the list of permitted skips that cannot be read."""


def read_permitted(text):
    """(pattern of test names, prerequisite) for each line; `#` starts a comment."""
    permitted = []
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split("#")[0].split(None, 1)
        if not words:
            continue
        if len(words) == 1:
            raise ListError(f"line {number}: {words[0]} has no prerequisite")
        permitted.append((words[0], words[1].strip()))
    return permitted


def read_log(text):
    """The number of tests that started, and (test, prerequisite or None) for each that was skipped."""
    started, skips, said = 0, [], None
    for line in text.splitlines():
        if RUN.search(line):
            started, said = started + 1, None
        elif MESSAGE in line and said is None:
            said = line.split(MESSAGE, 1)[1].strip()
        else:
            match = SKIPPED.search(line)
            if match:
                skips.append((match.group(1), said))
    return started, skips


def data_folder():
    return pathlib.Path(os.environ.get("WEFT_TEST_DATA") or ROOT.parent / "shared")


def can_import(python, modules):
    try:
        return subprocess.run([python, "-c", f"import {modules}"], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def can_make_networks():
    name = f"weft-skips{os.getpid()}"
    pair = ["ip", "-n", name, "link", "add", "name", "probe0", "type", "veth", "peer", "name", "probe1"]
    try:
        made = all(subprocess.run(words, capture_output=True, check=False).returncode == 0
                   for words in (["ip", "netns", "add", name], pair))
        subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
        return made
    except OSError:
        return False


def can_listen():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as trial:
        try:
            trial.bind(("127.63.255.253", 623))
            return True
        except OSError:
            return False


def can_make_devices():
    with tempfile.TemporaryDirectory() as folder:
        try:
            os.mknod(os.path.join(folder, "null"), 0o600 | stat.S_IFCHR, os.makedev(1, 3))
            return True
        except OSError:
            return False


def can_mount():
    """A small file system in memory, as the tests of full disks mount."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "weft-test", folder], capture_output=True)
        if done.returncode == 0:
            subprocess.run(["umount", folder], capture_output=True)
        return done.returncode == 0


def can_make_cgroups():
    """A cgroup (v2) below our own."""
    own = [line[3:] for line in open("/proc/self/cgroup").read().splitlines() if line.startswith("0::/")]
    for line in open("/proc/self/mounts").read().splitlines() if own else ():
        if line.split()[2] == "cgroup2":
            folder = os.path.join(line.split()[1], own[0].lstrip("/"), f"weft-skips-{os.getpid()}")
            try:
                os.mkdir(folder)
            except OSError:
                return False
            os.rmdir(folder)
            return True
    return False


def is_cached(program):
    """A program that `make kubernetes` has put there (scripts/kubernetes.sh and containerd.sh, tests/kube_fixture.h)."""
    cache = os.environ.get("WEFT_CACHE") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "weft")
    return os.access(os.path.join(cache, program), os.X_OK)


def has_kubernetes():
    return is_cached("kubernetes-1.20.2/bin/kube-apiserver")


def has_containerd():
    return is_cached("containerd-1.6.20/usr/bin/containerd")


def is_present(prerequisite):
    """True when the prerequisite is here. False when it is not, or when only the test itself can tell."""
    kind, _, what = prerequisite.partition(" ")
    if kind == "program":
        return shutil.which(what, path=os.environ.get("PATH", "") + ":" + SYSTEM_FOLDERS) is not None
    if kind == "data":
        return (data_folder() / what).exists()
    if kind == "python":
        return any(can_import(python, what) for python in ("/usr/bin/python3", "python3"))
    check = {"root": lambda: os.geteuid() == 0, "network namespaces": can_make_networks, "UDP port 623": can_listen,
             "make kubernetes": has_kubernetes, "containerd of make kubernetes": has_containerd,
             "cgroup v1": lambda: os.access("/sys/fs/cgroup/memory/cgroup.procs", os.W_OK),
             "device files": can_make_devices, "mounts": can_mount, "writable cgroups": can_make_cgroups,
             "WEFT_REDFISH_SERVERS": lambda: "WEFT_REDFISH_SERVERS" in os.environ,
             "/proc/sys": lambda: os.path.exists("/proc/sys/net")}.get(prerequisite)
    return check is not None and check()


def judge(skips, permitted, present=is_present):
    """A line for each skip that is not justified."""
    problems, known = [], {}
    for test, prerequisite in skips:
        allowed = sorted({what for pattern, what in permitted if fnmatch.fnmatchcase(test, pattern)})
        if prerequisite is None:
            problems.append(f"{test}: skipped without `{MESSAGE}...`")
        elif not allowed:
            problems.append(f"{test}: no skip of it is permitted (prerequisite: {prerequisite})")
        elif prerequisite not in allowed:
            problems.append(f"{test}: skipped for `{prerequisite}`; permitted is `{'`, `'.join(allowed)}`")
        else:
            if prerequisite not in known:
                known[prerequisite] = present(prerequisite)
            if known[prerequisite]:
                problems.append(f"{test}: skipped for `{prerequisite}`, which is here")
    return problems


def table(skips):
    """Rows of number, prerequisite and test suites, the most frequent first."""
    groups = {}
    for test, prerequisite in skips:
        groups.setdefault(prerequisite or "(none given)", []).append(test)
    width = max((len(name) for name in groups), default=0)
    rows = []
    for prerequisite, tests in sorted(groups.items(), key=lambda group: (-len(group[1]), group[0])):
        suites = sorted({test.rsplit(".", 1)[0].split("/")[-1] for test in tests})
        rows.append(f"{len(tests):5d}  {prerequisite:<{width}}  {', '.join(suites)}")
    return rows


def main(arguments):
    parser = argparse.ArgumentParser(description="Counts the skipped tests of ctest logs.")
    parser.add_argument("--list", type=pathlib.Path, default=ROOT / "tests" / "permitted_skips.txt",
                        help="permitted skips (tests/permitted_skips.txt)")
    parser.add_argument("logs", nargs="+", type=pathlib.Path, metavar="LOG")
    options = parser.parse_args(arguments)

    problems, started, skips = [], 0, []
    try:
        permitted = read_permitted(options.list.read_text(encoding="utf-8"))
    except (OSError, ListError) as error:
        permitted = []
        problems.append(f"{options.list}: {error}")
    for log in options.logs:
        try:
            count, found = read_log(log.read_text(encoding="utf-8", errors="replace"))
        except OSError as error:
            problems.append(f"{log}: {error.strerror}")
            continue
        if count == 0:
            problems.append(f"{log}: no tests in it")
        started += count
        skips += found
    problems += judge(skips, permitted)

    for row in table(skips):
        print(row)
    for problem in problems[:MAX_SHOWN]:
        print(f"skips: {problem}")
    if len(problems) > MAX_SHOWN:
        print(f"skips: and {len(problems) - MAX_SHOWN} more problems")
    print(f"skips: {len(skips) or 'none'} of {started} tests" + (f", {len(problems)} problems" if problems else ""))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
