#!/usr/bin/python3
"""`weft serve --store` against a real etcd with TLS, client certificates and users, and with input that is wrong: each
problem is named, and the exit code is that of other commands.
Usage: etcd_test.py EXECUTABLE [PATTERN...]
"""

import json
import pathlib
import ssl
import subprocess
import unittest
import urllib.request

import group as group_module
from certificates import Authority
from group import Etcd, Group, encode, needs_program, run_tests, wait_until


class HaEtcd(unittest.TestCase):
    def setUp(self):
        needs_program("etcd")
        needs_program("openssl")
        self.open = []

    def tearDown(self):
        for each in reversed(self.open):
            each.close()

    def keep(self, each):
        self.open.append(each)
        return each

    def fails(self, *words, code, says, cluster=None):
        """A server that does not start: its exit code and what it says."""
        folder = pathlib.Path(self.open[0].folder) / "other"
        folder.mkdir(exist_ok=True)
        (folder / "cluster.yaml").write_text(cluster or group_module.CLUSTER)
        done = subprocess.run([group_module.api_lab.EXECUTABLE, "serve", str(folder / "cluster.yaml"), "--state",
                               str(folder / "state"), "--socket", str(folder / "s"), "--no-cgroups", *map(str, words)],
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(says, done.stderr)

    def test_tls_client_certificates_and_users(self):
        authority = self.keep(Authority())
        pem, key = authority.issue(usage="serverAuth,clientAuth")
        client_pem, client_key = authority.issue("/O=weft", "DNS:client", "clientAuth")  # the gateway refuses a CN
        port = group_module.find_ports(1)
        url = f"https://127.0.0.1:{port}"
        etcd = self.keep(Etcd(1, [f"--listen-client-urls={url}", f"--advertise-client-urls={url}",
                                  f"--cert-file={pem}", f"--key-file={key}", "--client-cert-auth",
                                  f"--trusted-ca-file={authority.pem}"]))
        etcd.members[0].client = port
        context = ssl.create_default_context(cafile=str(authority.pem))
        context.load_cert_chain(client_pem, client_key)

        def call(path, body):
            request = urllib.request.Request(url + path, json.dumps(body).encode())
            with urllib.request.urlopen(request, timeout=5, context=context) as answer:
                return json.loads(answer.read())

        def works():
            try:
                return call("/v3/kv/range", {"key": encode("x")})
            except OSError:
                return None

        wait_until(works, "etcd answers")
        for path, body in (("user/add", {"name": "root", "password": "r"}),
                           ("user/grant", {"user": "root", "role": "root"}),
                           ("role/add", {"name": "weft"}),
                           ("role/grant", {"name": "weft", "perm": {"permType": "READWRITE", "key": encode("/weft/"),
                                                                    "range_end": encode("/weft0")}}),
                           ("user/add", {"name": "weft", "password": "secret"}),
                           ("user/grant", {"user": "weft", "role": "weft"}),
                           ("enable", {})):
            call("/v3/auth/" + path, body)
        folder = authority.folder
        (folder / "password").write_text("secret\n")
        (folder / "wrong").write_text("other\n")
        tls = ["--etcd-ca", str(authority.pem), "--etcd-cert", client_pem, "--etcd-key", client_key]
        user = ["--etcd-user", "weft", "--etcd-password", str(folder / "password")]
        group = self.keep(Group(etcd, servers=2, options=[*tls, *user]))
        self.assertIsNotNone(group.submit(group.leader()))
        group.check_all_done()
        store = ["--store", f"etcd://127.0.0.1:{port}/weft"]
        self.fails(*store, *tls, "--etcd-user", "weft", "--etcd-password", folder / "wrong", code=4,
                   says="authentication failed")
        self.fails(*store, *tls, code=4, says="user name is empty")
        self.fails("--store", f"etcd://127.0.0.1:{port}/elsewhere", *tls, *user, code=4, says="permission denied")
        self.fails(*store, "--etcd-ca", self.keep(Authority()).pem, *user, code=4, says="certificate")
        self.fails(*store, *tls[:2], *user, code=5, says="etcd 127.0.0.1")

    def test_wrong_input(self):
        etcd = self.keep(Etcd(1))
        etcd.wait()
        group = self.keep(Group(etcd, servers=1))
        group.leader()
        address = f"etcd://127.0.0.1:{etcd.members[0].client}/weft"
        self.fails("--store", "http://127.0.0.1:1", code=2, says="is not etcd://HOST:PORT")
        self.fails("--store", "etcd://", code=2, says="is not HOST:PORT")
        self.fails("--store", "etcd://127.0.0.1:99999", code=2, says="is not HOST:PORT")
        self.fails("--store", "etcd://127.0.0.1:1/a b", code=2, says="prefix")
        self.fails("--etcd-user", "x", code=2, says="needs --store")
        self.fails("--store", address, "--etcd-user", "x", code=2, says="not sent without TLS")
        self.fails("--store", address, "--etcd-ca", "/absent", code=2, says="cannot be read")
        self.fails("--store", "etcd://127.0.0.1:1", code=5, says="etcd 127.0.0.1:1")
        self.fails("--store", address, code=4, says="belongs to another cluster",
                   cluster=group_module.CLUSTER.replace("count: 3", "count: 4"))


if __name__ == "__main__":
    run_tests()
