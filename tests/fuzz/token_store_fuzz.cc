// Bytes as the file of a token store: an error that says where, or records that can be written and read again.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "access/token/token_store.h"
#include "base/check.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 16384) return 0;
  using namespace weft::access;  // NOLINT(google-build-using-namespace)
  const std::string text(data, data + size);
  const weft::Result<std::vector<TokenRecord>> records = read_token_records("tokens", text);
  if (!records.ok()) {
    CHECK(records.error().where.starts_with("tokens"), "an error says where");
    return 0;
  }
  for (const TokenRecord& record : *records) {
    CHECK(parse_credential_name(record.credential()).has_value(), "a token has a name");
    CHECK(record.expires_ms - record.created_ms <= kMaxTokenLifeMs && is_valid_restriction(record.restriction),
          "limits hold for tokens of the file");
  }
  const std::string written = write_token_records(*records);
  const weft::Result<std::vector<TokenRecord>> again = read_token_records("tokens", written);
  CHECK(again.ok() && write_token_records(*again) == written, "what is written reads back the same");
  return 0;
}
