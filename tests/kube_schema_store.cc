#include "kube_schema_store.h"

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "base/json.h"
#include "base/test_places.h"

namespace weft::kube_schema {

namespace fs = std::filesystem;

namespace {

// CRDs nest pod templates in job templates, with two schema levels per data level.
constexpr YamlLimits kLimits{.bytes = 64U << 20U, .nodes = 4'000'000, .depth = 400};

bool is_kind(const YamlNode& gvk, std::string_view group, std::string_view version, std::string_view kind) {
  return scalar_of(gvk.find("group")) == group && scalar_of(gvk.find("version")) == version &&
         scalar_of(gvk.find("kind")) == kind;
}

std::pair<std::string, std::string> split_api_version(const std::string& api_version) {
  const std::size_t slash = api_version.find('/');
  if (slash == std::string::npos) return {"", api_version};
  return {api_version.substr(0, slash), api_version.substr(slash + 1)};
}

// A kind is namespaced when one can be created below /namespaces/{namespace}/.
bool created_in_namespace(const YamlNode& document, std::string_view group, std::string_view version,
                          std::string_view kind) {
  const YamlNode* paths = document.find("paths");
  if (paths == nullptr) return false;
  return std::any_of(paths->entries.begin(), paths->entries.end(), [&](const YamlEntry& path) {
    if (path.key.find("/namespaces/{namespace}/") == std::string::npos) return false;
    const YamlNode* gvk = member(member(&path.value, "post"), "x-kubernetes-group-version-kind");
    return gvk != nullptr && is_kind(*gvk, group, version, kind);
  });
}

std::optional<KindSchema> from_crd(const YamlNode& crd, std::string_view group, std::string_view version,
                                   std::string_view kind) {
  const YamlNode* spec = crd.find("spec");
  if (scalar_of(member(spec, "group")) != group || scalar_of(member(member(spec, "names"), "kind")) != kind) return {};
  const YamlNode* versions = member(spec, "versions");
  if (versions == nullptr) return {};
  for (const YamlNode& item : versions->items) {
    if (scalar_of(item.find("name")) != version || scalar_of(item.find("served")) != "true") continue;
    const YamlNode* schema = member(member(&item, "schema"), "openAPIV3Schema");
    if (schema == nullptr) return {};
    return KindSchema{.schema = schema,
                      .components = nullptr,
                      .name = std::string(kind),
                      .custom = true,
                      .namespaced = scalar_of(member(spec, "scope")) == "Namespaced"};
  }
  return {};
}

}  // namespace

const YamlNode* member(const YamlNode* node, std::string_view key) {
  return node == nullptr ? nullptr : node->find(key);
}

std::string scalar_of(const YamlNode* node) {
  return node != nullptr && node->kind == YamlNode::Kind::scalar ? node->scalar : std::string();
}

SchemaStore& SchemaStore::instance() {
  static SchemaStore store;
  return store;
}

SchemaStore::SchemaStore() {
  const fs::path folder = fs::path(test_data_dir()) / "schemas";
  if (!fs::is_directory(folder / "kubernetes-openapi-v3")) return;
  folder_ = folder.string();
  load_custom();
}

void SchemaStore::load_custom() {
  for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
    if (entry.path().extension() != ".yaml") continue;
    Result<std::string> text = read_file(entry.path().string());
    if (!text.ok() || text->find("kind: CustomResourceDefinition") == std::string::npos) continue;
    custom_.push_back({.path = entry.path().string(), .text = std::move(*text), .documents = {}, .parsed = false});
  }
  std::sort(custom_.begin(), custom_.end(), [](const File& a, const File& b) { return a.path < b.path; });
}

void SchemaStore::parse(File& file) {
  if (file.parsed) return;
  file.parsed = true;
  Diagnostics ignored;
  file.documents = parse_yaml_stream(sources_, sources_.add(file.path, file.text), ignored, kLimits);
}

const YamlNode* SchemaStore::builtin(const std::string& api_version) {
  auto [found, is_new] = builtin_.try_emplace(api_version);
  if (is_new) {
    const auto [group, version] = split_api_version(api_version);
    const std::string stem = group.empty() ? "api__" + version : "apis__" + group + "__" + version;
    Result<std::string> text = read_file(folder_ + "/kubernetes-openapi-v3/" + stem + "_openapi.json");
    Diagnostics ignored;
    if (text.ok()) found->second = parse_json(sources_, sources_.add(stem, std::move(*text)), ignored, kLimits);
  }
  return found->second.has_value() ? &*found->second : nullptr;
}

std::optional<KindSchema> SchemaStore::find_builtin(const std::string& api_version, const std::string& kind) {
  const YamlNode* document = builtin(api_version);
  const YamlNode* components = member(member(document, "components"), "schemas");
  if (components == nullptr) return {};
  const auto [group, version] = split_api_version(api_version);
  for (const YamlEntry& entry : components->entries) {
    const YamlNode* kinds = entry.value.find("x-kubernetes-group-version-kind");
    if (kinds == nullptr) continue;
    for (const YamlNode& gvk : kinds->items) {
      if (!is_kind(gvk, group, version, kind)) continue;
      return KindSchema{.schema = &entry.value,
                        .components = components,
                        .name = entry.key,
                        .custom = false,
                        .namespaced = created_in_namespace(*document, group, version, kind)};
    }
  }
  return {};
}

std::optional<KindSchema> SchemaStore::find_custom(const std::string& api_version, const std::string& kind) {
  const auto [group, version] = split_api_version(api_version);
  for (File& file : custom_) {
    if (file.text.find("kind: " + kind + "\n") == std::string::npos) continue;
    parse(file);
    for (const YamlNode& document : file.documents) {
      if (auto found = from_crd(document, group, version, kind)) return found;
    }
  }
  return {};
}

const KindSchema* SchemaStore::find(const std::string& api_version, const std::string& kind) {
  if (!present()) return nullptr;
  auto [found, is_new] = known_.try_emplace({api_version, kind});
  if (is_new) {
    found->second = find_builtin(api_version, kind);
    if (!found->second) found->second = find_custom(api_version, kind);
  }
  return found->second.has_value() ? &*found->second : nullptr;
}

const KindSchema* SchemaStore::object_meta() {
  if (!meta_.has_value()) {
    const std::string name = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
    const YamlNode* components = member(member(builtin("v1"), "components"), "schemas");
    const YamlNode* schema = member(components, name);
    if (schema == nullptr) return nullptr;
    meta_ = KindSchema{.schema = schema, .components = components, .name = name, .custom = false, .namespaced = true};
  }
  return &*meta_;
}

}  // namespace weft::kube_schema
