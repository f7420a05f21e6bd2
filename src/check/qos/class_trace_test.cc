#include "check/qos/class_trace.h"

#include <gtest/gtest.h>

#include "base/test_places.h"
#include "check/qos/trace_route.h"
#include "model/load.h"

namespace weft::check {
namespace {

// Excerpt of SONiC's generic maps: DSCP 3 and 4 lossless, 46 and 48 their own classes, everything else class 1.
std::string sonic_generic() {
  std::string map;
  for (int dscp = 0; dscp < 64; ++dscp) {
    const int to = dscp == 3 ? 3 : dscp == 4 ? 4 : dscp == 8 ? 0 : dscp == 46 ? 5 : dscp == 48 ? 6 : 1;
    map += "      \"" + std::to_string(dscp) + "\": \"" + std::to_string(to) + "\"" + (dscp < 63 ? ",\n" : "\n");
  }
  const char* same = R"({"0": "0", "1": "1", "2": "2", "3": "3", "4": "4", "5": "5", "6": "6", "7": "7"})";
  std::string out = R"({
  "DEVICE_METADATA": {"localhost": {"hostname": "leaf", "hwsku": "ACS-SN5600", "type": "LeafRouter"}},
  "PORT": {
    "Ethernet0": {"lanes": "0,1,2,3,4,5,6,7", "index": "1", "speed": "800000", "mtu": "9100", "fec": "rs"},
    "Ethernet8": {"lanes": "8,9,10,11,12,13,14,15", "index": "2", "speed": "800000", "mtu": "9100", "fec": "rs"}
  },
  "DSCP_TO_TC_MAP": {
    "AZURE": {
)";
  out += map + "    }\n  },\n";
  out += std::string("  \"TC_TO_QUEUE_MAP\": {\"AZURE\": ") + same + "},\n";
  out += R"(  "TC_TO_PRIORITY_GROUP_MAP": {
    "AZURE": {"0": "0", "1": "0", "2": "0", "3": "3", "4": "4", "5": "0", "6": "0", "7": "7"}
  },
)";
  out += std::string("  \"MAP_PFC_PRIORITY_TO_QUEUE\": {\"AZURE\": ") + same + "},\n";
  out += R"(  "PORT_QOS_MAP": {
    "Ethernet0,Ethernet8": {"dscp_to_tc_map": "AZURE", "tc_to_queue_map": "AZURE", "tc_to_pg_map": "AZURE",
                            "pfc_to_queue_map": "AZURE", "pfc_enable": "3,4", "pfcwd_sw_enable": "3,4"}
  },
  "BUFFER_POOL": {"ingress_lossless_pool": {"type": "ingress", "mode": "dynamic", "size": "100000000"}},
  "BUFFER_PROFILE": {
    "pg_lossless": {"pool": "ingress_lossless_pool", "xon": "38912", "xoff": "362496", "size": "410624",
                    "dynamic_th": "0"},
    "ingress_lossy": {"pool": "ingress_lossless_pool", "size": "0", "dynamic_th": "3"}
  },
  "BUFFER_PG": {
    "Ethernet0,Ethernet8|3-4": {"profile": "pg_lossless"},
    "Ethernet0,Ethernet8|0": {"profile": "ingress_lossy"}
  },
  "WRED_PROFILE": {
    "AZURE_LOSSLESS": {"ecn": "ecn_all", "wred_green_enable": "true", "green_min_threshold": "1048576",
                       "green_max_threshold": "2097152", "green_drop_probability": "5"}
  },
  "SCHEDULER": {"scheduler.0": {"type": "DWRR", "weight": "14"}, "scheduler.1": {"type": "DWRR", "weight": "15"}},
  "QUEUE": {
    "Ethernet0,Ethernet8|3-4": {"scheduler": "scheduler.1", "wred_profile": "AZURE_LOSSLESS"},
    "Ethernet0,Ethernet8|0-2": {"scheduler": "scheduler.0"},
    "Ethernet0,Ethernet8|5-6": {"scheduler": "scheduler.0"}
  }
}
)";
  return out;
}

const char* const kCumulusRoce = R"(nv set system hostname leaf
nv set interface swp1-2 type swp
nv set qos roce
)";

