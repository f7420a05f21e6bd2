// Scripts that run on nodes: before and after each job, and every few minutes. They are the same on all nodes; what
// differs from pool to pool stands in two small files that are installed beside them.
#include <fmt/format.h>

#include "render/slurm/model.h"

namespace weft::render::slurm_render {
namespace {

constexpr std::string_view kHealthCheck = R"sh(
# Drains the node it runs on when something is wrong with it, and says so with its exit status.
set -u
gpus=0
rails=''
vendor=''
facts=${WEFT_FACTS:-/etc/slurm/node.facts}
# shellcheck source=/dev/null
if [ -r "$facts" ]; then . "$facts"; fi
sys=${WEFT_SYS:-/sys}

fail() {
  echo "$1" >&2
  scontrol update nodename="${SLURMD_NODENAME:-$(hostname -s)}" state=drain reason="health: $1"
  exit 1
}

case $vendor in
  nvidia)
    seen=$(nvidia-smi --query-gpu=index --format=csv,noheader 2>/dev/null | wc -l)
    [ "$seen" -eq "$gpus" ] || fail "$seen of $gpus GPUs answer"
    # Uncorrected errors since the driver was loaded: what was computed with them cannot be trusted.
    bad=$(nvidia-smi --query-gpu=index,ecc.errors.uncorrected.volatile.total --format=csv,noheader,nounits 2>/dev/null |
      awk -F', *' '$2 ~ /^[0-9]+$/ && $2 > 0 { printf "%s%s", sep, $1; sep = "," }')
    [ -z "$bad" ] || fail "uncorrected ECC errors on GPU $bad"
    ;;
  amd)
    seen=$(find "$sys/class/drm" -maxdepth 1 -name 'renderD*' 2>/dev/null | wc -l)
    [ "$seen" -ge "$gpus" ] || fail "$seen of $gpus GPUs answer"
    ;;
esac

for rail in $rails; do
  state=$(cat "$sys/class/net/$rail/operstate" 2>/dev/null || echo missing)
  [ "$state" = up ] || fail "$rail is $state"
done
exit 0
)sh";

constexpr std::string_view kProlog = R"sh(
# A node that fails here is drained and the job goes back into the queue.
exec /etc/slurm/health-check
)sh";

// The private /dev/shm of job_container/tmpfs goes with the job. This is for what runs outside of it, and for nodes
// without drives of their own.
constexpr std::string_view kCleanShm = R"sh(
# Removes what a user left in shared memory, unless another job of the user is running here.
set -u
user=${SLURM_JOB_UID:?}
shm=${WEFT_SHM:-/dev/shm}
[ "$user" -ge 1000 ] || exit 0
others=$(squeue --noheader --states=running,completing --format=%A --user="$user" \
  --nodelist="${SLURMD_NODENAME:?}" 2>/dev/null | grep -cvx "${SLURM_JOB_ID:?}")
[ "$others" -eq 0 ] || exit 0
find "$shm" -xdev -mindepth 1 -user "$user" -delete
exit 0
)sh";

constexpr std::string_view kMakeScratch = R"sh(
# A folder for the job on the node's own drives, for data that is read more than once.
set -u
scratch=${WEFT_SCRATCH_ROOT:-/scratch/jobs}
[ -d "$scratch" ] || exit 0
install -d -m 0700 -o "${SLURM_JOB_UID:?}" "$scratch/${SLURM_JOB_ID:?}"
)sh";

constexpr std::string_view kPurgeScratch = R"sh(
# Removes the job's folder on the node's own drives.
set -u
scratch=${WEFT_SCRATCH_ROOT:-/scratch/jobs}
case ${SLURM_JOB_ID:?} in *[!0-9]*) exit 1 ;; esac
rm -rf --one-file-system "${scratch:?}/$SLURM_JOB_ID"
)sh";

constexpr std::string_view kTaskProlog = R"sh(
# What it prints as "export NAME=VALUE" becomes part of the task's environment. What the job set itself stays.
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
)sh";

// slurmd starts them without a search path.
constexpr std::string_view kPath = "PATH=/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin\nexport PATH\n";

void add_script(const SlurmModel& model, std::string_view name, std::string_view what, std::string_view body,
                FileSink& sink) {
  RenderedFile file;
  file.path = fmt::format("slurm/{}", name);
  file.content = "#!/bin/sh\n" + commented(heading(model.input().cluster, what)) + std::string(kPath) +
                 std::string(body.substr(1));
  file.consumer = "slurmd";
  file.install = fmt::format("{}/{}", kConfigFolder, name);
  file.mode = "0755";
  file.sources = {"pools"};
  sink.add(std::move(file));
}

void add_pool_files(const SlurmModel& model, const PoolPlan& pool, FileSink& sink) {
  const model::Cluster& cluster = model.input().cluster;
  std::string variables = commented(heading(cluster, fmt::format("Environment of jobs on pool {}.", pool.name())));
  for (const auto& [name, value] : model.input().plan.environment(pool, false)) {
    if (!is_variable_name(name)) {
      sink.left_out(fmt::format("`{}` of workload.environment is not the name of a variable: jobs do not get it.",
                                one_line(name)));
      continue;
    }
    variables += fmt::format("{}={}\n", name, one_line(value));
  }
  RenderedFile file;
  file.path = fmt::format("slurm/pools/{}.env", pool.name());
  file.content = std::move(variables);
  file.device = pool.name();
  file.consumer = "task-prolog";
  file.install = fmt::format("{}/pool.env", kConfigFolder);
  file.sources = {"workload.environment", "fabrics.backend"};
  sink.add(std::move(file));

  std::string rails;
  for (const RailPlan& rail : pool.rails) {
    if (rail.fabric == model::FabricKind::backend) rails += (rails.empty() ? "" : " ") + rail.interface;
  }
  const bool amd = pool.gpu != nullptr && pool.gpu->vendor.value == "AMD";
  RenderedFile facts;
  facts.path = fmt::format("slurm/pools/{}.facts", pool.name());
  facts.content = commented(heading(cluster, fmt::format("What health-check expects on pool {}.", pool.name())));
  facts.content += fmt::format("gpus={}\nvendor={}\nrails={}\n", pool.has_gpus() ? pool.server->gpus.value : 0,
                               pool.has_gpus() ? (amd ? "amd" : "nvidia") : "", shell_word(rails));
  facts.device = pool.name();
  facts.consumer = "health-check";
  facts.install = fmt::format("{}/node.facts", kConfigFolder);
  facts.sources = {"pools"};
  sink.add(std::move(facts));
}

}  // namespace

void add_scripts(const SlurmModel& model, FileSink& sink) {
  add_script(model, "health-check", "Checks a node.", kHealthCheck, sink);
  add_script(model, "prolog.d/10-health", "Checks the node before a job starts on it.", kProlog, sink);
  add_script(model, "prolog.d/20-scratch", "Before a job: its scratch folder.", kMakeScratch, sink);
  add_script(model, "epilog.d/10-shared-memory", "After a job: shared memory.", kCleanShm, sink);
  add_script(model, "epilog.d/20-scratch", "After a job: its scratch folder.", kPurgeScratch, sink);
  add_script(model, "epilog.d/90-health", "Checks the node after a job.", kProlog, sink);
  add_script(model, "task-prolog", "The fabrics' settings for every task.", kTaskProlog, sink);
  for (const PoolPlan* pool : model.pools()) add_pool_files(model, *pool, sink);
}

}  // namespace weft::render::slurm_render
