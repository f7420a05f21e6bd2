#
# Usage: lab.sh up [OPTIONS]      start the lab
#        lab.sh status [OPTIONS]  show BGP sessions of every switch: established and expected
#        lab.sh down [OPTIONS]    stop the lab
#        lab.sh list              list units for --unit
# Options: --fabric FABRIC  backend, storage or frontend (all)
#          --unit UNIT      only leaves of this unit, and the spines above them; repeatable (all)
#          --rails LIST     only leaves of these rails: 1,2,5 (all)
#          --hosts N        only the first N hosts of each leaf (all)
#          --prefix NAME    prefix of the namespaces; labs with different prefixes are independent (weft)
#          --wait SECONDS   with up: wait until every session is established
#
# Every device is a network namespace named PREFIX-DEVICE, every cable a veth pair. Interfaces have the names of the
# model's ports; Linux allows no slash and at most 15 characters, so p12/2 is p12-2. A leaf's VLAN is a bridge named vlanN.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
table=$here/lab.tsv
frr=${FRR_DIR:-/usr/lib/frr}
prefix=weft fabric='' units='' rails='' hosts='' wait_seconds=0

fail() { echo "lab.sh: $*" >&2; exit 1; }

command=${1:-}
[ $# -gt 0 ] && shift
while [ $# -gt 0 ]; do
  [ $# -ge 2 ] || fail "$1 needs a value"
  case $1 in
    --fabric) fabric=$2 ;;
    --unit) units=$units,$2 ;;
    --rails) rails=$2 ;;
    --hosts) hosts=$2 ;;
    --prefix) prefix=$2 ;;
    --wait) wait_seconds=$2 ;;
    *) fail "unknown option $1" ;;
  esac
  shift 2
done
[[ $prefix =~ ^[A-Za-z0-9][A-Za-z0-9_-]*$ ]] || fail "--prefix $prefix: use only letters, digits, '-' and '_'"
[[ $hosts =~ ^[0-9]*$ && $wait_seconds =~ ^[0-9]+$ ]] || fail "--hosts and --wait need numbers"
state=/run/weft-lab/$prefix

# The selected rows of the table: leaves by fabric, unit and rail; spines and cores that a selected switch has a link to.
choose() {
  awk -F'\t' -v OFS='\t' -v fabric="$fabric" -v units="$units" -v rails="$rails" -v hosts="$hosts" '
    function listed(item, list) { return list == "" || index("," list ",", "," item ",") > 0 }
    /^#/ || (fabric != "" && $2 != fabric) { next }
    $1 == "switch" { row[++rows] = $0; name[rows] = $6
                     if ($5 == "leaf" && listed($3, substr(units, 2)) && listed($4, rails)) chosen[$6] = 1
                     next }
    $1 == "link" && chosen[$3] { chosen[$5] = 1; print; next }
    $1 == "vlan" && chosen[$3] { print; next }
    $1 == "route" { print; next }
    $1 == "host" && chosen[$10] {
      key = $10 SUBSEP $3
      if (!(key in seen)) { seen[key] = 1; count[$10]++ }
      if (hosts == "" || count[$10] <= hosts + 0) print
    }
    END { for (i = 1; i <= rows; i++) if (chosen[name[i]]) print row[i] }' "$table"
}

# Passes standard input to `ip -batch`, which fails if a line fails.
batch() { ip "$@" -batch -; }

build() {
  local rows=$1
  awk -F'\t' -v p="$prefix" '$1 == "switch" { print p "-" $6 }
    $1 == "host" && !seen[$3]++ { print p "-" $3 }' "$rows" > "$state/namespaces"
  sed 's/^/netns add /' "$state/namespaces" | batch
  awk -F'\t' -v p="$prefix" '$1 == "switch" { print p "-" $6 }' "$rows" > "$state/switches"
  while read -r space; do
    # Disable duplicate address detection, so that link-local addresses are usable at once: a veth pair has no duplicates.
    ip netns exec "$space" sysctl -qw net.ipv6.conf.default.accept_dad=0 net.ipv6.conf.all.accept_dad=0
  done < "$state/namespaces"
  while read -r space; do
    ip netns exec "$space" sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 \
      net.ipv4.fib_multipath_hash_policy=1 net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0
  done < "$state/switches"
  awk -F'\t' -v p="$prefix" '
    $1 == "link" { print "link add name " $4 " mtu " $7 " netns " p "-" $3 \
                         " type veth peer name " $6 " mtu " $7 " netns " p "-" $5 }
    $1 == "host" { print "link add name " $4 " mtu " $13 " netns " p "-" $3 \
                         " type veth peer name " $11 " mtu " $14 " netns " p "-" $10 }' "$rows" | batch
  configure "$rows"
}