// The operator's template. `qos` and `raw` are its settings besides `enabled`.
std::string nic(const std::string& qos, const std::string& raw = "") {
  std::string out = R"(apiVersion: configuration.net.nvidia.com/v1alpha1
kind: NicConfigurationTemplate
metadata: {name: rdma, namespace: network-operator}
spec:
  nicSelector: {nicType: "1021"}
  template:
    numVfs: 0
    linkType: Ethernet
    roceOptimized:
      enabled: true
)";
  if (!qos.empty()) out += "      qos: {" + qos + "}\n";
  if (!raw.empty()) out += "    rawNvConfig: [" + raw + "]\n";
  return out;
}

const char* const kGoodQos = R"(trust: dscp, pfc: "0,0,0,1,0,0,0,0", tos: 106)";
const char* const kGoodCnp = R"({name: CNP_DSCP_P1, value: "48"})";

std::string job(const std::string& environment) {
  return R"(apiVersion: v1
kind: Pod
metadata: {name: trainer}
spec:
  containers:
    - name: main
      image: registry.example.com/t:1
      env:
        - {name: NCCL_IB_HCA, value: mlx5_0}
)" + environment;
}

struct Set {
  Sources sources;
  Diagnostics diagnostics;
  config::ConfigSet config;

  void add(const std::string& path, const std::string& text) {
    config::read_config_text(path, text, sources, config, diagnostics);
    EXPECT_FALSE(diagnostics.has_errors()) << render_all(diagnostics, sources, false);
  }
  [[nodiscard]] Trace trace(Flow flow = Flow::nccl) const {
    TraceRequest request;
    request.flow = flow;
    auto trace = trace_class(nullptr, config, sources, request);
    EXPECT_TRUE(trace.ok());
    return trace.ok() ? *trace : Trace{};
  }
  // Location of a step as "leaf.json:12".
  [[nodiscard]] std::string at(const TraceStep* step) const {
    if (step == nullptr) return "";
    const std::string full = sources.describe(step->place);
    return full.substr(0, full.rfind(':'));
  }
};

// Line of the first occurrence of a text, as "path:line".
std::string line_of(const std::string& path, const std::string& text, const std::string& what) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return path + ":" +
         std::to_string(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n') + 1);
}

const TraceLeg& data(const Trace& trace) { return trace.legs.at(0); }
const TraceLeg& notices(const Trace& trace) { return trace.legs.at(2); }

// NVIDIA's operator default (ToS 0, CNP DSCP 4) with SONiC's generic maps: data lossy, notifications lossless.
TEST(ClassTrace, OperatorDefaultAndSonicGenericMapsDisagree) {
  Set set;
  const std::string leaf = sonic_generic();
  set.add("nic.yaml", nic(""));
  set.add("leaf.json", leaf);
  const Trace trace = set.trace();
  const TraceStep* lossy = data(trace).first(StepVerdict::lossy);
  ASSERT_NE(lossy, nullptr);
  EXPECT_EQ(lossy->hop, "leaf:Ethernet0");
  EXPECT_EQ(lossy->what, "DSCP -> TC");
  EXPECT_EQ(lossy->value, "0 -> 1");
  EXPECT_EQ(lossy->cause, Cause::class_lossy);
  EXPECT_EQ(set.at(lossy), line_of("leaf.json", leaf, "\"0\": \"1\""));
  EXPECT_EQ(lossy->path, "DSCP_TO_TC_MAP|AZURE|0");
  EXPECT_EQ(data(trace).first(StepVerdict::unmarked)->cause, Cause::nic_unmarked);
  const TraceStep* notice = notices(trace).first(StepVerdict::warning);
  ASSERT_NE(notice, nullptr);
  EXPECT_EQ(notice->cause, Cause::notice_lossless);
  EXPECT_EQ(notice->value, "4 -> 4");
  EXPECT_EQ(set.at(notice), line_of("leaf.json", leaf, "\"4\": \"4\""));
  const std::string sentence = verdict_sentence(data(trace), set.sources);
  EXPECT_NE(sentence.find("data leaves the lossless class at leaf:Ethernet0: DSCP 0 maps to class 1"),
            std::string::npos)
      << sentence;
  EXPECT_NE(sentence.find("DSCP_TO_TC_MAP|AZURE|0"), std::string::npos) << sentence;
}

// The same NIC with `nv set qos roce`: both are best effort.
TEST(ClassTrace, OperatorDefaultAndCumulusRoceDisagree) {
  Set set;
  set.add("nic.yaml", nic(""));
  set.add("leaf.nvue", kCumulusRoce);
  const Trace trace = set.trace();
  const TraceStep* lossy = data(trace).first(StepVerdict::lossy);
  ASSERT_NE(lossy, nullptr);
  EXPECT_EQ(lossy->cause, Cause::class_lossy);
  EXPECT_EQ(lossy->value, "0 -> 0");
  EXPECT_EQ(lossy->device, "leaf");
  const TraceStep* notice = notices(trace).first(StepVerdict::warning);
  ASSERT_NE(notice, nullptr);
  EXPECT_EQ(notice->cause, Cause::notice_not_strict);
}

