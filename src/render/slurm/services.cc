// Files of the services around slurmctld: cgroups, private folders of jobs, the database daemon and its accounts, the
// REST daemon, and the script that makes keys. None of them holds a secret.
#include <fmt/format.h>

#include <algorithm>

#include "render/slurm/model.h"

namespace weft::render::slurm_render {
namespace {

RenderedFile controller_file(std::string_view name, std::string content) {
  RenderedFile file;
  file.path = fmt::format("slurm/{}", name);
  file.content = std::move(content);
  file.risk = Risk::reload;
  file.sources = {"control_plane"};
  return file;
}

void add_cgroup(const SlurmModel& model, FileSink& sink) {
  SettingsText out(model.input().cluster, "cgroup.conf: a job sees the cores, memory and GPUs it was given, no more.");
  out.set("CgroupPlugin", model.release() == Release::v24_05 ? "autodetect" : "cgroup/v2");
  out.set("ConstrainCores", "yes");
  out.set("ConstrainRAMSpace", "yes");
  out.set("ConstrainSwapSpace", "yes");
  out.set("ConstrainDevices", "yes");
  RenderedFile file = controller_file("cgroup.conf", out.take());
  file.consumer = "slurmd";
  file.install = fmt::format("{}/cgroup.conf", kConfigFolder);
  file.apply = "systemctl restart slurmd";
  sink.add(std::move(file));
}

void add_job_container(const SlurmModel& model, FileSink& sink) {
  if (!model.has_scratch()) return;
  SettingsText out(model.input().cluster,
                   "job_container.conf: each job has a /tmp on the node's own drives and a /dev/shm; both go with it.");
  out.set("AutoBasePath", "true");
  out.set("BasePath", kScratch);
  RenderedFile file = controller_file("job_container.conf", out.take());
  file.consumer = "slurmd";
  file.install = fmt::format("{}/job_container.conf", kConfigFolder);
  file.apply = "systemctl restart slurmd";
  sink.add(std::move(file));
}

void add_slurmdbd(const SlurmModel& model, FileSink& sink) {
  const model::Cluster& cluster = model.input().cluster;
  const auto& controllers = model.controllers();
  SettingsText out(cluster, "slurmdbd.conf. The database password is in the file that make-keys writes.");
  out.set("AuthType", "auth/munge");
  if (model.has_tokens()) {
    out.set("AuthAltTypes", "auth/jwt");
    out.set("AuthAltParameters", fmt::format("jwt_key={}/jwt_hs256.key", kConfigFolder));
  }
  out.set("DbdHost", controllers.empty() ? "slurmctld" : cluster.name_of(controllers[0]));
  if (controllers.size() > 1) out.set("DbdBackupHost", cluster.name_of(controllers[1]));
  out.set("DbdPort", kSlurmdbdPort);
  out.set("SlurmUser", "slurm");
  out.set("LogFile", "/var/log/slurm/slurmdbd.log");
  out.set("PidFile", "/run/slurmdbd.pid");
  out.set("StorageType", "accounting_storage/mysql");
  out.set("StorageHost", controllers.empty() ? "slurmctld" : cluster.name_of(controllers[0]));
  out.set("StorageUser", "slurm");
  out.set("StorageLoc", "slurm_acct_db");
  out.line(fmt::format("Include {}/slurmdbd.secret", kConfigFolder));
  out.section("What is kept, and for how long.");
  out.set("PurgeEventAfter", "12month");
  out.set("PurgeJobAfter", "24month");
  out.set("PurgeStepAfter", "6month");
  out.set("PurgeSuspendAfter", "6month");
  out.set("PurgeTXNAfter", model.spec().security->audit.value ? "24month" : "12month");
  out.set("PurgeUsageAfter", "24month");
  RenderedFile file = controller_file("slurmdbd.conf", out.take());
  file.device = model.spec().control_plane->pool.value;
  file.consumer = "slurmdbd";
  file.install = fmt::format("{}/slurmdbd.conf", kConfigFolder);
  file.apply = "systemctl restart slurmdbd";
  file.mode = "0600";
  file.owner = file.group = "slurm";
  file.sources = {"control_plane", "security"};
  sink.add(std::move(file));
}

// slurmrestd takes tokens only, runs as a user of its own, and listens on the frontend.
void add_slurmrestd(const SlurmModel& model, FileSink& sink) {
  const bool new_names = model.release() == Release::v24_05;
  std::string plugins = new_names ? "-s slurmctld -d v0.0.41" : "-s openapi/v0.0.38";
  if (model.has_accounting()) plugins = new_names ? "-s slurmctld,slurmdbd -d v0.0.41" : plugins + ",openapi/dbv0.0.38";
  for (const model::DeviceId id : model.controllers()) {
    const std::string& name = model.input().cluster.name_of(id);
    const Ipv4 address = node_address(model.input(), id);
    std::string text = commented(heading(model.input().cluster, "slurmrestd, as a drop-in of its unit."));
    text += "[Service]\nUser=slurmrestd\nGroup=slurmrestd\n";
    // Without a key of its own it checks nothing itself: it passes each caller's token on to slurmctld.
    text += fmt::format("Environment=SLURM_JWT=daemon\nEnvironment=SLURM_CONF={}/slurm.conf\n", kConfigFolder);
    text += fmt::format("ExecStart=\nExecStart=/usr/sbin/slurmrestd -a rest_auth/jwt {} {}:{}\n", plugins,
                        address == Ipv4{} ? "127.0.0.1" : to_text(address), kSlurmrestdPort);
    text += "NoNewPrivileges=yes\nProtectSystem=strict\nProtectHome=yes\nPrivateTmp=yes\nPrivateDevices=yes\n";
    RenderedFile file = controller_file(fmt::format("slurmrestd/{}.conf", name), std::move(text));
    file.device = name;
    file.consumer = "systemd";
    file.install = "/etc/systemd/system/slurmrestd.service.d/weft.conf";
    file.apply = "systemctl daemon-reload && systemctl restart slurmrestd";
    file.sources = {"security.slurm_rest", "control_plane"};
    sink.add(std::move(file));
  }
}

void add_slurmd_unit(const SlurmModel& model, FileSink& sink) {
  std::string text = commented(heading(model.input().cluster, "slurmd, as a drop-in of its unit."));
  text += "[Unit]\nAfter=network-online.target remote-fs.target munge.service\nWants=network-online.target\n\n";
  // Jobs inherit these: RDMA registers memory, data loaders open many files. Delegate leaves their cgroups to slurmd.
  text +=
      "[Service]\nDelegate=yes\nLimitMEMLOCK=infinity\nLimitNOFILE=1048576\nLimitSTACK=infinity\nTasksMax=infinity\n";
  RenderedFile file = controller_file("slurmd.service.conf", std::move(text));
  file.consumer = "systemd";
  file.install = "/etc/systemd/system/slurmd.service.d/weft.conf";
  file.apply = "systemctl daemon-reload && systemctl restart slurmd";
  sink.add(std::move(file));
}

constexpr std::string_view kKeysScript = R"sh(
# Run once, as root, on the first controller. Keys that are there already stay as they are.
# Copy the MUNGE key to every host (owner munge, mode 0400) and the JWT key to the other controllers (slurm, 0600).
set -eu
umask 077

root=${WEFT_ROOT:-} # a folder to make them in, instead of /

# make_key FILE BYTES OWNER MODE
make_key() {
  if [ -s "$root$1" ]; then
    echo "$1 is there already"
    return 0
  fi
  mkdir -p "$(dirname "$root$1")"
  dd if=/dev/urandom of="$root$1.new" bs="$2" count=1 2>/dev/null
  finish "$1" "$3" "$4"
}

# finish FILE OWNER MODE: a key is never there with the wrong mode, nor half written
finish() {
  chmod "$3" "$root$1.new"
  if [ -z "$root" ]; then chown "$2:$2" "$1.new"; fi
  mv "$root$1.new" "$root$1"
  echo "made $1"
}

make_key /etc/munge/munge.key 1024 munge 0400
)sh";

constexpr std::string_view kPasswordScript = R"sh(
secret=/etc/slurm/slurmdbd.secret
if [ -s "$root$secret" ]; then
  echo "$secret is there already"
else
  mkdir -p "$root/etc/slurm"
  # Hexadecimal: nothing in it means anything to Slurm or SQL.
  printf 'StoragePass=%s\n' "$(od -An -N24 -tx1 /dev/urandom | tr -d ' \n')" >"$root$secret.new"
  finish "$secret" slurm 0600
fi
# Gives the database the same password, if there is one here: through standard input, so that no one sees it in ps.
if [ -z "$root" ] && command -v mariadb >/dev/null; then
  pass=$(sed -n 's/^StoragePass=//p' "$secret")
  mariadb <<SQL
CREATE DATABASE IF NOT EXISTS slurm_acct_db;
CREATE USER IF NOT EXISTS 'slurm'@'%';
ALTER USER 'slurm'@'%' IDENTIFIED BY '$pass';
GRANT ALL ON slurm_acct_db.* TO 'slurm'@'%';
SQL
fi
)sh";

