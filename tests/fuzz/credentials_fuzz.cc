// Bytes as a credentials file and as its side log. A file that parses can be written back with the same meaning; a log
// that parses keeps its entries when its end is truncated. No error message contains text of the file.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "oob/credentials/book.h"
#include "oob/credentials/log.h"

namespace weft::oob {
namespace {

constexpr std::string_view kSecret = "S3CRET";

void check_error(const Error& error) {
  CHECK(!error.message.empty(), "an error says what");
  CHECK(error.text().find(kSecret) == std::string::npos, "no error holds a secret");
}

void read_book(const std::string& text) {
  const Result<CredentialBook> book = read_credential_book("bmc.yaml", text);
  if (!book.ok()) return check_error(book.error());
  const Result<std::string> written = write_credential_book(book.value());
  if (!written.ok()) return check_error(written.error());
  const Result<CredentialBook> again = read_credential_book("bmc.yaml", written.value());
  CHECK(again.ok() && same(again.value(), book.value()), "what is written reads back the same");
  const Result<std::string> twice = write_credential_book(again.value());
  CHECK(twice.ok() && twice.value() == written.value(), "one spelling for each book");
}

void read_log(const std::string& text) {
  const Result<CredentialLog> log = read_credential_log("bmc.yaml.new", text);
  if (!log.ok()) return check_error(log.error());
  CHECK(log->good <= text.size(), "no more is read than there is");
  const Result<CredentialLog> cut = read_credential_log("bmc.yaml.new", std::string_view(text).substr(0, log->good));
  CHECK(cut.ok() && cut->entries.size() == log->entries.size() && cut->good == log->good, "a cut end changes nothing");
  std::string rebuilt = log->id.empty() ? "" : log_opening(log->id);
  for (const auto& [device, credential] : log->entries) rebuilt += log_line(log->id, device, credential);
  const Result<CredentialLog> again = read_credential_log("bmc.yaml.new", rebuilt);
  CHECK(again.ok() && again->entries.size() == log->entries.size(), "entries can be written again");
}

}  // namespace
}  // namespace weft::oob

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 16384) return 0;
  const std::string text(data, data + size);
  weft::oob::read_book(text);
  weft::oob::read_log(text);
  // A valid header lets the fuzzer reach the lines.
  weft::oob::read_log(weft::oob::log_opening("0123456789abcdef") + text);
  return 0;
}
