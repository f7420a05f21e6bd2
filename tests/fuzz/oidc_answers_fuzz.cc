// Bytes as what an OIDC provider answers: discovery, tokens, a device login; and as an address and a return path. What
// is accepted leads nowhere but to https, and can be shown to a person.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "access/jose/token.h"
#include "access/oidc/answers.h"
#include "access/oidc/provider.h"
#include "base/check.h"
#include "base/text.h"

namespace weft::access {
namespace {

void check_address(std::string_view url) {
  CHECK(url.starts_with("https://") && url.size() > 8, "https");
  CHECK(std::all_of(url.begin(), url.end(), [](char c) { return c > ' ' && c <= '~'; }), "printable ASCII");
}

void check_documents(const std::string& text) {
  const Result<ProviderMetadata> metadata = parse_discovery(text, "https://id.example.org", PlainHttp::refuse);
  if (metadata.ok()) {
    CHECK(metadata->issuer == "https://id.example.org", "this issuer");
    for (const std::string& url : {metadata->authorization_endpoint, metadata->token_endpoint, metadata->jwks_uri}) {
      check_address(url);
    }
  }
  const Result<DeviceLogin> device = parse_device_answer(200, text, PlainHttp::refuse);
  if (device.ok()) {
    check_address(device->verification_uri);
    CHECK(device->interval_s >= 1 && device->expires_in_s >= 1, "times that can be waited");
    CHECK(!device->user_code.empty() && !device->device_code.empty(), "codes");
  }
  for (const int status : {200, 400}) {
    const Result<TokenAnswer> answer = parse_token_answer(status, text);
    if (answer.ok()) CHECK(answer->error.empty() != answer->id_token.empty(), "a token or an error");
  }
}

}  // namespace
}  // namespace weft::access

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft::access;
  if (size > 16384) return 0;
  const std::string text(data, data + size);
  check_documents(text);
  if (check_url(text, PlainHttp::refuse).ok()) check_address(text);
  const std::string path = safe_return_path(text);
  CHECK(path.starts_with('/') && !path.starts_with("//") && !weft::contains(path, "\\"), "a path of this server");
  return 0;
}
