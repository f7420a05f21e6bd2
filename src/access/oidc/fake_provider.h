// For tests only: a provider without a network. Answers from memory, counts requests, and can be made to fail.
#pragma once

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "access/jose/test_keys.h"
#include "access/oidc/http_fetch.h"
#include "base/text.h"

namespace weft::access::test {

class FakeProvider final : public HttpFetch {
 public:
  static constexpr const char* kIssuer = "https://id.example.org/realms/hpc";

  FakeProvider() {
    const std::string base = kIssuer;
    put(base + "/.well-known/openid-configuration",
        fmt::format(R"({{"issuer": "{0}", "authorization_endpoint": "{0}/auth", "token_endpoint": "{0}/token",
                        "jwks_uri": "{0}/keys", "device_authorization_endpoint": "{0}/device"}})",
                    base));
    put(base + "/keys", key_set({rsa_key().jwk("rsa")}));
  }

  void put(const std::string& url, const std::string& body, int status = 200) {
    const std::lock_guard lock(mutex_);
    answers_[url] = {status, body};
  }
  void fail(bool fails) {
    const std::lock_guard lock(mutex_);
    fails_ = fails;
  }

  [[nodiscard]] Result<FetchResponse> fetch(const FetchRequest& request) override {
    const std::lock_guard lock(mutex_);
    asked_.push_back({request.method, request.url, request.authorization.reveal(), request.form.reveal()});
    if (fails_) return Error{ErrorCode::unavailable, "no connection", request.url};
    const auto found = answers_.find(request.url);
    if (found == answers_.end()) return FetchResponse{404, "no"};
    return found->second;
  }

  struct Asked {
    std::string method, url, authorization, form;
  };
  [[nodiscard]] std::vector<Asked> asked() const {
    const std::lock_guard lock(mutex_);
    return asked_;
  }
  [[nodiscard]] int count(const std::string& end) const {
    const std::lock_guard lock(mutex_);
    int count = 0;
    for (const Asked& one : asked_) count += one.url.ends_with(end) ? 1 : 0;
    return count;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, FetchResponse> answers_;
  std::vector<Asked> asked_;
  bool fails_ = false;
};

}  // namespace weft::access::test
