#!/usr/bin/env python3
"""The Debian package and `make install`, without a root file system of their own (that is chroot_test.py): what they
install, and that it works from there. package_test.py EXECUTABLE [PATTERN...]
"""

import fnmatch
import gzip
import hashlib
import json
import os
import pathlib
import re
import tarfile
import unittest

from deb import SOURCE, call, control, pack, package_of, scratch, unpacked
import lab
from lab import needs_program, run_tests

MANIFEST = SOURCE / "tests/package/manifest.txt"
CLUSTER = SOURCE / "examples/pod16.yaml"
MAX_EXPOSURE = 20  # tenths, of `systemd-analyze security`: 2.0 is "OK", sshd has 96


def patterns():
    lines = [line.split("#")[0].strip() for line in MANIFEST.read_text(encoding="utf-8").splitlines()]
    return [line for line in lines if line]


def commands():
    """The names of all commands, from the table in README.md, which the test `reference` keeps complete."""
    text = (SOURCE / "README.md").read_text(encoding="utf-8")
    return [name.replace(" ", "-") for name in re.findall(r"^\| \[`weft ([^`]+)`\]", text, re.MULTILINE)]


def files_below(root):
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if not path.is_dir())


def complete(script, line):
    """What bash offers at the end of `line`, with the completion of `script`."""
    words = line.split(" ")
    return call("bash", "-c", f'. "$1"; COMP_WORDS=({line}); [ "${{#COMP_WORDS[@]}}" = {len(words)} ] || COMP_WORDS+=("");'
                f'COMP_CWORD={len(words) - 1}; COMP_LINE="$2"; COMP_POINT=${{#2}}; f=$(complete -p weft | '
                'sed "s/.*-F \\([^ ]*\\).*/\\1/"); "$f"; printf "%s\\n" "${COMPREPLY[@]}"', "bash", script, line).split()