void add_keys_script(const SlurmModel& model, FileSink& sink) {
  std::string text = "#!/bin/sh\n" + commented(heading(model.input().cluster, "Makes the keys that Slurm needs."));
  text += std::string(kKeysScript.substr(1));
  if (model.has_tokens()) text += fmt::format("make_key {}/jwt_hs256.key 32 slurm 0600\n", kConfigFolder);
  if (model.has_accounting()) text += kPasswordScript;
  RenderedFile file = controller_file("make-keys", std::move(text));
  file.device = model.spec().control_plane->pool.value;
  file.consumer = "sh";
  file.apply = "sh make-keys";
  file.mode = "0755";
  file.risk = Risk::none;
  file.sources = {"security"};
  sink.add(std::move(file));
}

// ---- accounts ----

// Slurm counts MIG instances as GPUs, too: with both in a quota, each is limited by its own type.
std::string limits_of(const SlurmModel& model, const model::TenantSpec& tenant) {
  const model::QuotaSpec& quota = tenant.quota.value;
  std::vector<std::string> tres;
  const bool mig = !quota.mig->empty();
  if (quota.gpus.has_value() && !mig) tres.push_back(fmt::format("gres/gpu={}", quota.gpus.value));
  if (quota.gpus.has_value() && mig) {
    for (const std::string& type : model.gpu_types()) {
      const bool profile =
          std::any_of(quota.mig->begin(), quota.mig->end(), [&](const auto& entry) { return entry.first == type; });
      if (!profile) tres.push_back(fmt::format("gres/gpu:{}={}", type, quota.gpus.value));
    }
  }
  const std::vector<std::string> types = model.gpu_types();
  for (const auto& [profile, count] : quota.mig.value) {
    if (std::find(types.begin(), types.end(), profile) == types.end()) continue;
    tres.push_back(fmt::format("gres/gpu:{}={}", profile, count.value));
  }
  if (quota.cpus.has_value()) tres.push_back(fmt::format("cpu={}", quota.cpus.value));
  if (quota.memory.has_value()) tres.push_back(fmt::format("mem={}M", quota.memory->count() >> 20));
  return fmt::format("{}", fmt::join(tres, ","));
}

