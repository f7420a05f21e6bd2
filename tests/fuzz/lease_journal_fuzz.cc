// Bytes as a journal of the lease table: once as they are, and once with the number and checksum of every line
// corrected, so that the fuzzer gets past them. Any input must yield a journal or an error; a journal must yield a
// working table or an error that names the record.
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "lease/table.h"

namespace weft::sched {
namespace {

void replay(std::string_view text) {
  const Result<lease::LeaseJournal> journal = lease::parse_lease_journal(text);
  if (!journal.ok()) {
    CHECK(!journal.error().message.empty() && !journal.error().where.empty(), "an error says what and where");
    return;
  }
  CHECK(lease::to_text(journal->records) == text.substr(0, text.size() - journal->torn),
        "one spelling for each journal");
  Result<lease::LeaseTable> table = lease::LeaseTable::replay(journal->records);
  if (!table.ok()) {
    CHECK(!table.error().where.empty(), "an error names the record");
    return;
  }
  std::vector<lease::LeaseRecord> records = journal->records;
  const lease::LeaseStep step = table->tick(Moment(1));
  records.insert(records.end(), step.records.begin(), step.records.end());
  const Result<lease::LeaseTable> again = lease::LeaseTable::replay(records);
  CHECK(again.ok() && again->state() == table->state(), "what the table goes on to write can be replayed");
  CHECK(table->tick(Moment(2)).records.empty(), "a table at rest has nothing to write");
  for (std::uint32_t n = 0; n < 4; ++n) (void)table->who({NodeId{n}, 0}, Moment(3));
  for (const lease::LeaseRequest& request : table->waiting()) {
    CHECK(!table->why_waiting(request.id, Moment(3)).empty(), "whoever waits is told why");
  }
}

// Each line of the input is a record without its number and checksum.
std::string sealed(std::string_view text) {
  std::string out;
  for (std::uint64_t serial = 1; !text.empty(); ++serial) {
    const std::size_t end = text.find('\n');
    const std::string body = fmt::format("{} {}", serial, text.substr(0, end));
    out += fmt::format("{} {:016x}\n", body, hash64(body));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return out;
}

}  // namespace
}  // namespace weft::sched

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 16384) return 0;
  const std::string text(data, data + size);
  weft::sched::replay(text);
  weft::sched::replay(weft::sched::sealed(text));
  return 0;
}
