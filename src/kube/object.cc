#include "kube/object.h"

#include "base/utf8.h"
#include "oob/redfish/json.h"

namespace weft::kube {

Result<ObjectMeta> read_meta(const Value& object) {
  ObjectMeta meta;
  meta.name = {oob::raw_text(object, {"metadata", "namespace"}), oob::raw_text(object, {"metadata", "name"})};
  meta.uid = oob::raw_text(object, {"metadata", "uid"});
  meta.resource_version = oob::raw_text(object, {"metadata", "resourceVersion"});
  meta.deleting = !oob::raw_text(object, {"metadata", "deletionTimestamp"}).empty();
  const auto missing = [&](std::string_view field) {
    return Error{ErrorCode::invalid_input,
                 "object " + in_backticks(meta.name.text()) + " without metadata." + std::string(field),
                 {}};
  };
  if (meta.name.name.empty()) return missing("name");
  if (meta.uid.empty()) return missing("uid");
  if (meta.resource_version.empty()) return missing("resourceVersion");
  return meta;
}

std::string label_of(const Value& object, std::string_view label) {
  return oob::raw_text(object, {"metadata", "labels", label});
}

std::string annotation_of(const Value& object, std::string_view annotation) {
  return oob::raw_text(object, {"metadata", "annotations", annotation});
}

}  // namespace weft::kube
