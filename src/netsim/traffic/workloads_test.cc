// The benchmark workloads that were run in other simulators, as generated here: their neutral flow files have the md5
// sums recorded when the other simulators were timed.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <array>
#include <string>
#include <vector>

#include "netsim/network/topologies.h"
#include "netsim/traffic/collective.h"
#include "netsim/traffic/traffic.h"

namespace weft::netsim {
namespace {

std::string md5_start(const std::string& text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> sum{};
  EXPECT_EQ(EVP_Digest(text.data(), text.size(), sum.data(), nullptr, EVP_md5(), nullptr), 1);
  return fmt::format("{:02x}{:02x}{:02x}{:02x}", sum[0], sum[1], sum[2], sum[3]);
}

// "id src dst bytes start_ns after_id", with rounds expanded: flow (s, t) waits for round s-1 of the transfer t
// follows.
std::string flows_text(const TransferGraph& graph, std::size_t hosts) {
  const std::uint32_t rounds = graph.transfers()[0].rounds;
  const std::size_t count = graph.size();
  std::string text = fmt::format("# hosts {} flows {}\n", hosts, count * rounds);
  for (std::size_t s = 0; s < rounds; ++s) {
    for (std::size_t i = 0; i < count; ++i) {
      const Transfer& t = graph.transfers()[i];
      EXPECT_EQ(t.rounds, rounds);
      const std::string after = s == 0 ? "-1" : fmt::format("{}", (s - 1) * count + model::index_of(t.round_after));
      fmt::format_to(std::back_inserter(text), "{} {} {} {} {} {}\n", s * count + i, model::index_of(t.source),
                     model::index_of(t.destination), t.bytes.count(), t.start.count() / 1000, after);
    }
  }
  return text;
}

// Node ids of a generator's hosts are their numbers.
std::vector<NodeId> hosts(std::uint32_t count, std::uint32_t stride = 1) {
  std::vector<NodeId> out;
  for (std::uint32_t i = 0; i < count; ++i) out.push_back(static_cast<NodeId>(i * stride % count));
  return out;
}

TEST(Workloads, W1AndTheAffinePermutations) {
  TransferGraph w1;
  add_affine_permutation(w1, hosts(128), 37, 61, {});
  EXPECT_EQ(md5_start(flows_text(w1, 128)), "3f528595");
  TransferGraph w4;
  add_affine_permutation(w4, hosts(1024), 37, 61, {});
  EXPECT_EQ(md5_start(flows_text(w4, 1024)), "34a81d8b");
}

TEST(Workloads, W2Incast) {
  TransferGraph graph;
  TrafficShape shape;
  shape.bytes = Bytes(1'000'000);
  const std::vector<NodeId> all = hosts(128);
  add_incast(graph, std::span(all).first(65), all[0], shape);
  EXPECT_EQ(md5_start(flows_text(graph, 128)), "16f4a288");
}

TEST(Workloads, W3RingAllReduce) {
  CollectiveShape shape;
  TransferGraph graph;
  (void)add_collective(graph, hosts(128), shape);
  EXPECT_EQ(md5_start(flows_text(graph, 128)), "12823b78");
  TransferGraph strided;
  (void)add_collective(strided, hosts(128, 17), shape);
  EXPECT_EQ(md5_start(flows_text(strided, 128)), "82ce9633");
}

TEST(Workloads, W4RandomPermutations) {
  const std::vector<std::pair<std::uint32_t, const char*>> published = {
      {1024, "9b0c4ca7"}, {4096, "ee7c022f"}, {16384, "ff4f4ae2"}};
  for (const auto& [count, sum] : published) {
    TrafficShape shape;
    shape.seed = count;
    TransferGraph graph;
    add_permutation(graph, hosts(count), shape);
    EXPECT_EQ(md5_start(flows_text(graph, count)), sum) << count;
  }
}

}  // namespace
}  // namespace weft::netsim
