#include "oob/redfish/quirks.h"

#include <strings.h>

#include <algorithm>
#include <functional>
#include <map>

#include "base/asset.h"
#include "base/diagnostic.h"
#include "base/quantity.h"
#include "base/source.h"
#include "base/yaml.h"

namespace weft::oob {
namespace {

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
        return bad(sources_, node, "`addresses`, `masks` and `switches` must have the same length");
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
                             {"firewall", place(out.firewall)},
                             {"ntp", place(out.ntp)}});
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
    const std::string message = found.empty() ? "invalid YAML" : found.front().message;
    return Error{ErrorCode::invalid_input, message, found.empty() ? "quirks" : sources.describe(found.front().place)};
  }
  const YamlNode* version = root->find("weft_quirks");
  const YamlNode* list = root->find("quirks");
  if (version == nullptr || version->scalar != "1") return bad(sources, *root, "`weft_quirks: 1` is missing");
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
    Result<std::vector<Quirk>> quirks = parse_quirks(std::string(asset<"oob/quirks.yaml">()));
    CHECK(quirks.ok(), "the built-in list of quirks is invalid");
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
