#!/usr/bin/env bash
# scripts/package.sh [FOLDER]: builds the Debian package into FOLDER (build/package). Two runs on one commit give the same
# bytes: times in the package are those of the commit, or $SOURCE_DATE_EPOCH.
set -euo pipefail
cd "$(dirname "$0")/.."

target=$(realpath -m "${1:-build/package}")
scripts/build.sh package
scripts/pack.sh build/package "$target"
