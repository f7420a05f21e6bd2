// Bytes as the file of logins, and as what a server answers to a sign-in. What is accepted can be written and reads
// back as the same, and no token has a character that could end a header.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "cli/operate/api_connection.h"
#include "cli/operate/login_protocol.h"
#include "cli/operate/login_store.h"

namespace weft::cli {
namespace {

void run_logins(const std::string& text) {
  const Result<Logins> logins = read_logins(text, "credentials.json");
  if (logins.ok()) {
    for (const auto& [name, login] : *logins) {
      CHECK(is_valid_token(login.access_token.reveal()) && is_valid_token(login.refresh_token.reveal()), "tokens");
    }
    const oob::Secret written = write_logins(*logins);
    const Result<Logins> again = read_logins(written.reveal(), "credentials.json");
    CHECK(again.ok() && again->size() == logins->size(), "what is written reads back");
    CHECK(write_logins(*again) == written, "as the same");
  }
  const Result<Login> login = read_token_answer(text, 1'790'000'000'000);
  CHECK(!login.ok() || is_valid_token(login->access_token.reveal()), "a token of an answer");
  const Result<DeviceCode> code = read_device_answer(text);
  CHECK(!code.ok() || (code->interval_s > 0 && code->expires_s > 0), "times of a code");
  serve::HttpResponse response;
  response.status = 422;
  response.content_type = "application/problem+json";
  response.body = text;
  (void)problem_text(response);
}

}  // namespace
}  // namespace weft::cli

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 16384) return 0;
  weft::cli::run_logins(std::string(data, data + size));
  return 0;
}