// NCCL's default is unmarked on any switch; the NIC has no default to replace it.
TEST(ClassTrace, NcclDefaultIsUnmarkedEverywhere) {
  for (const bool cumulus : {false, true}) {
    Set set;
    set.add("job.yaml", job(""));
    set.add("nic.yaml", nic(R"(trust: dscp, pfc: "0,0,0,1,0,0,0,0", tos: 0)", kGoodCnp));
    if (cumulus) {
      set.add("leaf.nvue", kCumulusRoce);
    } else {
      set.add("leaf.json", sonic_generic());
    }
    const Trace trace = set.trace();
    const TraceStep* unmarked = data(trace).first(StepVerdict::unmarked);
    ASSERT_NE(unmarked, nullptr);
    EXPECT_EQ(unmarked->cause, Cause::application_unmarked);
    EXPECT_EQ(set.at(unmarked).substr(0, 9), "job.yaml:");
    ASSERT_NE(data(trace).first(StepVerdict::lossy), nullptr);
    EXPECT_EQ(data(trace).first(StepVerdict::lossy)->device, "leaf");
  }
}

// A NIC with the recommended marking (ToS 106, CNP 48) and SONiC's generic maps, where DSCP 26 is class 1.
TEST(ClassTrace, RecommendedNicAndSonicGenericMapsDisagree) {
  Set set;
  const std::string leaf = sonic_generic();
  set.add("nic.yaml", nic(kGoodQos, kGoodCnp));
  set.add("leaf.json", leaf);
  const Trace trace = set.trace();
  const TraceStep* lossy = data(trace).first(StepVerdict::lossy);
  ASSERT_NE(lossy, nullptr);
  EXPECT_EQ(lossy->value, "26 -> 1");
  EXPECT_EQ(set.at(lossy), line_of("leaf.json", leaf, "\"26\": \"1\""));
  const TraceStep* notice = notices(trace).first(StepVerdict::warning);
  ASSERT_NE(notice, nullptr) << "class 6 is weighted in the generic file";
  EXPECT_EQ(notice->cause, Cause::notice_not_strict);
}

// Gaudi marks data 24 and acknowledgements 16: neither is lossless in the generic SONiC file.
TEST(ClassTrace, GaudiMarkingsAndSonicGenericMapsDisagree) {
  Set set;
  const std::string leaf = sonic_generic();
  set.add("nic.yaml", nic(R"(trust: dscp, pfc: "0,0,0,1,0,0,0,0", tos: 98)", R"({name: CNP_DSCP_P1, value: "16"})"));
  set.add("leaf.json", leaf);
  const Trace trace = set.trace();
  const TraceStep* lossy = data(trace).first(StepVerdict::lossy);
  ASSERT_NE(lossy, nullptr);
  EXPECT_EQ(lossy->value, "24 -> 1");
  EXPECT_EQ(set.at(lossy), line_of("leaf.json", leaf, "\"24\": \"1\""));
}

// Juniper's markings, 26 and 48, agree with Cumulus' RoCE defaults.
TEST(ClassTrace, JuniperMarkingsAndCumulusRoceAgree) {
  Set set;
  set.add("nic.yaml", nic(kGoodQos, kGoodCnp));
  set.add("leaf.nvue", kCumulusRoce);
  const Trace trace = set.trace();
  for (const TraceLeg& leg : trace.legs) {
    EXPECT_EQ(leg.first(StepVerdict::lossy), nullptr) << verdict_sentence(leg, set.sources);
    EXPECT_EQ(leg.first(StepVerdict::unmarked), nullptr) << verdict_sentence(leg, set.sources);
    EXPECT_EQ(leg.first(StepVerdict::unknown), nullptr) << verdict_sentence(leg, set.sources);
  }
  EXPECT_EQ(data(trace).dscp, 26);
  EXPECT_EQ(notices(trace).dscp, 48);
  EXPECT_EQ(notices(trace).first(StepVerdict::warning), nullptr) << verdict_sentence(notices(trace), set.sources);
}

