// Walks along the chain of a journal, a piece of the file at a time, and says where it breaks. The one reader behind
// verify, read, the writer's look at what others wrote, and the log forwarder. Memory: one line and what is torn.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "oob/durable/file.h"
#include "oob/journal/line.h"

namespace weft::oob {

// A place in the chain: everything up to `offset` ends with line `line`, whose entry has this number and hash.
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
  // Told of every entry whose own hash holds, in order, also after a break.
  std::function<void(JournalLine&&)> on_entry;

  void feed(std::string_view bytes);
  // The end of what there is: what has no line end is torn, or an entry that lacks nothing else.
  void finish();

  // After the last good entry.
  [[nodiscard]] const ChainPlace& place() const { return place_; }
  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  [[nodiscard]] std::uint64_t entries() const { return entries_; }
  // After finish(): bytes at the end that are no entry, the last line's end not counted.
  [[nodiscard]] const std::string& torn() const { return torn_; }
  [[nodiscard]] bool ends_open() const { return ends_open_; }    // the last line has no end
  [[nodiscard]] bool ends_whole() const { return ends_whole_; }  // and is an entry all the same
  // Everything about how far it got, in the caller's words.
  [[nodiscard]] std::uint64_t line() const { return line_; }

 private:
  void take_line(std::string_view line, bool ended);
  void take_entry(JournalLine&& read, std::uint64_t end);
  void take_piece(std::string_view piece, const std::string& why);
  void close_torn(const JournalEntry& entry);
  void problem(std::uint64_t line, std::string_view what);

  ChainPlace place_;
  std::uint64_t at_ = 0;    // bytes taken, whole lines
  std::uint64_t line_ = 0;  // the line that was taken last
  std::string partial_;     // begins the next line
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

// The last entry of the file, found from its end without reading it all. SourceLocation zero when there is none.
[[nodiscard]] Result<ChainPlace> find_chain_end(const FileDescriptor& file, std::uint64_t size,
                                                const std::string& path);
// Feeds [scan's place, size) in pieces, then finish().
[[nodiscard]] Status scan_file(const FileDescriptor& file, std::uint64_t size, const std::string& path,
                               JournalScan& scan);
// The size at a moment when nobody writes.
[[nodiscard]] Result<std::uint64_t> settled_size(const FileDescriptor& file, const std::string& path);

}  // namespace weft::oob
