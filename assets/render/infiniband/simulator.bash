#
# Simulated fabric: ibsim simulates the hardware; OpenSM and the diagnostic tools are the real ones.
#
# Usage: run.sh [COMMAND [ARGUMENT...]]   run the command (default: a shell) in the simulated fabric, then stop everything
# In the shell, run tools with ibsim-run: `ibsim-run ibnetdiscover`, `ibsim-run saquery`, ...
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
export IBSIM_SOCKNAME=weft$$ OSM_TMP_DIR=$work OSM_CACHE_DIR=$work
guid=$(awk '$1 == "guid" { print $2 }' "$here/opensm.conf")
SIM_HOST=$(awk -F'"' -v guid="$guid" 'index($1, guid) == 1 { print $2 }' "$here/node-name-map")
export SIM_HOST
nodes=$(grep -cE '^(Ca|Switch)' "$here/fabric.net")
switches=$(grep -c '^Switch' "$here/fabric.net")
ports=$(awk '/^(Ca|Switch)/ { n += $2 + 1 } END { print n + 64 }' "$here/fabric.net")
ibsim -s -n -N $((nodes + 16)) -S $((switches + 16)) -P "$ports" "$here/fabric.net" > "$work/ibsim.log" 2>&1 &
simulator=$!
manager=''
# OpenSM does not always stop on SIGTERM while the simulator is running.
stop() {
  [ -z "$manager" ] || kill -KILL "$manager" 2> "$work/errors" || true
  kill "$simulator" 2> "$work/errors" || true
  wait
  rm -rf "$work"
}
trap stop EXIT
until ibsim-run ibstat > "$work/ibstat" 2>&1; do
  kill -0 "$simulator" || { cat "$work/ibsim.log" >&2; exit 1; }
  sleep 0.2
done
cp "$here"/*.conf "$here/node-name-map" "$work/"
(cd "$work" && exec ibsim-run opensm -F opensm.conf) > "$work/opensm.out" 2>&1 &
manager=$!
for _ in $(seq 300); do
  ! ibsim-run ibstat 2> "$work/errors" | grep -q 'State: Active' || break
  kill -0 "$manager" || { cat "$work/opensm.out" >&2; exit 1; }
  sleep 0.2
done
export WEFT_IB_LOG=$work
"${@:-bash}"
