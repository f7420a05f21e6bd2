// RedfishBmc: events as the service sends them (DSP0266, "Server-sent events"). Metric reports on the same stream are
// ignored.
#include "http/event_stream.h"

#include <algorithm>
#include <utility>

#include "oob/redfish/bmc.h"
#include "oob/redfish/json.h"

namespace weft::oob {
namespace {

constexpr std::size_t kMaxEventBytes = 1U << 20U;
constexpr std::size_t kMaxRecords = 1'000;  // of one event
constexpr std::size_t kMaxIdBytes = 256;
// Without quotes, as OpenBMC reads it. A service that supports no filter answers 400 or 501.
constexpr std::string_view kEventsOnly = "?$filter=EventFormatType%20eq%20Event";

// An id is sent back in a request header.
bool is_printable(std::string_view id) {
  return id.size() <= kMaxIdBytes && std::all_of(id.begin(), id.end(), [](char c) { return c > ' ' && c <= '~'; });
}

}  // namespace

class RedfishBmc::Stream final : public EventStream {
 public:
  Stream(RedfishBmc& bmc, std::unique_ptr<HttpStream> stream) : bmc_(bmc), stream_(std::move(stream)) {}

  Result<SentEvents> read(Duration wait) override {
    const Result<std::string> bytes = stream_->read(wait);
    if (!bytes.ok()) return bytes.error();
    SentEvents sent;
    std::vector<MessageToFill> missing;
    const Result<bool> parsed = parser_.feed(*bytes, [&](const http::StreamEvent& event) {
      take(event, sent, missing);
      return true;
    });
    if (!parsed.ok()) return bmc_.error(ErrorCode::invalid_input, parsed.error().message);
    bmc_.fill_messages(missing, sent.events);
    return sent;
  }

  [[nodiscard]] std::string last_id() const override {
    return is_printable(parser_.last_id()) ? parser_.last_id() : std::string();
  }

 private:
  static void take(const http::StreamEvent& event, SentEvents& sent, std::vector<MessageToFill>& missing) {
    const Result<Value> value = read_json_reply(event.data);
    if (!value.ok() || !value->is_map()) {
      sent.incomplete = true;  // what it said is not known: the logs have it
      return;
    }
    const Value::List& records = list(*value, {"Events"});
    sent.incomplete = sent.incomplete || records.size() > kMaxRecords;
    for (std::size_t i = 0; i < std::min(records.size(), kMaxRecords); ++i) {
      LogEvent one = parse_event_record(records[i]);
      // DSP0266, "Event message buffering".
      if (one.message_id.ends_with(".EventBufferExceeded")) sent.incomplete = true;
      if (std::optional<MessageNeed> need = message_need(records[i]))
        missing.push_back({sent.events.size(), *std::move(need)});
      sent.events.push_back(std::move(one));
    }
  }

  RedfishBmc& bmc_;
  std::unique_ptr<HttpStream> stream_;
  http::EventStreamParser parser_{kMaxEventBytes};
};

Result<std::unique_ptr<EventStream>> RedfishBmc::event_stream(const std::string& last_id) {
  const std::string& path = session_->root().events;
  if (path.empty()) return error(ErrorCode::not_found, "has no EventService");
  const Result<RedfishReply> reply = session_->get(path);
  if (!reply.ok()) return reply.error();
  const EventServiceInfo service = parse_event_service(reply->value);
  if (!service.enabled) return error(ErrorCode::not_found, "its EventService is disabled");
  if (service.stream.empty()) return error(ErrorCode::not_found, "its EventService has no stream");
  Result<std::unique_ptr<HttpStream>> stream = error(ErrorCode::not_found, {});
  if (service.by_format && service.stream.find('?') == std::string::npos)
    stream = session_->open_stream(service.stream + std::string(kEventsOnly), last_id);
  const auto is_other = [](ErrorCode code) {  // 501, 400, or a response that is no stream
    return code == ErrorCode::not_found || code == ErrorCode::refused || code == ErrorCode::invalid_input;
  };
  if (!stream.ok() && is_other(stream.error().code)) stream = session_->open_stream(service.stream, last_id);
  if (!stream.ok()) return stream.error();
  return std::unique_ptr<EventStream>(std::make_unique<Stream>(*this, std::move(stream).value()));
}

}  // namespace weft::oob
