#!/usr/bin/env bash
# scripts/run.sh: designs an example cluster into out/, compiles, shows and checks it, draws its racks and
# four fabrics, renders every configuration of another, plays the life of a training job and a week of jobs, power-cycles
# simulated servers out of band, and runs a job that survives the kill of a rank.
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

# Out of band, on simulated BMCs: one is dead, one knows no power cycle.
rm -rf out/bmcs
"$weft" oob sim examples/pod16.yaml --dir out/bmcs --fault train003=dead --fault train006=no_power_cycle --for 10m &
simulator=$!
trap 'kill "$simulator" 2>/dev/null || true' EXIT
for ((i = 0; i < 100; i++)); do
  [[ -s out/bmcs/credentials.yaml && -s out/bmcs/endpoints.yaml ]] && break
  sleep 0.1
done
bmcs=(--endpoints out/bmcs/endpoints.yaml --credentials file:out/bmcs/credentials.yaml --state out/bmcs/state
  --syslog none --timeout 2s)
show oob status examples/pod16.yaml @train "${bmcs[@]}" || [[ $? == 3 ]]
show oob power cycle examples/pod16.yaml 'train[004-006]' --reason 'a first look' --yes "${bmcs[@]}"
show oob journal --state out/bmcs/state --verify
show rescue pfc-storm examples/pod16.yaml --set tor=be-train-u001-leaf3 --plan -f out/rescue.txt "${bmcs[@]}"

# The control plane, with jobs as processes of this machine: one rank of a gang of four is killed, and the job continues
# from its last checkpoint.
rm -rf out/serve out/tiny-checkpoints
sed "s|examples/|$PWD/examples/|" examples/tiny.job.yaml >out/tiny.job.yaml
export WEFT_SOCKET=$PWD/out/serve.sock
"$weft" serve examples/pod16.yaml --state out/serve &
server=$!
trap 'kill "$simulator" "$server" 2>/dev/null || true' EXIT
for ((i = 0; i < 100; i++)); do
  "$weft" status >/dev/null 2>&1 && break
  sleep 0.1
done
show job submit out/tiny.job.yaml --directory out
for ((i = 0; i < 600; i++)); do
  "$weft" job show 1 -o json | grep -q '"checkpoint_step": [1-9]' && break
  sleep 0.1
done
show job list
rank2=$("$weft" job logs 1 --task 2 | sed -n 's/.*process //p')
echo
echo "\$ kill -9 $rank2 # rank 2 of job 1"
kill -9 "$rank2"
show job wait 1
show job logs 1 --task 2
show job show 1
kill "$server"
wait "$server" || true
echo
echo "out/ holds the cluster file, the bill of materials, the cabling and address plans, five pictures, the"
echo "resiliency matrix and the findings of the check; out/rendered every configuration of examples/pod16.yaml, and"
echo "out/diff.txt what another DSCP would change, in a safe order. out/life.html is the life of a 70B training job as a"
echo "page, out/life.json its timeline for ui.perfetto.dev, out/schedule.html a week of jobs under three policies. out/bmcs"
echo "holds the journal of the power cycle, out/rescue.txt the plan of a rescue, out/serve the journal and logs of the job."
