// The endpoints file: overrides addresses of devices that are not where the cluster file puts them: a simulator, a lab,
// a BMC on another port. See bmc/inventory.h for its format.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "model/schema.h"

namespace weft::oob {

struct EndpointSpec {
  using IsRecord = void;
  SourceLocation place;
  model::Sourced<std::string> protocol;
  model::Sourced<std::string> host;
  model::Sourced<std::int64_t> step{1};
  model::Sourced<std::int64_t> port;
  model::Sourced<std::int64_t> port_step{0};
  model::Sourced<std::string> ca;
  model::Sourced<std::string> pin;
  model::Sourced<bool> verify;
  model::Sourced<std::string> login;
  model::Sourced<std::string> proxy;
  model::Sourced<std::vector<std::int64_t>> ciphers;
  model::Sourced<std::vector<std::string>> workarounds;
  model::Sourced<std::vector<std::string>> console;
  model::Sourced<Duration> connect_limit;
  model::Sourced<Duration> request_limit;
  model::Sourced<std::string> role;
  model::Sourced<std::string> holds;
  model::Sourced<Power> power;
};

struct EndpointsFile {
  using IsRecord = void;
  SourceLocation place;
  model::Sourced<std::int64_t> weft_endpoints;
  model::Sourced<EndpointSpec> defaults{EndpointSpec{}};
  model::Sourced<model::NamedValues<EndpointSpec>> endpoints{model::NamedValues<EndpointSpec>{}};
};

// Empty after an error was reported.
[[nodiscard]] std::optional<EndpointsFile> read_endpoints(const Sources& sources, FileId file,
                                                          Diagnostics& diagnostics);

}  // namespace weft::oob
