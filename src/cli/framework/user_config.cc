#include "cli/framework/user_config.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <memory>

#include "base/file.h"
#include "base/ip.h"
#include "base/text.h"
#include "base/utf8.h"
#include "base/value.h"
#include "base/yaml.h"
#include "cli/framework/command.h"
#include "http/fingerprint.h"
#include "oob/durable/file.h"

namespace weft::model {

template <>
const Schema& schema_of<cli::ServerContext>() {
  static const Schema schema = [] {
    using R = cli::ServerContext;
    SchemaBuilder<R> b("context", "A server, and how it proves which one it is.");
    b.field("server", &R::server, "URL of the server: https://HOST[:PORT]");
    b.field("ca", &R::ca, "absolute path of the CA certificates (PEM) that prove it; default: the system's");
    b.field("fingerprint", &R::fingerprint, "sha256:HEX of its certificate, instead of a CA");
    b.field("socket", &R::socket, "absolute path of the Unix socket of a server on this machine");
    return b.build();
  }();
  return schema;
}

template <>
const Schema& schema_of<cli::UserDefaults>() {
  static const Schema schema = [] {
    using R = cli::UserDefaults;
    SchemaBuilder<R> b("defaults", "Defaults of options, for all commands.");
    b.field("cluster", &R::cluster, "absolute path of the cluster file of commands that are given none");
    b.field("output", &R::output, "format of tables: table, wide, json, yaml, ndjson or csv");
    b.field("color", &R::color, "when to use color: auto, always or never");
    b.field("pager", &R::pager, "shell command that shows long results; cat for none");
    return b.build();
  }();
  return schema;
}

template <>
const Schema& schema_of<cli::UserConfig>() {
  static const Schema schema = [] {
    using R = cli::UserConfig;
    SchemaBuilder<R> b("config", "Configuration of weft for one user.");
    b.field("weft_config", &R::weft_config, "version of the file format").required().range(1, 1);
    b.field("current", &R::current, "context that commands use unless they name another");
    b.field("contexts", &R::contexts, "servers, by a name of your choice");
    b.field("defaults", &R::defaults, "defaults of options, for all commands");
    return b.build();
  }();
  return schema;
}

}  // namespace weft::model

