# Shared by the acceptance scripts; sourced, not run. POSIX sh and awk.
# shellcheck shell=sh disable=SC2034
# HERE: this folder, set by whoever sources it. RESULTS: file of JSON lines, one a measurement.
RESULTS=${RESULTS:-results.jsonl}
REMOTE=${REMOTE:-ssh -n -o BatchMode=yes -o ConnectTimeout=10}
FAILED=0

# quote TEXT: as a JSON string, left in $quoted. Few texts need more than the marks around them, and a measurement must
# not cost a dozen processes.
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
    echo "FAIL $1: $2: $3 $4, wanted $5" >&2
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

# on HOST COMMAND: runs it there.
on() {
  # shellcheck disable=SC2086
  $REMOTE "$1" "$2"
}

# pool_value POOL COLUMN: a cell of pools.tsv.
pool_value() { awk -F '\t' -v p="$1" -v c="$2" '$1 == p { print $c }' "$HERE/pools.tsv"; }
pools() { awk -F '\t' '!/^#/ { print $1 }' "$HERE/pools.tsv"; }
# servers POOL [UNIT]: names.
servers() { awk -F '\t' -v p="$1" -v u="${2:-}" '$2 == p && (u == "" || $3 == u) { print $1 }' "$HERE/hosts.tsv"; }
units() { awk -F '\t' -v p="$1" '$2 == p && !seen[$3]++ { print $3 }' "$HERE/hosts.tsv"; }
# ports POOL: names of the addressed ports of its first server.
ports() {
  awk -F '\t' -v p="$1" '$2 == p { n = split($5, a, ","); for (i = 1; i <= n; i++) { split(a[i], b, "="); print b[1] } exit }' "$HERE/hosts.tsv"
}
# manage HOST: where it is reached for the test's own connection.
manage() { awk -F '\t' -v h="$1" '$1 == h { print $4 }' "$HERE/hosts.tsv"; }
# targets FILE-OF-PAIRS: for each pair FROM TO and each addressed port of TO, "FROM TO PORT ADDRESS", in one look at the
# hosts.
targets() {
  awk -F '\t' 'NR == FNR { ports[$1] = $5; next }
    { split($0, p, " "); n = split(ports[p[2]], a, ","); for (i = 1; i <= n; i++) { split(a[i], b, "="); print p[1], p[2], b[1], b[2] } }' \
    "$HERE/hosts.tsv" "$1"
}
# named FILE-OF-NAMES: pairs of numbers on standard input become pairs of names.
named() { awk 'NR == FNR { name[NR] = $1; next } { print name[$1], name[$2] }' "$1" -; }
