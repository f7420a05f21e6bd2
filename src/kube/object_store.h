// The objects of one kind as last seen, by name. Filled by a Reflector from complete lists and from watch events; every
// difference is reported as a change. A list that is not complete must never get here: what it lacks would count as
// deleted.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/value.h"
#include "kube/object.h"

namespace weft::kube {

enum class ChangeKind : std::uint8_t { added, updated, removed };
struct ObjectChange {
  ChangeKind kind = ChangeKind::added;
  ObjectName name;
  std::shared_ptr<const Value> object;  // of a removal: as last seen
};

struct StoredObject {
  std::string uid;
  std::string resource_version;
  std::shared_ptr<const Value> object;
};

class ObjectStore {
 public:
  using Objects = std::map<ObjectName, StoredObject>;

  // All objects of a complete list: those that are not in it are removed. An error, and no change, if an object cannot
  // be identified or is there twice.
  [[nodiscard]] Status replace_all(const std::vector<Value>& items, std::vector<ObjectChange>& changes);
  // An object of another uid under the same name is a removal and an addition.
  [[nodiscard]] Status put(const Value& object, std::vector<ObjectChange>& changes);
  // Does nothing if the stored object has another uid: that one is newer.
  [[nodiscard]] Status remove(const Value& object, std::vector<ObjectChange>& changes);

  [[nodiscard]] const Objects& objects() const { return objects_; }
  // nullptr: not there.
  [[nodiscard]] const Value* find(const ObjectName& name) const;

 private:
  void put_known(const ObjectMeta& meta, const Value& object, std::vector<ObjectChange>& changes);

  Objects objects_;
};

}  // namespace weft::kube
