// Rendered manifests on a test's API server: read from their files, applied as they are, and a token of the service
// account that their roles are for.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/yaml.h"
#include "cli/design/yaml_json.h"
#include "kube/api_status.h"
#include "kube/json_fields.h"
#include "kube_fixture.h"
#include "program.h"

namespace weft::testing_kube {

inline constexpr kube::Resource kClusterRoles{"rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", false};
inline constexpr kube::Resource kClusterRoleBindings{"rbac.authorization.k8s.io", "v1", "clusterrolebindings",
                                                     "ClusterRoleBinding", false};
inline constexpr kube::Resource kNetworkPolicies{"networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy"};
inline constexpr kube::Resource kClaims{"", "v1", "persistentvolumeclaims", "PersistentVolumeClaim"};
inline constexpr kube::Resource kDeployments{"apps", "v1", "deployments", "Deployment"};

inline std::vector<Value> read_documents(const std::string& path) {
  Sources sources;
  Diagnostics diagnostics;
  std::vector<Value> values;
  const FileId id = sources.add(path, testing_program::contents(path));
  for (const YamlNode& node : parse_yaml_stream(sources, id, diagnostics))
    values.push_back(kube::read_reply_json(cli::yaml_to_json(node, true)).value_or(Value()));
  EXPECT_FALSE(values.empty()) << path;
  return values;
}

// The kind of a document, where it is one of those that weft renders to run itself.
inline const kube::Resource* resource_of(const Value& document) {
  static constexpr kube::Resource kAll[] = {
      kube::kNamespaces,   kube::kServiceAccounts, kClusterRoles, kClusterRoleBindings, kube::kRoles,
      kube::kRoleBindings, kNetworkPolicies,       kClaims,       kDeployments};
  for (const kube::Resource& resource : kAll) {
    if (resource.kind == kube::raw_text(document, {"kind"}) &&
        kube::api_version(resource) == kube::raw_text(document, {"apiVersion"}))
      return &resource;
  }
  return nullptr;
}

inline void apply_document(KubeLab& cluster, const Value& document) {
  const kube::Resource* resource = resource_of(document);
  ASSERT_NE(resource, nullptr) << write_yaml(document);
  const Result<Value> applied = cluster.admin().client.apply(*resource, document, true);
  ASSERT_TRUE(applied.ok()) << applied.error().text();
}
inline void apply_file(KubeLab& cluster, const std::string& path) {
  for (const Value& document : read_documents(path)) ASSERT_NO_FATAL_FAILURE(apply_document(cluster, document)) << path;
}

// TokenRequest: a token as a kubelet mounts it into a pod. "": none was given.
inline std::string account_token(KubeLab& cluster, const kube::ObjectName& account) {
  const Value body = Value::map({{"apiVersion", Value("authentication.k8s.io/v1")},
                                 {"kind", Value("TokenRequest")},
                                 {"spec", Value::map({{"expirationSeconds", Value(3600)}})}});
  const Result<Value> token =
      cluster.admin().client.request_subresource(kube::kServiceAccounts, account, "token", body);
  EXPECT_TRUE(token.ok()) << token.error().text();
  return token.ok() ? kube::raw_text(*token, {"status", "token"}) : std::string();
}

}  // namespace weft::testing_kube
