#!/usr/bin/env python3
"""The Debian package in a clean Debian root: installed with its dependencies, used as its manual says, removed, purged.
Needs root, mmdebstrap and Debian's archive. chroot_test.py EXECUTABLE [PATTERN...]
"""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from deb import SOURCE, call, package_of
import lab
from lab import needs, needs_program, run_tests

# Beside what `minbase` has: what shows manual pages, completes words and verifies units, so that the package adds its
# own dependencies only.
INCLUDE = "man-db,bash-completion,systemd,ca-certificates"
# Package managers, caches and the system's accounts change these by themselves. The user `weft` stays after a purge, as
# Debian's policy has it: files elsewhere may be its own.
VOLATILE = ("/var/lib/dpkg/", "/var/lib/apt/", "/var/cache/", "/var/log/", "/run/", "/tmp/", "/proc/", "/sys/", "/dev/",
            "/etc/passwd", "/etc/group", "/etc/shadow", "/etc/gshadow", "/etc/.pwd.lock", "/etc/ld.so.cache",
            "/etc/subuid", "/etc/subgid")

# `weft serve` as its unit starts it, without systemd: its user, its folders, its settings.
SERVE = """
set -e
install -d -o weft -g weft -m 0750 /var/lib/weft
install -d -o weft -g weft -m 0755 /run/weft
export WEFT_CLUSTER=/etc/weft/cluster.yaml XDG_STATE_HOME=/var/lib HOME=/var/lib/weft
line=$(sed -n 's/^ExecStart=//p' /lib/systemd/system/weft.service | sed 's|%t|/run|')
. /etc/weft/serve.conf
cd /
eval "exec setpriv --reuid weft --regid weft --clear-groups -- $line" 2>/tmp/serve.log &
server=$!
for i in $(seq 600); do weft status >/dev/null 2>&1 && break; sleep 0.1; done
weft status
stat -c '%U %a' /run/weft/weft.sock
kill $server
wait $server
cat /tmp/serve.log
"""


def has_archive():
    """Whether Debian's archive answers: the index of a package that mmdebstrap needs."""
    done = subprocess.run(["apt-get", "-o", "Dir::Cache::archives=/nonexistent", "--print-uris", "-qq", "download",
                           "libc6"], capture_output=True, text=True, check=False)
    return done.returncode == 0 and bool(done.stdout.strip())


class CleanRoot(unittest.TestCase):
    """One root file system; the tests are steps, in this order."""

    @classmethod
    def setUpClass(cls):
        cls.root = None

    @classmethod
    def tearDownClass(cls):
        if cls.root:
            shutil.rmtree(cls.root, ignore_errors=True)

    def setUp(self):
        needs_program("mmdebstrap")
        needs(os.geteuid() == 0, "root")
        needs(has_archive(), "network")

    def chroot(self, *words, codes=(0,)):
        return call("unshare", "--mount", "--pid", "--fork", "sh", "-c",
                    'mount -t proc proc "$1/proc"; root=$1; shift; exec chroot "$root" "$@"', "sh", self.root,
                    "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LANG=C.UTF-8",
                    "DEBIAN_FRONTEND=noninteractive", "MANPAGER=cat", *words, codes=codes)

    def files(self):
        found = set()
        for folder, folders, names in os.walk(self.root):
            for name in [*folders, *names]:
                path = "/" + os.path.relpath(os.path.join(folder, name), self.root)
                if not path.startswith(VOLATILE):
                    found.add(path)
        return found

    def test_install_use_remove_purge(self):
        type(self).root = tempfile.mkdtemp(prefix="weft_root_")
        release = call("bash", "-c", '. /etc/os-release; echo "$VERSION_CODENAME"').strip()
        call("mmdebstrap", "--quiet", "--variant=minbase", f"--include={INCLUDE}",
             "--setup-hook=mkdir -p \"$1/etc/dpkg/dpkg.cfg.d\"", "--skip=cleanup/apt/lists", release, self.root)
        before = self.files()
        packages = set(self.packages())

        shutil.copy(package_of(lab.EXECUTABLE), pathlib.Path(self.root, "tmp/weft.deb"))
        self.chroot("apt-get", "-qq", "install", "--yes", "/tmp/weft.deb")
        self.use()
        self.serve()

        self.chroot("apt-get", "-qq", "remove", "--yes", "weft")
        left = self.files() - before
        self.assertNotIn("/usr/bin/weft", left)
        self.assertIn("/etc/weft/serve.conf", left)  # a settings file stays until the purge
        pathlib.Path(self.root, "etc/weft/cluster.yaml").unlink()  # the administrator's
        self.chroot("apt-get", "-qq", "purge", "--yes", "weft")
        self.chroot("apt-get", "-qq", "purge", "--yes", "--auto-remove", *sorted(set(self.packages()) - packages))
        self.assertEqual(sorted(self.files() - before), [])
        self.assertEqual(sorted(before - self.files()), [])

    def packages(self):
        return self.chroot("dpkg-query", "--show", "--showformat=${Package}\n").split()

    def use(self):
        version = self.chroot("weft", "version").split()[1]
        self.assertEqual(version, call(lab.EXECUTABLE, "version").split()[1])
        libraries = self.chroot("weft", "version", "-o", "wide")
        self.assertNotIn("  no  ", libraries)  # each library is found
        self.chroot("weft", "design", "--gpus", "64", "-q", "-f", "/etc/weft/cluster.yaml")
        self.chroot("weft", "check", "/etc/weft/cluster.yaml", codes=(0, 1))
        self.chroot("weft", "render", "/etc/weft/cluster.yaml", "-o", "/tmp/rendered")
        self.assertIn("/man1/weft.1", self.chroot("man", "-w", "weft"))
        self.assertIn("Show the power state", self.chroot("man", "weft-oob-status"))
        self.assertIn("pools", self.chroot("man", "5", "weft-cluster"))
        self.assertIn("weft-cluster (5)", self.chroot("bash", "-c", "mandb -q; whatis weft-cluster"))
        loaded = self.chroot("bash", "-c", ". /usr/share/bash-completion/bash_completion; _completion_loader weft; "
                             "complete -p weft")
        self.assertIn("weft", loaded)
        self.assertEqual(self.chroot("bash", "-c", "systemd-analyze verify weft.service 2>&1"), "")
        self.assertIn("weft control plane", self.chroot("getent", "passwd", "weft"))
        self.assertEqual(self.chroot("dpkg", "--verify", "weft"), "")

    def serve(self):
        said = self.chroot("bash", "-c", SERVE)
        self.assertIn("engine local", said)
        self.assertIn("weft 600", said)
        self.assertTrue(any(pathlib.Path(self.root, "var/lib/weft").iterdir()))


if __name__ == "__main__":
    run_tests()
