// Kubernetes objects read from manifests, and helpers shared by the readers of each kind. Field names follow the public
// schemas; a field of the wrong type counts as absent, since the API server validates types.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/config_set.h"

namespace weft::config {

// Each reads one kind of object and ignores all others.
void read_kube_apps(const Sources& sources, const KubeObject& object, ConfigSet& set, Diagnostics& diagnostics);
void read_kube_networks(const Sources& sources, const KubeObject& object, ConfigSet& set, Diagnostics& diagnostics);
void read_kube_nics(const KubeObject& object, ConfigSet& set, Diagnostics& diagnostics);

// Copies subnet and routes of IPPools and CIDRPools to the attachments that use them. A pool may be in a file that is
// read later, so this runs after all files are read. Idempotent.
void link_address_pools(ConfigSet& set);

// The subnet (host bits cleared) of "10.60.0.0/27", "10.60.0.5/27" or "10.60.0.2-10.60.0.9/27"; nullopt for IPv6 or
// anything else.
[[nodiscard]] std::optional<Ipv4Prefix> subnet_of(std::string_view text);

// JSON text inside a manifest; if it is a literal block, locations refer to the manifest's lines.
[[nodiscard]] std::optional<YamlNode> parse_embedded_json(const Sources& sources, const YamlNode& node,
                                                          Diagnostics& diagnostics);

// The node at "a.b.c" below `node`; null if a part is missing.
[[nodiscard]] const YamlNode* node_at(const YamlNode* node, std::string_view path);
// The text of a scalar; "" for anything else.
[[nodiscard]] std::string_view text_of(const YamlNode* node);
// "key=value,..." of a mapping of strings.
[[nodiscard]] std::string selector_text(const YamlNode* mapping);

// Settings of scalars; absent if the node is missing or of another type.
[[nodiscard]] Setting<std::string> text_setting(const YamlNode* node, std::string path);
[[nodiscard]] Setting<std::int64_t> integer_setting(const YamlNode* node, std::string path);
[[nodiscard]] Setting<bool> boolean_setting(const YamlNode* node, std::string path);

}  // namespace weft::config
