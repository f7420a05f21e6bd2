// The ansible target: an inventory of the design, variables, and playbooks that install the files of other targets.
#include <fmt/format.h>

#include "render/automation/ansible_inventory.h"
#include "render/automation/ansible_texts.h"
#include "render/core/line_file.h"
#include "render/core/targets.h"

namespace weft::render {
namespace {

bool is_needed(const RenderInput& input, PlaybookNeeds needs) {
  switch (needs) {
    case PlaybookNeeds::nothing:
      return true;
    case PlaybookNeeds::slurm:
      return input.plan.has_slurm();
    case PlaybookNeeds::kubernetes:
      return input.plan.has_kubernetes();
    case PlaybookNeeds::gpus:
      return input.cluster.gpu_count() > 0;
    case PlaybookNeeds::oob_backup:
      return input.cluster.spec().fabrics->oob->config_backup.value;
  }
  return true;
}

void add_file(FileSink& sink, std::string_view path, std::string content, std::string_view apply = {}) {
  sink.add({.path = fmt::format("ansible/{}", path),
            .content = std::move(content),
            .consumer = "Ansible",
            .apply = std::string(apply),
            .stage = Stage::hosts,
            .sources = {"pools", "fabrics"}});
}

std::string with_heading(const RenderInput& input, std::string_view what, std::string_view text) {
  LineFile head(input.cluster, what);
  return head.take() + std::string(text);
}

void add_texts(const RenderInput& input, FileSink& sink, std::span<const PlaybookText> texts) {
  for (const PlaybookText& playbook : texts) {
    if (!is_needed(input, playbook.needs)) continue;
    const bool tasks = playbook.path.starts_with("tasks/");
    add_file(sink, playbook.path, with_heading(input, playbook.what, playbook.text()),
             tasks ? std::string() : fmt::format("cd ansible && ansible-playbook {}", playbook.path));
  }
}

std::string yaml_file(const RenderInput& input, std::string_view what, const Value& value) {
  return write_yaml(std::span(&value, 1), heading(input.cluster, what));
}

// In manifest order: out-of-band and the fabrics before the hosts, hosts before what runs on them.
void add_site(const RenderInput& input, FileSink& sink) {
  struct Step {
    std::string_view name;
    std::string_view playbook;
    PlaybookNeeds needs;
  };
  static constexpr Step kSteps[] = {
      {"Switches, out-of-band first", "switches.yml", PlaybookNeeds::nothing},
      {"BMC and BIOS", "firmware.yml", PlaybookNeeds::nothing},
      {"Operating system", "os-baseline.yml", PlaybookNeeds::nothing},
      {"Network ports", "nics.yml", PlaybookNeeds::nothing},
      {"Storage", "storage-clients.yml", PlaybookNeeds::nothing},
      {"Slurm", "slurm.yml", PlaybookNeeds::slurm},
      {"Kubernetes nodes", "kubernetes-nodes.yml", PlaybookNeeds::kubernetes},
      {"Kubernetes platform", "platform.yml", PlaybookNeeds::kubernetes},
      {"Tests", "acceptance.yml", PlaybookNeeds::nothing},
  };
  Value plays = Value::list();
  for (const Step& step : kSteps) {
    if (!is_needed(input, step.needs)) continue;
    plays.add(Value::map({{"name", step.name}, {"ansible.builtin.import_playbook", step.playbook}}));
  }
  add_file(sink, "site.yml", yaml_file(input, "Applies the whole rendered tree in manifest order.", plays),
           "cd ansible && ansible-playbook site.yml");
}

void add_settings(const RenderInput& input, FileSink& sink) {
  LineFile file(input.cluster, "Ansible settings for this directory.");
  file.line("[defaults]")
      .setting("inventory", "inventory.yml")
      .setting("forks", "50")
      .setting("host_key_checking", "True");
  file.setting("gathering", "explicit")
      .setting("retry_files_enabled", "False")
      .setting("interpreter_python", "auto_silent");
  file.setting("any_errors_fatal", "False").setting("timeout", "30").blank();
  file.line("[ssh_connection]").setting("pipelining", "True");
  file.setting("ssh_args", "-o ControlMaster=auto -o ControlPersist=10m -o ServerAliveInterval=15");
  add_file(sink, "ansible.cfg", file.take());
}

}  // namespace

bool applies_ansible(const RenderInput& input) { return !input.plan.pools().empty(); }

void render_ansible(const RenderInput& input, FileSink& sink) {
  add_settings(input, sink);
  add_file(sink, "inventory.yml", yaml_file(input, "Hosts and groups of the cluster.", ansible_inventory(input)));
  add_file(sink, "group_vars/servers.yml",
           yaml_file(input, "Variables of all servers.", ansible_server_variables(input)));
  for (const PoolPlan& pool : input.plan.pools()) {
    add_file(sink, fmt::format("group_vars/{}.yml", ansible_group_name("pool_", pool.name())),
             yaml_file(input, "Variables of group " + pool.name() + ".", ansible_pool_variables(input, pool)));
  }
  add_texts(input, sink, ansible_build_playbooks());
  add_texts(input, sink, ansible_runbooks());
  add_texts(input, sink, ansible_tasks());
  add_site(input, sink);
}

}  // namespace weft::render
