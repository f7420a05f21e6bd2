#include "kube_schema.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/json.h"
#include "kube_schema_store.h"
#include "kube_schema_values.h"

namespace weft::kube_schema {

namespace {

using Kind = YamlNode::Kind;

// A schema merged with those from its $ref and allOf: the union of their properties.
struct Part {
  const YamlNode* schema;
  std::string name;  // component name
};

bool says(const Part& part, std::string_view key) { return scalar_of(part.schema->find(key)) == "true"; }

bool any_says(const std::vector<Part>& parts, std::string_view key) {
  return std::any_of(parts.begin(), parts.end(), [&](const Part& part) { return says(part, key); });
}

class Walker {
 public:
  Walker(const KindSchema& kind, const Sources& sources, std::string object, ValidationReport& report)
      : kind_(kind), sources_(sources), object_(std::move(object)), report_(report) {}

  void walk_root(const YamlNode& document) {
    walk(document, *kind_.schema, kind_.name, "", true);
    const KindSchema* meta = SchemaStore::instance().object_meta();
    const YamlNode* metadata = document.find("metadata");
    if (kind_.custom && metadata != nullptr && meta != nullptr) {
      Walker(*meta, sources_, object_, report_).walk(*metadata, *meta->schema, meta->name, "metadata", true);
    }
  }
  void error(const YamlNode& node, const std::string& path, std::string message) {
    report_.errors.push_back({sources_.describe(node.place), object_, path, std::move(message)});
  }
  // `strict` is false inside anyOf, oneOf and not, which validate values but list no fields (structural schemas).
  void walk(const YamlNode& node, const YamlNode& schema, const std::string& name, const std::string& path,
            bool strict) {
    std::vector<Part> parts;
    expand(schema, name, parts);
    if (node.kind == Kind::null) {
      if (!any_says(parts, "nullable")) error(node, path, "null where a value must stand");
      return;
    }
    for (const Part& part : parts) walk_values(node, part, path, strict);
    if (node.kind == Kind::mapping) walk_map(node, parts, path, strict);
    if (node.kind == Kind::sequence) walk_list(node, parts, path, strict);
  }

 private:
  void expand(const YamlNode& schema, const std::string& name, std::vector<Part>& parts) {
    if (const YamlNode* reference = schema.find("$ref")) {
      const std::string target = reference->scalar.substr(reference->scalar.rfind('/') + 1);
      const YamlNode* component = member(kind_.components, target);
      if (component == nullptr) return error(*reference, "", "the schema refers to nothing: " + target);
      return expand(*component, target, parts);
    }
    parts.push_back({&schema, name});
    if (const YamlNode* all = schema.find("allOf")) {
      for (const YamlNode& one : all->items) expand(one, "", parts);
    }
  }

  void walk_values(const YamlNode& node, const Part& part, const std::string& path, bool strict) {
    if (const YamlNode* rules = part.schema->find("x-kubernetes-validations")) report_.cel_rules += rules->items.size();
    std::vector<std::string> wrong = wrong_values(node, *part.schema, part.name, report_.not_understood);
    for (std::string& message : wrong) error(node, path, std::move(message));
    // A Quantity is oneOf string and number, in CRDs also anyOf; both are checked by name and pattern.
    if (part.name.ends_with(".Quantity") || part.name.ends_with(".IntOrString")) return;
    check_alternatives(node, *part.schema, path);
    if (strict && says(part, "x-kubernetes-embedded-resource")) check_embedded(node, path);
  }

  [[nodiscard]] bool fits(const YamlNode& node, const YamlNode& schema) {
    ValidationReport own;
    Walker(kind_, sources_, object_, own).walk(node, schema, "", "", false);
    return own.ok();
  }

  void check_alternatives(const YamlNode& node, const YamlNode& schema, const std::string& path) {
    for (const std::string_view key : {std::string_view("anyOf"), std::string_view("oneOf")}) {
      const YamlNode* options = schema.find(key);
      if (options == nullptr) continue;
      const auto fitting = std::count_if(options->items.begin(), options->items.end(),
                                         [&](const YamlNode& option) { return fits(node, option); });
      if (fitting == 0) error(node, path, "fits none of the schema's " + std::string(key));
      if (fitting > 1 && key == "oneOf") error(node, path, "fits several of the schema's oneOf");
    }
    const YamlNode* excluded = schema.find("not");
    if (excluded != nullptr && fits(node, *excluded)) error(node, path, "fits what the schema excludes");
  }

