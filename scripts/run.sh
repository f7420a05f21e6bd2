#!/usr/bin/env bash
# scripts/run.sh: designs an example cluster into out/, compiles and shows it, and draws its racks and four fabrics.
set -euo pipefail
cd "$(dirname "$0")/.."

weft=build/release/weft
mkdir -p out

show() {
  echo
  echo "\$ weft $*"
  "$weft" "$@"
}

show design --gpus 256 --gpu h100-sxm --name pod32 -f out/cluster.yaml
show show summary out/cluster.yaml
show show bom out/cluster.yaml --prices examples/prices.yaml -f out/bom.txt
show show cables out/cluster.yaml -o csv -f out/cables.csv
show show addresses out/cluster.yaml -o csv -f out/addresses.csv
for picture in racks backend storage frontend oob; do
  show show "svg-$picture" out/cluster.yaml -f "out/$picture.svg"
done
echo
echo "out/ holds the cluster file, the bill of materials, the cabling and address plans, and five pictures."
