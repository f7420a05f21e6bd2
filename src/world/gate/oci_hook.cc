#include "world/gate/oci_hook.h"

#include <fnmatch.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace weft::world {
namespace {

using nlohmann::json;

Error invalid(const char* message) { return {ErrorCode::invalid_input, message, {}}; }

bool matches(const std::string& path, const std::vector<std::string>& patterns) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
    return ::fnmatch(pattern.c_str(), path.c_str(), FNM_PATHNAME) == 0;
  });
}

// NVIDIA_VISIBLE_DEVICES of nvidia-container-toolkit: void and none are no GPU.
bool asks_runtime(const std::string& variable) {
  constexpr std::string_view kName = "NVIDIA_VISIBLE_DEVICES=";
  if (!variable.starts_with(kName)) return false;
  const std::string value = variable.substr(kName.size());
  return !value.empty() && value != "void" && value != "none";
}

Result<json> parse_config(std::string_view config) {
  json root = json::parse(config, nullptr, false);
  if (root.is_discarded() || !root.is_object()) return invalid("config.json is not the configuration of a container");
  return root;
}

const json* find(const json& object, const char* name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  return !object.is_object() || found == object.end() || found->is_null() ? nullptr : &*found;
}

}  // namespace

Result<OciContainer> parse_oci_state(std::string_view text) {
  const json root = json::parse(text, nullptr, false);
  if (root.is_discarded() || !root.is_object()) return invalid("standard input is not the state of a container");
  OciContainer container;
  for (const auto& [name, to] : {std::pair{"id", &container.id}, std::pair{"bundle", &container.bundle}}) {
    const json* member = find(root, name);
    if (member == nullptr || !member->is_string() || member->get_ref<const std::string&>().empty())
      return invalid("the state of the container has no id or no bundle");
    *to = member->get<std::string>();
  }
  return container;
}

Result<bool> uses_gpu(std::string_view config, const std::vector<std::string>& patterns) {
  const Result<json> parsed = parse_config(config);
  if (!parsed.ok()) return parsed.error();
  const json& root = *parsed;
  bool found = false;
  const auto each = [&](const json* list, const char* field, const auto& is_gpu) {
    if (list == nullptr) return true;
    if (!list->is_array()) return false;
    for (const json& item : *list) {
      const json* text = field == nullptr ? &item : find(item, field);
      if (text == nullptr || !text->is_string()) return false;
      found = found || is_gpu(text->get<std::string>());
    }
    return true;
  };
  const json* process = find(root, "process");
  const json* linux_part = find(root, "linux");
  const auto is_device = [&](const std::string& path) { return matches(path, patterns); };
  // A device may also come as a bind mount, and from the device plugin as an entry of this mount.
  const auto is_mount = [&](const std::string& path) {
    return matches(path, patterns) || path.starts_with("/var/run/nvidia-container-devices/");
  };
  const bool readable = each(process == nullptr ? nullptr : find(*process, "env"), nullptr, asks_runtime) &&
                        each(linux_part == nullptr ? nullptr : find(*linux_part, "devices"), "path", is_device) &&
                        each(find(root, "mounts"), "destination", is_mount);
  if (!readable) return invalid("config.json has no readable environment, devices or mounts");
  return found;
}

// The runtimes set these themselves: an annotation of a pod by such a name does not get here.
Result<std::string> find_pod_namespace(std::string_view config) {
  const Result<json> root = parse_config(config);
  if (!root.ok()) return root.error();
  const json* annotations = find(*root, "annotations");
  if (annotations == nullptr) return std::string();
  for (const char* name : {"io.kubernetes.cri.sandbox-namespace", "io.kubernetes.pod.namespace"}) {
    const json* value = find(*annotations, name);
    if (value == nullptr) continue;
    if (!value->is_string()) return invalid("config.json has an annotation that is not text");
    return value->get<std::string>();
  }
  return std::string();
}

}  // namespace weft::world
