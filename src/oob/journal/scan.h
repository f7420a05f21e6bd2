// Scans the chain of a journal, reading the file in chunks, and reports where it is broken. The single reader behind
// verify, read, the writer's catch-up with other processes, and the syslog forwarder. Memory: one line and the torn
// bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "oob/durable/file.h"
#include "oob/journal/line.h"

namespace weft::oob {

// A position in the chain: everything up to `offset` ends with line `line`, whose entry has this number and hash.
struct ChainPlace {
  std::uint64_t offset = 0;
  std::uint64_t number = 0;
  std::uint64_t line = 0;
  std::string hash = first_previous();
};

inline constexpr std::size_t kMaxTorn = 4U << 20U;  // bytes that crashes may leave between two entries

class JournalScan {
 public:
  explicit JournalScan(ChainPlace from = {}) : place_(std::move(from)), at_(place_.offset), line_(place_.line) {}
  // Called for every entry whose own hash is valid, in order, also after a break in the chain.
  std::function<void(JournalLine&&)> on_entry;

  void feed(std::string_view bytes);
  // End of input: a rest without a line end is torn, unless it is an entry that lacks only its line end.
  void finish();

  // The position after the last valid entry.
  [[nodiscard]] const ChainPlace& place() const { return place_; }
  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  [[nodiscard]] std::uint64_t entries() const { return entries_; }
  // After finish(): bytes at the end that are not an entry, excluding the last line end.
  [[nodiscard]] const std::string& torn() const { return torn_; }
  [[nodiscard]] bool ends_open() const { return ends_open_; }    // the last line has no line end
  [[nodiscard]] bool ends_whole() const { return ends_whole_; }  // ... but is a complete entry
  // The number of the last line read, for messages.
  [[nodiscard]] std::uint64_t line() const { return line_; }

 private:
  void take_line(std::string_view line, bool ended);
  void take_entry(JournalLine&& read, std::uint64_t end);
  void take_piece(std::string_view piece, const std::string& why);
  void close_torn(const JournalEntry& entry);
  void problem(std::uint64_t line, std::string_view what);

  ChainPlace place_;
  std::uint64_t at_ = 0;    // bytes consumed, complete lines only
  std::uint64_t line_ = 0;  // the last line consumed
  std::string partial_;     // start of the next line
  std::uint64_t skipped_ = 0;
  std::string torn_;
  bool in_torn_ = false;
  std::uint64_t torn_line_ = 0;
  std::string last_time_;
  std::uint64_t entries_ = 0;
  bool ends_open_ = false;
  bool ends_whole_ = false;
  std::uint64_t more_problems_ = 0;
  std::vector<std::string> problems_;
  std::vector<std::string> notes_;
};

// The last entry of the file, found from its end without reading all of it. Offset 0 if there is none.
[[nodiscard]] Result<ChainPlace> find_chain_end(const FileDescriptor& file, std::uint64_t size,
                                                const std::string& path);
// Feeds [scan's position, size) in chunks, then calls finish().
[[nodiscard]] Status scan_file(const FileDescriptor& file, std::uint64_t size, const std::string& path,
                               JournalScan& scan);
// The file size at a moment when no process is writing.
[[nodiscard]] Result<std::uint64_t> settled_size(const FileDescriptor& file, const std::string& path);

}  // namespace weft::oob
