#!/bin/sh
# Round-robin pairs by the circle method: N participants take N - 1 rounds (N odd: N rounds, one pauses in each), each
# at most once per round, each pair exactly once.
# pairs.sh rounds N: number of rounds
# pairs.sh round R N: the pairs of round R (from 1), as "i j" with i and j from 1
set -eu
case "$1" in
rounds)
  if [ "$2" -lt 2 ]; then echo 0; elif [ $(($2 % 2)) -eq 0 ]; then echo $(($2 - 1)); else echo "$2"; fi
  ;;
round)
  awk -v r="$2" -v n="$3" 'BEGIN {
    m = n % 2 == 0 ? n : n + 1
    for (k = 0; k < m / 2 && r < m; k++) {
      a = k == 0 ? m : 1 + (r - 1 + k) % (m - 1)
      b = 1 + (r - 1 + m - 1 - k) % (m - 1)
      if (a <= n && b <= n) print (a < b ? a " " b : b " " a)
    }
  }'
  ;;
*)
  echo "usage: pairs.sh rounds N | pairs.sh round R N" >&2
  exit 2
  ;;
esac
