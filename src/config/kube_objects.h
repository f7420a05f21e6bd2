// Kubernetes objects taken out of manifests, and the small helpers that the readers of single kinds share. Field names
// are those of the public schemas; a field of the wrong shape counts as not given, since the API server judges shapes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/config_set.h"

namespace weft::config {

// Reads one kind of object each; an object of no interest to it is passed over.
void read_kube_apps(const Sources& sources, const KubeObject& object, ConfigSet& set, Diagnostics& diagnostics);
void read_kube_networks(const Sources& sources, const KubeObject& object, ConfigSet& set, Diagnostics& diagnostics);
void read_kube_nics(const KubeObject& object, ConfigSet& set, Diagnostics& diagnostics);

// Gives attachments whose addresses come from an IPPool or a CIDRPool the subnet and routes of that pool. Pools may
// stand in a file read later, so this runs when all are read; running it again changes nothing.
void link_address_pools(ConfigSet& set);

// The subnet (host bits cleared) of "10.60.0.0/27", "10.60.0.5/27" or "10.60.0.2-10.60.0.9/27"; nothing for IPv6 or
// anything else.
[[nodiscard]] std::optional<Ipv4Prefix> subnet_of(std::string_view text);

// A JSON text inside a manifest, with places in the manifest's lines where it stands there as a literal block.
[[nodiscard]] std::optional<YamlNode> parse_embedded_json(const Sources& sources, const YamlNode& node,
                                                          Diagnostics& diagnostics);

// The node at "a.b.c" below `node`; null when a part is missing.
[[nodiscard]] const YamlNode* node_at(const YamlNode* node, std::string_view path);
// The text of a scalar; "" for anything else.
[[nodiscard]] std::string_view text_of(const YamlNode* node);
// "key=value,..." of a mapping of texts.
[[nodiscard]] std::string selector_text(const YamlNode* mapping);

// Settings of scalars; absent when the node is missing or of another shape.
[[nodiscard]] Setting<std::string> text_setting(const YamlNode* node, std::string path);
[[nodiscard]] Setting<std::int64_t> integer_setting(const YamlNode* node, std::string path);
[[nodiscard]] Setting<bool> boolean_setting(const YamlNode* node, std::string path);

}  // namespace weft::config
