#include "cli/oob/input.h"

#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <map>
#include <set>

#include "base/file.h"
#include "base/host_range.h"
#include "base/utf8.h"
#include "cli/framework/option_reader.h"
#include "model/yaml_file.h"
#include "oob/bmc/connector.h"
#include "oob/durable/core_dumps.h"
#include "oob/durable/permissions.h"
#include "oob/redfish/trusted_file.h"

namespace weft::cli {
namespace {

std::string user_name(const Io& io) {
  std::string name = std::to_string(::getuid());
  passwd entry{};
  std::array<char, 4096> space{};
  passwd* found = nullptr;
  if (::getpwuid_r(::getuid(), &entry, space.data(), space.size(), &found) == 0 && found != nullptr)
    name = found->pw_name;
  const std::string before = io.environment("SUDO_USER");
  return before.empty() || before == name ? name : fmt::format("{}({})", before, name);
}

// A name as in the journal; in quotes if a reader could take part of it for the text around it.
std::string quoted_name(const std::string& name) {
  if (name.find_first_of(" ()\",") == std::string::npos) return name;
  std::string quoted = "\"";
  for (const char c : name) quoted += c == '"' ? '\'' : c;
  return quoted + "\"";
}

// `weft serve` acts for its users and names them in these variables. They are trusted only if this process has the user
// ID of the journal's owner: one that could write any entry anyway.
Result<std::string> journal_actor(const Io& io, const std::string& journal) {
  constexpr std::size_t kMaxName = 256;
  const std::string self = user_at_host(io);
  const std::string person = io.environment("WEFT_ON_BEHALF_OF");
  if (person.empty()) return self;
  struct stat info {};
  if (::stat(journal.c_str(), &info) == 0 && info.st_uid != ::geteuid()) {
    return Error{ErrorCode::refused, "WEFT_ON_BEHALF_OF is set, but the journal belongs to another user", journal};
  }
  if (person.size() > kMaxName || printable(person) != person)
    return Error{ErrorCode::refused, "WEFT_ON_BEHALF_OF is not a user name", {}};
  const std::string operation = io.environment("WEFT_SERVE_OPERATION");
  if (operation.find_first_not_of("0123456789abcdef") != std::string::npos)
    return Error{ErrorCode::refused, "WEFT_SERVE_OPERATION is not the id of an operation", {}};
  return fmt::format("{} via weft serve ({}{}{})", quoted_name(person), self, operation.empty() ? "" : ", operation ",
                     operation);
}

std::string default_state(const Io& io) {
  if (std::string given = io.environment("WEFT_STATE"); !given.empty()) return given;
  if (const std::string base = io.environment("XDG_STATE_HOME"); !base.empty()) return base + "/weft";
  const std::string home = io.environment("HOME");
  return (home.empty() ? std::string("/var/lib") : home + "/.local/state") + "/weft";
}

// Servers with a cable to the switch.
std::size_t servers_on(const model::Cluster& cluster, model::DeviceId device) {
  std::set<std::uint32_t> servers;
  for (const model::PortId port : cluster.ports_of(device)) {
    const model::PortId peer = cluster.peer_of(port);
    if (peer == model::kNone<model::PortId>) continue;
    const model::DeviceId other = cluster.port(peer).device;
    if (cluster.group_of(other).kind == model::DeviceKind::server) servers.insert(model::index_of(other));
  }
  return servers.size();
}

// Dependents: one line per device that servers or other devices depend on.
std::vector<std::string> burdens(const model::Cluster& cluster, const oob::Inventory& inventory,
                                 const std::vector<std::uint32_t>& targets) {
  constexpr std::size_t kShown = 8;
  std::vector<std::string> lines;
  std::size_t more = 0;
  for (const std::uint32_t i : targets) {
    const oob::Target& target = inventory.targets()[i];
    const std::vector<std::uint32_t> children = target.role == oob::Role::chassis || target.role == oob::Role::pdu
                                                    ? inventory.children(i)
                                                    : std::vector<std::uint32_t>{};
    const std::size_t servers = target.role == oob::Role::network_switch ? servers_on(cluster, target.device) : 0;
    if (children.empty() && servers == 0) continue;
    if (lines.size() == kShown) {
      ++more;
      continue;
    }
    lines.push_back(servers > 0
                        ? fmt::format("  {} carries links of {} servers ({})", target.name, servers, target.fabric)
                        : fmt::format("  {} is the only power of {} devices", target.name, children.size()));
  }
  if (more > 0) lines.push_back(fmt::format("  and {} more such devices", more));
  return lines;
}

std::optional<FileId> add_endpoints(Context& context, model::Loaded& loaded, const std::string& path, Exit& code) {
  Result<std::string> text = model::read_yaml_file(path);
  if (text.ok()) return loaded.sources.add(path, std::move(text).value());
  code = context.failed(text.error());
  return std::nullopt;
}

}  // namespace

std::string oob_state_folder(const Context& context) {
  const std::string given = context.arguments().value("state");
  return given.empty() ? default_state(context.io()) : given;
}

std::string user_at_host(const Io& io) {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) return user_name(io);
  return user_name(io) + "@" + host.data();
}

