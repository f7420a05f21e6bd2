# Slurm's interface for a batch script that weft runs once per node: SLURM_* variables, and srun, scontrol and scancel
# as functions. The script is the first argument.
export SLURM_JOB_ID="${WEFT_JOB_ID:-0}" SLURM_JOBID="${WEFT_JOB_ID:-0}"
export SLURM_RESTART_COUNT="$((${WEFT_ATTEMPT:-1} - 1))"
export SLURM_NNODES="${WORLD_SIZE:-1}" SLURM_JOB_NUM_NODES="${WORLD_SIZE:-1}"
export SLURM_NTASKS="$((${WORLD_SIZE:-1} * @TASKS@))" SLURM_NPROCS="$((${WORLD_SIZE:-1} * @TASKS@))"
export SLURM_NODEID="${RANK:-0}" SLURM_PROCID="$((${RANK:-0} * @TASKS@))" SLURM_LOCALID=0
export SLURM_JOB_NODELIST="${WEFT_NODELIST:-${MASTER_ADDR:-localhost}}"
export SLURM_NODELIST="$SLURM_JOB_NODELIST" SLURM_TASK_PID="$$"
SLURMD_NODENAME=$(printf '%s\n' "$SLURM_JOB_NODELIST" | tr , '\n' | sed -n "$((${RANK:-0} + 1))p")
export SLURMD_NODENAME
# Marks the processes that srun starts, so that scancel finds them.
weft_step="WEFT_STEP=${WEFT_JOB_ID:-0}.${WEFT_ATTEMPT:-1}.${RANK:-0}.$$"

weft_refuse() {
  echo "srun: $1" >&2
  exit 2
}

# weft_signal SIGNAL: to every process that srun started
weft_signal() {
  for weft_file in $(grep -lzxF -e "$weft_step" /proc/[0-9]*/environ 2>/dev/null); do
    weft_file=${weft_file#/proc/}
    kill -s "$1" "${weft_file%/environ}" 2>/dev/null || :
  done
}

# weft_stop PID: ends every process that srun started, also those that are only starting, until process PID has ended
weft_stop() {
  stopped=' '
  while kill -0 "$1" 2>/dev/null; do
    for weft_file in $(grep -lzxF -e "$weft_step" /proc/[0-9]*/environ 2>/dev/null); do
      weft_file=${weft_file#/proc/}
      process=${weft_file%/environ}
      case $stopped in *" $process "*) continue ;; esac
      stopped="$stopped$process "
      kill -s TERM "$process" 2>/dev/null || :
    done
    sleep 0.2
  done
}

# weft_wait PID: its exit status; waits again after a signal that the script traps
weft_wait() {
  while :; do
    weft_status=0
    wait "$1" || weft_status=$?
    kill -0 "$1" 2>/dev/null || return "$weft_status"
  done
}

# weft_task INDEX PROGRAM ARGUMENT...: one process of the step. Variables of weft_run: tasks, gpus, stop, run.
weft_task() {
  index=$1
  shift
  if [ "$gpus" -gt 0 ] && [ -n "${CUDA_VISIBLE_DEVICES:-}" ]; then
    CUDA_VISIBLE_DEVICES=$(echo "$CUDA_VISIBLE_DEVICES" | cut -d, -f"$((index * gpus + 1))-$(((index + 1) * gpus))")
    export CUDA_VISIBLE_DEVICES
  fi
  export SLURM_STEP_ID=0 SLURM_LOCALID="$index" SLURM_PROCID="$((SLURM_NODEID * tasks + index))"
  export SLURM_NTASKS="$((SLURM_NNODES * tasks))" SLURM_NPROCS="$((SLURM_NNODES * tasks))"
  if [ "$tasks" -gt 1 ]; then
    export RANK="$SLURM_PROCID" WORLD_SIZE="$SLURM_NTASKS" LOCAL_RANK="$index" LOCAL_WORLD_SIZE="$tasks"
  fi
  trap : HUP TERM USR1 USR2
  code=0
  env "$weft_step" "$@" || code=$?
  if [ "$code" -ne 0 ] && [ "$stop" = 1 ]; then weft_stop "$run" </dev/null >/dev/null 2>&1 & fi
  return "$code"
}

# weft_option NAME VALUE: an option of srun with an effect here
weft_option() {
  case $1 in
    -N | --nodes) [ "$2" = "$SLURM_NNODES" ] || weft_refuse "--nodes=$2: the job has $SLURM_NNODES nodes" ;;
    -n | --ntasks)
      [ "$(($2 % SLURM_NNODES))" -eq 0 ] || weft_refuse "--ntasks=$2 on $SLURM_NNODES nodes: unequal tasks per node"
      tasks=$(($2 / SLURM_NNODES))
      ;;
    --ntasks-per-node) tasks=$2 ;;
    --gpus-per-task) gpus=${2##*:} ;;
    -D | --chdir) cd "$2" || exit 1 ;;
    -K | --kill-on-bad-exit) stop=${2:-1} ;;
    --export)
      [ "$2" != NONE ] || weft_refuse "--export=NONE is not supported"
      IFS=,
      for pair in $2; do case $pair in *=*) export "${pair?}" ;; esac; done
      unset IFS
      ;;
  esac
}

