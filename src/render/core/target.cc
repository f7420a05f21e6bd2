#include "render/core/target.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "render/core/targets.h"

namespace weft::render {
namespace {

const std::array<RenderChoice, 6> kChoices = {{
    {"ipam", "who gives pods their addresses on the rails", {"whereabouts", "nv-ipam", "host-local"}},
    {"attachments",
     "who writes the pods' network definitions: weft, or the SR-IOV operator from SriovNetwork objects",
     {"definition", "sriovnetwork"}},
    {"bgp", "Cilium's BGP resources: v2, or v1 for Cilium before 1.19", {"v2", "v1"}},
    {"ingress",
     "how services are exposed: Gateway API, Ingress (NGINX) or OpenShift Route",
     {"gateway", "ingress", "route"}},
    {"job", "the form that job files take", {"all", "pytorchjob", "trainjob", "indexed", "sbatch"}},
    {"slurm", "the Slurm release that reads the files", {"22.05", "24.05"}},
}};

const RenderChoice* find_choice(std::string_view key) {
  const auto* found =
      std::find_if(kChoices.begin(), kChoices.end(), [&](const RenderChoice& c) { return c.key == key; });
  return found == kChoices.end() ? nullptr : &*found;
}

}  // namespace

std::string_view to_text(Risk risk) {
  switch (risk) {
    case Risk::none:
      return "none";
    case Risk::reload:
      return "reload";
    case Risk::traffic:
      return "traffic";
  }
  return "";
}

std::string_view to_text(Stage stage) {
  static constexpr std::string_view kNames[] = {"oob",      "storage",   "frontend",   "backend",   "hosts",
                                                "platform", "workloads", "monitoring", "acceptance"};
  return kNames[static_cast<std::size_t>(stage)];
}

std::span<const RenderChoice> render_choices() { return kChoices; }

std::string_view RenderOptions::operator[](std::string_view key) const {
  const RenderChoice* choice = find_choice(key);
  CHECK(choice != nullptr, "a choice that is not in the table");
  for (const auto& [known, value] : chosen_) {
    if (known == key) return value;
  }
  return choice->values.front();
}

Status RenderOptions::set(std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  const std::string_view key = assignment.substr(0, equals);
  const RenderChoice* choice = find_choice(key);
  if (equals == std::string_view::npos || choice == nullptr) {
    std::vector<std::string_view> keys;
    keys.reserve(kChoices.size());
    for (const RenderChoice& one : kChoices) keys.push_back(one.key);
    return Error{ErrorCode::invalid_input,
                 fmt::format("`{}`: KEY=VALUE, where KEY is {}", assignment, join(keys, ", ", " or ")), "--set"};
  }
  const std::string_view value = assignment.substr(equals + 1);
  if (std::find(choice->values.begin(), choice->values.end(), value) == choice->values.end()) {
    return Error{ErrorCode::invalid_input,
                 fmt::format("`{}` is {}, not `{}`", key, join(choice->values, ", ", " or "), value), "--set"};
  }
  chosen_.insert(chosen_.begin(), {std::string(key), std::string(value)});
  return {};
}

std::vector<std::string> RenderOptions::chosen() const {
  std::vector<std::string> out;
  for (const RenderChoice& choice : kChoices) {
    const std::string_view value = (*this)[choice.key];
    if (value != choice.values.front()) out.push_back(fmt::format("{}={}", choice.key, value));
  }
  return out;
}

std::vector<const RenderTarget*> find_targets(std::string_view name) {
  std::vector<const RenderTarget*> found;
  for (const RenderTarget& target : all_targets()) {
    const bool group =
        target.name.size() > name.size() && target.name.starts_with(name) && target.name[name.size()] == '/';
    if (target.name == name || group) found.push_back(&target);
  }
  return found;
}

std::string heading(const model::Cluster& cluster, std::string_view what) {
  return fmt::format("{}\nMade by weft from the cluster file of {}: change that file and render again.", what,
                     cluster.name());
}

}  // namespace weft::render
