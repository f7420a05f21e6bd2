#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"
#include "oob/journal/journal.h"
#include "oob/journal/scan.h"

namespace weft::oob {
namespace {

// Looks for the user's hash and the anchor's point while the chain is scanned.
class Verifier {
 public:
  Verifier(std::string_view expected_head, const std::optional<AnchorPoint>& anchor)
      : head_(expected_head), anchor_(anchor), head_found_(expected_head == first_previous()) {
    anchor_found_ = !anchor || (anchor->number == 0 && anchor->hash == first_previous());
    scan_.on_entry = [this](JournalLine&& line) {
      head_found_ = head_found_ || line.entry.hash == head_;
      anchor_found_ = anchor_found_ || (line.entry.number == anchor_->number && line.entry.hash == anchor_->hash);
    };
  }
  [[nodiscard]] JournalScan& scan() { return scan_; }

  [[nodiscard]] JournalVerdict verdict() const {
    JournalVerdict verdict;
    verdict.entries = scan_.entries();
    verdict.head = scan_.place().hash;
    verdict.torn = scan_.torn().size();
    verdict.problems = scan_.problems();
    verdict.notes = scan_.notes();
    if (!head_.empty() && !head_found_) {
      verdict.problems.push_back(
          is_hash_text(head_)
              ? fmt::format("no entry has the hash {}: the journal was cut, replaced or rewritten", head_)
              : fmt::format("{} is not a hash: 64 hexadecimal digits were expected", in_backticks(head_)));
    }
    if (!anchor_found_) {
      verdict.problems.push_back(
          fmt::format("entry {} with the hash {}, which the anchor has, is missing: the journal was cut, replaced or "
                      "restored from an older copy; its last entry is {}",
                      anchor_->number, anchor_->hash, scan_.place().number));
    }
    return verdict;
  }

 private:
  std::string_view head_;
  const std::optional<AnchorPoint>& anchor_;
  bool head_found_;
  bool anchor_found_ = false;
  JournalScan scan_;
};

}  // namespace

JournalVerdict verify_journal_text(std::string_view text, std::string_view expected_head,
                                   const std::optional<AnchorPoint>& anchor) {
  Verifier verifier(expected_head, anchor);
  verifier.scan().feed(text);
  verifier.scan().finish();
  return verifier.verdict();
}

Result<JournalVerdict> verify_journal(const std::string& path, std::string_view expected_head,
                                      const std::optional<AnchorPoint>& anchor) {
  const Result<FileDescriptor> file = open_file(path, O_RDONLY);
  // A journal that is missing as a whole was cut, too.
  if (!file.ok() && file.error().code == ErrorCode::not_found && anchor) {
    return verify_journal_text({}, expected_head, anchor);
  }
  if (!file.ok()) return file.error();
  const Result<std::uint64_t> size = settled_size(file.value(), path);
  if (!size.ok()) return size.error();
  Verifier verifier(expected_head, anchor);
  Status scanned = scan_file(file.value(), size.value(), path, verifier.scan());
  if (!scanned.ok()) return scanned.error();
  return verifier.verdict();
}

}  // namespace weft::oob
