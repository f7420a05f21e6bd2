// Bytes as responses of an untrusted BMC to the audit: RMCP and IPMI datagrams, cipher suite records, and event times.
// No read may go past the end, and parsed values must be valid.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/check.h"
#include "oob/audit/ipmi_probe.h"
#include "oob/manage/events_view.h"

namespace weft::oob {
namespace {

void run_audit_probe(std::span<const std::uint8_t> bytes) {
  const std::uint8_t sequence = bytes.empty() ? 0 : bytes[0] & 0x3FU;
  (void)is_presence_pong(bytes, sequence);
  (void)read_auth_capabilities(bytes, sequence);
  if (const auto chunk = read_cipher_suites(bytes, sequence)) CHECK(chunk->size() <= 16, "a chunk has 16 bytes");
  if (const auto suites = suites_of(bytes)) {
    CHECK(std::is_sorted(suites->begin(), suites->end()), "suites ascend");
    CHECK(suites->empty() || (suites->front() >= 0 && suites->back() <= 255), "a suite is a byte");
  }
  const std::string text(bytes.begin(), bytes.end());
  if (const auto time = parse_event_time(text)) {
    const std::int64_t half_day = 14 * 3'600'000;
    CHECK(*time >= -half_day && *time < 253'402'300'800'000 + half_day + 1'000, "a time between 1970 and 9999");
  }
}

}  // namespace
}  // namespace weft::oob

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 4096) return 0;
  weft::oob::run_audit_probe({data, size});
  return 0;
}