class DebianPackage(unittest.TestCase):
    """The package that cpack makes."""

    def setUp(self):
        needs_program("dpkg-deb")
        needs_program("dpkg-shlibdeps")
        self.package = package_of(lab.EXECUTABLE)
        self.root = unpacked(lab.EXECUTABLE)
        self.control = control(lab.EXECUTABLE)

    def weft(self, *words, codes=(0,)):
        return call(self.root / "usr/bin/weft", *words, codes=codes)

    def test_manifest(self):
        files = files_below(self.root)
        self.assertEqual([file for file in files if not any(fnmatch.fnmatch(file, one) for one in patterns())], [])
        self.assertEqual([one for one in patterns() if not fnmatch.filter(files, one)], [])
        pages = {file.split("/")[-1] for file in files if "/man1/" in file}
        self.assertEqual({f"weft-{name}.1.gz" for name in commands()} - pages, set())

    def test_owners_modes_and_times(self):
        archive = scratch() / "data.tar"
        call("bash", "-c", 'dpkg-deb --fsys-tarfile "$1" > "$2"', "bash", self.package, archive)
        with tarfile.open(archive) as tar:
            for member in tar:
                self.assertEqual((member.uid, member.gid, member.mtime), (0, 0, 1700000000), member.name)
                runs = member.isdir() or member.name == "./usr/bin/weft"
                self.assertEqual(oct(member.mode & 0o7777), oct(0o755 if runs else 0o644), member.name)

    def test_control(self):
        fields = {}
        for name in ("Package", "Version", "Architecture", "Depends", "Recommends", "Maintainer"):
            fields[name] = call("dpkg-deb", "--field", self.package, name).strip()
        self.assertEqual(fields["Package"], "weft")
        self.assertEqual(fields["Version"], self.weft("version").split()[1])
        self.assertEqual(fields["Architecture"], call("dpkg", "--print-architecture").strip())
        depends = {re.split(r"[ (]", one.strip())[0] for one in fields["Depends"].split(",")}
        # Linked ones by dpkg-shlibdeps; those that weft loads itself by the package that has their file.
        self.assertLessEqual({"libc6", "libstdc++6", "libyaml-0-2"}, depends)
        for soname in ("libssl.so.3", "libcurl.so.4", "libsqlite3.so.0"):
            owners = {line.split(":")[0] for line in call("dpkg-query", "--search", f"*/{soname}").splitlines()}
            self.assertTrue(owners & depends, soname)
        self.assertIn("libfreeipmi", fields["Recommends"])
        self.assertEqual((self.control / "conffiles").read_text(encoding="utf-8"), "/etc/weft/serve.conf\n")
        for script in ("postinst", "prerm", "postrm"):
            self.assertTrue(os.access(self.control / script, os.X_OK))
            call("sh", "-n", self.control / script)

    def test_checksums(self):
        listed = {}
        for line in (self.control / "md5sums").read_text(encoding="utf-8").splitlines():
            digest, path = line.split(None, 1)
            listed[path] = digest
        for path, digest in listed.items():
            self.assertEqual(hashlib.md5((self.root / path).read_bytes()).hexdigest(), digest, path)
        self.assertIn("usr/bin/weft", listed)

    def test_same_bytes_again(self):
        self.assertEqual(hashlib.sha256(pack(lab.EXECUTABLE, "second").read_bytes()).hexdigest(),
                         hashlib.sha256(self.package.read_bytes()).hexdigest())

    def test_documents(self):
        doc = self.root / "usr/share/doc/weft"
        with gzip.open(doc / "changelog.gz", "rt", encoding="utf-8") as file:
            self.assertRegex(file.readline(), r"^weft \([0-9.]+\) \w+; urgency=medium$")
        self.assertIn("License: Apache-2.0", (doc / "copyright").read_text(encoding="utf-8"))

    def test_design_check_render(self):
        folder = scratch() / "use"
        folder.mkdir(exist_ok=True)
        cluster = folder / "cluster.yaml"
        self.weft("design", "--gpus", "64", "-q", "-f", cluster)
        self.weft("check", cluster, codes=(0, 1))
        self.weft("render", cluster, "-o", folder / "rendered")
        self.assertTrue((folder / "rendered/manifest.json").exists())
        first = cluster.read_text(encoding="utf-8").splitlines()[0]
        schema = re.fullmatch(r"# yaml-language-server: \$schema=(/\S+)", first).group(1)
        self.assertTrue((self.root / schema.lstrip("/")).exists(), schema)

    def test_schemas(self):
        folder = self.root / "usr/share/weft/schemas"
        listed = json.loads((folder / "catalog.json").read_text(encoding="utf-8"))["schemas"]
        for entry in listed:
            path = self.root / entry["url"].removeprefix("file:///")
            self.assertIn("$defs", json.loads(path.read_text(encoding="utf-8")), path)
        self.assertEqual(len(listed), len(list(folder.glob("*.schema.json"))))

    def test_completions(self):
        offered = complete(self.root / "usr/share/bash-completion/completions/weft", "weft oob st")
        self.assertEqual(offered, ["status"])

    def test_unit(self):
        unit = (self.root / "lib/systemd/system/weft.service").read_text(encoding="utf-8")
        self.assertIn("ExecStart=/usr/bin/weft serve", unit)
        self.assertIn("EnvironmentFile=-/etc/weft/serve.conf", unit)
        self.assertNotIn("@WEFT", unit)
        needs_program("systemd-analyze")
        # The path of the program, which is not installed here, is what verification would complain about.
        trial = scratch() / "weft.service"
        trial.write_text(unit.replace("/usr/bin/weft", str(self.root / "usr/bin/weft")), encoding="utf-8")
        self.assertEqual(call("bash", "-c", 'systemd-analyze verify --man=no "$1" 2>&1', "bash", trial), "")
        table = json.loads(call("systemd-analyze", "security", "--offline=true", "--json=short", trial))
        exposed = {row["name"] for row in table if row.get("set") is False}
        self.assertNotIn("User=/DynamicUser=", exposed)
        call("systemd-analyze", "security", "--offline=true", f"--threshold={MAX_EXPOSURE}", trial)

    def test_sysusers(self):
        needs_program("systemd-sysusers")
        root = scratch() / "users"
        (root / "etc").mkdir(parents=True, exist_ok=True)
        call("systemd-sysusers", f"--root={root}", self.root / "usr/lib/sysusers.d/weft.conf")
        user = (root / "etc/passwd").read_text(encoding="utf-8")
        self.assertRegex(user, r"(?m)^weft:x:\d+:\d+:weft control plane:/var/lib/weft:/usr/sbin/nologin$")


class MakeInstall(unittest.TestCase):
    """`make install` and `make uninstall`, below a folder."""

    def test_install_and_uninstall(self):
        root = scratch() / "local"
        environment = {**os.environ, "DESTDIR": str(root), "PREFIX": "/opt/weft",
                       "WEFT_BUILD": str(pathlib.Path(lab.EXECUTABLE).parent)}
        script = SOURCE / "scripts/install.sh"
        call(script, env=environment)
        prefix = root / "opt/weft"
        self.assertTrue(call(prefix / "bin/weft", "version").startswith("weft "))
        self.assertIn("ExecStart=/opt/weft/bin/weft serve",
                      (prefix / "lib/systemd/system/weft.service").read_text(encoding="utf-8"))
        catalog = (prefix / "share/weft/schemas/catalog.json").read_text(encoding="utf-8")
        self.assertIn("file:///opt/weft/share/weft/schemas/cluster.schema.json", catalog)
        settings = prefix / "etc/weft/serve.conf"
        settings.write_text("WEFT_SERVE_OPTIONS=--verbose\n", encoding="utf-8")
        call(script, env=environment)  # again: the settings stay
        call(script, "--remove", env=environment)
        self.assertEqual(files_below(root), ["opt/weft/etc/weft/serve.conf"])
        self.assertEqual(settings.read_text(encoding="utf-8"), "WEFT_SERVE_OPTIONS=--verbose\n")

    def test_refuses_relative_paths(self):
        environment = {**os.environ, "DESTDIR": "", "PREFIX": "here"}
        call(SOURCE / "scripts/install.sh", codes=(2,), env=environment)


if __name__ == "__main__":
    run_tests()
