// Bytes as the file of a session store: an error that says where, or records that can be written and read again.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "access/token/session_store.h"
#include "base/check.h"

namespace weft::access {
namespace {

std::string write(const std::vector<SessionRecord>& records) {
  std::vector<const SessionRecord*> pointers;
  pointers.reserve(records.size());
  for (const SessionRecord& record : records) pointers.push_back(&record);
  return write_session_records(pointers);
}

}  // namespace
}  // namespace weft::access

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 16384) return 0;
  using namespace weft::access;  // NOLINT(google-build-using-namespace)
  const std::string text(data, data + size);
  const weft::Result<std::vector<SessionRecord>> records = read_session_records("sessions", text);
  if (!records.ok()) {
    CHECK(records.error().where.starts_with("sessions"), "an error says where");
    return 0;
  }
  const std::string written = write(*records);
  const weft::Result<std::vector<SessionRecord>> again = read_session_records("sessions", written);
  CHECK(again.ok() && write(*again) == written, "what is written reads back the same");
  return 0;
}
