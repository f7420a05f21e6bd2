#!/usr/bin/env bash
# scripts/run.sh: designs an example cluster into out/, shows its summary, and draws it.
set -euo pipefail
cd "$(dirname "$0")/.."

weft=build/release/weft
mkdir -p out

show() {
  echo "\$ weft $*"
  "$weft" "$@"
}

show design --gpus 256 --gpu h100-sxm -o out/cluster.yaml
show show summary out/cluster.yaml
if "$weft" render --help >/dev/null 2>&1; then
  for view in fabric racks; do
    show render "$view" out/cluster.yaml -o "out/$view.svg"
  done
fi
