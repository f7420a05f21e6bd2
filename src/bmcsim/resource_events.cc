// The EventService (DSP0266, "Eventing"): events over a stream. There is no push to a destination: its subscriptions
// are the open streams.
#include <fmt/format.h>

#include <utility>

#include "bmcsim/resource.h"

namespace weft::bmcsim {
namespace {

constexpr std::string_view kService = "/redfish/v1/EventService";

Value event_service() {
  Value value =
      resource_head(std::string(kService), "EventService.v1_7_2.EventService", "EventService", "Event Service");
  value.put("ServiceEnabled", true);
  value.put("Status", status_ok());
  value.put("ServerSentEventUri", fmt::format("{}/SSE", kService));
  value.put("EventFormatTypes", Value::list({"Event"}));
  value.put("RegistryPrefixes", Value::list({"Base", "ResourceEvent", "WeftSim"}));
  value.put("SSEFilterPropertiesSupported", Value::map({{"EventFormatType", true},
                                                        {"MessageId", false},
                                                        {"MetricReportDefinition", false},
                                                        {"OriginResource", false},
                                                        {"RegistryPrefix", false},
                                                        {"ResourceType", false},
                                                        {"SubordinateResources", false}}));
  value.put("Subscriptions", link_to(fmt::format("{}/Subscriptions", kService)));
  return value;
}

Value subscription_value(std::uint32_t id) {
  Value value = resource_head(fmt::format("{}/Subscriptions/{}", kService, id),
                              "EventDestination.v1_7_0.EventDestination", fmt::format("{}", id), "Event stream");
  value.put("SubscriptionType", "SSE");
  value.put("EventFormatType", "Event");
  value.put("Protocol", "Redfish");
  value.put("Context", "");
  value.put("Status", status_ok());
  return value;
}

}  // namespace

bool is_event_stream_path(const SimBmc& bmc, const SimPath& path) {
  return path.size() == 2 && path[0] == "EventService" && path[1] == "SSE" && !bmc.has(FaultKind::no_events);
}

std::optional<Value> event_service_resource(const SimBmc& bmc, const SimPath& path) {
  if (bmc.has(FaultKind::no_events)) return std::nullopt;
  if (path.size() == 1) return event_service();
  if (path[1] != "Subscriptions" || path.size() > 3) return std::nullopt;
  std::vector<std::string> ids;
  if (bmc.feed() != nullptr) {
    ids.reserve(bmc.feed()->subscriptions().size());
    for (const SimSubscription& each : bmc.feed()->subscriptions()) ids.push_back(fmt::format("{}", each.id));
  }
  if (path.size() == 2) {
    return collection(fmt::format("{}/Subscriptions", kService), "EventDestination", "Event Subscriptions", ids);
  }
  const std::optional<std::uint32_t> id = number_in_path(path[2]);
  if (!id || bmc.feed() == nullptr || !bmc.feed()->has_subscription(*id)) return std::nullopt;
  return subscription_value(*id);
}

}  // namespace weft::bmcsim