// A tenant may use its own class and those below that anyone may interrupt.
std::string qos_of(const SlurmModel& model, const model::TenantSpec& tenant) {
  std::string list;
  std::int64_t own = -1;
  for (const model::PrioritySpec& priority : model.spec().priorities.value) {
    if (tenant.priority.has_value() && priority.name->text == tenant.priority.value) own = priority.value.value;
  }
  for (std::size_t i = 0; i < model.qos().size(); ++i) {
    const model::PrioritySpec& priority = model.spec().priorities.value[i];
    const bool same = tenant.priority.has_value() && priority.name->text == tenant.priority.value;
    const bool below = priority.preemptible.value && (own < 0 || priority.value.value < own);
    if (!same && !below) continue;
    list += (list.empty() ? "" : ",") + model.qos()[i].name;
  }
  return list;
}

constexpr std::string_view kAccountTools = R"sh(
# Run as root or slurm: once slurmdbd answers and before slurmctld starts, once more when it has started, and after each
# change. Users come from a file of lines "account user", if one is named: accounts FILE
set -eu

# known LIST NAME
known() { printf '%s\n' "$1" | grep -qxF -e "$2"; }

# qos NAME SETTINGS...
qos() {
  name=$1
  shift
  if known "$all_qos" "$name"; then change modify qos "$name" set "$@"; else change add qos "$name" "$@"; fi
}

# account NAME SETTINGS...
account() {
  name=$1
  shift
  if known "$all_accounts" "$name"; then
    change modify account "$name" where cluster="$cluster" set "$@"
  else
    change add account "$name" cluster="$cluster" "$@"
    all_accounts="$all_accounts
$name"
  fi
}