// 104 is DSCP 26 with ECN bits 00, 106 with ECT(0): RFC 3168.
TEST(ClassTrace, TrafficClassWithoutEctIsNeverMarked) {
  Set set;
  set.add("nic.yaml", nic(kGoodQos, kGoodCnp));
  set.add("leaf.nvue", kCumulusRoce);
  set.add("job.yaml", job("        - {name: NCCL_IB_TC, value: \"104\"}\n"));
  const Trace trace = set.trace();
  EXPECT_EQ(data(trace).first(StepVerdict::lossy), nullptr);
  const TraceStep* unmarked = data(trace).first(StepVerdict::unmarked);
  ASSERT_NE(unmarked, nullptr);
  EXPECT_EQ(unmarked->cause, Cause::not_ecn_capable);
  EXPECT_EQ(set.at(unmarked), "job.yaml:10");
}

// UCX uses 106 by default on RoCE v2.
TEST(ClassTrace, UcxMarksByDefault) {
  Set set;
  set.add("nic.yaml", nic("", kGoodCnp));
  set.add("leaf.nvue", kCumulusRoce);
  set.add("job.yaml", job("        - {name: UCX_TLS, value: rc}\n"));
  EXPECT_EQ(data(set.trace(Flow::ucx)).dscp, 26);
  EXPECT_EQ(data(set.trace(Flow::nccl)).dscp, 0);
}

TEST(ClassTrace, NicThatTrustsPcpPutsEverythingOnPriorityZero) {
  Set set;
  set.add("nic.yaml", nic(R"(trust: pcp, pfc: "0,0,0,1,0,0,0,0", tos: 106)", kGoodCnp));
  set.add("leaf.nvue", kCumulusRoce);
  const Trace trace = set.trace();
  const TraceStep* lossy = data(trace).first(StepVerdict::lossy);
  ASSERT_NE(lossy, nullptr);
  EXPECT_EQ(lossy->cause, Cause::nic_trust);
  EXPECT_EQ(set.at(lossy).substr(0, 9), "nic.yaml:");
}

TEST(ClassTrace, NicWithoutPfcOnItsPriorityIsLossy) {
  Set set;
  set.add("nic.yaml", nic(R"(trust: dscp, pfc: "0,0,0,0,1,0,0,0", tos: 106)", kGoodCnp));
  set.add("leaf.nvue", kCumulusRoce);
  const Trace trace = set.trace();
  const TraceStep* lossy = data(trace).first(StepVerdict::lossy);
  ASSERT_NE(lossy, nullptr);
  EXPECT_EQ(lossy->cause, Cause::nic_without_pfc);
}

// A switch whose file does not configure classes is neither lossless nor lossy.
TEST(ClassTrace, MissingSettingsAreUnknown) {
  Set set;
  set.config.switches.emplace_back();
  set.config.switches[0].hostname = config::Setting<std::string>("leaf", SourceLocation{}, "hostname");
  set.config.switches[0].qos.emplace_back();
  set.add("nic.yaml", nic(kGoodQos, kGoodCnp));
  const Trace trace = set.trace();
  EXPECT_EQ(data(trace).verdict(), StepVerdict::unknown);
  EXPECT_NE(verdict_sentence(data(trace), set.sources).find("is not proven lossless"), std::string::npos);
}

TEST(ClassTrace, EmptyInputIsAnError) {
  const Set set;
  EXPECT_FALSE(trace_class(nullptr, set.config, set.sources, {}).ok());
}

// --- with a cluster

std::unique_ptr<model::Loaded> pod() { return model::load_cluster(source_dir() + "/examples/pod16.yaml", {}); }

TEST(ClassTrace, ClusterFileIntentIsLosslessAndNamesItsLines) {
  const auto loaded = pod();
  ASSERT_TRUE(loaded->cluster);
  const config::ConfigSet none;
  TraceRequest request;
  request.from = "train001";
  request.to = "train016";
  request.rail = 2;
  const auto trace = trace_class(loaded->cluster.get(), none, loaded->sources, request);
  ASSERT_TRUE(trace.ok()) << trace.error().text();
  EXPECT_EQ(trace->from, "train001:be2");
  EXPECT_EQ(trace->to, "train016:be2");
  ASSERT_EQ(trace->legs.size(), 4U);
  for (const TraceLeg& leg : trace->legs)
    EXPECT_EQ(leg.verdict(), StepVerdict::ok) << verdict_sentence(leg, loaded->sources);
  const TraceLeg& leg = data(*trace);
  const auto map =
      std::find_if(leg.steps.begin(), leg.steps.end(), [](const auto& s) { return s.what == "DSCP -> TC"; });
  ASSERT_NE(map, leg.steps.end());
  EXPECT_EQ(map->device, "be-train-u001-leaf2");
  EXPECT_EQ(map->path, "fabrics.backend.qos.dscp");
  EXPECT_EQ(loaded->sources.line(map->place.file, map->place.line).substr(0, 8), "    qos:");
  const std::string shown = write(trace_document(*trace, loaded->sources), {});
  EXPECT_NE(shown.find("lossless and marked on the whole path"), std::string::npos);
}

