#!/usr/bin/env bash
# scripts/pack.sh BUILD FOLDER [OPTION...]: packs the weft that is built in BUILD as a Debian package in FOLDER, and prints its
# path. The options are those of cpack.
set -euo pipefail

build=$(realpath "${1:?usage: scripts/pack.sh BUILD FOLDER}")
target=$(realpath -m "${2:?usage: scripts/pack.sh BUILD FOLDER}")

if [[ -z ${SOURCE_DATE_EPOCH:-} ]]; then
  time=$(sed -n 's/^set(CPACK_WEFT_TIME "\([0-9]*\)")$/\1/p' "$build/CPackConfig.cmake")
  export SOURCE_DATE_EPOCH=${time:-0}
fi
mkdir -p "$target"
umask 022
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! (cd "$target" && cpack --config "$build/CPackConfig.cmake" -G DEB -B "$target" "${@:3}") >"$log" 2>&1; then
  cat "$log" >&2
  exit 1
fi
rm -rf "$target/_CPack_Packages"
sed -n 's/^CPack: - package: \(.*\) generated\.$/\1/p' "$log"
