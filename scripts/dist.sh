#!/usr/bin/env bash
# scripts/dist.sh [FOLDER]: writes the source archive of the commit that is checked out to FOLDER (build/dist), with its
# SHA-256. `git archive` puts the commit into cmake/commit.txt, so that what is built from it knows its commit.
set -euo pipefail
cd "$(dirname "$0")/.."

target=${1:-build/dist}
version=$(sed -n 's/^project(weft VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
name=weft-$version
if [[ -n $(git status --porcelain --untracked-files=no) ]]; then
  echo "dist: changes that are not committed are left out" >&2
fi
mkdir -p "$target"
git archive --format=tar --prefix="$name/" HEAD | xz -9 -T1 >"$target/$name.tar.xz"
(cd "$target" && sha256sum "$name.tar.xz" >"$name.tar.xz.sha256")
echo "$target/$name.tar.xz"