namespace weft::cli {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{1} << 20U;
constexpr YamlLimits kLimits{.bytes = kMaxBytes, .nodes = 20'000, .depth = 8};
constexpr std::size_t kMaxName = 63;
constexpr std::string_view kFingerprintScheme = "sha256:";
constexpr std::string_view kUrlScheme = "https://";

Error invalid(std::string message) { return {ErrorCode::invalid_input, std::move(message), {}}; }

bool is_absolute(std::string_view path) {
  return path.starts_with('/') && std::none_of(path.begin(), path.end(), is_control);
}

// Replaces the value by its normal form, or reports why it has none.
template <class Parse>
void normalize(model::Sourced<std::string>& given, Diagnostics& diagnostics, Parse parse) {
  if (!given.has_value()) return;
  Result<std::string> normal = parse(given.value);
  if (normal.ok()) {
    given.value = std::move(*normal);
  } else {
    diagnostics.error(given.place, normal.error().message, {}, given.value.size());
  }
}

void check_path(const model::Sourced<std::string>& given, std::string_view key, Diagnostics& diagnostics) {
  if (!given.has_value() || is_absolute(given.value)) return;
  diagnostics.error(given.place, fmt::format("`{}` must be an absolute path", key), {}, given.value.size());
}

void check_context(const std::string& name, model::Sourced<ServerContext>& given, Diagnostics& diagnostics) {
  ServerContext& context = given.value;
  if (!is_context_name(name)) {
    diagnostics.error(given.place, fmt::format("{} is not a name of a context", in_backticks(name)),
                      "letters, digits, `-`, `_` and `.`, at most 63 characters", name.size());
  }
  if (context.server.has_value() == context.socket.has_value()) {
    diagnostics.error(given.place, fmt::format("the context must have `server` or `socket`, {}",
                                               context.server.has_value() ? "not both" : "and has neither"));
  }
  if (context.socket.has_value()) {
    for (const auto* only : {&context.ca, &context.fingerprint}) {
      if (only->has_value()) diagnostics.error(only->place, "only for a `server`: a socket has no certificate");
    }
  }
  if (context.ca.has_value() && context.fingerprint.has_value())
    diagnostics.error(context.fingerprint.place, "`ca` and `fingerprint` exclude each other");
  normalize(context.server, diagnostics, [](const std::string& text) -> Result<std::string> {
    const Result<ServerUrl> url = parse_server_url(text);
    return url.ok() ? Result<std::string>(format_server_url(*url)) : url.error();
  });
  normalize(context.fingerprint, diagnostics, [](const std::string& text) { return parse_fingerprint(text); });
  check_path(context.ca, "ca", diagnostics);
  check_path(context.socket, "socket", diagnostics);
}

void check_word(const model::Sourced<std::string>& given, std::string_view key, const std::vector<std::string>& valid,
                Diagnostics& diagnostics) {
  if (!given.has_value() || std::find(valid.begin(), valid.end(), *given) != valid.end()) return;
  diagnostics.error(given.place, fmt::format("`{}` must be {}", key, join(valid, ", ", " or ")),
                    did_you_mean(*given, {valid.begin(), valid.end()}), given->size());
}

void check_defaults(const UserDefaults& defaults, Diagnostics& diagnostics) {
  check_path(defaults.cluster, "cluster", diagnostics);
  check_word(defaults.output, "output", names_of(output_option().choices), diagnostics);
  check_word(defaults.color, "color", {"auto", "always", "never"}, diagnostics);
}

// The comment lines at the top of a file, without their marks.
std::string heading_of(std::string_view text) {
  std::string heading;
  for (std::string_view line : split_lines(text)) {
    line = trim(line);
    if (!line.starts_with('#')) break;
    line.remove_prefix(1);
    if (line.starts_with(' ')) line.remove_prefix(1);
    heading.append(heading.empty() ? "" : "\n").append(line);
  }
  return heading;
}

Value defaults_value(const UserDefaults& defaults) {
  Value entry = Value::map();
  const auto add = [&](const char* key, const model::Sourced<std::string>& given) {
    if (given.has_value()) entry.set(key, *given);
  };
  add("cluster", defaults.cluster);
  add("output", defaults.output);
  add("color", defaults.color);
  add("pager", defaults.pager);
  return entry;
}

// What a symbolic link of a folder under version control points to: the link is kept.
std::string resolve_link(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
  return real == nullptr ? path : std::string(real.get());
}

Result<UserConfig> parse_text(const std::string& path, std::string text) {
  Sources sources;
  Diagnostics diagnostics;
  std::optional<UserConfig> config = read_user_config(sources, sources.add(path, std::move(text)), diagnostics);
  if (config) return std::move(*config);
  return Error{ErrorCode::invalid_input, "invalid configuration file\n" + render_all(diagnostics, sources, false), {}};
}

Result<std::string> read_text(const std::string& path) {
  Result<std::string> text = read_file(path, kMaxBytes);
  if (!text.ok() && text.error().code == ErrorCode::not_found) return std::string();
  return text;
}

}  // namespace

const ServerContext* UserConfig::find(std::string_view name) const {
  for (const auto& [known, context] : contexts.value) {
    if (known == name) return &context.value;
  }
  return nullptr;
}

void UserConfig::put(const std::string& name, ServerContext context) {
  for (auto& [known, given] : contexts.value) {
    if (known != name) continue;
    given.value = std::move(context);
    return;
  }
  contexts.value.emplace_back(name, model::Sourced<ServerContext>(std::move(context)));
}

bool UserConfig::remove(std::string_view name) {
  if (current.value == name) current = {};
  return std::erase_if(contexts.value, [&](const auto& each) { return each.first == name; }) > 0;
}

std::string user_config_path(const Io& io) {
  std::string given = io.environment("WEFT_CONFIG");
  if (!given.empty()) return given;
  const std::string folder = io.environment("XDG_CONFIG_HOME");
  if (folder.starts_with('/')) return folder + "/weft/config.yaml";
  const std::string home = io.environment("HOME");
  return home.empty() ? std::string() : home + "/.config/weft/config.yaml";
}

std::optional<UserConfig> read_user_config(const Sources& sources, FileId file, Diagnostics& diagnostics) {
  const std::optional<YamlNode> root = parse_yaml(sources, file, diagnostics, kLimits);
  if (!root) return std::nullopt;
  UserConfig config;
  if (root->kind == YamlNode::Kind::null) return config;
  const std::size_t before = diagnostics.error_count();
  model::Codec<UserConfig>::read(*root, diagnostics, config);
  for (auto& [name, context] : config.contexts.value) check_context(name, context, diagnostics);
  if (config.defaults.has_value()) check_defaults(*config.defaults, diagnostics);
  if (config.current.has_value() && config.find(*config.current) == nullptr) {
    std::vector<std::string_view> names;
    for (const auto& [name, context] : config.contexts.value) names.push_back(name);
    diagnostics.error(config.current.place, "there is no context " + in_backticks(*config.current),
                      did_you_mean(*config.current, names), config.current->size());
  }
  if (diagnostics.error_count() != before) return std::nullopt;
  return config;
}

std::string write_user_config(const UserConfig& config, std::string_view heading) {
  Value root = Value::map({{"weft_config", 1}});
  if (config.current.has_value()) root.set("current", *config.current);
  Value contexts = Value::map();
  for (const auto& [name, context] : config.contexts.value) {
    Value entry = Value::map();
    const auto add = [&](const char* key, const model::Sourced<std::string>& given) {
      if (given.has_value()) entry.set(key, *given);
    };
    add("server", context->server);
    add("ca", context->ca);
    add("fingerprint", context->fingerprint);
    add("socket", context->socket);
    contexts.set(name, std::move(entry));
  }
  if (!contexts.empty()) root.set("contexts", std::move(contexts));
  if (Value defaults = defaults_value(config.defaults.value); !defaults.empty())
    root.set("defaults", std::move(defaults));
  return write_yaml({&root, 1}, heading);
}

Result<UserConfig> load_user_config(const std::string& path) {
  if (path.empty()) return UserConfig();
  Result<std::string> text = read_text(path);
  if (!text.ok()) return text.error();
  return parse_text(path, std::move(*text));
}

Status change_user_config(const std::string& path, const std::function<Status(UserConfig&)>& change) {
  if (path.empty())
    return Error{ErrorCode::unavailable, "there is no place for the configuration file: set HOME or WEFT_CONFIG", {}};
  const std::string target = resolve_link(path);
  if (Status made = oob::make_folders_above(target); !made.ok()) return made;
  const std::string lock_path = target + ".lock";
  const Result<FileDescriptor> lock = oob::open_file(lock_path, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
  if (!lock.ok()) return lock.error();
  if (Status locked = oob::lock(*lock, oob::LockKind::exclusive, lock_path, oob::kLockLimit); !locked.ok())
    return locked;
  const oob::HeldLock held(*lock);
  const Result<std::string> before = read_text(target);
  if (!before.ok()) return before.error();
  Result<UserConfig> config = parse_text(path, *before);
  if (!config.ok()) return config.error();
  if (Status changed = change(*config); !changed.ok()) return changed;
  const std::string after = write_user_config(*config, heading_of(*before));
  if (const Result<UserConfig> again = parse_text(path, after); !again.ok()) return again.error();
  return oob::replace_file(target, after);
}

Result<ServerUrl> parse_server_url(std::string_view text) {
  const auto wrong = [&] { return invalid(in_backticks(text) + " is not a URL of the form https://HOST[:PORT]"); };
  if (text.starts_with("http://")) return invalid("weft serve is reached over https only, not http");
  if (!to_lower(text.substr(0, kUrlScheme.size())).starts_with(kUrlScheme)) return wrong();
  std::string_view rest = text.substr(kUrlScheme.size());
  if (rest.ends_with('/')) rest.remove_suffix(1);
  ServerUrl url;
  std::string_view port;
  if (rest.starts_with('[')) {
    const std::size_t end = rest.find(']');
    if (end == std::string_view::npos || !parse_ipv6(rest.substr(1, end - 1)).ok()) return wrong();
    url.host = to_lower(rest.substr(1, end - 1));
    port = rest.substr(end + 1);
  } else {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    url.host = to_lower(rest.substr(0, colon));
    port = rest.substr(colon);
    const bool valid = !url.host.empty() && url.host.size() <= 253 && is_letter_or_digit(url.host.front()) &&
                       std::all_of(url.host.begin(), url.host.end(),
                                   [](char c) { return is_letter_or_digit(c) || c == '-' || c == '.'; });
    if (!valid) return wrong();
  }
  if (port.empty()) return url;
  if (port.front() != ':') return wrong();
  port.remove_prefix(1);
  const char* end = port.data() + port.size();
  const auto [stop, problem] = std::from_chars(port.data(), end, url.port);
  if (problem != std::errc() || stop != end || url.port == 0) return wrong();
  return url;
}

std::string format_server_url(const ServerUrl& url) {
  const bool is_ipv6 = url.host.find(':') != std::string::npos;
  return fmt::format("https://{}{}{}:{}", is_ipv6 ? "[" : "", url.host, is_ipv6 ? "]" : "", url.port);
}

Result<std::string> parse_fingerprint(std::string_view text) {
  const std::string digits = http::parse_fingerprint(text);
  if (!digits.empty()) return std::string(kFingerprintScheme) + digits;
  return invalid(in_backticks(text) + " is not a fingerprint: `sha256:` and 64 hexadecimal digits");
}

bool is_context_name(std::string_view text) {
  return !text.empty() && text.size() <= kMaxName && is_letter_or_digit(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.'; });
}

}  // namespace weft::cli
