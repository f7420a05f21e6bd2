// The real Transport: HTTP/1.1 over TLS with libcurl (docs/adr/0024-kubernetes-client.md says why not Boost.Beast). One
// instance per thread. Redirects are not followed, proxies of the environment are not used, and a token is never sent
// without TLS. It never repeats a request that may have been executed: after 401, which proves that it was not, the
// credentials are read again and it is sent once more.
#pragma once

#include <memory>

#include "base/result.h"
#include "kube/access.h"
#include "kube/credentials.h"
#include "kube/transport.h"
#include "oob/durable/clock.h"

namespace weft::kube {

class CurlTransport final : public Transport {
 public:
  // Credentials and clock must outlive it; the clock only says when to stop.
  CurlTransport(ClusterAccess access, CredentialSource& credentials, oob::Clock& clock);
  ~CurlTransport() override;

  [[nodiscard]] Result<ApiResponse> send(const ApiRequest& request) override;
  [[nodiscard]] Result<std::unique_ptr<ResponseStream>> open(const ApiRequest& request) override;

 private:
  class Engine;
  std::unique_ptr<Engine> engine_;
};

}  // namespace weft::kube
