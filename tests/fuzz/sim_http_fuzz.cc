// Bytes as requests from a client to a simulated BMC: parsed whole and byte by byte with the same result, within
// bounds; every request gets a response, with and without authentication, and every response with a JSON type is JSON.
// A stream of events is read after each request, and what it sends is well-formed. The first byte selects a fault.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "bmcsim/event_stream.h"
#include "bmcsim/http.h"
#include "bmcsim/service.h"

namespace weft::oob {
namespace {

struct Outcome {
  std::vector<bmcsim::SimHttpRequest> requests;
  int status = 0;  // of bytes that were not a valid request
};

Outcome read(std::string_view bytes, std::size_t step) {
  Outcome outcome;
  bmcsim::HttpReader reader;
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    bmcsim::HttpReader::State state = reader.feed(bytes.substr(at, step));
    while (state == bmcsim::HttpReader::State::complete) {
      outcome.requests.push_back(reader.request());
      state = reader.next();
    }
    if (state == bmcsim::HttpReader::State::bad) {
      outcome.status = reader.status();
      CHECK(outcome.status >= 400 && outcome.status < 600, "a status for what is wrong");
      break;
    }
  }
  return outcome;
}

// Until the stream has no more.
void read_stream(bmcsim::SimEventStream& stream, const bmcsim::SimBmc& bmc) {
  std::size_t count = 0;
  for (std::string text = stream.next(bmc); !text.empty(); text = stream.next(bmc)) {
    CHECK(++count <= bmcsim::kMaxBufferedEvents + 1, "no more than is buffered");
    const std::size_t data = text.find("\ndata: ");
    CHECK(text.starts_with("id: ") && data != std::string::npos && text.ends_with("\n\n"), "an event");
    CHECK(nlohmann::json::accept(text.substr(data + 7, text.find("\n\n") - data - 7)), "JSON");
  }
}

void answer(const std::vector<bmcsim::SimHttpRequest>& requests, std::uint8_t choice, bool said) {
  static const bmcsim::HttpLimits limits;
  bmcsim::SimWorld world;
  const bool is_server = choice % 2 == 0;
  world.devices = {{.name = "train001",
                    .kind = is_server ? bmcsim::SimKind::server : bmcsim::SimKind::pdu,
                    .gpus = is_server ? 8U : 0U}};
  world.password = world.digest_of("secret-word");
  bmcsim::SimBmc bmc(world, 0, Duration());
  bmcsim::FaultSet faults;
  const bmcsim::FaultRule& rule = bmcsim::fault_rules()[choice % bmcsim::kFaultKinds];
  if (choice < bmcsim::kFaultKinds) faults.add(rule.kind, rule.fallback);
  bmc.set_faults(faults);
  Duration now;
  std::optional<bmcsim::SimEventStream> stream;
  for (bmcsim::SimHttpRequest request : requests) {
    CHECK(request.body.size() <= limits.body_bytes && request.headers.size() <= limits.headers, "within bounds");
    // Requests without credentials get valid ones, or nothing behind the login would be reached.
    if (request.header("authorization").empty() && request.header("x-auth-token").empty()) {
      request.headers.emplace_back("authorization", "Basic YWRtaW46c2VjcmV0LXdvcmQ=");
    }
    now += milliseconds(50);
    bmc.advance(now);
    const bmcsim::SimReply reply = bmcsim::sim_answer(bmc, request);
    if (reply.stream) stream = reply.stream;
    if (stream) read_stream(*stream, bmc);
    CHECK(reply.status >= 200 && reply.status < 600, "a status");
    CHECK(bmcsim::to_wire(reply, true, true, 0).starts_with("HTTP/1.1 "), "an answer");
    CHECK(said || reply.body.find("secret-word") == std::string::npos, "a password that nobody said stays unsaid");
    if (!reply.body.empty() && reply.content_type.starts_with("application/json") &&
        !faults.has(bmcsim::FaultKind::malformed)) {
      CHECK(nlohmann::json::accept(reply.body), "JSON");
    }
  }
}

}  // namespace
}  // namespace weft::oob

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft::oob;
  if (size < 1 || size > 32768) return 0;
  const std::string bytes(data + 1, data + size);
  const Outcome whole = read(bytes, bytes.size() + 1);
  const Outcome slow = read(bytes, size < 4096 ? 1 : 101);
  CHECK(whole.requests.size() == slow.requests.size() && whole.status == slow.status, "however the bytes come");
  for (std::size_t i = 0; i < whole.requests.size(); ++i) {
    CHECK(whole.requests[i].path == slow.requests[i].path && whole.requests[i].body == slow.requests[i].body,
          "the same");
  }
  answer(whole.requests, data[0], bytes.find("secret-word") != std::string::npos);
  return 0;
}
