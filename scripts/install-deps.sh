#!/usr/bin/env bash
# scripts/install-deps.sh [run|test|all]: installs the Debian packages that are missing, and does nothing when none is.
# "run" is what `make run` needs; "test" (the default) is that and what `make test` needs; "all" is that and what
# `scripts/test.sh all` needs.
set -euo pipefail

run_packages=(g++ make cmake ninja-build python3 libyaml-dev libfmt-dev nlohmann-json3-dev libssl-dev zlib1g-dev
  libcurl4-openssl-dev libfreeipmi-dev libipmiconsole-dev libsqlite3-dev libboost-dev)
test_packages=(build-essential file ccache pkg-config clang-14 clang clang-format-14 clang-tidy-14 libclang-rt-14-dev lld-14
  libgtest-dev libgmock-dev libbenchmark-dev git
  iproute2 lldpd ibsim-utils opensm infiniband-diags
  slurmctld slurmd slurm-client slurmrestd slurm-wlm-basic-plugins slurm-wlm-jwt-plugin munge
  slurmdbd mariadb-server fio shellcheck curl openssl
  etcd-server prometheus prometheus-alertmanager haproxy ansible-core frr libyang2-tools python3-jinja2 netplan.io chromium
  chromium-driver openipmi ipmitool freeipmi-tools redfishtool python3-sushy python3-jsonschema openssh-client)

case "${1:-test}" in
  run) packages=("${run_packages[@]}") ;;
  test) packages=("${run_packages[@]}" "${test_packages[@]}") ;;
  all) packages=("${run_packages[@]}" "${test_packages[@]}" mmdebstrap) ;;
  *)
    echo "usage: scripts/install-deps.sh [run|test|all]" >&2
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

# The tests start daemons themselves, on private ports and paths: none of those packages may start one of its own.
policy=/usr/sbin/policy-rc.d
if [[ ! -e $policy ]]; then
  printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" install -m 0755 /dev/stdin "$policy"
  trap '"${as_root[@]}" rm -f "$policy"' EXIT
fi

echo "install-deps: installing ${missing[*]}"
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq update
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends "${missing[@]}" \
  >/dev/null
