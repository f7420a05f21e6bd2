#!/usr/bin/env bash
# scripts/run.sh: designs an example cluster into out/, compiles, shows and checks it, draws its racks and
# four fabrics, renders every configuration of another, and plays the life of a training job.
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
show failures out/cluster.yaml --matrix -f out/resiliency.txt
show check out/cluster.yaml -f out/findings.txt || [[ $? == 1 ]] # findings are what it is for
cat out/findings.txt
show check examples/pod16.yaml --live examples/running
show render examples/pod16.yaml --job examples/train.job.yaml -o out/rendered
show check examples/pod16.yaml --config out/rendered
sed 's/dscp: 26/dscp: 28/' examples/pod16.yaml >out/changed.yaml
show diff out/changed.yaml out/rendered --job examples/train.job.yaml -f out/diff.txt || [[ $? == 1 ]]
tail -n 40 out/diff.txt
show sim life examples/pod32.yaml examples/llama-70b.job.yaml --page out/life.html --trace out/life.json
show sched replay examples/pod32.yaml examples/week.jobs.csv --page out/schedule.html -f out/schedule.txt
head -n 30 out/schedule.txt
show sched explain pretrain-20 examples/pod32.yaml examples/week.jobs.csv
echo
echo "out/ holds the cluster file, the bill of materials, the cabling and address plans, five pictures, the"
echo "resiliency matrix and the findings of the check; out/rendered every configuration of examples/pod16.yaml, and"
echo "out/diff.txt what another DSCP would change, in a safe order. out/life.html is the life of a 70B training job as a"
echo "page, out/life.json its timeline for ui.perfetto.dev, out/schedule.html a week of jobs under three policies."