# change WORDS...: sacctmgr, which calls it an error when there is nothing to change
change() {
  if message=$(sacctmgr -i "$@" 2>&1); then return 0; fi
  case $message in *Nothing*) return 0 ;; esac
  echo "sacctmgr $*: $message" >&2
  return 1
}
)sh";

constexpr std::string_view kFindOut =
    R"sh(known "$(sacctmgr -n -P list cluster format=cluster)" "$cluster" || change add cluster "$cluster"
all_qos=$(sacctmgr -n -P list qos format=name)
all_accounts=$(sacctmgr -n -P list assoc where cluster="$cluster" user='' format=account)
)sh";

constexpr std::string_view kAddUsers = R"sh(
if [ $# -gt 0 ]; then
  while read -r name user; do
    [ -n "$user" ] || continue
    change add user "$user" account="$name" cluster="$cluster"
  done <"$1"
fi
)sh";

std::string quotas_of(const SlurmModel& model) {
  std::string text;
  for (const model::TenantSpec& tenant : model.spec().tenants.value) {
    if (const std::string limits = limits_of(model, tenant); !limits.empty())
      text += fmt::format("account {} grptres={}\n", shell_word(tenant.name->text), limits);
  }
  if (text.empty() || !model.has_gpus()) return text.empty() ? text : "\n" + commented("Quotas.") + text;
  std::string before =
      "\n" + commented("Quotas. They name kinds of GPU, which slurmctld registers when it first starts.");
  before += "tres=$(sacctmgr -n -P list tres format=type,name)\n";
  for (const std::string& type : model.gpu_types()) {
    before += fmt::format(
        "case $tres in *{0}*) ;; *) echo \"gres/{0} is not known yet: start slurmctld and run this again\" >&2; "
        "exit 2 ;; esac\n",
        "gpu:" + type);
  }
  return before + text;
}

}  // namespace

void add_services(const SlurmModel& model, FileSink& sink) {
  add_cgroup(model, sink);
  add_job_container(model, sink);
  if (model.has_accounting()) add_slurmdbd(model, sink);
  if (model.has_tokens()) add_slurmrestd(model, sink);
  add_slurmd_unit(model, sink);
  add_keys_script(model, sink);
}

void add_accounts(const SlurmModel& model, FileSink& sink) {
  std::string text =
      "#!/bin/sh\n" + commented(heading(model.input().cluster, "Accounts, QoS and quotas in Slurm's database."));
  text += std::string(kAccountTools.substr(1));
  text += fmt::format("\ncluster={}\n", shell_word(model.cluster_name()));
  text += kFindOut;
  text += "\n" + commented("Who gives way to whom. The grace is the time a checkpoint takes.");
  std::vector<Qos> rising = model.qos();  // each names those below it
  std::stable_sort(rising.begin(), rising.end(), [](const Qos& a, const Qos& b) { return a.priority < b.priority; });
  for (const Qos& qos : rising) {
    text += fmt::format("qos {} priority={} gracetime={} preemptmode=requeue flags=DenyOnLimit", shell_word(qos.name),
                        qos.priority, model.grace_seconds());
    text += qos.preempts.empty() ? "\n" : fmt::format(" preempt={}\n", fmt::join(qos.preempts, ","));
  }
  text += "\n" + commented("One account for each tenant.");
  for (const model::TenantSpec& tenant : model.spec().tenants.value) {
    text += "account " + shell_word(tenant.name->text) + " fairshare=1";
    if (const std::string list = qos_of(model, tenant); !list.empty()) text += " qos=" + list;
    std::string usual = tenant.priority.has_value() ? tenant.priority.value : std::string();
    for (std::size_t i = 0; i < model.qos().size(); ++i) {
      if (model.spec().priorities.value[i].name->text == usual) text += " defaultqos=" + model.qos()[i].name;
    }
    text += "\n";
  }
  text += kAddUsers;
  text += quotas_of(model);
  RenderedFile file = controller_file("accounts", std::move(text));
  file.device = model.spec().control_plane->pool.value;
  file.consumer = "sacctmgr";
  file.apply = "sh accounts [USERS]";
  file.mode = "0755";
  file.risk = Risk::none;
  file.sources = {"tenants", "priorities", "workload.checkpoint_time"};
  sink.add(std::move(file));
  sink.note("Users of Slurm accounts come from the site: hand `slurm/accounts` a file of lines \"account user\".");
}

}  // namespace weft::render::slurm_render