weft_run() (
  trap : HUP TERM USR1 USR2  # what signals the group does not end the step before its program has ended
  tasks=@TASKS@
  gpus=@GPUS_PER_TASK@
  stop=0
  while [ $# -gt 0 ]; do
    word=$1
    case $word in
      --) shift && break ;;
      --*=*) name=${word%%=*} value=${word#*=} given=yes ;;
      --*) name=$word value='' given='' ;;
      -?*) name=${word%"${word#??}"} value=${word#??} given=${word#??} ;;
      *) break ;;
    esac
    case $name in
      @FLAGS@)
        case $name$given in
          -[!-K]?*)  # several flags in one word
            shift
            set -- "-$value" "$@"
            continue
            ;;
        esac
        ;;
      @OPTIONS@)
        if [ -z "$given" ]; then
          [ $# -gt 1 ] || weft_refuse "$name needs a value"
          shift
          value=$1
        fi
        ;;
      *) weft_refuse "$word is not supported" ;;
    esac
    weft_option "$name" "$value"
    shift
  done
  [ $# -gt 0 ] || weft_refuse "there is no program to run"
  [ "$tasks" -ge 1 ] || weft_refuse "$tasks tasks per node"
  # shellcheck disable=SC2016  # of that shell
  run=$(exec sh -c 'echo "$PPID"')
  index=0
  processes=
  while [ "$index" -lt "$tasks" ]; do
    { (weft_task "$index" "$@") <&3 3<&- & } 3<&0
    processes="$processes $!"
    index=$((index + 1))
  done
  result=0
  for process in $processes; do
    code=0
    weft_wait "$process" || code=$?
    [ "$code" -le "$result" ] || result=$code
  done
  exit "$result"
)

# In the background, so that a trap of the script runs while the program does.
srun() {
  { weft_run "$@" <&3 3<&- & } 3<&0
  weft_wait "$!"
}

scontrol() {
  case "${1:-} ${2:-}" in
    "show hostnames" | "show hostname") printf '%s\n' "${3:-$SLURM_JOB_NODELIST}" | tr , '\n' ;;
    "requeue "*) exit 75 ;;  # the controller restarts the job
    *)
      echo "scontrol: only show hostnames and requeue are supported" >&2
      return 1
      ;;
  esac
}

scancel() {
  weft_name=TERM
  while [ $# -gt 0 ]; do
    case $1 in
      --signal=*) weft_name=${1#*=} ;;
      -s | --signal) weft_name=$2 && shift ;;
    esac
    shift
  done
  weft_signal "${weft_name#SIG}"
}

# As in Slurm, the step is asked to end before the script.
trap 'weft_signal TERM' TERM
@TRAP@
weft_script=$1
shift
eval "$weft_script"
