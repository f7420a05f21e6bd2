#include "oob/redfish/quirks.h"

#include <strings.h>

#include <algorithm>
#include <functional>
#include <map>

#include "base/diagnostic.h"
#include "base/quantity.h"
#include "base/source.h"
#include "base/yaml.h"

namespace weft::oob {
namespace {

// Sources stand beside what they support. "gofish" is github.com/stmcginnis/gofish.
constexpr const char* kDocument = R"yaml(
weft_quirks: 1
quirks:
  # The simulator of this program: `weft oob sim`.
  - name: weft-sim
    vendors: [weft]
    oem: [Weft]
    syslog: {path: "{manager}", list: Oem/Weft/Syslog/Servers}
    firewall: {path: "{manager}", list: Oem/Weft/Firewall/Allow}

  - name: dell-idrac
    vendors: [Dell]
    oem: [Dell]
    # Ids are fixed (iDRAC Redfish API guide; logs: mrlhansen/idrac_exporter). iDRAC 8 may answer 405 to a login and
    # then takes HTTP Basic (idrac_exporter issue 132), as the client does for everyone.
    systems: [System.Embedded.1]
    logs: [Sel]
    # HTTP 503 with IDRAC.2.x.RAC0218, at eight sessions (gofish issue 75, bb-Ricardo/check_redfish issue 89, PR 198).
    session_limit: [RAC0218]
    most_sessions: 8
    # Attributes and their values: Dell's Ansible collection dellemc.openmanage, module idrac_attributes; IPBlocking
    # from the iDRAC 9 user's guide ("Configuring IP filtering"): RangeMask & (peer ^ RangeAddr) must be zero. The
    # ranges 2 to 5 came with iDRAC 9; where they are absent they are left alone.
    syslog:
      path: "{manager}/Attributes"
      fields: [Attributes/SysLog.1.Server1, Attributes/SysLog.1.Server2, Attributes/SysLog.1.Server3]
      enable: Attributes/SysLog.1.SysLogEnable
      "on": Enabled
      "off": Disabled
    firewall:
      path: "{manager}/Attributes"
      addresses: [Attributes/IPBlocking.1.RangeAddr, Attributes/IPBlocking.1.RangeAddr2,
        Attributes/IPBlocking.1.RangeAddr3, Attributes/IPBlocking.1.RangeAddr4, Attributes/IPBlocking.1.RangeAddr5]
      masks: [Attributes/IPBlocking.1.RangeMask, Attributes/IPBlocking.1.RangeMask2,
        Attributes/IPBlocking.1.RangeMask3, Attributes/IPBlocking.1.RangeMask4, Attributes/IPBlocking.1.RangeMask5]
      switches: [Attributes/IPBlocking.1.RangeEnable, Attributes/IPBlocking.1.RangeEnable2,
        Attributes/IPBlocking.1.RangeEnable3, Attributes/IPBlocking.1.RangeEnable4, Attributes/IPBlocking.1.RangeEnable5]
      "on": Enabled
      "off": Disabled

  - name: supermicro
    vendors: [Supermicro, Super Micro]
    oem: [Supermicro]
    logs: [Log1]
    # Supermicro Redfish reference guide, "BMC Configuration Examples"; firmware 1.10 of generation 13 and later has a
    # list of {ServerIP, Port} in the place of one name (gofish, oem/smc/syslog).
    syslog:
      path: "{manager}/Oem/Supermicro/Syslog"
      list: SyslogServer
      item: ServerIP
      fields: [SyslogServer]
      enable: EnableSyslog

  - name: hpe-ilo
    vendors: [HPE, Hewlett]
    oem: [Hpe, Hp]
    # The integrated management log (mrlhansen/idrac_exporter).
    logs: [IML]
    # ManagerNetworkProtocol, Oem.Hpe (iLO 5 and 6 REST API reference).
    syslog:
      path: "{network_protocol}"
      fields: [Oem/Hpe/RemoteSyslogServer]
      enable: Oem/Hpe/RemoteSyslogEnabled