  void check_embedded(const YamlNode& node, const std::string& path) {
    const std::string api_version = scalar_of(node.find("apiVersion"));
    const std::string kind = scalar_of(node.find("kind"));
    if (api_version.empty() || kind.empty()) return error(node, path, "an object without apiVersion or kind");
    const KindSchema* schema = SchemaStore::instance().find(api_version, kind);
    if (schema != nullptr) Walker(*schema, sources_, object_, report_).walk_root(node);
  }

  void walk_map(const YamlNode& node, const std::vector<Part>& parts, const std::string& path, bool strict) {
    const bool open = any_says(parts, "x-kubernetes-preserve-unknown-fields") || takes_anything(parts);
    const bool root = kind_.custom && (path.empty() || any_says(parts, "x-kubernetes-embedded-resource"));
    for (const YamlEntry& entry : node.entries) {
      const std::string below = path.empty() ? entry.key : path + "." + entry.key;
      const bool known = walk_member(entry, parts, below, strict);
      const bool of_every_object =
          root && (entry.key == "apiVersion" || entry.key == "kind" || entry.key == "metadata");
      if (strict && !known && !open && !of_every_object) error(entry.value, below, "unknown field");
      if (strict) check_labels(entry, path, below);
    }
    for (const Part& part : parts) {
      const YamlNode* required = part.schema->find("required");
      if (required == nullptr) continue;
      for (const YamlNode& name : required->items) {
        if (node.find(name.scalar) == nullptr) error(node, path, "required field missing: " + name.scalar);
      }
    }
  }

  bool walk_member(const YamlEntry& entry, const std::vector<Part>& parts, const std::string& below, bool strict) {
    bool known = false;
    for (const Part& part : parts) {
      if (const YamlNode* schema = member(part.schema->find("properties"), entry.key)) {
        known = true;
        // A CRD's own metadata may restrict ObjectMeta but never lists its fields.
        const bool meta = kind_.custom && below == "metadata";
        walk(entry.value, *schema, "", below, strict && !meta);
        for (std::string& message : wrong_choice(entry.value, part.name, entry.key)) {
          error(entry.value, below, std::move(message));
        }
        continue;
      }
      const YamlNode* others = part.schema->find("additionalProperties");
      if (others == nullptr || (others->kind == Kind::scalar && others->scalar == "false")) continue;
      known = true;
      if (others->kind == Kind::mapping) walk(entry.value, *others, "", below, strict);
    }
    return known;
  }

  // RawExtension, FieldsV1 and JSON of Kubernetes itself are objects without any field definitions. In a CRD such a
  // field would be pruned.
  [[nodiscard]] bool takes_anything(const std::vector<Part>& parts) const {
    if (kind_.custom) return false;
    return std::none_of(parts.begin(), parts.end(), [](const Part& part) {
      return part.schema->find("properties") != nullptr || part.schema->find("additionalProperties") != nullptr;
    });
  }

  void check_labels(const YamlEntry& entry, const std::string& path, const std::string& below) {
    const bool in_metadata = path == "metadata" || path.ends_with(".metadata");
    const bool labels =
        (in_metadata && entry.key == "labels") || entry.key == "matchLabels" || entry.key == "nodeSelector";
    const bool annotations = in_metadata && entry.key == "annotations";
    if (!labels && !annotations) return;
    for (const YamlEntry& pair : entry.value.entries) {
      if (pair.value.kind != Kind::scalar) continue;
      if (!is_qualified_name(pair.key)) error(pair.value, below, "not a qualified name: " + pair.key);
      if (labels && !is_label_value(pair.value.scalar))
        error(pair.value, below, "not a label value: " + pair.value.scalar);
    }
  }

  void walk_list(const YamlNode& node, const std::vector<Part>& parts, const std::string& path, bool strict) {
    for (const Part& part : parts) {
      if (const YamlNode* schema = part.schema->find("items")) {
        std::size_t index = 0;
        for (const YamlNode& item : node.items) {
          walk(item, *schema, "", path + "[" + std::to_string(index++) + "]", strict);
        }
      }
      check_unique(node, *part.schema, path);
    }
  }

  void check_unique(const YamlNode& node, const YamlNode& schema, const std::string& path) {
    const std::string type = scalar_of(schema.find("x-kubernetes-list-type"));
    const YamlNode* keys = schema.find("x-kubernetes-list-map-keys");
    const bool set = type == "set" || scalar_of(schema.find("uniqueItems")) == "true";
    if (!set && (type != "map" || keys == nullptr)) return;
    std::set<std::string> seen;
    for (const YamlNode& item : node.items) {
      std::string identity = set ? item.scalar : "";
      if (!set) {
        for (const YamlNode& key : keys->items) identity += scalar_of(item.find(key.scalar)) + "\n";
      }
      if (item.kind != Kind::null && !(set && item.kind != Kind::scalar) && !seen.insert(identity).second) {
        error(item, path, "given twice: " + identity);
      }
    }
  }

