// Every key of a cluster file has an effect: two of its values give different findings, views or rendered files. A key
// that is parsed and not used fails here, and so does a new text key without a case that gives its values.
#include <gtest/gtest.h>

#include "cluster_outputs.h"
#include "schema_keys.h"

namespace weft::model {
template <>
const Schema& schema_of<Spec>();
}  // namespace weft::model

namespace weft {
namespace {

using schema_keys::Case;
using schema_keys::Json;
using schema_keys::Key;
using schema_keys::Output;

const std::string kCable = "{/cables: [{from: 'train001:be1', to: 'be-train-u001-leaf1:p40/1'}]}";
const std::string kOverride = "{/pools/0/overrides: [{hosts: train001}]}";
const std::string kSuppression =
    "{/suppress: [{rule: OP006, reason: none}], /operations/monitoring: false, /operations/failure_drills: false}";
const std::string kThreeTiers =
    "{/fabrics/backend/tiers: 3, /fabrics/storage/tiers: 3, /fabrics/frontend/tiers: 3, "
    "/fabrics/frontend/external/links: 2}";
const std::string kTwoTiers = "{/fabrics/storage/tiers: 2, /fabrics/frontend/tiers: 2}";
const std::string kNumberedLinks =
    "{/fabrics/storage/tiers: 2, /fabrics/frontend/tiers: 2, /fabrics/backend/switch_links: numbered, "
    "/fabrics/storage/switch_links: numbered, /fabrics/frontend/switch_links: numbered}";
const std::string kLosslessSonic =
    "{/fabrics/storage/system: sonic, /fabrics/frontend/system: sonic, /fabrics/frontend/qos: {lossless: true}}";
const std::string kDefaultLeaves =
    "{/fabrics/backend/leaf: null, /fabrics/backend/system: null, /fabrics/storage/leaf: null, "
    "/fabrics/storage/system: null}";
const std::string kManagers =
    "{/fabrics/backend/managers/0/breakout: null, /fabrics/storage/managers/0/breakout: null}";
const std::string kStorageOnAllFabrics =
    "{/pools/-: {name: disks, role: storage, server: storage-all-fabrics, count: 4, racks: service, "
    "links: {backend: 8, frontend: 2}}}";

// The first match counts.
const std::vector<Case> kCases = {
    {"cables[].from", "['train002:be1']", kCable},
    {"cables[].to", "['be-train-u001-leaf1:p41/1']", kCable},
    {"cables[].length", "", kCable},
    {"checklist", "[{design.backend-sized: done}, {design.backend-sized: not-done}]"},
    {"control_plane.pool", "[login]", "{/control_plane/etcd_members: 1}"},
    {"control_plane.*_subnet", "[192.168.0.0/16]"},
    {"fabrics.backend.core", "[nexus-9364e-sg2]", kThreeTiers},
    {"fabrics.storage.core", "[nexus-9364e-sg2]", kThreeTiers},
    {"fabrics.frontend.core", "[nexus-9364c-gx]", kThreeTiers},
    {"fabrics.backend.leaf", "[nexus-9364d-gx2a]", "{/fabrics/backend/system: null}"},
    {"fabrics.storage.leaf", "[nexus-9364d-gx2a]", "{/fabrics/storage/system: null}"},
    {"fabrics.frontend.leaf", "[nexus-9336c-fx2]"},
    {"fabrics.oob.leaf", "[arista-7010tx-48]"},
    {"fabrics.frontend.spine", "[nexus-9364c-gx]", kTwoTiers},
    {"fabrics.oob.spine", "[sn4600c]"},
    {"fabrics.*.spine", "[nexus-9364e-sg2]", kTwoTiers},
    {"fabrics.*.spine_oversubscription", "", kThreeTiers},
    {"fabrics.*.managers[].name", "[keeper]", "{}", "superpod-h100-4su"},
    {"fabrics.*.managers[].server", "[manager-2u]", "{}", "superpod-h100-4su"},
    {"fabrics.*.managers[].speed", "", kManagers, "superpod-h100-4su"},
    {"fabrics.*.managers[].*", "", "{}", "superpod-h100-4su"},
    {"fabrics.backend.network", "", kDefaultLeaves},
    {"fabrics.storage.network", "", kDefaultLeaves},
    {"fabrics.backend.planes", "[1, 2]", "{/pools/0/server: hgx-b300, /fabrics/backend/speed: null}"},
    {"fabrics.frontend.storage_media", "[[aoc], [fibre]]", kStorageOnAllFabrics},
    {"fabrics.frontend.storage_*", "['1:1', 1x100G]"},  // a warning
    {"fabrics.storage.storage_oversubscription", "", "{}", "superpod-h100-4su"},
    {"fabrics.*.storage_*", "", kStorageOnAllFabrics},
    {"fabrics.backend.subnets",
     "[[10.80.0.0/16, 10.81.0.0/16, 10.82.0.0/16, 10.83.0.0/16, 10.84.0.0/16, 10.85.0.0/16, 10.86.0.0/16, "
     "10.87.0.0/16]]"},
    {"fabrics.storage.subnets", "[[10.80.0.0/16, 10.81.0.0/16]]"},
    {"fabrics.frontend.subnets", "[[10.80.0.0/16]]"},
    {"fabrics.oob.subnet", "[10.144.0.0/12]"},
    {"fabrics.backend.peer_links", "[4]"},         // a warning
    {"fabrics.storage.peer_links", "[4]"},         // a warning
    {"fabrics.backend.external.speed", "[400G]"},  // a warning
    {"fabrics.storage.external.speed", "[400G]"},  // a warning
    {"fabrics.storage.spines", "[4, 8, 16]", "{}", "superpod-h100-4su"},
    {"fabrics.*.switch_links", "", kTwoTiers},
    {"fabrics.*.switch_link_subnet", "[172.20.0.0/16]", kNumberedLinks},
    {"fabrics.oob.system", "[cumulus, sonic]", "{/fabrics/oob/leaf: sn2201, /fabrics/oob/spine: sn4600c}"},
    {"fabrics.*.system", "[sonic, cumulus]"},
    {"fabrics.backend.uplinks", "", "{/fabrics/backend/oversubscription: null}"},
    {"fabrics.frontend.breakout", "[4x25G, 1x100G, 2x100G, 4x100G]", "{/fabrics/frontend/leaf: sn4700}"},
    {"fabrics.frontend.speed", "[25G, 50G, 100G, 200G]", "{/fabrics/frontend/leaf: sn3700}"},
    {"fabrics.frontend.uplink_speed", "[40G, 100G]", kTwoTiers},
    {"fabrics.frontend.spines", "", kTwoTiers},
    {"fabrics.frontend.oversubscription", "", kTwoTiers},
    {"fabrics.*.qos.watchdog_*", "", kLosslessSonic},
    {"fabrics.frontend.qos.global_pause", "[false]"},  // a warning
    {"fabrics.frontend.qos.*", "", "{/fabrics/frontend/qos: {lossless: true}}"},
    {"fabrics.*.routes_to", "[[oob]]"},
    {"fabrics.*.ipv6", "['fd00:1::/48']"},
    {"fabrics.*.loopbacks", "[10.111.0.0/16]"},
    {"fabrics.*.vrf", "[gpu]"},
    {"fabrics.oob.uplink_speed", "[10G, 25G, 40G, 100G]"},
    {"fabrics.oob.credentials", "['vault:other/bmc']"},
    {"fabrics.oob.syslog", "[10.128.0.11]"},
    {"name", "[other]"},
    {"partitions[].name", "[queue]", "{/tenants/0/partitions: [], /tenants/1/partitions: []}"},
    {"partitions[].pools", "[[train, infer]]"},
    {"partitions[].constraints", "[[gpu=h100]]"},
    {"partitions[].priority", "[batch-low]"},
    {"pools[].name", "[helper]"},
    {"pools[].server", "[dgx-h100]"},
    {"pools[].hosts", "['gpu[101-116]']"},
    {"pools[].racks", "['aisle[01-08]', service]"},
    {"pools[].labels", "[{disk: fast}]"},
    {"pools[].taints", "[['a=b:NoSchedule']]"},
    {"pools[].mig", "[{2g.20gb: 3}]"},
    {"pools[].overrides[].hosts", "[train002]", "{/pools/0/overrides: [{hosts: train001, labels: {disk: fast}}]}"},
    {"pools[].overrides[].server", "[hgx-h200]", kOverride},
    {"pools[].overrides[].rack", "[train-r002]", kOverride},
    {"pools[].overrides[].labels", "[{disk: fast}]", kOverride},
    {"pools[].overrides[].addresses", "[{be1: 10.60.0.60}]", kOverride},
    {"priorities[].name", "[other]"},
    {"racks[].name", "[train-r002]", "{/racks: [{name: train-r001, power: 20kW}]}"},
    {"racks[].*", "", "{/racks: [{name: train-r001, row: 3, position: 3}]}"},
    {"security.munge_key_mode", "['0400', '0440']"},
    {"security.registry", "[images.example.org]"},
    {"services[].name", "[talk]"},
    {"services[].pool", "[embed]", "{/services/0/mig: null, /services/0/gpus: 1}"},
    {"services[].tenant", "[team-alpha]"},
    {"services[].gpus", "", "{/services/0/mig: null}"},
    {"services[].mig", "[2g.20gb]", "{/pools/1/mig: {1g.10gb: 1, 2g.20gb: 2}}"},
    {"services[].priority", "[batch-low]"},
    {"services[].host", "[chat.example.org]"},
    {"services[].image", "['registry.example.org/chat:1']"},
    {"site.domain", "[example.org]"},
    {"site.rack", "[rack-42u]"},
    {"site.pdu", "[pdu-17kw-3ph]"},
    {"storage[].name", "[other]", "{/storage/1/volumes/0/replicate_to: null, /storage/1/volumes/1/replicate_to: null}"},
    {"storage[].pool", "[flash, vault]"},
    {"storage[].targets", "", "{/storage/1/kind: beegfs}"},
    {"storage[].stripe_size", "", "{/storage/1/kind: beegfs}"},
    {"storage[].provisioner", "[csi.example.org]"},
    {"storage[].volumes[].name", "[other]"},
    {"storage[].volumes[].files", "[1000, 1000000000]", "{/storage/1/metadata_servers: 1}"},
    {"storage[].volumes[].snapshots", "[4h, 8h]"},
    {"storage[].volumes[].replicate_to", "[scratch]", "{/storage/1/volumes/1/replicate_to: null}"},
    {"suppress[].rule", "[OP009]", kSuppression},
    {"suppress[].subject", "['x*']", kSuppression},
    {"suppress[].reason", "[a second reason]", kSuppression},
    {"suppress[].until", "[2026-01-01]", kSuppression},
    {"tenants[].name", "[team-gamma]"},
    {"tenants[].partitions", "[[train, serve]]"},
    {"tenants[].priority", "[batch-low]"},
    {"tenants[].quota.mig", "[{1g.10gb: 3}]"},
    {"workload.environment", "[{NCCL_DEBUG: INFO}]"},
};

// The schema of the data fabrics is the same for all; where a fabric supports only one value, others are refused.
const std::vector<Case> kRefused = {
    {"weft", "", "{/weft: 2}"},
    {"fabrics.storage.planes", "", "{/fabrics/storage/planes: 2}"},
    {"fabrics.frontend.planes", "", "{/fabrics/frontend/planes: 2}"},
    {"fabrics.frontend.network", "", "{/fabrics/frontend/network: infiniband, /fabrics/frontend/leaf: qm9700}"},
    {"fabrics.frontend.wiring", "", "{/fabrics/frontend/wiring: tor}"},
    {"fabrics.frontend.external.speed", "", "{/fabrics/frontend/external/speed: 400G}"},
    {"fabrics.frontend.managers[].*", "", "{/fabrics/frontend/managers: [{name: ufm, server: ufm-appliance}]}"},
};

std::vector<Key> cluster_keys() {
  return schema_keys::keys_of(model::json_schema(model::schema_of<model::Spec>(), "cluster"));
}

class ClusterKeys : public testing::Test {
 protected:
  static bool has_effect(const Key& key) {
    if (const Case* refused = schema_keys::find_case(kRefused, key.path)) return outputs(file_of(*refused)).empty();
    const Case* found = schema_keys::find_case(kCases, key.path);
    const Case given = found == nullptr ? Case{key.path, ""} : *found;
    return schema_keys::has_effect(file_of(given), key.path, schema_keys::values_of(given, key), outputs);
  }
  static std::vector<Output> outputs(const Json& file) {
    static const auto catalog = model::load_catalog({source_dir() + "/tests/schema_keys/catalog.yaml"});
    return cluster_outputs::all_outputs(cluster_outputs::compile(*catalog, file.dump(1)));
  }
  static Json file_of(const Case& given) {
    const std::string name = given.file.empty() ? "pod16" : given.file;
    return schema_keys::apply_edits(schema_keys::read_source("examples/" + name + ".yaml"), given.edits);
  }
};

TEST_F(ClusterKeys, CasesStartFromFilesThatAreAccepted) {
  for (const Case& each : kCases) EXPECT_FALSE(outputs(file_of(each)).empty()) << each.keys << ": " << each.edits;
}

TEST_F(ClusterKeys, EveryCaseIsUsed) {
  const std::vector<Key> keys = cluster_keys();
  for (const std::vector<Case>* cases : {&kCases, &kRefused}) {
    for (const Case& each : *cases) {
      EXPECT_TRUE(std::any_of(keys.begin(), keys.end(), [&](const Key& key) {
        return schema_keys::find_case(*cases, key.path) == &each;
      })) << each.keys;
    }
  }
}

TEST_F(ClusterKeys, EveryKeyHasAnEffect) {
  const std::vector<Key> keys = cluster_keys();
  EXPECT_GT(keys.size(), 300U);
  for (const Key& key : keys) EXPECT_TRUE(has_effect(key)) << "no value of `" << key.path << "` changes anything";
}

}  // namespace
}  // namespace weft