  - name: lenovo-xcc
    vendors: [Lenovo]
    oem: [Lenovo]
    # Logs: mrlhansen/idrac_exporter. PATCH wants If-Match (ansible PR 56150), and some firmware refuses the very ETag
    # it gave (community.general issue 11261); the client copes with both for everyone.
    logs: [PlatformLog, StandardLog]

  - name: ami-megarac
    vendors: [AMI, American Megatrends, GIGABYTE, ASRockRack]
    oem: [Ami, AMI]
    logs: [SEL]
    # Pages of 50 entries without a link to the next one, firmware 12.60 and 13.04 (karubits/rustdrac 0.5.2).
    skip_page: 50

  - name: nvidia-openbmc
    vendors: [NVIDIA]
    oem: [Nvidia]
    # The baseboard of the GPUs (HGX_Baseboard_0) is a ComputerSystem of its own beside the host. Power cycle is not
    # supported on GB200 and DGX H100: NVIDIA infra-controller issues 2635 and 3058.
    systems: [DGX, System_0]
    missing_resets: [PowerCycle]
    logs: [SEL, EventLog]

  # bmcweb has no Redfish place for remote syslog (ibm-openbmc/dev issue 1673), nor for a filter of addresses.
  - name: openbmc
    vendors: [OpenBMC]
    oem: [OpenBmc]
    systems: [system]
    logs: [EventLog]

  # What DMTF's schemas say, and no more.
  - name: generic
)yaml";

using Setter = std::function<Status(const YamlNode&)>;

Error bad(const Sources& sources, const YamlNode& node, const std::string& what) {
  return Error{ErrorCode::invalid_input, what, sources.describe(node.place)};
}

class Reader {
 public:
  explicit Reader(const Sources& sources) : sources_(sources) {}

