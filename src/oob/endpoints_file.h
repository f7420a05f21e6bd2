// The file that says where devices really answer, for those that stand elsewhere than the cluster file has them: a
// simulator, a lab, a BMC with another port. inventory.h shows its form.
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
  Given<std::string> protocol;
  Given<std::string> host;
  Given<std::int64_t> step{1};
  Given<std::int64_t> port;
  Given<std::int64_t> port_step{0};
  Given<std::string> ca;
  Given<std::string> pin;
  Given<bool> verify;
  Given<std::string> proxy;
  Given<std::vector<std::int64_t>> ciphers;
  Given<std::vector<std::string>> workarounds;
  Given<std::vector<std::string>> console;
  Given<Duration> connect_limit;
  Given<Duration> request_limit;
  Given<std::string> role;
  Given<std::string> holds;
  Given<Power> power;
};

struct EndpointsFile {
  using IsRecord = void;
  Place place;
  Given<std::int64_t> weft_endpoints;
  Given<EndpointSpec> defaults{EndpointSpec{}};
  Given<NamedValues<EndpointSpec>> endpoints{NamedValues<EndpointSpec>{}};
};

// Nothing after an error was reported.
[[nodiscard]] std::optional<EndpointsFile> read_endpoints(const Sources& sources, FileId file,
                                                          Diagnostics& diagnostics);

}  // namespace weft::oob
