#
# Reads GUIDs from the cabled fabric and writes the OpenSM files that list nodes by GUID.
#
# Usage: guids.sh [OPTIONS]
#   --from FILE  output of ibnetdiscover (default: run ibnetdiscover)
#   --out DIR    directory for root_guids.conf, cn_guids.conf, io_guids.conf, partitions.conf and node-name-map
#                (default: /etc/opensm/FABRIC)
#   --host NAME  also write opensm.conf for this subnet manager, with its port GUID and priority
#   --partial    write the files even if nodes of the design are missing (missing nodes are always listed)
#
# Exit code: 0 all nodes found; 3 some nodes are missing (nothing is written without --partial).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
from='' host='' partial=0 out=/etc/opensm/${here##*/}
while [ $# -gt 0 ]; do
  case $1 in
    --from) from=${2:?} && shift ;;
    --out) out=${2:?} && shift ;;
    --host) host=${2:?} && shift ;;
    --partial) partial=1 ;;
    *) echo "guids.sh: unknown option $1" >&2 && exit 2 ;;
  esac
  shift
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -n "$from" ]; then cat -- "$from"; else ibnetdiscover; fi > "$work/fabric"

# DESCRIPTION <tab> PORT GUID, of switches and adapters. Managed switches have the description "MF0;NAME:MODEL/U1".
awk '
  function description(line,   at) {
    at = index(line, "# \"")
    line = substr(line, at + 3)
    return substr(line, 1, index(line, "\"") - 1)
  }
  /^Switch/ { name = description($0); sub(/^MF0;/, "", name); sub(/:[^:]*\/U[0-9]+$/, "", name)
              split($0, part, "\""); print name "\t0x" substr(part[2], 3) "\tswitch"; adapter = 0 }
  /^(Ca|Hca)[ \t]/ { name = description($0); adapter = 1 }
  adapter && /^\[[0-9]+\]\(/ {
    guid = $0; sub(/^\[[0-9]+\]\(/, "", guid); sub(/\).*/, "", guid)
    while (length(guid) < 16) guid = "0" guid
    print name "\t0x" guid "\tadapter"
  }' "$work/fabric" > "$work/found"

missing=0
awk -F'\t' -v OFS='\t' -v dir="$work" '
  BEGIN { for (f in file) delete file[f] }
  FNR == NR { if ($1 in guid && guid[$1] != $2) print "guids.sh: duplicate node description: " $1 > "/dev/stderr"
              guid[$1] = $2; next }
  /^#/ { next }
  $1 == "partition" { name[++parts] = $2; head[$2] = $2 "=" $3 ", " $4 " :"; next }
  $1 == "manager" { next }
  {
    id = $2 in guid ? guid[$2] : ($3 in guid ? guid[$3] : "")
    if (id == "") { print "guids.sh: node not found in the fabric: " $2 > "/dev/stderr"; lost++; next }
    # empty lists are written too: OpenSM opens the files
    if ($4 == "root") roots = roots id "\n"
    if ($4 == "compute") computes = computes id "\n"
    if ($4 == "io" || $4 == "manager") ios = ios id "\n"
    names = names id " \"" $2 "\"\n"
    if ($1 == "adapter") {
      if ($5 == "full") fulls[++full] = id; else limited++
      many = split($6, tenant, ",")
      for (i = 1; i <= many; i++) if (tenant[i] != "-") member[tenant[i], ++members[tenant[i]]] = id
    }
  }
  function put(text, i) { return text (i % 6 == 0 ? (i == 0 ? "\n  " : ",\n  ") : ", ") }
  END {
    printf "%s", roots > (dir "/root_guids.conf")
    printf "%s", computes > (dir "/cn_guids.conf")
    printf "%s", ios > (dir "/io_guids.conf")
    printf "%s", names > (dir "/node-name-map")
    text = put(head["Default"], 0) (limited ? "ALL=limited" : "ALL=full")
    text = put(text, 1) "ALL_SWITCHES=full"; text = put(text, 2) "SELF=full"
    if (limited) for (i = 1; i <= full; i++) text = put(text, i + 2) fulls[i] "=full"
    text = text " ;\n"
    for (p = 2; p <= parts; p++) {
      text = text head[name[p]]
      for (i = 1; i <= members[name[p]]; i++) text = put(text, i - 1) member[name[p], i] "=full"
      text = text " ;\n"
    }
    printf "%s", text > (dir "/partitions.conf")
    exit lost > 0 ? 3 : 0
  }' "$work/found" "$here/nodes.tsv" || missing=$?
[ "$missing" -eq 0 ] || [ "$missing" -eq 3 ] || exit "$missing"
if [ "$missing" -eq 3 ] && [ "$partial" -eq 0 ]; then
  echo "guids.sh: nothing written; use --partial to write the nodes found" >&2
  exit 3
fi

install -d "$out"
install -m 0644 "$work"/{root_guids.conf,cn_guids.conf,io_guids.conf,partitions.conf,node-name-map} "$out/"
if [ -n "$host" ]; then
  priority=$(awk -F'\t' -v host="$host" '$1 == "manager" && $2 == host { print $3 }' "$here/nodes.tsv")
  port=$(awk -F'\t' -v host="$host" '$3 == "adapter" && index($1, host " ") == 1 { print $2; exit }' "$work/found")
  [ -n "$priority" ] && [ -n "$port" ] || { echo "guids.sh: $host is not a subnet manager of this fabric" >&2; exit 1; }
  sed -e "s/^guid .*/guid $port/" -e "s/^sm_priority .*/sm_priority $priority/" "$here/opensm.conf" > "$work/opensm.conf"
  install -m 0644 "$work/opensm.conf" "$out/opensm.conf"
fi
exit "$missing"
