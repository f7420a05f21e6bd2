"""Certificates for the end-to-end tests: a CA, server and client certificates that it signs, and a lab that uses them."""

import pathlib
import shutil
import ssl
import subprocess
import tempfile

from lab import Lab


def _openssl(*words):
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)


class Authority:
    """A CA with a folder of its own. issue() returns the paths of a certificate and its key."""

    CURVE = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="weft_ca_"))
        self.pem, self.key, self.count = self.folder / "ca.pem", self.folder / "ca.key", 0
        _openssl("req", "-x509", *self.CURVE, "-keyout", self.key, "-out", self.pem, "-days", 2, "-subj", "/CN=test ca",
                 "-addext", "keyUsage=critical,keyCertSign")

    def issue(self, subject="/CN=weft", names="IP:127.0.0.1,DNS:localhost", usage="serverAuth"):
        self.count += 1
        pem, key, request = (self.folder / f"{self.count}.{kind}" for kind in ("pem", "key", "csr"))
        _openssl("req", *self.CURVE, "-keyout", key, "-out", request, "-subj", subject)
        extensions = self.folder / "extensions"
        extensions.write_text(f"extendedKeyUsage={usage}\nsubjectAltName={names}\n", encoding="ascii")
        _openssl("x509", "-req", "-in", request, "-CA", self.pem, "-CAkey", self.key, "-CAcreateserial", "-days", 2,
                 "-extfile", extensions, "-out", pem)
        key.chmod(0o600)
        return str(pem), str(key)

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def der_of(path):
    return ssl.PEM_cert_to_DER_cert(pathlib.Path(path).read_text(encoding="ascii"))


class CertificateLab(Lab):
    """A server with a certificate of a CA, which also signs those of clients. It reads the files tls_pem and tls_key."""

    def __init__(self, access="", **options):
        self.authority = Authority()
        self.tls_pem, self.tls_key = self.authority.folder / "tls.pem", self.authority.folder / "tls.key"
        self.use(*self.authority.issue())
        super().__init__(access, **options)

    def write_access(self, access="", *roles, **more):
        super().write_access(f"tls: {{certificate: {self.tls_pem}, key: {self.tls_key}, client_ca: "
                             f"{self.authority.pem}}}\n{access}", *roles, **more)

    @property
    def ca(self):
        return str(self.authority.pem)

    def use(self, certificate, key):
        """Puts a certificate and its key where the server reads them. Each file is replaced at once, as by rename(2)."""
        for source, target in ((certificate, self.tls_pem), (key, self.tls_key)):
            fresh = target.with_suffix(".new")
            shutil.copyfile(source, fresh)
            fresh.chmod(0o600)
            fresh.rename(target)

    def client(self, name, group):
        """What a client needs to sign in with a certificate."""
        context = ssl.create_default_context(cafile=self.ca)
        context.load_cert_chain(*self.authority.issue(f"/CN={name}/O={group}", f"DNS:{name}", "clientAuth"))
        return context

    def close(self):
        super().close()
        self.authority.close()
