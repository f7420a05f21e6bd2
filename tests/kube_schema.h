// Strict validation of Kubernetes manifests for tests, against the schemas in WEFT_TEST_DATA/schemas: the OpenAPI v3
// files of Kubernetes and the CRDs of operators. A field that is in no schema is an error, as is a kind without a
// schema. It also checks what the API server checks beyond the schema: names, labels, scope, and the closed sets of
// values that the OpenAPI files mention only in prose. CEL rules (x-kubernetes-validations) are counted, not evaluated;
// operators' webhooks are not covered.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace weft::kube_schema {

struct ValidationError {
  std::string place;    // "attachments.yaml:12:5"
  std::string object;   // "NetworkAttachmentDefinition team-alpha/roce-1"
  std::string path;     // "spec.template.containers[0].image"
  std::string message;  // "unknown field"
};

struct ValidationReport {
  std::size_t documents = 0;                // validated against a schema
  std::size_t cel_rules = 0;                // CEL rules that apply to the input, not evaluated
  std::vector<std::string> objects;         // "apiVersion kind namespace/name" of each document, in order
  std::vector<ValidationError> errors;      // including parser errors and warnings
  std::vector<std::string> not_understood;  // patterns that this validator does not support; currently empty

  [[nodiscard]] bool ok() const { return errors.empty(); }
  [[nodiscard]] std::string text() const;  // one line per error
  void add(const ValidationReport& other);
};

// Whether there is a schema: has_schema("route.openshift.io/v1", "Route") is false.
[[nodiscard]] bool has_schema(const std::string& api_version, const std::string& kind);
// Every document of a YAML stream, or of a JSON file (a path that ends in ".json").
[[nodiscard]] ValidationReport validate_documents(const std::string& path, const std::string& text);

// Syntax of names: RFC 1123 label and subdomain, RFC 1035 label, qualified names ("prefix/name") and label values as in
// k8s.io/apimachinery/pkg/util/validation.
[[nodiscard]] bool is_dns_label(const std::string& text);
[[nodiscard]] bool is_dns_subdomain(const std::string& text);
[[nodiscard]] bool is_dns_1035_label(const std::string& text);
[[nodiscard]] bool is_qualified_name(const std::string& text);
[[nodiscard]] bool is_label_value(const std::string& text);

}  // namespace weft::kube_schema
