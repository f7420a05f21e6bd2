// Checks the SONiC reader against the accept and reject vectors of SONiC's own YANG models: what the models reject must
// be an error, what they accept must not. The vectors are data in YANG form and are converted to config_db.json here.
#include <gtest/gtest.h>

#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/quoting.h"
#include "base/test_places.h"
#include "base/test_prerequisites.h"
#include "config/switch_config.h"

namespace weft::config {
namespace {

const std::string kVectors = test_data_dir() + "/schemas/sonic-yang-models/test-vectors/";

// Vectors about properties that the reader does not check, by prefix of their name.
struct LeftOut {
  std::string_view name;
  std::string_view reason;
};
const LeftOut kLeftOut[] = {
    {"BGP_GLOBAL", "BGP globals and address families are not read"},
    {"BGP_NEIGHBOR_AF", "BGP address families are not read"},
    {"BGP_NEIGHBOR_NEG_VNET_NOT_EXIST", "VNETs are not read"},
    {"BGP_NEIGHBOR_NEG_GLOBAL_NOT_EXIST", "BGP globals are not read"},
    {"BGP_NEIGHBOR_NEG_PEERGROUP_NOT_EXIST", "peer groups are not read"},
    {"BGP_NEIGHBOR_NEG_INVALID_ENFORCE_FIRST_AS", "the leaf is not read"},
    {"BGP_NEIGHBOR_NEG_INVALID_PEER_TYPE", "the leaf is not read"},
    {"BGP_NEIGHBOR_NEG_INVALID_HOPS", "the leaf is not read"},
    {"BGP_PEERGROUP", "peer groups are not read"},
    {"BGP_PEER_GROUP", "peer groups are not read"},
    {"BGP_MONITORS", "BGP monitors are not read"},
    {"BGP_PEERRANGE_INVALID_VNET_OR_VRF", "VNETs are not read"},
    {"BGP_ALLOWED_PREFIXES", "allowed prefixes are not read"},
    {"BGP_SENTINEL", "BGP sentinels are not read"},
    {"BUFFER_POOL_MANDATORY", "the reader asks for no leaf it can do without"},
    {"BUFFER_PROFILE_MANDATORY", "the reader asks for no leaf it can do without"},
    {"PORT_NO_LANES", "the reader asks for no leaf it can do without"},
    {"INTERFACE_WRONG_NAT_ZONE_RANGE", "the leaf is not read"},
    {"INTERFACE_INVALID_LOOPBACK_ACTION", "the leaf is not read"},
    {"INTERFACE_INVALID_ENABLE_IPV6_LINK_LOCAL", "IPv6 is not followed"},
    {"INTERFACE_INVALID_VNET_NAME", "VNETs are not read"},
    {"INTERFACE_INVALID_MAC_ADDR", "the leaf is not read"},
    {"PORT_INVALID_ADVSPEEDS", "the leaf is not read"},
    {"PORT_INVALID_TYPE", "the leaf is not read"},
    {"PORT_INVALID_ADVTYPES", "the leaf is not read"},
    {"PORT_INVALID_XCVR", "the leaf is not read"},
    {"PORT_INVALID_TPID", "the leaf is not read"},
    {"PORT_INVALID_MUX", "the leaf is not read"},
    {"PORT_INVALID_MULTIASIC", "the leaf is not read"},
    {"PORT_INVALID_DOM_POLLING", "the leaf is not read"},
};

const std::map<std::string, std::vector<std::string>> kKeys = {
    {"QUEUE_LIST", {"ifname", "qindex"}},
    {"VOQ_QUEUE_LIST", {"hostname", "asic_name", "ifname", "qindex"}},
    {"BUFFER_PG_LIST", {"port", "pg_num"}},
    {"BUFFER_QUEUE_LIST", {"port", "qindex"}},
    {"VOQ_BUFFER_QUEUE_LIST", {"hostname", "asic_name", "port", "qindex"}},
    {"BUFFER_PORT_INGRESS_PROFILE_LIST_LIST", {"port"}},
    {"BUFFER_PORT_EGRESS_PROFILE_LIST_LIST", {"port"}},
    {"PORT_QOS_MAP_LIST", {"ifname"}},
    {"PFC_WD_LIST", {"ifname"}},
    {"INTERFACE_IPPREFIX_LIST", {"name", "ip-prefix"}},
    {"BGP_NEIGHBOR_LIST", {"vrf_name", "neighbor"}},
    {"BGP_NEIGHBOR_TEMPLATE_LIST", {"neighbor"}},
    {"BGP_PEER_RANGE_LIST", {"vrf_name", "peer_range_name"}},
    {"BGP_PEER_RANGE_TEMPLATE_LIST", {"peer_range_name"}},
};

std::optional<YamlNode> load(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  Diagnostics diagnostics;
  return parse_json_text(text, {}, diagnostics);
}

std::string bare(const std::string& name) { return name.substr(name.find(':') == name.npos ? 0 : name.find(':') + 1); }

std::string value_text(const YamlNode& value) {
  if (value.kind != YamlNode::Kind::sequence) return json_quote(value.scalar);
  std::string text = "[";
  for (const YamlNode& item : value.items) text += (text.size() > 1 ? "," : "") + json_quote(item.scalar);
  return text + "]";
}

// {"name": "m", "DSCP_TO_TC_MAP": [{"dscp": "1", "tc": "2"}]} as "m": {"1": "2"}.
std::string row_text(const std::string& list, const YamlNode& row) {
  const auto known = kKeys.find(list);
  const std::vector<std::string> keys = known != kKeys.end() ? known->second : std::vector<std::string>{"name"};
  std::string key;
  std::string fields;
  for (const std::string& part : keys) {
    const YamlNode* value = row.find(part);
    key += (&part == &keys.front() ? "" : "|") + (value == nullptr ? "" : value->scalar);
  }
  const auto add = [&](const std::string& name, const std::string& value) {
    fields += (fields.empty() ? "" : ",") + json_quote(name) + ":" + value;
  };
  for (const YamlEntry& entry : row.entries) {
    if (std::find(keys.begin(), keys.end(), entry.key) != keys.end()) continue;
    const bool pairs = !entry.value.items.empty() && entry.value.items[0].kind == YamlNode::Kind::mapping;
    if (!pairs) add(entry.key, value_text(entry.value));
    for (const YamlNode& item : entry.value.items) {
      if (pairs && item.entries.size() == 2) add(item.entries[0].value.scalar, value_text(item.entries[1].value));
    }
  }
  return json_quote(key) + ":{" + fields + "}";
}

std::string config_db(const YamlNode& vector) {
  std::string text;
  for (const YamlEntry& module : vector.entries) {
    for (const YamlEntry& table : module.value.entries) {
      std::string rows;
      for (const YamlEntry& list : table.value.entries) {
        if (list.value.kind == YamlNode::Kind::mapping) {
          YamlNode row = list.value;
          row.entries.push_back({"name", {}, {}});
          row.entries.back().value.scalar = bare(list.key);
          rows += (rows.empty() ? "" : ",") + row_text("", row);
        }
        for (const YamlNode& row : list.value.items) rows += (rows.empty() ? "" : ",") + row_text(bare(list.key), row);
      }
      text += (text.empty() ? "" : ",\n") + json_quote(bare(table.key)) + ":{" + rows + "}";
    }
  }
  return "{" + text + "}";
}

std::string_view reason_left_out(std::string_view name) {
  for (const LeftOut& left : kLeftOut) {
    if (name.substr(0, left.name.size()) == left.name) return left.reason;
  }
  return {};
}

struct Tally {
  int all = 0;
  int held = 0;
  int refused = 0;
  std::map<std::string, int> left_out;
};

void hold(const std::string& name, bool accept, const YamlNode& vector, Tally& tally) {
  ++tally.all;
  if (const std::string_view reason = reason_left_out(name); !reason.empty()) {
    ++tally.left_out[std::string(reason)];
    return;
  }
  ++tally.held;
  if (!accept) ++tally.refused;
  const std::string text = config_db(vector);
  Sources sources;
  Diagnostics diagnostics;
  const FileId file = sources.add(name + ".json", text);
  const auto config = read_sonic(sources, file, diagnostics);
  EXPECT_TRUE(config.has_value()) << name << "\n" << render_all(diagnostics, sources, false);
  EXPECT_EQ(accept, !diagnostics.has_errors()) << name << "\n"
                                               << text << "\n"
                                               << render_all(diagnostics, sources, false);
}

TEST(SonicVectors, AgreeWithTheYangModels) {
  WEFT_NEEDS_DATA("schemas/sonic-yang-models");
  Tally tally;
  for (const std::string name : {"bgp", "buffer_pg", "buffer_pool", "buffer_port_egress_profile_list",
                                 "buffer_port_ingress_profile_list", "buffer_profile", "buffer_queue", "cable_length",
                                 "default_lossless_buffer_parameter", "interface", "pfc", "port", "qos", "qosmaps"}) {
    const auto tests = load(kVectors + "tests/" + name + ".json");
    const auto data = load(kVectors + "tests_config/" + name + ".json");
    ASSERT_TRUE(tests && data) << kVectors << name << ".json";
    for (const YamlEntry& test : tests->entries) {
      const YamlNode* vector = data->find(test.key);
      ASSERT_NE(vector, nullptr) << test.key;
      const YamlNode* kind = test.value.find("eStrKey");
      const bool accept =
          (kind == nullptr && test.value.find("eStr") == nullptr) || (kind != nullptr && kind->scalar == "Verify");
      hold(test.key, accept, *vector, tally);
    }
  }
  std::cout << tally.held << " of " << tally.all << " vectors overlap with what the reader decides (" << tally.refused
            << " must be refused)\n";
  for (const auto& [reason, count] : tally.left_out) std::cout << "left out " << count << ": " << reason << "\n";
  EXPECT_GE(tally.held, 180);
  EXPECT_GE(tally.refused, 70);
}

}  // namespace
}  // namespace weft::config