  Status map(const YamlNode& node, const std::map<std::string, Setter, std::less<>>& setters) const {
    if (node.kind != YamlNode::Kind::mapping) return bad(sources_, node, "must be a mapping");
    for (const YamlEntry& entry : node.entries) {
      const auto found = setters.find(entry.key);
      if (found == setters.end()) return bad(sources_, entry.value, "unknown key `" + entry.key + "`");
      if (Status set = found->second(entry.value); !set.ok()) return set;
    }
    return {};
  }
  [[nodiscard]] Setter text(std::string& out) const {
    return [this, &out](const YamlNode& node) -> Status {
      if (node.kind != YamlNode::Kind::scalar) return bad(sources_, node, "must be text");
      out = node.scalar;
      return {};
    };
  }
  [[nodiscard]] Setter texts(std::vector<std::string>& out) const {
    return [this, &out](const YamlNode& node) -> Status {
      if (node.kind != YamlNode::Kind::sequence) return bad(sources_, node, "must be a list");
      for (const YamlNode& item : node.items) {
        if (item.kind != YamlNode::Kind::scalar) return bad(sources_, item, "must be text");
        out.push_back(item.scalar);
      }
      return {};
    };
  }
  [[nodiscard]] Setter count(int& out) const {
    return [this, &out](const YamlNode& node) -> Status {
      const Result<std::int64_t> number = parse_integer(node.scalar);
      if (!number.ok() || *number < 0 || *number > 10'000) return bad(sources_, node, "must be a number up to 10000");
      out = static_cast<int>(*number);
      return {};
    };
  }
  [[nodiscard]] Setter flag(bool& out) const {
    return [this, &out](const YamlNode& node) -> Status {
      if (node.scalar != "true" && node.scalar != "false") return bad(sources_, node, "must be true or false");
      out = node.scalar == "true";
      return {};
    };
  }
  [[nodiscard]] Setter place(SettingPlace& out) const {
    return [this, &out](const YamlNode& node) -> Status {
      Status read = map(node, {{"path", text(out.path)},
                               {"list", text(out.list)},
                               {"item", text(out.item)},
                               {"fields", texts(out.fields)},
                               {"addresses", texts(out.addresses)},
                               {"masks", texts(out.masks)},
                               {"switches", texts(out.switches)},
                               {"enable", text(out.enable)},
                               {"on", text(out.on)},
                               {"off", text(out.off)},
                               {"read_only", flag(out.read_only)}});
      if (!read.ok()) return read;
      if (out.path.empty()) return bad(sources_, node, "needs a path");
      if (out.addresses.size() != out.masks.size() || out.addresses.size() != out.switches.size()) {
        return bad(sources_, node, "addresses, masks and switches must be as many");
      }
      return {};
    };
  }
  Status quirk(const YamlNode& node, Quirk& out) const {
    Status read = map(node, {{"name", text(out.name)},
                             {"vendors", texts(out.vendors)},
                             {"oem", texts(out.oem)},
                             {"firmware", text(out.firmware)},
                             {"missing_resets", texts(out.missing_resets)},
                             {"systems", texts(out.systems)},
                             {"logs", texts(out.logs)},
                             {"session_limit", texts(out.session_limit)},
                             {"most_sessions", count(out.most_sessions)},
                             {"basic_only", flag(out.basic_only)},
                             {"skip_page", count(out.skip_page)},
                             {"syslog", place(out.syslog)},
                             {"firewall", place(out.firewall)}});
    if (!read.ok()) return read;
    if (out.name.empty()) return bad(sources_, node, "needs a name");
    return {};
  }

 private:
  const Sources& sources_;
};

bool begins(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size() && strncasecmp(text.data(), prefix.data(), prefix.size()) == 0;
}

bool matches(const Quirk& quirk, const ServiceLook& look) {
  const auto by_vendor = [&](const std::string& vendor) {
    return begins(look.vendor, vendor) || begins(look.product, vendor) || begins(look.manufacturer, vendor);
  };
  const auto by_oem = [&](const std::string& key) {
    return std::find(look.oem.begin(), look.oem.end(), key) != look.oem.end();
  };
  if (!begins(look.firmware, quirk.firmware)) return false;
  return std::any_of(quirk.vendors.begin(), quirk.vendors.end(), by_vendor) ||
         std::any_of(quirk.oem.begin(), quirk.oem.end(), by_oem);
}

}  // namespace

Result<std::vector<Quirk>> parse_quirks(const std::string& text) {
  Sources sources;
  Diagnostics diagnostics;
  const FileId file = sources.add("quirks", text);
  const std::optional<YamlNode> root = parse_yaml(sources, file, diagnostics);
  if (!root || diagnostics.has_errors()) {
    const std::vector<Diagnostic> found = diagnostics.sorted();
    const std::string message = found.empty() ? "not YAML" : found.front().message;
    return Error{ErrorCode::invalid_input, message, found.empty() ? "quirks" : sources.describe(found.front().place)};
  }
  const YamlNode* version = root->find("weft_quirks");
  const YamlNode* list = root->find("quirks");
  if (version == nullptr || version->scalar != "1") return bad(sources, *root, "must say `weft_quirks: 1`");
  if (list == nullptr || list->kind != YamlNode::Kind::sequence) return bad(sources, *root, "needs a list `quirks`");
  std::vector<Quirk> quirks(list->items.size());
  const Reader reader(sources);
  for (std::size_t i = 0; i < quirks.size(); ++i) {
    if (const Status read = reader.quirk(list->items[i], quirks[i]); !read.ok()) return read.error();
  }
  if (quirks.empty()) return bad(sources, *list, "has no quirk");
  return quirks;
}

const std::vector<Quirk>& all_quirks() {
  static const std::vector<Quirk> kQuirks = [] {
    Result<std::vector<Quirk>> quirks = parse_quirks(kDocument);
    CHECK(quirks.ok(), "the document of quirks is broken");
    return std::move(quirks).value();
  }();
  return kQuirks;
}

const Quirk& quirk_for(const ServiceLook& look) {
  const std::vector<Quirk>& quirks = all_quirks();
  for (const Quirk& quirk : quirks) {
    if (matches(quirk, look)) return quirk;
  }
  return quirks.back();
}

}  // namespace weft::oob
