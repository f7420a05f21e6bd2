// Bytes as the requests of one connection, through the parser and the limits of the HTTP server: whole and in pieces
// they give the same requests, within the limits, and never a failed assertion of the parser. What follows them may be
// rejected sooner in one case than in the other: Beast waits for the end of a head that came in pieces.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "serve/http/request_reader.h"

namespace weft::serve {
namespace {

using State = RequestReader::State;
constexpr RequestLimits kLimits{1024, 2048};

struct Outcome {
  std::vector<HttpRequest> requests;
  std::vector<ResponseFraming> framings;
};

void check_request(const HttpRequest& request) {
  CHECK(request.body.size() <= kLimits.body_bytes, "within the limit");
  CHECK(!request.method.empty() && request.method != "HEAD", "a method");
  CHECK(request.path.starts_with('/') || (request.path == "*" && request.method == "OPTIONS"), "a path");
  CHECK(is_valid_text(request.content_type) && is_valid_text(request.idempotency_key), "valid text");
}

Outcome read(std::string_view bytes, std::size_t step) {
  Outcome outcome;
  RequestReader reader(kLimits);
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    State state = reader.feed(bytes.substr(at, step));
    while (state == State::complete) {
      outcome.framings.push_back(reader.framing());
      outcome.requests.push_back(reader.take_request());
      check_request(outcome.requests.back());
      state = reader.next();
    }
    CHECK(reader.body_bytes() <= kLimits.body_bytes, "within the limit");
    if (state == State::invalid) {
      CHECK(reader.rejection().status >= 400 && reader.rejection().status < 600, "a status for what is wrong");
      CHECK(!reader.framing().keep_alive, "the connection closes");
      break;
    }
  }
  return outcome;
}

void check_same(const Outcome& a, const Outcome& b) {
  CHECK(a.requests.size() == b.requests.size(), "the same requests");
  for (std::size_t i = 0; i < a.requests.size(); ++i) {
    const HttpRequest& first = a.requests[i];
    const HttpRequest& second = b.requests[i];
    CHECK(first.method == second.method && first.path == second.path && first.query == second.query, "the same target");
    CHECK(first.content_type == second.content_type && first.accept == second.accept, "the same headers");
    CHECK(first.idempotency_key == second.idempotency_key && first.last_event_id == second.last_event_id, "the same");
    CHECK(first.body == second.body, "the same body");
    CHECK(a.framings[i].keep_alive == b.framings[i].keep_alive, "the same end");
  }
}

}  // namespace
}  // namespace weft::serve

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft::serve;
  if (size < 1 || size > 16384) return 0;
  const std::string bytes(data + 1, data + size);
  const Outcome whole = read(bytes, bytes.size() + 1);
  check_same(whole, read(bytes, 1));
  check_same(whole, read(bytes, std::size_t{data[0]} + 2));
  return 0;
}
