#include "design/designer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "design/checklist.h"
#include "design/sizing.h"
#include "model/load.h"

namespace weft::design {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class Designer : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    catalog_ = new std::shared_ptr<const model::Catalog>(model::load_catalog({})->catalog);
  }
  static void TearDownTestSuite() {
    delete catalog_;
    catalog_ = nullptr;
  }

  static Result<DesignAnswer> design(const DesignRequest& request) { return design_cluster(request, *catalog_); }

  // Loads the design as a user would.
  static std::unique_ptr<model::Loaded> load(const DesignRequest& request) {
    const auto answer = design(request);
    EXPECT_TRUE(answer.ok()) << (answer.ok() ? "" : answer.error().text());
    if (!answer.ok()) return nullptr;
    auto loaded = model::load_cluster_text("design.yaml", answer->yaml);
    EXPECT_NE(loaded->cluster, nullptr) << render_all(loaded->diagnostics, loaded->sources, false) << answer->yaml;
    EXPECT_EQ(loaded->diagnostics.warning_count(), 0U) << render_all(loaded->diagnostics, loaded->sources, false);
    return loaded->cluster == nullptr ? nullptr : std::move(loaded);
  }

  static std::string error(const DesignRequest& request) {
    const auto answer = design(request);
    return answer.ok() ? "" : answer.error().message;
  }

  static std::shared_ptr<const model::Catalog>* catalog_;
};
std::shared_ptr<const model::Catalog>* Designer::catalog_ = nullptr;

DesignRequest gpus(std::int64_t count) {
  DesignRequest request;
  request.gpus = count;
  return request;
}

DesignRequest servers(std::int64_t count) {
  DesignRequest request;
  request.servers = count;
  return request;
}

const model::PoolSpec* find_pool(const model::Cluster& cluster, std::string_view name) {
  for (const model::PoolSpec& pool : *cluster.spec().pools) {
    if (pool.name->text == name) return &pool;
  }
  return nullptr;
}

TEST_F(Designer, AThousandH100sAre128Servers) {
  const auto loaded = load(gpus(1024));
  ASSERT_NE(loaded, nullptr);
  const model::Cluster& cluster = *loaded->cluster;
  EXPECT_EQ(cluster.gpu_count(), 1024U);
  ASSERT_NE(find_pool(cluster, "train"), nullptr);
  EXPECT_EQ(*find_pool(cluster, "train")->count, 128);
  EXPECT_EQ(*find_pool(cluster, "train")->server, "hgx-h100");
  EXPECT_THAT(*find_pool(cluster, "train")->taints, Contains("nvidia.com/gpu=training:NoSchedule"));
  EXPECT_EQ(find_pool(cluster, "infer"), nullptr);
  // Radix 128 at 1:1: units of 64 servers, 8 leaves each; 16 leaves x 64 uplinks on spines of 128 ports.
  EXPECT_EQ(cluster.fabric(model::FabricKind::backend).leaves, 16U);
  EXPECT_EQ(cluster.fabric(model::FabricKind::backend).spines, 8U);
}

// The reference architecture's row for 4 SU: 32 leaves and 16 spines of QM9700.
TEST_F(Designer, InfiniBandUsesDgxOnQuantum) {
  DesignRequest request = servers(128);
  request.network = model::NetworkKind::infiniband;
  const auto loaded = load(request);
  ASSERT_NE(loaded, nullptr);
  EXPECT_EQ(*find_pool(*loaded->cluster, "train")->server, "dgx-h100");
  EXPECT_EQ(*loaded->cluster->spec().fabrics->backend->leaf, "qm9700");
  EXPECT_EQ(*loaded->cluster->spec().fabrics->storage->network, model::NetworkKind::infiniband);
  EXPECT_EQ(loaded->cluster->fabric(model::FabricKind::backend).leaves, 32U);
  EXPECT_EQ(loaded->cluster->fabric(model::FabricKind::backend).spines, 16U);
}

TEST_F(Designer, RoundsUpToWholeServersWithANote) {
  const auto answer = design(gpus(1001));
  ASSERT_TRUE(answer.ok()) << answer.error().text();
  EXPECT_THAT(answer->yaml, HasSubstr("count: 126"));
  EXPECT_THAT(answer->notes, Contains(HasSubstr("rounded up to 1008")));
  EXPECT_THAT(design(gpus(1008))->notes, Not(Contains(HasSubstr("rounded up"))));
}

