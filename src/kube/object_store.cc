#include "kube/object_store.h"

#include <set>
#include <utility>

#include "base/utf8.h"

namespace weft::kube {

void ObjectStore::put_known(const ObjectMeta& meta, const Value& object, std::vector<ObjectChange>& changes) {
  const auto known = objects_.find(meta.name);
  ChangeKind kind = ChangeKind::updated;
  if (known == objects_.end()) {
    kind = ChangeKind::added;
  } else if (known->second.uid != meta.uid) {
    changes.push_back({ChangeKind::removed, meta.name, known->second.object});
    kind = ChangeKind::added;
  } else if (known->second.resource_version == meta.resource_version) {
    return;
  }
  auto copy = std::make_shared<const Value>(object);
  objects_.insert_or_assign(meta.name, StoredObject{meta.uid, meta.resource_version, copy});
  changes.push_back({kind, meta.name, std::move(copy)});
}

Status ObjectStore::replace_all(const std::vector<Value>& items, std::vector<ObjectChange>& changes) {
  std::vector<ObjectMeta> metas;
  std::set<ObjectName> listed;
  metas.reserve(items.size());
  for (const Value& item : items) {
    Result<ObjectMeta> meta = read_meta(item);
    if (!meta.ok()) return meta.error();
    if (!listed.insert(meta->name).second) {
      return Error{ErrorCode::invalid_input, "object " + in_backticks(meta->name.text()) + " is listed twice", {}};
    }
    metas.push_back(std::move(meta).value());
  }
  for (auto entry = objects_.begin(); entry != objects_.end();) {
    if (listed.contains(entry->first)) {
      ++entry;
      continue;
    }
    changes.push_back({ChangeKind::removed, entry->first, entry->second.object});
    entry = objects_.erase(entry);
  }
  for (std::size_t i = 0; i < items.size(); ++i) put_known(metas[i], items[i], changes);
  return {};
}

Status ObjectStore::put(const Value& object, std::vector<ObjectChange>& changes) {
  const Result<ObjectMeta> meta = read_meta(object);
  if (!meta.ok()) return meta.error();
  put_known(*meta, object, changes);
  return {};
}

Status ObjectStore::remove(const Value& object, std::vector<ObjectChange>& changes) {
  const Result<ObjectMeta> meta = read_meta(object);
  if (!meta.ok()) return meta.error();
  const auto known = objects_.find(meta->name);
  if (known == objects_.end() || known->second.uid != meta->uid) return {};
  changes.push_back({ChangeKind::removed, meta->name, std::make_shared<const Value>(object)});
  objects_.erase(known);
  return {};
}

const Value* ObjectStore::find(const ObjectName& name) const {
  const auto known = objects_.find(name);
  return known == objects_.end() ? nullptr : known->second.object.get();
}

}  // namespace weft::kube
