// For tests: a client of a FakeEtcd, with a clock that only the test moves.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "etcd/client.h"
#include "etcd/fake_etcd.h"

namespace weft::etcd {

struct FakeCluster {
  Duration time{};
  FakeEtcd etcd{[this] { return time; }};

  [[nodiscard]] std::unique_ptr<Client> connect(std::size_t members = 1) {
    std::vector<Endpoint> endpoints;
    for (std::size_t i = 0; i < members; ++i) endpoints.push_back({"member" + std::to_string(i), etcd.connect()});
    return std::make_unique<Client>(std::move(endpoints), [this] { return time; });
  }
};

}  // namespace weft::etcd