TEST_F(Designer, KeepsTheFabricsSeparate) {
  const auto loaded = load(servers(32));
  ASSERT_NE(loaded, nullptr);
  const model::Spec& spec = loaded->cluster->spec();
  const model::Catalog& catalog = *loaded->catalog;
  const std::string oob = *catalog.switch_model(*spec.fabrics->oob->leaf)->vendor;
  for (const model::FabricSpec* fabric : {&*spec.fabrics->backend, &*spec.fabrics->storage, &*spec.fabrics->frontend}) {
    EXPECT_NE(*catalog.switch_model(*fabric->leaf)->vendor, oob);
  }
  EXPECT_TRUE(spec.fabrics->oob->syslog.has_value());
  EXPECT_FALSE(*spec.fabrics->oob->uplink_to_frontend);
}

// The address plan: 10.20.50.0/24 on the frontend if it has room for growth, else 10.20.0.0/16.
TEST_F(Designer, FrontendSubnetFollowsTheSize) {
  const auto subnet = [](const model::Cluster& cluster) {
    return to_text(cluster.spec().fabrics->frontend->subnets->front());
  };
  const auto small = load(servers(32));
  const auto large = load(servers(128));
  ASSERT_NE(small, nullptr);
  ASSERT_NE(large, nullptr);
  EXPECT_EQ(subnet(*small->cluster), "10.20.50.0/24");
  EXPECT_EQ(subnet(*large->cluster), "10.20.0.0/16");
}

TEST_F(Designer, IsShortAndCommented) {
  const auto answer = design(servers(32));
  ASSERT_TRUE(answer.ok());
  const auto lines = std::count(answer->yaml.begin(), answer->yaml.end(), '\n');
  EXPECT_GE(lines, 40);
  EXPECT_LE(lines, 80);
  EXPECT_GE(std::count(answer->yaml.begin(), answer->yaml.end(), '#'), 10);
}

// Items of the checklist's first phase that a design leaves open would have to be done by hand.
TEST_F(Designer, CompletesTheDesignPhase) {
  for (const std::int64_t inference : {0, 25, 100}) {
    for (const std::int64_t count : {2, 32, 200}) {
      DesignRequest request = servers(count);
      request.inference_percent = inference;
      const auto loaded = load(request);
      ASSERT_NE(loaded, nullptr) << inference << " " << count;
      int judged = 0;
      for (const ChecklistItem& item : checklist(*loaded->cluster)) {
        if (item.phase != "design" && item.id != "platform.taints" && item.id != "platform.mig" &&
            item.id != "platform.quotas" && item.id != "platform.autoscaling") {
          continue;
        }
        EXPECT_EQ(item.state, ItemState::done) << count << " servers, " << item.id << ": " << item.why;
        ++judged;
      }
      EXPECT_GT(judged, 4);  // the four of the platform, and the phase itself
    }
  }
}

TEST_F(Designer, StorageMeetsTheClassItWasSizedFor) {
  for (const model::DataClass data : {model::DataClass::good, model::DataClass::better, model::DataClass::best}) {
    DesignRequest request = servers(128);
    request.data = data;
    const auto loaded = load(request);
    ASSERT_NE(loaded, nullptr);
    EXPECT_EQ(*loaded->cluster->spec().workload->data, data);
    EXPECT_THAT(storage_view(*loaded->cluster).notes, Not(Contains(HasSubstr("delivered of"))));
  }
}

TEST_F(Designer, InferenceGetsItsOwnPoolWithMig) {
  DesignRequest request = servers(40);
  request.inference_percent = 30;
  const auto loaded = load(request);
  ASSERT_NE(loaded, nullptr);
  const model::PoolSpec* infer = find_pool(*loaded->cluster, "infer");
  ASSERT_NE(infer, nullptr);
  EXPECT_EQ(*infer->count, 12);
  EXPECT_EQ(*find_pool(*loaded->cluster, "train")->count, 28);
  ASSERT_EQ(infer->mig->size(), 1U);
  EXPECT_EQ(infer->mig->front().first, "1g.10gb");
  EXPECT_EQ(*infer->mig->front().second, 7);
  EXPECT_FALSE(loaded->cluster->spec().services->empty());
}

