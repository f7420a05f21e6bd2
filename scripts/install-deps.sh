#!/usr/bin/env bash
# scripts/install-deps.sh [run|test]: installs the Debian packages that are missing, and does nothing when none is.
# "run" is what `make run` needs; "test" (the default) is that and what `make test` needs.
set -euo pipefail

run_packages=(g++ make cmake ninja-build libyaml-dev libfmt-dev nlohmann-json3-dev libssl-dev)
test_packages=(build-essential ccache pkg-config clang-14 clang clang-format-14 clang-tidy-14 libclang-rt-14-dev
  libgtest-dev libgmock-dev libbenchmark-dev python3 git
  iproute2 lldpd ibsim-utils opensm infiniband-diags)

case "${1:-test}" in
  run) packages=("${run_packages[@]}") ;;
  test) packages=("${run_packages[@]}" "${test_packages[@]}") ;;
  *)
    echo "usage: scripts/install-deps.sh [run|test]" >&2
    exit 2
    ;;
esac

if ! command -v dpkg-query >/dev/null; then
  echo "install-deps: not a Debian system; these must be there already: ${packages[*]}" >&2
  exit 0
fi

missing=()
for package in "${packages[@]}"; do
  state=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [[ $state == installed ]] || missing+=("$package")
done
if ((${#missing[@]} == 0)); then
  exit 0
fi

as_root=()
if ((EUID != 0)); then
  if ! command -v sudo >/dev/null; then
    echo "install-deps: as root, run: apt-get install ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

echo "install-deps: installing ${missing[*]}"
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq update
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends "${missing[@]}" \
  >/dev/null
