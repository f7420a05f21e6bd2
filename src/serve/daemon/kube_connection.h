// What the requests of one thread to a Kubernetes API server need: clock, credentials, transport and client.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/random.h"
#include "kube/client.h"
#include "kube/credentials.h"
#include "kube/curl_transport.h"
#include "oob/durable/clock.h"

namespace weft::serve {

struct KubeConnection {
  KubeConnection(const kube::ClusterAccess& access, std::string_view purpose, const kube::ClientOptions& options = {})
      : credentials(access, clock),
        transport(access, credentials, clock),
        client(transport, clock, RandomStream(static_cast<std::uint64_t>(clock.wall_ms()), purpose), options) {}

  oob::SystemClock clock;
  kube::AccessCredentials credentials;
  kube::CurlTransport transport;
  kube::Client client;
};

}  // namespace weft::serve
