// Files of the services around slurmctld: cgroups, private job directories, the database daemon and its accounts, the
// REST daemon, and the script that creates keys. None of them contains a secret.
#include <fmt/format.h>

#include "base/asset.h"
#include "base/quoting.h"
#include "base/text.h"
#include "render/slurm/accounts.h"
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
  SettingsText out(model.input().cluster, "cgroup.conf: a job is limited to its allocated cores, memory and GPUs.");
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
                   "job_container.conf: private /tmp (on local drives) and /dev/shm per job, removed after the job.");
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
  out.section("Retention of accounting records.");
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

// slurmrestd accepts only tokens, runs as its own user, and listens on the frontend.
void add_slurmrestd(const SlurmModel& model, FileSink& sink) {
  const bool new_names = model.release() == Release::v24_05;
  std::string plugins = new_names ? "-s slurmctld -d v0.0.41" : "-s openapi/v0.0.38";
  if (model.has_accounting()) plugins = new_names ? "-s slurmctld,slurmdbd -d v0.0.41" : plugins + ",openapi/dbv0.0.38";
  for (const model::DeviceId id : model.controllers()) {
    const std::string& name = model.input().cluster.name_of(id);
    const Ipv4 address = node_address(model.input(), id);
    std::string text = commented(heading(model.input().cluster, "slurmrestd, as a drop-in of its unit."));
    text += "[Service]\nUser=slurmrestd\nGroup=slurmrestd\n";
    // Without a key it does not authenticate by itself: it forwards each caller's token to slurmctld.
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
  // Inherited by jobs: RDMA registers memory, data loaders open many files. Delegate leaves their cgroups to slurmd.
  text +=
      "[Service]\nDelegate=yes\nLimitMEMLOCK=infinity\nLimitNOFILE=1048576\nLimitSTACK=infinity\nTasksMax=infinity\n";
  RenderedFile file = controller_file("slurmd.service.conf", std::move(text));
  file.consumer = "systemd";
  file.install = "/etc/systemd/system/slurmd.service.d/weft.conf";
  file.apply = "systemctl daemon-reload && systemctl restart slurmd";
  sink.add(std::move(file));
}

void add_keys_script(const SlurmModel& model, FileSink& sink) {
  std::string text = "#!/bin/sh\n" + commented(heading(model.input().cluster, "Creates the keys of Slurm."));
  text += asset<"render/slurm/make-keys.sh">();
  if (model.has_tokens()) text += fmt::format("make_key {}/jwt_hs256.key 32 slurm 0600\n", kConfigFolder);
  if (model.has_accounting()) text += "\n" + std::string(asset<"render/slurm/database-password.sh">());
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

std::string qos_commands(const SlurmAccountsSpec& spec) {
  std::string text;
  for (const SlurmQosSpec& qos : spec.qos) {
    text += fmt::format("qos {} priority={} gracetime={} preemptmode=requeue flags=DenyOnLimit", shell_quote(qos.name),
                        qos.priority, spec.grace_seconds);
    text += qos.preempts.empty() ? "\n" : fmt::format(" preempt={}\n", fmt::join(qos.preempts, ","));
  }
  return text;
}

std::string account_commands(const SlurmAccountsSpec& spec) {
  std::string text;
  for (const SlurmAccountSpec& account : spec.accounts) {
    text += "account " + shell_quote(account.name) + " fairshare=1";
    if (!account.qos.empty()) text += fmt::format(" qos={}", fmt::join(account.qos, ","));
    if (!account.default_qos.empty()) text += " defaultqos=" + account.default_qos;
    text += "\n";
  }
  return text;
}

std::string quotas_of(const SlurmAccountsSpec& spec) {
  std::string text;
  for (const SlurmAccountSpec& account : spec.accounts) {
    std::string limits;
    for (const auto& [tres, value] : account.limits)
      append_format(limits, "{}{}={}", limits.empty() ? "" : ",", tres, value);
    if (!limits.empty()) text += fmt::format("account {} grptres={}\n", shell_quote(account.name), limits);
  }
  if (text.empty() || spec.gpu_types.empty()) return text.empty() ? text : "\n" + commented("Quotas.") + text;
  std::string before =
      "\n" + commented("Quotas. They refer to GPU types, which slurmctld registers at its first start.");
  before += "tres=$(sacctmgr -n -P list tres format=type,name)\n";
  for (const std::string& type : spec.gpu_types) {
    before += fmt::format(
        "case $tres in *{0}*) ;; *) echo \"gres/{0} is not registered yet: start slurmctld and rerun this script\" "
        ">&2; "
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
  const SlurmAccountsSpec spec = accounts_of(model);
  std::string text =
      "#!/bin/sh\n" + commented(heading(model.input().cluster, "Accounts, QoS and quotas in Slurm's database."));
  text += fill_template(asset<"render/slurm/accounts.sh">(), {{"CLUSTER", shell_quote(spec.cluster)},
                                                              {"QOS", qos_commands(spec)},
                                                              {"ACCOUNTS", account_commands(spec)},
                                                              {"QUOTAS", quotas_of(spec)}});
  RenderedFile file = controller_file("accounts", std::move(text));
  file.device = model.spec().control_plane->pool.value;
  file.consumer = "sacctmgr";
  file.apply = "sh accounts [USERS]";
  file.mode = "0755";
  file.risk = Risk::none;
  file.sources = {"tenants", "priorities", "workload.checkpoint_time"};
  sink.add(std::move(file));
  sink.note("Users of Slurm accounts are site-specific: pass `slurm/accounts` a file of lines \"account user\".");
}

}  // namespace weft::render::slurm_render
