# Functions shared by the acceptance scripts; sourced, not executed. POSIX sh and awk.
# shellcheck shell=sh disable=SC2034
# HERE: this directory, set by the sourcing script. RESULTS: JSON Lines file, one line per measurement.
RESULTS=${RESULTS:-results.jsonl}
REMOTE=${REMOTE:-ssh -n -o BatchMode=yes -o ConnectTimeout=10}
FAILED=0

# quote TEXT: sets $quoted to TEXT as a JSON string. Starts processes only where escaping is needed: most texts need
# none, and there are many measurements.
quote() {
  case "$1" in
  *[\\\"[:cntrl:]]*) quoted="\"$(printf '%s' "$1" | sed 's/[\\"]/\\&/g' | tr '\n\t\r' '   ')\"" ;;
  *) quoted="\"$1\"" ;;
  esac
}

# record STEP SUBJECT VALUE UNIT LIMIT pass|fail
record() {
  if [ "$6" = pass ]; then passed=true; else passed=false; fi
  quote "$1" && line="\"step\":$quoted"
  quote "$2" && line="$line,\"subject\":$quoted"
  quote "$3" && line="$line,\"value\":$quoted"
  quote "$4" && line="$line,\"unit\":$quoted"
  quote "$5" && line="$line,\"limit\":$quoted"
  printf '{"time":%s,%s,"pass":%s}\n' "$(date +%s)" "$line" "$passed" >> "$RESULTS"
  if [ $passed = false ]; then
    FAILED=1
    echo "FAIL $1: $2: $3 $4, expected $5" >&2
  fi
}

# at_least STEP SUBJECT VALUE UNIT LIMIT: an empty value is a failure.
at_least() {
  if [ -n "$3" ] && awk -v a="$3" -v b="$5" 'BEGIN { exit !(a + 0 >= b + 0) }'; then
    record "$1" "$2" "$3" "$4" "at least $5" pass
  else
    record "$1" "$2" "${3:-nothing}" "$4" "at least $5" fail
  fi
}

# equals STEP SUBJECT VALUE UNIT WANTED
equals() {
  if [ "$3" = "$5" ]; then
    record "$1" "$2" "$3" "$4" "$5" pass
  else
    record "$1" "$2" "${3:-nothing}" "$4" "$5" fail
  fi
}

# on HOST COMMAND: runs the command on the host.
on() {
  # shellcheck disable=SC2086
  $REMOTE "$1" "$2"
}

# pool_value POOL COLUMN: a cell of pools.tsv.
pool_value() { awk -F '\t' -v p="$1" -v c="$2" '$1 == p { print $c }' "$HERE/pools.tsv"; }
pools() { awk -F '\t' '!/^#/ { print $1 }' "$HERE/pools.tsv"; }
# servers POOL [UNIT]: server names.
servers() { awk -F '\t' -v p="$1" -v u="${2:-}" '$2 == p && (u == "" || $3 == u) { print $1 }' "$HERE/hosts.tsv"; }
units() { awk -F '\t' -v p="$1" '$2 == p && !seen[$3]++ { print $3 }' "$HERE/hosts.tsv"; }
# ports POOL: names of the ports with addresses, of its first server.
ports() {
  awk -F '\t' -v p="$1" '$2 == p { n = split($5, a, ","); for (i = 1; i <= n; i++) { split(a[i], b, "="); print b[1] } exit }' "$HERE/hosts.tsv"
}
# manage HOST: its management address, for the control connection of a test.
manage() { awk -F '\t' -v h="$1" '$1 == h { print $4 }' "$HERE/hosts.tsv"; }
# targets FILE-OF-PAIRS: for each pair FROM TO and each port of TO with an address, "FROM TO PORT ADDRESS", in one pass
# over hosts.tsv.
targets() {
  awk -F '\t' 'NR == FNR { ports[$1] = $5; next }
    { split($0, p, " "); n = split(ports[p[2]], a, ","); for (i = 1; i <= n; i++) { split(a[i], b, "="); print p[1], p[2], b[1], b[2] } }' \
    "$HERE/hosts.tsv" "$1"
}
# named FILE-OF-NAMES: converts pairs of line numbers on standard input to pairs of names.
named() { awk 'NR == FNR { name[NR] = $1; next } { print name[$1], name[$2] }' "$1" -; }