  const KindSchema& kind_;
  const Sources& sources_;
  std::string object_;
  ValidationReport& report_;
};

// Names of objects: most are subdomains; pkg/apis of Kubernetes is stricter or looser for these kinds.
bool is_name_of(const std::string& api_version, const std::string& kind, const std::string& name) {
  if (api_version == "v1" && kind == "Service") return is_dns_1035_label(name);
  if (api_version == "v1" && kind == "Namespace") return is_dns_label(name);
  if (api_version.starts_with("rbac.authorization.k8s.io/")) {
    return !name.empty() && name != "." && name != ".." && name.find_first_of("/%") == std::string::npos;
  }
  return is_dns_subdomain(name);
}

void check_metadata(const YamlNode& document, const KindSchema& schema, const std::string& api_version,
                    const std::string& kind, Walker& walker) {
  const YamlNode* metadata = document.find("metadata");
  const std::string name = scalar_of(member(metadata, "name"));
  const YamlNode* space = member(metadata, "namespace");
  if (name.empty() && scalar_of(member(metadata, "generateName")).empty()) {
    return walker.error(document, "metadata.name", "an object without a name");
  }
  if (!name.empty() && !is_name_of(api_version, kind, name)) {
    walker.error(*metadata, "metadata.name", "not a name of this kind: " + name);
  }
  if (schema.namespaced && space == nullptr) walker.error(*metadata, "metadata.namespace", "a namespace is missing");
  if (!schema.namespaced && space != nullptr) walker.error(*space, "metadata.namespace", "this kind has no namespace");
  if (space != nullptr && !is_dns_label(space->scalar)) {
    walker.error(*space, "metadata.namespace", "not a name of a namespace: " + space->scalar);
  }
}

void validate_document(const YamlNode& document, const Sources& sources, ValidationReport& report) {
  const std::string api_version = scalar_of(document.find("apiVersion"));
  const std::string kind = scalar_of(document.find("kind"));
  const YamlNode* metadata = document.find("metadata");
  const std::string space = scalar_of(member(metadata, "namespace"));
  const std::string name = (space.empty() ? "" : space + "/") + scalar_of(member(metadata, "name"));
  report.objects.push_back(api_version + " " + kind + " " + name);
  const KindSchema* schema = SchemaStore::instance().find(api_version, kind);
  if (schema == nullptr) {
    report.errors.push_back({sources.describe(document.place), kind + " " + name, "kind", "no schema: " + api_version});
    return;
  }
  ++report.documents;
  Walker walker(*schema, sources, kind + " " + name, report);
  walker.walk_root(document);
  check_metadata(document, *schema, api_version, kind, walker);
}

}  // namespace

std::string ValidationReport::text() const {
  std::string lines;
  for (const ValidationError& error : errors) {
    lines += error.place + ": " + error.object + ": " + error.path + ": " + error.message + "\n";
  }
  return lines;
}

void ValidationReport::add(const ValidationReport& other) {
  documents += other.documents;
  cel_rules += other.cel_rules;
  objects.insert(objects.end(), other.objects.begin(), other.objects.end());
  errors.insert(errors.end(), other.errors.begin(), other.errors.end());
  not_understood.insert(not_understood.end(), other.not_understood.begin(), other.not_understood.end());
}

bool has_schema(const std::string& api_version, const std::string& kind) {
  return SchemaStore::instance().find(api_version, kind) != nullptr;
}

ValidationReport validate_documents(const std::string& path, const std::string& text) {
  ValidationReport report;
  Sources sources;
  Diagnostics diagnostics;
  const FileId file = sources.add(path, text);
  std::vector<YamlNode> documents;
  if (path.ends_with(".json")) {
    if (auto document = parse_json(sources, file, diagnostics)) documents.push_back(std::move(*document));
  } else {
    documents = parse_yaml_stream(sources, file, diagnostics);
  }
  for (const Diagnostic& said : diagnostics.sorted()) {
    report.errors.push_back({sources.describe(said.place), "", "", said.message});
  }
  for (const YamlNode& document : documents) validate_document(document, sources, report);
  return report;
}

}  // namespace weft::kube_schema