# Commands of each namespace, one file per namespace: bridges of leaves, links up, addresses and routes of hosts.
configure() {
  local rows=$1 bonding=0
  # Without bonding in the kernel, the first link of a host gets its address.
  if ip -n "$(head -n 1 "$state/namespaces")" link add weftprobe type bond 2> "$state/bond.errors"; then
    ip -n "$(head -n 1 "$state/namespaces")" link del weftprobe
    bonding=1
  fi
  mkdir -p "$state/batch"
  awk -F'\t' -v p="$prefix" -v dir="$state/batch" -v bonding="$bonding" '
    function say(device, line) { print line > (dir "/" p "-" device) }
    $1 == "switch" { say($6, "link set lo up") }
    $1 == "route" { routes[$2] = routes[$2] " " $3 }
    $1 == "link" { say($3, "link set " $4 " up"); say($5, "link set " $6 " up") }
    $1 == "vlan" {
      say($3, "link add " $4 " mtu " $6 " type bridge")
      if ($5 != "-") {
        say($3, "link set " $4 " address 00:00:5e:00:01:01")
        say($3, "link add vni" $5 " type vxlan id " $5 " local " $7 " dstport 4789 nolearning")
        say($3, "link set vni" $5 " master " $4 " addrgenmode none")
        say($3, "link set vni" $5 " up")
      }
      say($3, "link set " $4 " up")
    }
    $1 == "host" {
      say($10, "link set " $11 " master " $12); say($10, "link set " $11 " up")
      if (!started[$3]++) say($3, "link set lo up")
      port = $4
      flat = $15 != "-"
      if (!bonding) $15 = "-"
      if ($15 != "-") {
        if (!bonds[$3]++) { say($3, "link add " $15 " type bond mode active-backup miimon 100") }
        say($3, "link set " $4 " down"); say($3, "link set " $4 " master " $15); port = $15
        say($3, "link set " $15 " up")
      }
      say($3, "link set " $4 " up")
      if ($5 == "-") next
      say($3, "address add " $5 " dev " port)
      if ($7 != "-") say($3, "address add " $7 " dev " port " nodad")
      if (flat) next
      # By destination: over the rail of the destination. By source: out of the port with the address.
      if ($9 == "default") say($3, "route add default via " $6 " dev " port " metric " (100 + ++gateways[$3]))
      else if ($9 != "-") say($3, "route add " $9 " via " $6 " dev " port " metric " (100 + ++gateways[$3]))
      number = 100 + ++tables[$3]
      split($5, own, "/")
      say($3, "rule add from " own[1] " lookup " number)
      many = split(routes[$2], reach, " ")
      for (i = 1; i <= many; i++)
        if (reach[i] !~ /:/) say($3, "route add " reach[i] " via " $6 " dev " port " table " number)
        else if ($7 != "-" && !six[$3 $2]++) say($3, "-6 route add " reach[i] " via " $8 " dev " port)
    }' "$rows"
  local file
  for file in "$state"/batch/*; do
    # `ip -batch` does not accept an address family per line: run IPv6 lines separately.
    grep -v '^-6 ' "$file" | batch -n "${file##*/}"
    if grep -q '^-6 ' "$file"; then grep '^-6 ' "$file" | sed 's/^-6 //' | batch -6 -n "${file##*/}"; fi
  done
  # Hosts that share a subnet with hosts of another leaf are reached through the leaf.
  awk -F'\t' '$1 == "vlan" && $5 == "-" { print $3, $4 }' "$rows" | while read -r leaf vlan; do
    ip netns exec "$prefix-$leaf" sysctl -qw "net.ipv4.conf.$vlan.proxy_arp=1"
  done
}

