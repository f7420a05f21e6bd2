#!/usr/bin/env bash
# scripts/containerd.sh: unpacks the container runtime of the tests with a real kubelet: Debian 12's containerd, runc, CNI
# plugins and a static busybox for their image. Nothing is installed, no service is started and no root is needed. Does
# nothing if the result is there already.
#
# WEFT_CACHE (~/.cache/weft) holds the result, containerd-1.6.20: 0.2 GB.
set -euo pipefail

version=1.6.20
recipe=1 # raise it when the result of this script changes: the packages are then unpacked again
cache=${WEFT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/weft}
target=$cache/containerd-$version
programs=(usr/bin/containerd usr/bin/containerd-shim-runc-v2 usr/bin/ctr usr/sbin/runc usr/lib/cni/ptp bin/busybox)

fail() {
  echo "containerd: $1" >&2
  exit 1
}

# has_programs FOLDER: whether all of them are there.
has_programs() {
  local name
  for name in "${programs[@]}"; do
    [[ -x $1/$name ]] || return 1
  done
}

if [[ $(cat "$target/recipe" 2>/dev/null) == "$recipe" ]] && has_programs "$target"; then
  echo "containerd: $target is up to date"
  exit 0
fi

for tool in apt-get dpkg-deb flock; do
  command -v "$tool" >/dev/null || fail "$tool is missing; on Debian 12 install the packages apt, dpkg, util-linux"
done
mkdir -p "$cache"
exec 9>"$cache/containerd.lock"
flock --nonblock 9 || fail "another run is unpacking (lock $cache/containerd.lock); wait for it"
rm -rf "$cache"/containerd-unpack.* # of an interrupted run: the lock says that no other run is at work
work=$(mktemp -d "$cache/containerd-unpack.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

mkdir "$work/debs" "$work/result"
(cd "$work/debs" && apt-get -q -o APT::Sandbox::User="$(id -un)" download \
  containerd runc containernetworking-plugins busybox-static) ||
  fail "the packages cannot be downloaded; run 'apt-get update' and try again"
for file in "$work"/debs/*.deb; do
  dpkg-deb --extract "$file" "$work/result"
done
found=$(dpkg-deb --field "$work"/debs/containerd_*.deb Version)
[[ $found == "$version"[~+-]* ]] || fail "Debian's package is containerd $found, not $version"
has_programs "$work/result" || fail "the packages lack one of: ${programs[*]}"
echo "$recipe" >"$work/result/recipe"
sync -f "$work/result"
rm -rf "$target"
mv -T "$work/result" "$target"
echo "containerd: unpacked $target"
