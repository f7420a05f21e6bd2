// Every key of a catalog file changes what weft finds, shows, renders or simulates for a cluster with the item, or it
// is checked against the other keys of the item. Every key of a price file changes the bill of materials.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>

#include "check/failures/lifeline.h"
#include "cli/framework/catalog_view.h"
#include "cluster_outputs.h"
#include "design/prices.h"
#include "netsim/network/from_cluster.h"
#include "schema_keys.h"
#include "workload/life/play_life.h"
#include "workload/life/view.h"

namespace weft::model {
template <>
const Schema& schema_of<CatalogFile>();
template <>
const Schema& schema_of<design::Prices>();
}  // namespace weft::model

namespace weft {
namespace {

using schema_keys::Case;
using schema_keys::Json;
using schema_keys::Key;
using schema_keys::Output;

// Items of the cluster below, the first of their tables that have the keys.
constexpr std::array<std::string_view, 12> kItems = {"h100-sxm",
                                                     "connectx-7-qsfp112",
                                                     "hgx-h100",
                                                     "storage-nvme-2u",
                                                     "sn5600",
                                                     "osfp-800g-2xsr4",
                                                     "rack-48u",
                                                     "qsfp112-400g-sr4",
                                                     "pdu-35kw",
                                                     "fibre-mmf-mpo12-apc",
                                                     "aoc-osfp-2x-qsfp112-400g",
                                                     "hgx-b300"};

// The backend ports of the GPU server, without the keys that they must agree with.
const std::string kBackendPorts = "{/servers/0/ports/0/nic: null, /servers/0/ports/0/numa: null}";

const std::vector<Case> kCases = {
    {"gpus[].mig[].name", "[1g.11gb]"},
    {"*[].name", "[another name]"},
    {"*[].vendor", "[NVIDIA, another vendor]"},
    {"cables[].fibre", "[smf-mpo12-apc]"},
    {"cables[].lengths", "[[30m], [50m]]"},
    {"cables[].speed", "[200G, 400G]"},
    {"cables[].branches", "[1, 2]"},
    {"gpus[].architecture", "[hopper, ampere]"},
    {"gpus[].dense_flops", "[{bf16: 500TF, fp16: 500TF}, {bf16: 900TF, fp16: 900TF}]"},
    {"gpus[].mig[].starts", "[[0], [0, 2]]"},
    {"gpus[].nvlink_bandwidth", "[900GB/s, 1800GB/s]"},
    {"gpus[].power_limit", "[300W, 600W]"},
    {"pdus[].outlets", "[2, 4]"},
    {"racks[].width", "[600mm, 800mm]"},
    {"servers[].gpu", "[h100-sxm, a100-sxm]"},
    {"servers[].gpus", "[8, 9]"},
    {"servers[].gpu_numa", "[[0, 0, 0, 0, 1, 1, 1, 1], [0, 1, 0, 1, 0, 1, 0, 1]]", kBackendPorts},
    {"servers[].bmc", "[[redfish], [ipmi]]"},
    {"servers[].ports[].nic", "[connectx-7-qsfp112, broadcom-thor2]"},
    {"servers[].ports[].count", "[4, 8]", "{/servers/0/ports/0/gpus: null, /servers/0/ports/0/numa: null}"},
    {"servers[].ports[].form", "[qsfp112, osfp]", kBackendPorts},
    {"servers[].ports[].per_cage", "[1, 2]", "{/servers/0/ports/0/form: osfp, /servers/0/ports/0/nic: null}"},
    {"servers[].ports[].gpus", "[[0, 1, 2, 3, 4, 5, 6, 7], [0, 0, 0, 0, 4, 4, 4, 4]]", kBackendPorts},
    {"switches[].asic", "[Spectrum-3, Spectrum-4]", "{}", "adaptive routing"},
    {"switches[].cages[].breakouts", "[[1x800G, 2x400G, 2x200G], [1x800G, 2x400G, 2x200G, 4x200G]]"},
    {"switches[].systems", "[[sonic, cumulus], [cumulus, sonic]]", "{}", "default systems"},
    {"transceivers[].fibre", "[mmf-mpo12-apc, smf-mpo12-apc]"},
};

// Values that contradict the other keys of the item, the other items or the cluster are refused.
const std::vector<Case> kRefused = {
    {"gpus[].form", "", "{/gpus/0/form: pcie}"},
    {"gpus[].nvlink_links", "", "{/gpus/0/nvlink_links: 17}"},
    {"nics[].form", "", "{/nics/0/form: osfp}"},
    {"nics[].networks", "", "{/nics/0/networks: [infiniband]}"},
    {"nics[].speeds", "", "{/nics/0/speeds: [200G]}"},
    {"nics[].bandwidth", "", "{/nics/0/bandwidth: 800G}"},
    {"nics[].pcie_generation", "", "{/nics/0/pcie_generation: 3}"},
    {"nics[].pcie_lanes", "", "{/nics/0/pcie_lanes: 4}"},
    {"nics[].power", "", "{/nics/0/power: 1kW}"},
    {"racks[].depth", "", "{/racks/0/depth: 5m}"},
    {"servers[].ports[].breakouts", "", "{/servers/1/ports/0/breakouts: [1x800G]}", "planes"},
    {"servers[].ports[].numa", "", "{/servers/0/ports/0/numa: [1, 1, 1, 1, 0, 0, 0, 0]}"},
    {"switches[].network", "", "{/switches/0/network: infiniband}"},
    {"switches[].cages[].count", "", "{/switches/0/cages/0/count: 32}"},
    {"switches[].radix", "", "{/switches/0/radix: 64}"},
    {"switches[].radix_speed", "", "{/switches/0/radix_speed: 800G}"},
    {"switches[].capacity", "", "{/switches/0/capacity: 100T}"},
};

// What cluster files refer to, and where the values come from: seen in `weft catalog` only.
const std::vector<Case> kInformative = {
    {"*[].id", "[another-item]"},
    {"nics[].name", "[another name]"},
    {"cables[].vendor", "[another vendor]"},
    {"pdus[].vendor", "[another vendor]"},
    {"racks[].vendor", "[another vendor]"},
    {"transceivers[].vendor", "[another vendor]"},
    {"*[].source", "[keys-test, keys-other]"},
    {"*[].sources", "[{name: keys-test}]"},
    {"references.*.estimate", ""},
    {"references.*.*", "[a text]"},
};

constexpr const char* kJob =
    "job: 1\nname: keys\npool: train\nnodes: 4\ncommand: [train.py]\n"
    "training: {model: llama-3.1-8b, global_batch: 64, parallel: {tensor: 2, pipeline: 2}}\n";

std::string timeline(const model::Loaded& loaded) {
  Sources sources;
  Diagnostics diagnostics;
  const std::optional<YamlNode> root = parse_yaml(sources, sources.add("job.yaml", kJob), diagnostics);
  std::optional<model::JobSpec> job = root ? model::read_job(*root, diagnostics) : std::nullopt;
  if (!job) return {};
  model::resolve(*job, *loaded.cluster, diagnostics);
  workload::LifeOptions options;
  options.what_ifs = options.timeline = options.heat_maps = false;
  options.iterations = 1;
  const auto life = workload::play_life(*loaded.cluster, *job, options, diagnostics);
  return life ? cluster_outputs::json_text(workload::life_document(*life)) : std::string();
}

std::string recovery(const model::Loaded& loaded) {
  const check::Lifeline lifeline(*loaded.cluster);
  return cluster_outputs::json_text(
      check::recovery_document(*loaded.cluster, lifeline, loaded.cluster->find_device("train001")));
}

// The links of the backend, as `weft sim` uses them.
std::string simulated_network(const model::Loaded& loaded) {
  const Result<netsim::Network> network = netsim::network_of(*loaded.cluster, {});
  std::string text;
  if (!network.ok()) return text;
  for (std::size_t i = 0; i < network->links().size(); ++i) {
    const auto link = static_cast<netsim::LinkId>(i);
    text += fmt::format("{} {}\n", network->link_name(link), network->link(link).rate.count());
  }
  return text;
}

std::string catalog_pages(const model::Catalog& catalog) {
  std::string text = cluster_outputs::json_text(cli::catalog_list_view(catalog, ""));
  for (const std::string_view id : kItems) {
    if (const auto page = cli::catalog_item_view(catalog, id)) text += cluster_outputs::json_text(*page);
  }
  return text;
}

// A catalog file with copies of built-in items.
Json catalog_file() {
  Json file = schema_keys::parse("{references: {keys-test: {title: a guide}, keys-other: {title: a paper}}}");
  for (const char* name : {"gpus", "media", "nics", "power", "servers", "switches"}) {
    const Json built_in = schema_keys::read_source(std::string("catalog/") + name + ".yaml");
    for (const auto& [table, items] : built_in.items()) {
      if (table == "references") continue;
      for (const Json& item : items) {
        if (std::find(kItems.begin(), kItems.end(), item["id"].get<std::string>()) != kItems.end())
          file[table].push_back(item);
      }
    }
  }
  file["gpus"][0]["source"] = "keys-test";
  return file;
}

Json cluster_file(const std::string& name) {
  static const std::map<std::string, std::string> kEdits = {
      {"", "{}"},
      {"adaptive routing", "{/fabrics/backend/system: cumulus, /fabrics/backend/load_balancing: adaptive}"},
      {"default systems", "{/fabrics/backend/system: null}"},
      {"planes", "{/pools/0/server: hgx-b300, /fabrics/backend/speed: null, /fabrics/backend/planes: 2}"}};
  return schema_keys::apply_edits(schema_keys::read_source("examples/pod16.yaml"), kEdits.at(name));
}

std::shared_ptr<const model::Loaded> load(const Json& catalog, const std::string& cluster) {
  static const std::unique_ptr<model::Loaded> built_in = model::load_catalog({});
  auto loaded = std::make_shared<model::Loaded>();
  loaded->sources = built_in->sources;
  const std::optional<YamlNode> root =
      parse_yaml(loaded->sources, loaded->sources.add("catalog.yaml", catalog.dump(1)), loaded->diagnostics);
  auto extended = std::make_shared<model::Catalog>(*built_in->catalog);
  if (root) extended->add(*root, loaded->diagnostics);
  if (!loaded->diagnostics.has_errors()) extended->check(loaded->diagnostics);
  if (loaded->diagnostics.has_errors()) return loaded;
  loaded->catalog = std::move(extended);
  return cluster_outputs::compile(*loaded, cluster_file(cluster).dump(1));
}

std::vector<Output> outputs_with(const Json& catalog, const std::string& cluster) {
  const std::shared_ptr<const model::Loaded> loaded = load(catalog, cluster);
  std::vector<Output> outputs = cluster_outputs::all_outputs(loaded);
  if (outputs.empty()) return {};
  for (const auto output : {recovery, simulated_network, timeline})
    outputs.emplace_back([loaded, output] { return output(*loaded); });
  return outputs;
}

bool has_effect(const Key& key) {
  if (const Case* refused = schema_keys::find_case(kRefused, key.path))
    return outputs_with(schema_keys::apply_edits(catalog_file(), refused->edits), refused->file).empty();
  if (const Case* informative = schema_keys::find_case(kInformative, key.path)) {
    return schema_keys::has_effect(
        catalog_file(), key.path, schema_keys::values_of(*informative, key), [](const Json& file) {
          const auto loaded = load(file, "");
          return loaded->catalog == nullptr ? std::vector<Output>()
                                            : std::vector<Output>{[loaded] { return catalog_pages(*loaded->catalog); }};
        });
  }
  const Case* found = schema_keys::find_case(kCases, key.path);
  const Case given = found == nullptr ? Case{key.path, ""} : *found;
  return schema_keys::has_effect(schema_keys::apply_edits(catalog_file(), given.edits), key.path,
                                 schema_keys::values_of(given, key),
                                 [&](const Json& file) { return outputs_with(file, given.file); });
}

std::vector<Key> catalog_keys() {
  return schema_keys::keys_of(model::json_schema(model::schema_of<model::CatalogFile>(), "catalog"));
}

TEST(CatalogKeys, CasesStartFromFilesThatAreAccepted) {
  for (const char* cluster : {"", "planes"}) EXPECT_FALSE(outputs_with(catalog_file(), cluster).empty()) << cluster;
  for (const Case& each : kCases)
    EXPECT_FALSE(outputs_with(schema_keys::apply_edits(catalog_file(), each.edits), each.file).empty()) << each.keys;
}

TEST(CatalogKeys, EveryCaseIsUsed) {
  const std::vector<Key> keys = catalog_keys();
  for (const std::vector<Case>* cases : {&kCases, &kRefused, &kInformative}) {
    for (const Case& each : *cases) {
      EXPECT_TRUE(std::any_of(keys.begin(), keys.end(), [&](const Key& key) {
        return schema_keys::find_case(*cases, key.path) == &each;
      })) << each.keys;
    }
  }
}

TEST(CatalogKeys, EveryKeyHasAnEffect) {
  const std::vector<Key> keys = catalog_keys();
  EXPECT_GT(keys.size(), 120U);
  for (const Key& key : keys) EXPECT_TRUE(has_effect(key)) << "no value of `" << key.path << "` changes anything";
}

TEST(PriceKeys, EveryKeyHasAnEffect) {
  const std::vector<Case> cases = {{"currency", "[USD, EUR]"},
                                   {"items[].item", "[switch, sn5600]"},
                                   {"items[].price", "[10, 20]"},
                                   {"items[].lead_time", "[1w, 60w]"}};
  const std::shared_ptr<const model::Loaded> loaded = load(catalog_file(), "");
  const auto bill = [&](const Json& file) -> std::vector<Output> {
    Sources sources;
    Diagnostics diagnostics;
    const std::optional<YamlNode> root = parse_yaml(sources, sources.add("prices.yaml", file.dump(1)), diagnostics);
    const auto prices = root ? design::read_prices(*root, *loaded->catalog, diagnostics) : std::nullopt;
    if (!prices) return {};
    return {[&loaded, prices] {
      const model::Cluster& cluster = *loaded->cluster;
      return cluster_outputs::json_text(design::bom_view(cluster, design::make_bom(cluster, &*prices), &*prices));
    }};
  };
  const Json file = schema_keys::parse("{currency: USD, items: [{item: switch, price: 100}]}");
  const std::vector<Key> keys = schema_keys::keys_of(model::json_schema(model::schema_of<design::Prices>(), "prices"));
  EXPECT_EQ(keys.size(), cases.size());
  for (const Key& key : keys) {
    const Case* given = schema_keys::find_case(cases, key.path);
    ASSERT_NE(given, nullptr) << key.path;
    EXPECT_TRUE(schema_keys::has_effect(file, key.path, schema_keys::values_of(*given, key), bill)) << key.path;
  }
}

}  // namespace
}  // namespace weft
