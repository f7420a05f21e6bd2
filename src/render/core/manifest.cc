#include "render/core/manifest.h"

#include <algorithm>
#include <tuple>

#include "base/folder.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/value.h"

namespace weft::render {
namespace {

constexpr std::uint32_t kTogether = 0xFFFFFFFFU;  // not tied to a device: after those that are

// Within a stage: spines and cores one at a time, then leaves, then files that belong to no switch.
std::tuple<Stage, int, std::uint32_t> turn_of(const ManifestEntry& entry, const model::Cluster& cluster) {
  const model::DeviceId device =
      entry.device.empty() ? model::kNone<model::DeviceId> : cluster.find_device(entry.device);
  if (device == model::kNone<model::DeviceId>) return {entry.stage, 3, kTogether};
  const model::DeviceGroup& group = cluster.group_of(device);
  if (group.kind != model::DeviceKind::network_switch) return {entry.stage, 3, kTogether};
  return {entry.stage, group.tier == model::Tier::leaf ? 2 : 1, model::index_of(device)};
}

Value entry_value(const ManifestEntry& entry) {
  Value value = Value::map({{"path", entry.path},
                            {"sha256", entry.sha256},
                            {"bytes", static_cast<std::int64_t>(entry.bytes)},
                            {"target", entry.target}});
  if (!entry.device.empty()) value["device"] = entry.device;
  value["consumer"] = entry.consumer;
  if (!entry.install.empty()) value["install"] = entry.install;
  if (!entry.apply.empty()) value["apply"] = entry.apply;
  value["mode"] = entry.mode;
  value["owner"] = entry.owner;
  value["group"] = entry.group;
  value["risk"] = to_text(entry.risk);
  value["stage"] = to_text(entry.stage);
  value["order"] = entry.order;
  value["sources"] = Value::texts(entry.sources);
  return value;
}

std::string text_at(const YamlNode& node, std::string_view key) {
  const YamlNode* found = node.find(key);
  return found != nullptr && found->kind == YamlNode::Kind::scalar ? found->scalar : std::string();
}

std::uint64_t number_at(const YamlNode& node, std::string_view key) {
  std::uint64_t number = 0;
  for (const char c : text_at(node, key)) {
    if (c < '0' || c > '9' || number > (std::uint64_t{1} << 59U)) return 0;
    number = number * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return number;
}

std::vector<std::string> texts_at(const YamlNode& node, std::string_view key) {
  std::vector<std::string> texts;
  const YamlNode* list = node.find(key);
  if (list == nullptr) return texts;
  for (const YamlNode& item : list->items) texts.push_back(item.scalar);
  return texts;
}

template <class Word>
Word word_at(const YamlNode& node, std::string_view key, int count) {
  const std::string text = text_at(node, key);
  for (int i = 0; i < count; ++i) {
    if (to_text(static_cast<Word>(i)) == text) return static_cast<Word>(i);
  }
  return static_cast<Word>(0);
}

ManifestEntry read_entry(const YamlNode& node) {
  ManifestEntry entry;
  entry.path = text_at(node, "path");
  entry.sha256 = text_at(node, "sha256");
  entry.bytes = number_at(node, "bytes");
  entry.target = text_at(node, "target");
  entry.device = text_at(node, "device");
  entry.consumer = text_at(node, "consumer");
  entry.install = text_at(node, "install");
  entry.apply = text_at(node, "apply");
  entry.mode = text_at(node, "mode");
  entry.owner = text_at(node, "owner");
  entry.group = text_at(node, "group");
  entry.risk = word_at<Risk>(node, "risk", 3);
  entry.stage = word_at<Stage>(node, "stage", 9);
  entry.order = static_cast<std::uint32_t>(number_at(node, "order"));
  entry.sources = texts_at(node, "sources");
  return entry;
}

}  // namespace

ManifestEntry manifest_entry(const RenderedFile& file, std::string_view target) {
  return {file.path,           sha256(file.content),
          file.content.size(), std::string(target),
          file.device,         file.consumer,
          file.install,        file.apply,
          file.mode,           file.owner,
          file.group,          file.risk,
          file.stage,          0,
          file.sources};
}

void finish(Manifest& manifest, const model::Cluster& cluster) {
  std::vector<std::pair<std::tuple<Stage, int, std::uint32_t>, ManifestEntry*>> turns;
  turns.reserve(manifest.files.size());
  for (ManifestEntry& entry : manifest.files) turns.emplace_back(turn_of(entry, cluster), &entry);
  std::sort(turns.begin(), turns.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::uint32_t order = 0;
  for (std::size_t i = 0; i < turns.size(); ++i) {
    if (i == 0 || turns[i].first != turns[i - 1].first) ++order;
    turns[i].second->order = order;
  }
  std::sort(manifest.files.begin(), manifest.files.end(),
            [](const ManifestEntry& a, const ManifestEntry& b) { return a.path < b.path; });
}

std::string write_manifest(const Manifest& manifest) {
  Value files = Value::list();
  for (const ManifestEntry& entry : manifest.files) files.add(entry_value(entry));
  return write_json(Value::map({{"schema_version", 1},
                                {"kind", "weft-render"},
                                {"cluster", manifest.cluster},
                                {"targets", Value::texts(manifest.targets)},
                                {"options", Value::texts(manifest.options)},
                                {"remarks", Value::texts(manifest.notes)},
                                {"left_out", Value::texts(manifest.left_out)},
                                {"files", std::move(files)}}));
}

Result<Manifest> read_manifest(std::string_view text, const std::string& shown_path) {
  Sources sources;
  Diagnostics diagnostics;
  const FileId file = sources.add(shown_path, std::string(text));
  const auto tree = parse_json(sources, file, diagnostics, {.bytes = 1U << 30U, .nodes = 40'000'000});
  if (!tree || text_at(*tree, "kind") != "weft-render" || tree->find("files") == nullptr) {
    return Error{ErrorCode::invalid_input, "not the manifest of a rendered tree", shown_path};
  }
  Manifest manifest;
  manifest.cluster = text_at(*tree, "cluster");
  manifest.targets = texts_at(*tree, "targets");
  manifest.options = texts_at(*tree, "options");
  manifest.notes = texts_at(*tree, "remarks");
  manifest.left_out = texts_at(*tree, "left_out");
  for (const YamlNode& node : tree->find("files")->items) {
    manifest.files.push_back(read_entry(node));
    if (!is_safe_relative_path(manifest.files.back().path)) {
      return Error{ErrorCode::invalid_input, "path outside the rendered tree: `" + manifest.files.back().path + "`",
                   sources.describe(node.place)};
    }
  }
  return manifest;
}

}  // namespace weft::render
