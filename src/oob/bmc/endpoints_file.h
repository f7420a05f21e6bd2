// The file that says where devices really answer, for those that stand elsewhere than the cluster file has them: a
// simulator, a lab, a BMC with another port. bmc/inventory.h shows its form.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "model/schema.h"

namespace weft::oob {

struct EndpointSpec {
  using IsRecord = void;
  Place place;
  model::Given<std::string> protocol;
  model::Given<std::string> host;
  model::Given<std::int64_t> step{1};
  model::Given<std::int64_t> port;
  model::Given<std::int64_t> port_step{0};
  model::Given<std::string> ca;
  model::Given<std::string> pin;
  model::Given<bool> verify;
  model::Given<std::string> proxy;
  model::Given<std::vector<std::int64_t>> ciphers;
  model::Given<std::vector<std::string>> workarounds;
  model::Given<std::vector<std::string>> console;
  model::Given<Duration> connect_limit;
  model::Given<Duration> request_limit;
  model::Given<std::string> role;
  model::Given<std::string> holds;
  model::Given<Power> power;
};

struct EndpointsFile {
  using IsRecord = void;
  Place place;
  model::Given<std::int64_t> weft_endpoints;
  model::Given<EndpointSpec> defaults{EndpointSpec{}};
  model::Given<model::NamedValues<EndpointSpec>> endpoints{model::NamedValues<EndpointSpec>{}};
};

// Nothing after an error was reported.
[[nodiscard]] std::optional<EndpointsFile> read_endpoints(const Sources& sources, FileId file,
                                                          Diagnostics& diagnostics);

}  // namespace weft::oob
