// One request to a simulated BMC and its response: authorization, faults, and the Redfish semantics (DSP0266). Complete
// requests only; bytes and sockets are in server.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/value.h"
#include "bmcsim/bmc.h"
#include "bmcsim/event_stream.h"
#include "bmcsim/http.h"

namespace weft::bmcsim {

// How a response is sent.
enum class ReplyShape : std::uint8_t { whole, truncated, endless_body, endless_headers, trickle };

struct SimReply {
  int status = 200;
  std::string body;
  std::string content_type = "application/json;charset=utf-8";
  std::vector<std::pair<std::string, std::string>> headers;
  ReplyShape shape = ReplyShape::whole;
  std::optional<SimEventStream> stream{};  // its events follow the headers, without end

  void header(std::string name, std::string value) { headers.emplace_back(std::move(name), std::move(value)); }
};

// The BMC must already be advanced to the current time. A stream in the response has a subscription of the BMC, which
// the caller ends with SimBmc::unsubscribe.
[[nodiscard]] SimReply sim_answer(SimBmc& bmc, const SimHttpRequest& request);
// The response to an invalid request.
[[nodiscard]] SimReply sim_bad_request(int status);
// Status line, headers and body, as sent on the wire. `body`: false for a response to HEAD. A stream is chunked if the
// connection is kept alive.
[[nodiscard]] std::string to_wire(const SimReply& reply, bool body, bool keep_alive, std::int64_t wall_ms);

// A message of the Base registry (DSP0268), with its arguments.
struct SimMessage {
  std::string_view id{};  // "PropertyUnknown"
  std::string text{};
  std::vector<std::string> arguments{};
  std::string property{};  // "/Boot/BootSourceOverrideTarget", if it is about one
};
[[nodiscard]] SimReply sim_error(int status, const std::vector<SimMessage>& messages);
[[nodiscard]] Value message_value(const SimMessage& message);
[[nodiscard]] SimReply sim_success(const Value& resource, int status = 200);

}  // namespace weft::bmcsim
