// Out-of-band operations that the API began: who, what, why, and how far it is. Each is a file, on disk before its
// process starts, so that a restarted server knows it. An operation whose process the server did not see end is
// "interrupted": never done, whatever its last progress was; the out-of-band journal says what was carried out.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/quantity.h"
#include "base/result.h"
#include "base/value.h"

namespace weft::serve {

enum class OobState : std::uint8_t {
  queued,
  running,
  done,        // every device is done
  failed,      // refused, or some devices are not done: see the result
  interrupted  // the server stopped while it ran
};
[[nodiscard]] std::string_view to_text(OobState state);

struct OobOperation {
  std::string id;  // 16 hexadecimal digits; also in the journal, in `who`
  std::string verb;
  std::string hosts;
  std::string user;
  std::string reason;
  std::string request_id;
  OobState state = OobState::queued;
  std::int64_t since_ms = 0;  // wall clock; 0: not yet
  std::int64_t began_ms = 0;
  std::int64_t ended_ms = 0;
  std::optional<int> exit_code;
  std::string result;                  // "ok", "partial", ...
  std::string detail;                  // why it failed
  std::deque<std::string> progress;    // the last lines
  std::vector<std::uint32_t> devices;  // that no other operation may change meanwhile; not in the file

  [[nodiscard]] bool has_ended() const { return state != OobState::queued && state != OobState::running; }
};
inline constexpr std::size_t kMaxOobProgress = 100;

// For the API, and for its file.
[[nodiscard]] Value operation_value(const OobOperation& operation, bool with_progress);
[[nodiscard]] Result<OobOperation> read_operation(std::string_view text);

// The files. Not thread-safe.
class OobOperationStore {
 public:
  explicit OobOperationStore(std::string folder) : folder_(std::move(folder)) {}
  // Creates the folder and reads the operations of earlier runs, oldest first; those that had not ended are
  // interrupted. Files that are damaged are named in `problems` and left alone.
  [[nodiscard]] Result<std::vector<OobOperation>> open(std::vector<std::string>& problems);
  // On disk when it returns.
  [[nodiscard]] Status save(const OobOperation& operation) const;
  [[nodiscard]] Status save_result(const std::string& id, std::string_view json) const;
  // "" if there is none.
  [[nodiscard]] std::string read_result(const std::string& id) const;
  void remove(const std::string& id) const;

 private:
  [[nodiscard]] std::string path(const std::string& id, std::string_view ending) const;
  std::string folder_;
};

// What the out-of-band journal knows of an operation: {"operations": [{"operation", "verb", "ended"}], "entries"}.
[[nodiscard]] Result<Value> find_in_journal(const std::string& path, const std::string& id);

}  // namespace weft::serve