std::string oob_journal_path(const std::string& state) { return state + "/journal.ndjson"; }

std::string oob_anchor_path(const Io& io, const std::string& state) {
  if (std::string given = io.environment("WEFT_ANCHOR"); !given.empty()) return given;
  const std::size_t end = state.find_last_not_of('/');
  return end == std::string::npos ? std::string() : state.substr(0, end + 1) + ".anchor";
}

OobUse use_of(const Context& context) { return context.arguments().has("dry-run") ? OobUse::read : OobUse::change; }

std::vector<Option> joined(std::vector<Option> a, const std::vector<Option>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::vector<Option> oob_options() {
  const std::string section = "Connection";
  return {
      {.name = "endpoints",
       .value = "FILE",
       .help = "addresses, ports and protocols that override the cluster file",
       .hint = Hint::file,
       .section = section},
      {.name = "credentials",
       .value = "REFERENCE",
       .help = "file:PATH, env:NAME, command:PROGRAM or vault:PATH",
       .fallback = "the cluster file's",
       .section = section},
      {.name = "ca",
       .value = "FILE",
       .help = "CA certificates for verifying the BMCs",
       .hint = Hint::file,
       .section = section},
      {.name = "insecure", .help = "do not verify TLS certificates", .section = section},
      {.name = "fanout",
       .value = "N",
       .help = "devices contacted in parallel",
       .fallback = std::to_string(oob::kDefaultFanOut),
       .section = section},
      {.name = "timeout", .value = "TIME", .help = "timeout of one request", .fallback = "10s", .section = section},
      {.name = "state",
       .value = "DIR",
       .help = "folder of the journal, console logs and backups",
       .fallback = "$WEFT_STATE or ~/.local/state/weft",
       .section = section},
      {.name = "syslog",
       .value = "TARGET",
       .help = "log server: tcp://HOST:PORT, tls://HOST:PORT or none",
       .fallback = "the cluster file's",
       .section = section},
  };
}

std::vector<Option> oob_action_options() {
  const std::string section = "Safety";
  return {
      {.name = "dry-run", .help = "show what would be done without doing it", .section = section},
      {.name = "yes", .help = "confirm: without it nothing is changed", .section = section},
      {.name = "reason",
       .value = "TEXT",
       .help = "reason; written to the journal and sent to the log server",
       .section = section},
      {.name = "limit", .value = "N", .help = "maximum number of affected devices", .section = section},
  };
}

Argument oob_hosts_argument() {
  return {.name = "HOSTS",
          .help = "train[001-004], @POOL, rack:NAME, servers, switches, pdus or all; comma-separated list",
          .required = false};
}

OobSetup::~OobSetup() {
  progress_.reset();
  fleet_.reset();
  journal_.reset();
  if (syslog_ != nullptr) {
    const std::string left = syslog_->finish().text(syslog_target_);
    if (!left.empty()) context_->note(left);
  }
}

std::unique_ptr<OobSetup> OobSetup::open(Context& context, bool needs_credentials, Exit& code, std::size_t first,
                                         OobUse use) {
  return open(context, needs_credentials, code,
              OobWords{context.arguments().word(first), context.arguments().word(first + 1)}, use);
}

std::unique_ptr<OobSetup> OobSetup::open(Context& context, bool needs_credentials, Exit& code, OobWords words,
                                         OobUse use) {
  oob::forbid_core_dumps();
  std::unique_ptr<OobSetup> setup(new OobSetup());
  setup->words_ = std::move(words);
  setup->arguments_ = &context.arguments();
  setup->context_ = &context;
  if (!setup->open_inventory(context, code) || !setup->choose(context, code)) return nullptr;
  if (needs_credentials && !setup->open_fleet(context, code, use)) return nullptr;
  return setup;
}

bool OobSetup::open_inventory(Context& context, Exit& code) {
  code = Exit::usage;
  const Arguments& arguments = context.arguments();
  loaded_ = context.open_cluster(words_.cluster);
  if (loaded_->cluster == nullptr) {
    (void)context.report(*loaded_);
    return false;
  }
  std::optional<FileId> endpoints;
  if (const std::string path = arguments.value("endpoints"); !path.empty()) {
    endpoints = add_endpoints(context, *loaded_, path, code);
    if (!endpoints) return false;
  }
  std::optional<oob::Inventory> inventory =
      oob::make_inventory(*loaded_->cluster, loaded_->diagnostics, &loaded_->sources, endpoints);
  if (!inventory) {
    (void)context.report(*loaded_);
    return false;
  }
  inventory_ = std::move(*inventory);
  return true;
}

bool OobSetup::choose(Context& context, Exit& code) {
  const std::string& hosts = words_.hosts;
  all_chosen_ = hosts.empty() || hosts == "all";
  const Result<std::vector<std::uint32_t>> chosen = inventory_.select(hosts.empty() ? "all" : hosts);
  if (!chosen.ok()) {
    code = context.usage_error(chosen.error().message, {"run `weft oob inventory CLUSTER` for a list of devices"});
    return false;
  }
  chosen_ = *chosen;
  return true;
}

bool OobSetup::adjust_endpoints(Context& context, Exit& code) {
  OptionReader reader(context.arguments());
  const std::optional<Duration> timeout = reader.time("timeout");
  if (const auto width = reader.integer("fanout", 1, oob::kMaxFanOut)) width_ = static_cast<int>(*width);
  if (!reader.ok()) {
    code = context.usage_error(reader.problem(), {reader.hint()});
    return false;
  }
  const std::string ca = context.arguments().value("ca");
  inventory_.adjust([&](oob::Endpoint& endpoint) {
    if (timeout) endpoint.request_limit = *timeout;
    if (timeout && *timeout < endpoint.connect_limit) endpoint.connect_limit = *timeout;
    if (!ca.empty()) endpoint.tls.ca_file = ca;
    if (context.arguments().has("insecure")) endpoint.tls.verify = false;
  });
  return true;
}

// Others who may write to the state folder could add a certificate, or forge the journal.
bool OobSetup::apply_trusted(Context& context, Exit& code, OobUse use) {
  state_ = oob_state_folder(context);
  if (const Status own = oob::check_only_owner_writes(state_); !own.ok()) {
    code = context.failed(own.error());
    return false;
  }
  const Result<std::vector<oob::TrustedCertificate>> trusted = oob::read_trusted(oob::trusted_file(state_));
  if (!trusted.ok()) {
    // Without them, BMCs that they are for are not trusted, which is safe as long as certificates are verified.
    if (use == OobUse::read && !context.arguments().has("insecure") && ::access(state_.c_str(), X_OK) != 0) {
      context.note(fmt::format("accepted certificates cannot be read: {}", trusted.error().text()));
      return true;
    }
    if (::access(state_.c_str(), X_OK) != 0)
      return go_on_without_journal(context, code, OobUse::change, trusted.error());
    code = context.failed(trusted.error());
    return false;
  }
  inventory_.adjust([&](oob::Endpoint& endpoint) {
    if (endpoint.protocol != oob::Protocol::redfish) return;
    if (const oob::TrustedCertificate* found = oob::find_trusted(*trusted, endpoint); found != nullptr)
      endpoint.tls.fingerprint = found->fingerprint;
  });
  return true;
}

bool OobSetup::open_fleet(Context& context, Exit& code, OobUse use) {
  if (!adjust_endpoints(context, code) || !apply_trusted(context, code, use)) return false;
  const model::OobSpec& spec = *cluster().spec().fabrics->oob;
  std::string reference = context.arguments().value("credentials");
  if (reference.empty() && spec.credentials.has_value()) reference = *spec.credentials;
  if (reference.empty()) {
    code = context.usage_error(
        "no credentials for the BMCs are configured",
        {"give --credentials file:PATH, or set `credentials` under fabrics.oob in the cluster file"});
    return false;
  }
  Result<std::unique_ptr<oob::CredentialStore>> store = oob::open_credentials(reference, context.io().environment);
  if (!store.ok()) {
    code = context.failed(store.error());
    return false;
  }
  credentials_ = std::move(store).value();
  if (!open_journal(context, code, use)) return false;
  connector_ = oob::network_connector(clock_);
  fleet_ = std::make_unique<oob::Fleet>(
      oob::Fleet{inventory_, *connector_, *credentials_, clock_, *journal_, width_,
                 [this](std::uint32_t finished, std::uint32_t total) { show_progress(finished, total); }});
  listen_for_signals();
  return true;
}

void OobSetup::show_progress(std::uint32_t finished, std::uint32_t total) {
  constexpr std::uint32_t kSteps = 64;
  if (finished == total) {
    progress_.reset();
    return;
  }
  if (progress_ == nullptr) progress_ = std::make_unique<OobProgress>(*context_);
  if (finished % std::max(total / kSteps, 1U) == 0)
    progress_->show(fmt::format("{} of {} device{}", finished, total, total == 1 ? "" : "s"));
}

bool OobSetup::go_on_without_journal(Context& context, Exit& code, OobUse use, const Error& why) {
  if (use == OobUse::read) {
    journal_ = oob::open_journal_read_only(oob_journal_path(state_));
    syslog_.reset();  // it reads the journal
    context.note(fmt::format("this command is not journaled: {}", why.text()));
    return true;
  }
  if (why.code == ErrorCode::conflict || why.code == ErrorCode::invalid_input) {
    code = context.failed(why);
  } else {
    code = context.failed({ErrorCode::refused,
                           fmt::format("{}; nothing was sent, since it could not be journaled: give another state "
                                       "folder with --state DIR or WEFT_STATE",
                                       why.message),
                           why.where});
  }
  return false;
}

bool OobSetup::open_journal(Context& context, Exit& code, OobUse use) {
  constexpr std::uint64_t kReserve = 64U << 10U;  // entries of a few hundred operations on one device
  state_ = oob_state_folder(context);
  if (const Status own = oob::check_only_owner_writes(state_); !own.ok()) {
    code = context.failed(own.error());
    return false;
  }
  const Result<std::string> actor = journal_actor(context.io(), oob_journal_path(state_));
  if (!actor.ok()) {
    code = context.failed(actor.error());
    return false;
  }
  who_ = *actor;
  if (!open_syslog(context, code)) return false;
  const auto wake = [this](const oob::JournalEntry& /*entry*/) {
    if (syslog_ != nullptr) syslog_->wake();
  };
  Result<std::unique_ptr<oob::Journal>> journal =
      oob::open_journal(oob_journal_path(state_), who_, clock_, wake, oob_anchor_path(context.io(), state_));
  if (!journal.ok()) return go_on_without_journal(context, code, use, journal.error());
  if (const Status space = (*journal)->reserve(kReserve); !space.ok())
    return go_on_without_journal(context, code, use, space.error());
  journal_ = std::move(journal).value();
  return true;
}

// The journal is the record; the log server has a copy of it.
bool OobSetup::open_syslog(Context& context, Exit& code) {
  const model::OobSpec& spec = *cluster().spec().fabrics->oob;
  std::string text = context.arguments().value("syslog");
  if (text.empty() && spec.syslog.has_value()) text = *spec.syslog;
  if (text.empty() || text == "none") return true;
  const Result<oob::SyslogTarget> target = oob::parse_syslog_target(text);
  if (!target.ok()) {
    code = context.usage_error(fmt::format("--syslog: {}", target.error().message));
    return false;
  }
  oob::SyslogOptions options;
  options.target = *target;
  options.ca_file = context.arguments().value("ca");
  options.journal = oob_journal_path(state_);
  syslog_target_ = *target;
  syslog_ = std::make_unique<oob::SyslogForwarder>(std::move(options));
  return true;
}

// The first signal stops the command gracefully: sessions are closed and unverified results are journaled.
void OobSetup::listen_for_signals() {
  signals_.emplace(clock_);
  (void)std::signal(SIGPIPE, SIG_IGN);
}

bool OobSetup::open_journal_alone(Context& context, Exit& code, OobUse use) {
  if (!open_journal(context, code, use)) return false;
  listen_for_signals();
  return true;
}

bool OobSetup::open_without_credentials(Context& context, Exit& code, OobUse use) {
  return adjust_endpoints(context, code) && apply_trusted(context, code, use) && open_journal_alone(context, code, use);
}

ActionTerms OobSetup::terms() const {
  ActionTerms terms;
  terms.dry_run = arguments_->has("dry-run");
  terms.yes = arguments_->has("yes");
  terms.reason = arguments_->value("reason");
  OptionReader reader(*arguments_);
  if (const auto limit = reader.integer("limit", 0, static_cast<std::int64_t>(kMaxHosts)))
    terms.limit = static_cast<std::uint32_t>(*limit);
  return terms;
}

std::optional<Exit> OobSetup::permit(Context& context, std::string_view verb, const std::vector<std::uint32_t>& targets,
                                     std::uint32_t default_limit) {
  OptionReader reader(*arguments_);
  (void)reader.integer("limit", 0, static_cast<std::int64_t>(kMaxHosts));
  if (!reader.ok()) return context.usage_error(reader.problem(), {reader.hint()});
  const ActionTerms asked = terms();
  std::set<std::string> racks;
  for (const std::uint32_t i : targets) racks.insert(inventory_.targets()[i].rack);
  racks.erase("");
  context.note(fmt::format("{} {} {} device{} in {} rack{}: {}", verb, asked.dry_run ? "would affect" : "affects",
                           targets.size(), targets.size() == 1 ? "" : "s", racks.size(), racks.size() == 1 ? "" : "s",
                           fold(targets)));
  for (const std::string& line : burdens(cluster(), inventory_, targets)) context.note(line);
  if (asked.dry_run) return std::nullopt;
  const std::uint32_t limit = asked.limit.value_or(default_limit);
  std::string refusal;
  if (targets.size() > limit) {
    refusal = fmt::format("{} devices exceed the limit of {}; allow it with --limit {}", targets.size(), limit,
                          targets.size());
  } else if (asked.reason.empty()) {
    refusal = "--reason TEXT is missing; it is written to the journal";
  } else if (!asked.yes) {
    refusal = "nothing was done; confirm with --yes, or preview with --dry-run";
  }
  if (refusal.empty()) return std::nullopt;
  if (journal_ != nullptr) {
    oob::JournalEntry entry;
    entry.operation = oob::new_operation_id();
    entry.verb = std::string(verb) + ".refused";
    entry.detail = Value::map().set("hosts", fold(targets)).set("why", refusal);
    if (const Status status = journal_->append(std::move(entry)); !status.ok()) return context.failed(status.error());
  }
  return context.failed({ErrorCode::refused, refusal, {}});
}

}  // namespace weft::cli
