// Bytes as a server's response to the client, and its body as a stream of events: whole and byte by byte they give the
// same response and the same events, within the limits.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "serve/http/response_reader.h"
#include "serve/http/sse.h"

namespace weft::serve {
namespace {

struct Outcome {
  ResponseReader::State state = ResponseReader::State::head;
  HttpResponse response;
  std::vector<ServerEvent> events;
  bool valid_events = true;
};

void read_events(std::string_view body, std::size_t step, Outcome& outcome) {
  EventParser parser;
  for (std::size_t at = 0; at < body.size() && outcome.valid_events; at += step) {
    outcome.valid_events = parser
                               .feed(body.substr(at, step),
                                     [&](const ServerEvent& event) {
                                       outcome.events.push_back(event);
                                       return true;
                                     })
                               .ok();
  }
}

Outcome read(std::string_view bytes, bool head_only, std::size_t step) {
  constexpr ResponseLimits limits{1024, 4096};
  ResponseReader reader(head_only, limits);
  for (std::size_t at = 0; at < bytes.size(); at += step) (void)reader.feed(bytes.substr(at, step));
  Outcome outcome;
  outcome.state = reader.finish();
  outcome.response = reader.response();
  CHECK(outcome.response.body.size() <= limits.body_bytes, "within the limit");
  if (outcome.state == ResponseReader::State::invalid) {
    CHECK(!reader.problem_text().empty(), "a reason");
    outcome.response = {};  // how far it came depends on the pieces
  }
  if (outcome.state == ResponseReader::State::complete && outcome.response.status >= 400)
    CHECK(!problem_to_error(outcome.response).message.empty(), "a message");
  read_events(outcome.response.body, step, outcome);
  return outcome;
}

}  // namespace
}  // namespace weft::serve

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft::serve;
  if (size < 1 || size > 16384) return 0;
  const std::string bytes(data + 1, data + size);
  const bool head_only = data[0] == 'H';
  const Outcome whole = read(bytes, head_only, bytes.size() + 1);
  const Outcome slow = read(bytes, head_only, 1);
  CHECK(whole.state == slow.state && whole.valid_events == slow.valid_events, "however the bytes come");
  CHECK(whole.response.status == slow.response.status && whole.response.body == slow.response.body, "the same");
  CHECK(whole.events.size() == slow.events.size(), "the same events");
  for (std::size_t i = 0; i < whole.events.size(); ++i) {
    CHECK(whole.events[i].id == slow.events[i].id && whole.events[i].data == slow.events[i].data, "the same event");
    const std::string& data_again = whole.events[i].data;
    std::string again;
    EventParser parser;
    const weft::Result<bool> parsed = parser.feed(format_event(1, "x", data_again), [&](const ServerEvent& event) {
      again = event.data;
      return true;
    });
    CHECK(parsed.ok() && again == data_again, "what was parsed can be sent again");
  }
  return 0;
}
