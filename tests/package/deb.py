"""What the tests of the package share: the package of a build, packed once per run, and its parts."""

import atexit
import functools
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests/api"))


@functools.cache
def scratch():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="weft_package_"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def call(*words, codes=(0,), **options):
    """Standard output of a program; a failure shows both of its streams."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, timeout=600,
                          **options)
    if done.returncode not in codes:
        raise AssertionError(f"{' '.join(map(str, words))}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def pack(executable, folder):
    """The package that cpack makes of the build which `executable` is in."""
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
    environment.pop("DESTDIR", None)
    target = scratch() / folder
    call(SOURCE / "scripts/pack.sh", pathlib.Path(executable).parent, target, "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=gzip",
         env=environment)  # xz takes several times as long
    package, = target.glob("weft_*.deb")
    return package


@functools.cache
def package_of(executable):
    return pack(executable, "first")


@functools.cache
def unpacked(executable):
    folder = scratch() / "root"
    call("dpkg-deb", "--extract", package_of(executable), folder)
    return folder


@functools.cache
def control(executable):
    folder = scratch() / "control"
    call("dpkg-deb", "--control", package_of(executable), folder)
    return folder
