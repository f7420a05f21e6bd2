// Schemas by group, version and kind, loaded from WEFT_TEST_DATA/schemas on first use. For kube_schema.cc.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/yaml.h"

namespace weft::kube_schema {

struct KindSchema {
  const YamlNode* schema = nullptr;
  const YamlNode* components = nullptr;  // what "#/components/schemas/..." refers to; null in a CRD
  std::string name;                      // of the schema among the components
  bool custom = false;  // from a CRD: unknown fields would be pruned even in objects without properties
  bool namespaced = true;
};

class SchemaStore {
 public:
  static SchemaStore& instance();

  [[nodiscard]] bool present() const { return !folder_.empty(); }
  // Null if there is no schema.
  [[nodiscard]] const KindSchema* find(const std::string& api_version, const std::string& kind);
  // metadata of every object.
  [[nodiscard]] const KindSchema* object_meta();

 private:
  SchemaStore();
  struct File {
    std::string path;
    std::string text;
    std::vector<YamlNode> documents;
    bool parsed = false;
  };
  [[nodiscard]] const YamlNode* builtin(const std::string& api_version);
  [[nodiscard]] std::optional<KindSchema> find_builtin(const std::string& api_version, const std::string& kind);
  [[nodiscard]] std::optional<KindSchema> find_custom(const std::string& api_version, const std::string& kind);
  void load_custom();
  void parse(File& file);

  std::string folder_;
  Sources sources_;
  std::map<std::string, std::optional<YamlNode>> builtin_;  // by apiVersion
  std::vector<File> custom_;
  std::map<std::pair<std::string, std::string>, std::optional<KindSchema>> known_;
  std::optional<KindSchema> meta_;
};

// The member of a mapping, null if there is none or `node` is null.
[[nodiscard]] const YamlNode* member(const YamlNode* node, std::string_view key);
[[nodiscard]] std::string scalar_of(const YamlNode* node);  // "" if it is not a scalar

}  // namespace weft::kube_schema