TEST_F(Designer, GpusWithoutMigAreTimeSliced) {
  DesignRequest request = servers(8);
  request.gpu = "mi300x";
  request.inference_percent = 50;
  const auto loaded = load(request);
  ASSERT_NE(loaded, nullptr);
  EXPECT_GT(*find_pool(*loaded->cluster, "infer")->time_slices, 1);
}

TEST_F(Designer, SplitProfileKeepsGpuServersOnTheBackend) {
  DesignRequest request = servers(32);
  request.profile = model::Profile::split;
  const auto loaded = load(request);
  ASSERT_NE(loaded, nullptr);
  const model::Cluster& cluster = *loaded->cluster;
  std::set<model::FabricKind> gpu_fabrics;
  std::set<model::FabricKind> head_fabrics;
  for (const model::DeviceGroup& group : cluster.groups()) {
    if (group.server == nullptr) continue;
    for (const model::PortId id : cluster.ports_of(group.first)) {
      if (group.name == "train") gpu_fabrics.insert(cluster.port(id).fabric);
      if (group.name == "head") head_fabrics.insert(cluster.port(id).fabric);
    }
  }
  EXPECT_EQ(gpu_fabrics, (std::set{model::FabricKind::backend, model::FabricKind::oob}));
  EXPECT_EQ(head_fabrics, (std::set{model::FabricKind::storage, model::FabricKind::frontend, model::FabricKind::oob}));
}

TEST_F(Designer, PowerBudgetYieldsTheLargestClusterThatFits) {
  DesignRequest request;
  request.power = watts(1'000'000);
  const auto loaded = load(request);
  ASSERT_NE(loaded, nullptr);
  EXPECT_LE(loaded->cluster->total_power(), watts(1'000'000));
  const auto one_more = load(servers(*find_pool(*loaded->cluster, "train")->count + 1));
  ASSERT_NE(one_more, nullptr);
  EXPECT_GT(one_more->cluster->total_power(), watts(1'000'000));
}

