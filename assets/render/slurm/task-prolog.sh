# Slurm adds each printed "export NAME=VALUE" to the task's environment. Variables that the job set are kept.
set -u
file=${WEFT_POOL_ENV:-/etc/slurm/pool.env}
if [ -r "$file" ]; then
  while IFS= read -r line || [ -n "$line" ]; do
    name=${line%%=*}
    case $name in
      "$line" | '' | [0-9]* | *[!A-Za-z0-9_]*) continue ;;
    esac
    eval "known=\${$name+set}"
    [ -n "$known" ] || printf 'export %s\n' "$line"
  done <"$file"
fi
folder=${WEFT_SCRATCH_ROOT:-/scratch/jobs}/${SLURM_JOB_ID:-none}
if [ -d "$folder" ]; then printf 'export WEFT_SCRATCH=%s\n' "$folder"; fi
exit 0
