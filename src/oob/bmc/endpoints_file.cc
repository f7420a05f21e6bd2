#include "oob/bmc/endpoints_file.h"

namespace weft::model {

template <>
const Schema& schema_of<oob::EndpointSpec>() {
  static const Schema schema = [] {
    using R = oob::EndpointSpec;
    SchemaBuilder<R> b("endpoint", "Address, port and protocol of the BMCs of some devices.");
    b.field("protocol", &R::protocol, "redfish, ipmi or none");
    b.field("host", &R::host, "address or name of the first device of the range");
    b.field("step", &R::step, "how much further on the next device's address is").range(0, 65'536);
    b.field("port", &R::port, "port of the first device; default: the protocol's own").range(1, 65'535);
    b.field("port_step", &R::port_step, "how much further on the next device's port is").range(0, 1024);
    b.field("ca", &R::ca, "certificates (PEM) that prove a BMC's own; default: the system's");
    b.field("pin", &R::pin, "sha256//BASE64 of the public key that the BMC must show");
    b.field("verify", &R::verify, "false: take any certificate");
    b.field("login", &R::login, "auto, session or basic: whether HTTP Basic may replace a Redfish session");
    b.field("proxy", &R::proxy, "way through the jump host: socks5h://127.0.0.1:1080");
    b.field("ciphers", &R::ciphers, "IPMI cipher suites that may be used, in order");
    b.field("workarounds", &R::workarounds, "FreeIPMI's names for what a BMC gets wrong");
    b.field("console", &R::console, "program that is the console, with its arguments");
    b.field("connect_limit", &R::connect_limit, "longest time to connect and log in");
    b.field("request_limit", &R::request_limit, "longest time for one request");
    b.field("role", &R::role, "chassis: a device that the cluster file does not have");
    b.field("holds", &R::holds, "hosts that sit in a chassis");
    b.field("power", &R::power, "most that a chassis draws by itself");
    return b.build();
  }();
  return schema;
}

template <>
const Schema& schema_of<oob::EndpointsFile>() {
  static const Schema schema = [] {
    using R = oob::EndpointsFile;
    SchemaBuilder<R> b("endpoints", "Where devices answer out of band.");
    b.field("weft_endpoints", &R::weft_endpoints, "version of the file format").required().range(1, 1);
    b.field("defaults", &R::defaults, "what holds for every device, those of the cluster file too");
    b.field("endpoints", &R::endpoints, "by host range");
    return b.build();
  }();
  return schema;
}

}  // namespace weft::model

namespace weft::oob {

std::optional<EndpointsFile> read_endpoints(const Sources& sources, FileId file, Diagnostics& diagnostics) {
  const std::optional<YamlNode> root = parse_yaml(sources, file, diagnostics);
  if (!root) return std::nullopt;
  if (root->kind == YamlNode::Kind::null) {
    diagnostics.error(root->place, "the file is empty", "a file of endpoints starts with `weft_endpoints: 1`");
    return std::nullopt;
  }
  const std::size_t before = diagnostics.error_count();
  EndpointsFile result;
  model::Codec<EndpointsFile>::read(*root, diagnostics, result);
  if (diagnostics.error_count() != before) return std::nullopt;
  return result;
}

}  // namespace weft::oob
