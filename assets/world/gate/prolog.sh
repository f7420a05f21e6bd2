#!/bin/sh
# Prolog of Slurm on a node that two engines share: refuses a job while the node is not leased to Slurm. Install it as
# /etc/slurm/prolog.d/05-lease, before everything that touches a GPU. The node is drained with the reason of the lease
# first, so that slurmctld does not drain it with its own; weft removes that drain when the node is leased to Slurm
# again. The job is requeued by Slurm.
set -u
node=${SLURMD_NODENAME:-$(hostname -s)}
if why=$(weft gate check --owner slurm --entry "${SLURM_JOB_ID:?}" 2>&1); then exit 0; fi
echo "$why" >&2
scontrol update nodename="$node" state=drain reason="weft lease: not leased to slurm"
exit 1
