// What every Kubernetes object has: name, uid, version, labels. Objects are kept as they came (a Value): weft reads the
// fields it needs, and what it does not know passes unchanged.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/value.h"
#include "kube/resource.h"

namespace weft::kube {

struct ObjectMeta {
  ObjectName name;
  std::string uid;
  std::string resource_version;  // opaque: compare for equality only
  bool deleting = false;         // a deletion was accepted; finalizers or the grace period are pending
};
// An error if a required field is absent or of another type: such an object cannot be told from others.
[[nodiscard]] Result<ObjectMeta> read_meta(const Value& object);

// "": there is none.
[[nodiscard]] std::string label_of(const Value& object, std::string_view label);
[[nodiscard]] std::string annotation_of(const Value& object, std::string_view annotation);

}  // namespace weft::kube