start_switch() {
  local space=$1 device=${1#"$prefix-"} daemon
  install -d -o frr -g frr "/var/run/frr/$space" "/etc/frr/$space"
  install -o frr -g frr -m 0640 "$here/$device/frr.conf" "$here/$device/daemons" "/etc/frr/$space/"
  install -o frr -g frr -m 0640 /dev/null "/etc/frr/$space/vtysh.conf"
  for daemon in zebra $(sed -n 's/^\(bgpd\|bfdd\|staticd\)=yes$/\1/p' "$here/$device/daemons"); do
    # -P 0: no TCP VTY port, which all namespaces would have to share
    ip netns exec "$space" "$frr/$daemon" -d -N "$space" -P 0 --log file:"/var/run/frr/$space/$daemon.log" ||
      fail "$daemon failed to start in $space"
  done
  vtysh -N "$space" -b > "$state/$space.vtysh" 2>&1 || fail "$space rejected its configuration: $(cat "$state/$space.vtysh")"
}

# Four switches at a time.
start() {
  local space id started=''
  local -i running=0
  while read -r space; do
    start_switch "$space" &
    started="$started $!"
    running+=1
    [ "$running" -ge 4 ] || continue
    for id in $started; do wait "$id" || exit 1; done
    running=0 started=''
  done < "$state/switches"
  for id in $started; do wait "$id" || exit 1; done
}

# NAME ESTABLISHED EXPECTED of every switch.
sessions() {
  awk -F'\t' '$1 == "link" { n[$3]++; n[$5]++ } $1 == "switch" { name[++k] = $6 }
    END { for (i = 1; i <= k; i++) print name[i], n[name[i]] + 0 }' "$state/rows" | while read -r device designed; do
    up=$(vtysh -N "$prefix-$device" -c 'show bgp ipv4 unicast summary json' 2> "$state/vtysh.errors" |
      grep -c '"state":"Established"' || true)
    echo "$device $up $designed"
  done
}

case $command in
  up)
    [ "$(id -u)" -eq 0 ] || fail "must run as root"
    [ -x "$frr/bgpd" ] || fail "$frr/bgpd not found: install FRR or set FRR_DIR"
    [ ! -e "$state" ] || fail "lab $prefix is already running; stop it with: lab.sh down --prefix $prefix"
    mkdir -p "$state"
    choose > "$state/rows"
    grep -q '^switch' "$state/rows" || { rm -rf "$state"; fail "no switch matches the options; list units with: lab.sh list"; }
    build "$state/rows"
    start
    echo "lab.sh: $(wc -l < "$state/switches") switches, $(wc -l < "$state/namespaces") namespaces, prefix $prefix"
    end=$((SECONDS + wait_seconds))
    while [ "$wait_seconds" -gt 0 ] && sessions | awk '$2 < $3 { bad = 1 } END { exit !bad }'; do
      [ "$SECONDS" -lt "$end" ] || fail "BGP sessions not established after $wait_seconds s: $(sessions | awk '$2 < $3 { printf "%s %d of %d; ", $1, $2, $3 }')"
      sleep 0.3
    done
    ;;
  status)
    [ -e "$state" ] || fail "no lab named $prefix is running"
    sessions | awk '{ printf "%-32s %4d of %4d sessions\n", $1, $2, $3; up += $2; all += $3 }
      END { printf "%-32s %4d of %4d sessions\n", "all", up, all; exit up < all }'
    ;;
  down)
    [ -e "$state" ] || exit 0
    touch "$state/namespaces"
    for signal in TERM KILL; do
      left=''
      while read -r space; do
        [ ! -e "/run/netns/$space" ] || left="$left $(ip netns pids "$space" | tr '\n' ' ')"
      done < "$state/namespaces"
      left=$(echo $left)
      [ -n "$left" ] || break
      kill "-$signal" $left 2> "$state/kill.errors" || true
      for _ in $(seq 50); do
        alive=''
        for pid in $left; do [ ! -d "/proc/$pid" ] || alive=1; done
        [ -n "$alive" ] || break
        sleep 0.1
      done
    done
    while read -r space; do
      [ ! -e "/run/netns/$space" ] || ip netns del "$space"
      rm -rf "/var/run/frr/$space" "/etc/frr/$space"
    done < "$state/namespaces"
    rm -rf "$state"
    ;;
  list)
    awk -F'\t' '$1 == "switch" && $5 == "leaf" && !seen[$2 $3]++ { print $2, $3 }' "$table"
    ;;
  *)
    sed -n 's/^# \{0,1\}//p' "$0" | sed -n '/^Usage/,/^$/p' >&2
    exit 2
    ;;
esac
