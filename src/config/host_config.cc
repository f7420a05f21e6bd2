#include "config/host_config.h"

#include <string_view>

namespace weft::config {

const Setting<std::string>* AppConfig::variable(std::string_view wanted) const {
  for (auto it = environment.rbegin(); it != environment.rend(); ++it) {
    if (it->name == wanted) return &it->value;
  }
  return nullptr;
}

const Setting<std::string>* AppConfig::limit(std::string_view wanted) const {
  for (auto it = limits.rbegin(); it != limits.rend(); ++it) {
    if (it->name == wanted) return &it->amount;
  }
  return nullptr;
}

const YamlNode* KubeObject::at(std::string_view path) const {
  const YamlNode* node = &tree;
  while (node != nullptr && !path.empty()) {
    const std::size_t dot = path.find('.');
    node = node->find(path.substr(0, dot));
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  }
  return node;
}

const SettingsFile::Entry* SettingsFile::find(std::string_view key) const {
  for (auto it = entries.rbegin(); it != entries.rend(); ++it) {
    if (it->key == key) return &*it;
  }
  return nullptr;
}

}  // namespace weft::config
