#include "kube/resource.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"

namespace weft::kube {
namespace {

std::string root_of(const Resource& resource) {
  if (resource.group.empty()) return fmt::format("/api/{}", resource.version);
  return fmt::format("/apis/{}/{}", resource.group, resource.version);
}

// RFC 3986, section 2.3: everything but unreserved characters.
void append_encoded(std::string& out, std::string_view text) {
  for (const char c : text) {
    const bool unreserved = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                            c == '.' || c == '_' || c == '~';
    if (unreserved) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    }
  }
}

Error name_error(std::string_view what, std::string_view name) {
  return Error{ErrorCode::invalid_input, fmt::format("not a {} name: {}", what, in_backticks(name)), {}};
}

}  // namespace

std::string api_version(const Resource& resource) {
  if (resource.group.empty()) return std::string(resource.version);
  return fmt::format("{}/{}", resource.group, resource.version);
}

bool is_path_segment(std::string_view name) {
  if (name.empty() || name.size() > 253 || name == "." || name == "..") return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
           c == '_' || c == ':';
  });
}

Result<std::string> collection_path(const Resource& resource, std::string_view kube_namespace) {
  if (kube_namespace.empty()) return fmt::format("{}/{}", root_of(resource), resource.plural);
  if (!resource.namespaced) return name_error("cluster-wide object's", kube_namespace);
  if (!is_path_segment(kube_namespace)) return name_error("namespace", kube_namespace);
  return fmt::format("{}/namespaces/{}/{}", root_of(resource), kube_namespace, resource.plural);
}

Result<std::string> object_path(const Resource& resource, const ObjectName& object, std::string_view subresource) {
  if (resource.namespaced && object.kube_namespace.empty()) return name_error("namespace", "");
  Result<std::string> path = collection_path(resource, object.kube_namespace);
  if (!path.ok()) return path;
  if (!is_path_segment(object.name)) return name_error(resource.kind, object.name);
  std::string full = fmt::format("{}/{}", path.value(), object.name);
  if (!subresource.empty()) full.append("/").append(subresource);
  return full;
}

std::string with_query(std::string path, const Query& query) {
  char before = '?';
  for (const auto& [key, value] : query) {
    path += before;
    append_encoded(path, key);
    path += '=';
    append_encoded(path, value);
    before = '&';
  }
  return path;
}

}  // namespace weft::kube