TEST_F(Designer, TooLittlePowerIsAnError) {
  DesignRequest request;
  request.power = watts(1000);
  EXPECT_THAT(error(request), HasSubstr("less than the power of one hgx-h100 (10.2kW)"));
  request.power = watts(15'000);
  EXPECT_THAT(error(request), HasSubstr("more than 15kW"));
}

TEST_F(Designer, EveryGpuWithAServerHasADesign) {
  int designs = 0;
  for (const model::GpuModel& gpu : (*catalog_)->gpus()) {
    const auto& known = (*catalog_)->servers();
    const bool sold = std::any_of(known.begin(), known.end(), [&](const model::ServerModel& server) {
      return *server.gpus > 0 && *server.gpu == gpu.id->text;
    });
    DesignRequest request = gpus(256);
    request.gpu = gpu.id->text;
    if (sold) {
      const auto loaded = load(request);
      ASSERT_NE(loaded, nullptr) << gpu.id->text;
      EXPECT_GE(loaded->cluster->gpu_count(), 256U) << gpu.id->text;
      ++designs;
    } else {
      EXPECT_THAT(error(request), HasSubstr("no server with " + gpu.id->text));
    }
  }
  EXPECT_GE(designs, 5);
}

TEST_F(Designer, EveryServerHasADesign) {
  int designs = 0;
  for (const model::ServerModel& server : (*catalog_)->servers()) {
    DesignRequest request = servers(20);
    request.server = server.id->text;
    if (*server.gpus == 0) {
      EXPECT_THAT(error(request), HasSubstr("has no GPUs"));
    } else {
      EXPECT_NE(load(request), nullptr) << server.id->text;
      ++designs;
    }
  }
  EXPECT_GE(designs, 5);
}

TEST_F(Designer, SizesFromOneServerToManyRows) {
  for (const std::int64_t count : {1, 2, 3, 5, 16, 17, 40, 41, 63, 64, 65, 100, 257, 1000, 3000}) {
    EXPECT_NE(load(servers(count)), nullptr) << count;
  }
}

TEST_F(Designer, MixesProfilesAndNetworksAtEverySize) {
  for (const std::int64_t count : {1, 16, 40, 127, 300}) {
    for (const std::int64_t inference : {0, 40, 100}) {
      for (const model::Profile profile : {model::Profile::converged, model::Profile::split}) {
        for (const model::NetworkKind network : {model::NetworkKind::ethernet, model::NetworkKind::infiniband}) {
          DesignRequest request = servers(count);
          request.inference_percent = inference;
          request.profile = profile;
          request.network = network;
          EXPECT_NE(load(request), nullptr)
              << count << " " << inference << " " << model::text_of(profile) << " " << model::text_of(network);
        }
      }
    }
  }
}

TEST_F(Designer, AcceptsLeafPlanesAndOversubscription) {
  DesignRequest request = servers(64);
  request.leaf = "nexus-9364d-gx2a";
  request.oversubscription = Ratio{2, 1};
  const auto cisco = load(request);
  ASSERT_NE(cisco, nullptr);
  EXPECT_EQ(*cisco->cluster->spec().fabrics->backend->leaf, "nexus-9364d-gx2a");
  EXPECT_LE(cisco->cluster->fabric(model::FabricKind::backend).oversubscription.numerator,
            2 * cisco->cluster->fabric(model::FabricKind::backend).oversubscription.denominator);
  DesignRequest planes = servers(64);
  planes.gpu = "b300-sxm";
  planes.planes = 2;
  const auto twin = load(planes);
  ASSERT_NE(twin, nullptr);
  EXPECT_EQ(twin->cluster->fabric(model::FabricKind::backend).planes, 2U);
  planes.gpu = "h100-sxm";
  EXPECT_THAT(error(planes), HasSubstr("cannot be split over 2 planes"));
}

TEST_F(Designer, RejectsInvalidRequests) {
  EXPECT_THAT(error({}), HasSubstr("exactly one"));
  DesignRequest both = gpus(8);
  both.servers = 1;
  EXPECT_THAT(error(both), HasSubstr("exactly one"));
  EXPECT_THAT(error(gpus(0)), HasSubstr("0 GPUs"));
  EXPECT_THAT(error(gpus(-8)), HasSubstr("-8 GPUs"));
  EXPECT_THAT(error(gpus(2'000'001)), HasSubstr("the maximum is 2000000"));
  EXPECT_THAT(error(gpus(INT64_MAX)), HasSubstr("the maximum is 2000000"));
  EXPECT_THAT(error(servers(0)), HasSubstr("0 servers"));
  EXPECT_THAT(error(servers(INT64_MAX)), HasSubstr("the maximum is 2000000"));
  DesignRequest request = gpus(8);
  request.gpu = "h100";
  EXPECT_THAT(error(request), HasSubstr("`h100-sxm`"));
  request = gpus(8);
  request.server = "hgx-h10";
  EXPECT_THAT(error(request), HasSubstr("did you mean `hgx-h100`"));
  request = gpus(8);
  request.leaf = "sn560";
  EXPECT_THAT(error(request), HasSubstr("did you mean `sn5600`"));
  request.leaf = "qm9700";
  EXPECT_THAT(error(request), HasSubstr("infiniband switch"));
  request = gpus(8);
  request.inference_percent = 101;
  EXPECT_THAT(error(request), HasSubstr("between 0 and 100"));
  request = gpus(8);
  request.planes = 0;
  EXPECT_THAT(error(request), HasSubstr("between 1 and 4"));
  request = gpus(8);
  request.name = "a: b\nc";
  EXPECT_THAT(error(request), HasSubstr("is not a valid name"));
  request = gpus(8);
  request.gpu = "mi300x";
  request.network = model::NetworkKind::infiniband;
  EXPECT_THAT(error(request), HasSubstr("connects mi300x to infiniband"));
}

TEST_F(Designer, SameRequestYieldsTheSameFile) {
  const auto first = design(gpus(777));
  const auto second = design(gpus(777));
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->yaml, second->yaml);
}

}  // namespace
}  // namespace weft::design