TEST(ClassTrace, RejectsInvalidRequests) {
  const auto loaded = pod();
  ASSERT_TRUE(loaded->cluster);
  const config::ConfigSet none;
  const auto refused = [&](TraceRequest request) {
    return !trace_class(loaded->cluster.get(), none, loaded->sources, request).ok();
  };
  EXPECT_TRUE(refused({"nobody", "train001", Flow::nccl, 0, -1}));
  EXPECT_TRUE(refused({"train001", "train001", Flow::nccl, 0, -1}));
  EXPECT_TRUE(refused({"infer001", "train001", Flow::nccl, 0, -1})) << "inference has no backend port";
  EXPECT_TRUE(refused({"be-spine001:p1/1", "train001", Flow::nccl, 0, -1}));
  EXPECT_TRUE(refused({"", "", Flow::nccl, 0, 64}));
  EXPECT_FALSE(refused({"", "", Flow::nccl, 0, 63}));
}

TEST(TraceRoute, CrossesFirstCommonSpineAndReverses) {
  const auto loaded = pod();
  ASSERT_TRUE(loaded->cluster);
  const model::Cluster& cluster = *loaded->cluster;
  const auto route = route_between(cluster, cluster.find_port("train001:be1"), cluster.find_port("train016:be3"));
  ASSERT_TRUE(route);
  ASSERT_EQ(route->hops.size(), 3U);
  EXPECT_EQ(cluster.name_of(cluster.port(route->hops[1].in).device), "be-spine001");
  // Every hop is one cable away from the next.
  for (std::size_t i = 1; i < route->hops.size(); ++i) {
    EXPECT_EQ(cluster.peer_of(route->hops[i - 1].out), route->hops[i].in);
  }
  const Route back = reversed(*route);
  EXPECT_EQ(back.from, route->to);
  EXPECT_EQ(back.hops.front().in, route->hops.back().out);
}

// Every cabled port of the data fabrics is on some route between two servers, and the route is complete.
TEST(TraceRoute, EveryPortIsOnSomeRoute) {
  const auto loaded = pod();
  ASSERT_TRUE(loaded->cluster);
  const model::Cluster& cluster = *loaded->cluster;
  std::size_t found = 0;
  for (std::uint32_t i = 0; i < cluster.ports().size(); ++i) {
    const auto id = static_cast<model::PortId>(i);
    const model::Port& port = cluster.port(id);
    const model::DeviceGroup& group = cluster.group_of(port.device);
    if (group.kind != model::DeviceKind::network_switch || group.fabric != model::FabricKind::backend ||
        port.fabric != group.fabric) {
      continue;
    }
    const auto route = route_through(cluster, id);
    ASSERT_TRUE(route) << cluster.full_port_name(id);
    bool used = false;
    model::PortId last = route->from;
    for (const RouteHop& hop : route->hops) {
      used = used || hop.in == id || hop.out == id;
      EXPECT_EQ(cluster.peer_of(last), hop.in);
      EXPECT_EQ(cluster.port(hop.in).device, cluster.port(hop.out).device);
      EXPECT_NE(hop.in, hop.out);
      last = hop.out;
    }
    EXPECT_EQ(cluster.peer_of(last), route->to);
    EXPECT_TRUE(used) << cluster.full_port_name(id);
    EXPECT_NE(route->from, route->to);
    ++found;
  }
  EXPECT_GT(found, 300U);
}

TEST(ClassTraces, TraceEveryFabricOnceWithoutConfiguration) {
  const auto loaded = pod();
  ASSERT_TRUE(loaded->cluster);
  const config::ConfigSet none;
  const ClassTraces traces(loaded->cluster.get(), none, loaded->sources);
  ASSERT_EQ(traces.all().size(), 2U);
  EXPECT_EQ(traces.all()[0].fabric, model::FabricKind::backend);
  EXPECT_EQ(traces.all()[1].fabric, model::FabricKind::storage);
}

}  // namespace
}  // namespace weft::check
