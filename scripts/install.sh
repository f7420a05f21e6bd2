#!/usr/bin/env bash
# scripts/install.sh [--remove]: installs build/release, built before if it is not there, into $PREFIX (/usr/local) below
# $DESTDIR; or removes what was installed there. An edited /etc/weft/serve.conf is neither replaced nor removed.
set -euo pipefail
cd "$(dirname "$0")/.."

prefix=${PREFIX:-/usr/local}
root=${DESTDIR:-}
build=${WEFT_BUILD:-build/release}
manifest=$build/install_manifest.txt

if [[ $prefix != /* || (-n $root && $root != /*) ]]; then
  echo "install: PREFIX and DESTDIR must be absolute: '$prefix', '$root'" >&2
  exit 2
fi

# The list of what an installation into this prefix consists of, from one into an empty folder.
if [[ ${1:-} != --remove ]]; then
  [[ -x "$build/weft" ]] || scripts/build.sh release
  DESTDIR=$root cmake --install "$build" --prefix "$prefix" >/dev/null
  echo "install: weft is in $root$prefix/bin"
  exit 0
fi

[[ -x $build/weft ]] || {
  echo "uninstall: $build/weft is needed to know what was installed: run make first" >&2
  exit 1
}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
DESTDIR=$scratch cmake --install "$build" --prefix "$prefix" >/dev/null
removed=0
while IFS= read -r path; do
  if [[ $path == */weft/serve.conf ]] && ! cmp -s "$scratch$path" "$root$path"; then
    [[ -e $root$path ]] && echo "uninstall: $root$path was edited and stays"
    continue
  fi
  if [[ -e $root$path ]]; then
    rm -f "$root$path"
    removed=$((removed + 1))
  fi
  # Folders that are empty now and have weft's name; others belong to the system.
  folder=$(dirname "$path")
  while [[ $folder == */weft || $folder == */weft/* ]]; do
    rmdir "$root$folder" 2>/dev/null || break
    folder=$(dirname "$folder")
  done
done <"$manifest"
echo "uninstall: removed $removed files below $root$prefix"
