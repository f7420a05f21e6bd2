# Run as root or slurm: when slurmdbd is up and before slurmctld starts, again after slurmctld has started, and after each
# change. Users are read from an optional file of lines "account user": accounts FILE
set -eu

# Only what is created gets the description: `weft accounts` never removes anything without it.

# known LIST NAME
known() { printf '%s\n' "$1" | grep -qxF -e "$2"; }

# qos NAME SETTINGS...
qos() {
  name=$1
  shift
  if known "$all_qos" "$name"; then
    change modify qos "$name" set "$@"
  else
    change add qos "$name" description="weft:$cluster" "$@"
  fi
}

# account NAME SETTINGS...
account() {
  name=$1
  shift
  if known "$all_accounts" "$name"; then
    change modify account "$name" where cluster="$cluster" set "$@"
  else
    change add account "$name" cluster="$cluster" description="weft:$cluster" "$@"
    all_accounts="$all_accounts
$name"
  fi
}

# change ARGUMENTS...: runs sacctmgr, ignoring its error if there is nothing to change
change() {
  if message=$(sacctmgr -i "$@" 2>&1); then return 0; fi
  case $message in *Nothing*) return 0 ;; esac
  echo "sacctmgr $*: $message" >&2
  return 1
}

cluster=@CLUSTER@
known "$(sacctmgr -n -P list cluster format=cluster)" "$cluster" || change add cluster "$cluster"
all_qos=$(sacctmgr -n -P list qos format=name)
all_accounts=$(sacctmgr -n -P list assoc where cluster="$cluster" user='' format=account)

# Preemption order. The grace time covers a checkpoint.
@QOS@

# One account per tenant.
@ACCOUNTS@

if [ $# -gt 0 ]; then
  while read -r name user; do
    [ -n "$user" ] || continue
    change add user "$user" account="$name" cluster="$cluster"
  done <"$1"
fi
@QUOTAS@
