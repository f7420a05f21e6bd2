// Cordon marks of the nodes of engine `local`, kept in a file so that they survive a restart. A mark has an owner; only
// its owner removes it.
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "control/ids.h"

namespace weft::world {

class CordonMarks {
 public:
  explicit CordonMarks(std::string path) : path_(std::move(path)) {}
  [[nodiscard]] Status load();
  // `owner` marks the node, or removes its mark; a mark of another owner stays.
  [[nodiscard]] Status set(const std::string& node, const std::string& owner, bool cordon);
  [[nodiscard]] std::string owner_of(const std::string& node) const;  // "": not cordoned

 private:
  [[nodiscard]] Status store(const std::map<std::string, std::string>& marks);

  std::string path_;
  std::map<std::string, std::string> marks_;  // encoded node name to owner
};

}  // namespace weft::world
