// weft oob trust: show the certificates of BMCs, and accept those not signed by a certificate authority.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/human_format.h"
#include "base/utf8.h"
#include "cli/framework/context.h"
#include "cli/oob/device_commands.h"
#include "http/fingerprint.h"
#include "oob/audit/tls_probe.h"
#include "oob/bmc/cause.h"
#include "oob/redfish/trusted_file.h"

namespace weft::cli {
namespace {

using oob::TrustedCertificate;

enum class Standing : std::uint8_t { verified, accepted, added, changed, unreachable };

struct Shown {
  std::uint32_t target = 0;
  Standing standing = Standing::unreachable;
  oob::CertificateFacts certificate;
  std::string findings;  // "is self-signed, has expired"
  std::string before;    // the accepted fingerprint, if it is another one
  std::string problem;   // why there is no certificate
  bool wanted = false;   // accepted by this command, if it is confirmed
};

std::string_view standing_text(Standing standing) {
  switch (standing) {
    case Standing::verified:
      return "verified";
    case Standing::accepted:
      return "accepted";
    case Standing::added:
      return "new";
    case Standing::changed:
      return "changed";
    case Standing::unreachable:
      break;
  }
  return "unreachable";
}

// The certificate as it stands without those accepted earlier.
Shown look_at(const oob::Target& device, std::uint32_t target) {
  Shown shown;
  shown.target = target;
  oob::Endpoint endpoint = device.endpoint;
  endpoint.tls.fingerprint.clear();
  const Result<oob::TlsFacts> facts = oob::probe_tls(endpoint);
  if (!facts.ok()) {
    shown.problem = facts.error().message;
    return shown;
  }
  shown.certificate = facts->certificate;
  shown.findings = fmt::format("{}", fmt::join(facts->problems, ", "));
  const std::string& accepted = device.endpoint.tls.fingerprint;
  if (accepted.empty()) {
    shown.standing = facts->problems.empty() ? Standing::verified : Standing::added;
  } else if (accepted == shown.certificate.fingerprint) {
    shown.standing = Standing::accepted;
  } else {
    shown.standing = Standing::changed;
    shown.before = accepted;
  }
  return shown;
}

class Trust {
 public:
  Trust(Context& context, OobSetup& setup, std::vector<std::string> fingerprints)
      : context_(context), setup_(setup), fingerprints_(std::move(fingerprints)) {}

  Exit run(const std::vector<std::uint32_t>& targets) {
    look(targets);
    if (const Exit shown = context_.deliver(document()); shown != Exit::ok) return shown;
    Exit outcome = confirm_and_write();
    const auto silent = static_cast<std::size_t>(
        std::count_if(rows_.begin(), rows_.end(), [](const Shown& row) { return !row.problem.empty(); }));
    if (outcome == Exit::ok && silent > 0) outcome = silent == rows_.size() ? Exit::unavailable : Exit::partial;
    return outcome;
  }

 private:
  void look(const std::vector<std::uint32_t>& targets) {
    rows_.resize(targets.size());
    const auto total = static_cast<std::uint32_t>(targets.size());
    for (std::uint32_t i = 0; i < total; ++i)
      rows_[i] = {targets[i], {}, {}, {}, {}, "skipped: the command was stopped"};
    setup_.show_progress(0, total);
    (void)oob::fan_out(
        total, oob::kDefaultFanOut, setup_.clock(),
        [&](std::uint32_t i) { rows_[i] = look_at(setup_.inventory().targets()[targets[i]], targets[i]); },
        [&](std::uint32_t finished) { setup_.show_progress(finished, total); });
    setup_.show_progress(total, total);
    for (Shown& row : rows_) row.wanted = is_wanted(row);
  }

  [[nodiscard]] bool is_named(const Shown& row) const {
    return std::find(fingerprints_.begin(), fingerprints_.end(), row.certificate.fingerprint) != fingerprints_.end();
  }
  [[nodiscard]] bool is_wanted(const Shown& row) const {
    if (row.standing == Standing::unreachable || row.standing == Standing::accepted) return false;
    if (!fingerprints_.empty()) return is_named(row);
    return row.standing == Standing::added ||
           (row.standing == Standing::changed && context_.arguments().has("replace"));
  }

  [[nodiscard]] std::string action_of(const Shown& row) const {
    if (row.wanted) return row.standing == Standing::changed ? "replace" : "accept";
    if (row.standing == Standing::unreachable || row.standing == Standing::accepted) return "-";
    if (!fingerprints_.empty()) return "refused: another fingerprint";
    return row.standing == Standing::changed ? "refused: needs --replace" : "-";
  }

  [[nodiscard]] Document document() const {
    Document document;
    document.kind = "oob-trust";
    TableSection table{"certificates",
                       "Certificates",
                       {{"device", "Device"},
                        {"address", "Address"},
                        {"state", "State"},
                        {"action", "Action"},
                        {"findings", "Findings"},
                        {"subject", "Subject"},
                        {"issuer", "Issuer"},
                        {"from", "Valid from"},
                        {"until", "Valid until"},
                        {"fingerprint", "SHA-256 fingerprint"},
                        {"accepted", "Accepted before"}},
                       {}};
    table.rows.reserve(rows_.size());
    for (const Shown& row : rows_) {
      const oob::Target& device = setup_.inventory().targets()[row.target];
      const oob::CertificateFacts& of = row.certificate;
      table.rows.push_back({device.name, oob::authority_of(device.endpoint), std::string(standing_text(row.standing)),
                            action_of(row), row.problem.empty() ? row.findings : row.problem, of.subject,
                            of.issuer == of.subject ? std::string("itself") : of.issuer, of.from, of.until,
                            of.fingerprint, row.before});
    }
    document.sections.emplace_back(std::move(table));
    return document;
  }

  [[nodiscard]] Exit confirm_and_write() {
    std::vector<const Shown*> wanted;
    std::size_t refused = 0;
    for (const Shown& row : rows_) {
      if (row.wanted) wanted.push_back(&row);
      if (action_of(row).starts_with("refused")) ++refused;
    }
    if (context_.arguments().has("dry-run")) return Exit::ok;
    if (!wanted.empty()) {
      if (!is_confirmed(wanted.size()))
        return context_.failed({ErrorCode::refused,
                                "nothing was accepted: compare the fingerprints with those at the machines, then "
                                "confirm with --yes, or give --fingerprint sha256:...",
                                {}});
      if (const Status written = write(wanted); !written.ok()) return context_.failed(written.error());
      context_.note(fmt::format("accepted {} certificate{}", wanted.size(), wanted.size() == 1 ? "" : "s"));
    }
    if (refused == 0) return Exit::ok;
    return context_.failed(
        {ErrorCode::refused,
         fingerprints_.empty()
             ? fmt::format("{} certificate{} changed; after verifying that this is right, add --replace", refused,
                           refused == 1 ? "" : "s")
             : fmt::format("{} certificate{} not have the given fingerprint", refused, refused == 1 ? " does" : "s do"),
         {}});
  }

  // A fingerprint that was given has been compared.
  [[nodiscard]] bool is_confirmed(std::size_t count) const {
    if (context_.arguments().has("yes") || !fingerprints_.empty()) return true;
    Io& io = context_.io();
    if (!io.in_is_terminal || !io.err_is_terminal || !io.read_line) return false;
    io.write_err(fmt::format("Accept {} certificate{} without proof by a certificate authority? Type yes: ", count,
                             count == 1 ? "" : "s"));
    return io.read_line() == "yes";
  }

  // The journal first: every accepted certificate is in it.
  [[nodiscard]] Status write(const std::vector<const Shown*>& wanted) {
    const std::string operation = oob::new_operation_id();
    for (const Shown* row : wanted) {
      const oob::Target& device = setup_.inventory().targets()[row->target];
      oob::JournalEntry entry;
      entry.operation = operation;
      entry.verb = row->standing == Standing::changed ? "trust.replace" : "trust.accept";
      entry.device = device.name;
      entry.detail = Value::map({{"address", oob::authority_of(device.endpoint)},
                                 {"fingerprint", row->certificate.fingerprint},
                                 {"before", row->before},
                                 {"subject", row->certificate.subject},
                                 {"compared", !fingerprints_.empty()},
                                 {"reason", context_.arguments().value("reason")}});
      if (Status written = setup_.journal().append(std::move(entry)); !written.ok()) return written;
    }
    const std::string now = format_utc_seconds(setup_.clock().wall_ms());
    return oob::change_trusted(oob::trusted_file(setup_.state()), [&](std::vector<TrustedCertificate>& entries) {
      for (const Shown* row : wanted) {
        const oob::Endpoint& endpoint = setup_.inventory().targets()[row->target].endpoint;
        const std::string address = oob::authority_of(endpoint);
        std::erase_if(entries, [&](const TrustedCertificate& entry) {
          return entry.device == endpoint.device && entry.address == address;
        });
        entries.push_back({endpoint.device, address, row->certificate.fingerprint, now, setup_.who()});
      }
    });
  }

  Context& context_;
  OobSetup& setup_;
  std::vector<std::string> fingerprints_;
  std::vector<Shown> rows_;
};

// Of the chosen devices, at any address.
std::vector<TrustedCertificate> accepted_of(const OobSetup& setup, const std::vector<TrustedCertificate>& entries) {
  std::vector<TrustedCertificate> chosen;
  for (const TrustedCertificate& entry : entries) {
    const auto is_it = [&](std::uint32_t target) { return setup.inventory().targets()[target].name == entry.device; };
    if (std::any_of(setup.chosen().begin(), setup.chosen().end(), is_it)) chosen.push_back(entry);
  }
  return chosen;
}

Exit list(Context& context, const OobSetup& setup) {
  const Result<std::vector<TrustedCertificate>> entries =
      oob::read_trusted(oob::trusted_file(oob_state_folder(context)));
  if (!entries.ok()) return context.failed(entries.error());
  Document document;
  document.kind = "oob-trust-list";
  TableSection table{"accepted",
                     "Accepted certificates",
                     {{"device", "Device"},
                      {"address", "Address"},
                      {"fingerprint", "SHA-256 fingerprint"},
                      {"since", "Since"},
                      {"who", "By"}},
                     {}};
  for (const TrustedCertificate& entry : accepted_of(setup, *entries))
    table.rows.push_back({entry.device, entry.address, entry.fingerprint, entry.since, entry.who});
  document.sections.emplace_back(std::move(table));
  return context.deliver(document);
}

Exit remove(Context& context, OobSetup& setup) {
  const std::string path = oob::trusted_file(setup.state());
  const Result<std::vector<TrustedCertificate>> entries = oob::read_trusted(path);
  if (!entries.ok()) return context.failed(entries.error());
  const std::vector<TrustedCertificate> gone = accepted_of(setup, *entries);
  if (context.arguments().has("dry-run") || gone.empty()) {
    context.note(fmt::format("{} accepted certificate{} would be removed", gone.size(), gone.size() == 1 ? "" : "s"));
    return Exit::ok;
  }
  const std::string operation = oob::new_operation_id();
  for (const TrustedCertificate& entry : gone) {
    oob::JournalEntry note;
    note.operation = operation;
    note.verb = "trust.remove";
    note.device = entry.device;
    note.detail = Value::map({{"address", entry.address},
                              {"fingerprint", entry.fingerprint},
                              {"reason", context.arguments().value("reason")}});
    if (const Status written = setup.journal().append(std::move(note)); !written.ok())
      return context.failed(written.error());
  }
  const Status changed = oob::change_trusted(path, [&](std::vector<TrustedCertificate>& all) {
    std::erase_if(all, [&](const TrustedCertificate& one) {
      return std::any_of(gone.begin(), gone.end(), [&](const TrustedCertificate& entry) {
        return entry.device == one.device && entry.address == one.address;
      });
    });
  });
  if (!changed.ok()) return context.failed(changed.error());
  context.note(fmt::format("removed {} accepted certificate{}", gone.size(), gone.size() == 1 ? "" : "s"));
  return Exit::ok;
}

// Devices with a certificate; the others are named.
std::vector<std::uint32_t> with_certificates(Context& context, const OobSetup& setup) {
  std::vector<std::uint32_t> able;
  std::vector<std::uint32_t> others;
  for (const std::uint32_t target : setup.chosen()) {
    const bool has_tls = setup.inventory().targets()[target].endpoint.protocol == oob::Protocol::redfish;
    (has_tls ? able : others).push_back(target);
  }
  if (!others.empty()) context.note(fmt::format("without Redfish, so without a certificate: {}", setup.fold(others)));
  return able;
}

Exit run_trust(Context& context) {
  const Arguments& arguments = context.arguments();
  if (arguments.has("remove") && arguments.word(1).empty())
    return context.usage_error("--remove needs HOSTS", {"name the devices, or give all"});
  if (arguments.has("list") && arguments.has("remove"))
    return context.usage_error("--list and --remove cannot be combined");
  std::vector<std::string> fingerprints;
  for (const std::string& text : arguments.values("fingerprint")) {
    const std::string digits = http::parse_fingerprint(text);
    if (digits.empty())
      return context.usage_error(fmt::format("--fingerprint: {} is not a SHA-256 fingerprint", in_backticks(text)),
                                 {"give sha256: and 64 hexadecimal digits, as `openssl x509 -fingerprint -sha256` or "
                                  "the BMC's web page shows them"});
    fingerprints.push_back("sha256:" + digits);
  }
  Exit code = Exit::ok;
  const std::unique_ptr<OobSetup> setup = OobSetup::open(context, false, code);
  if (setup == nullptr) return code;
  if (arguments.has("list")) return list(context, *setup);
  if (!setup->open_without_credentials(context, code, use_of(context))) return code;
  if (arguments.has("remove")) return remove(context, *setup);
  const std::vector<std::uint32_t> targets = with_certificates(context, *setup);
  if (targets.empty()) return Exit::ok;
  return Trust(context, *setup, std::move(fingerprints)).run(targets);
}

}  // namespace

Command oob_trust_command() {
  Command command;
  command.name = "oob trust";
  command.summary = "Show the certificates of BMCs, and accept them";
  command.usage = "CLUSTER [HOSTS] [--yes | --fingerprint SHA256] [OPTIONS]";
  command.description = {
      "Connects to each BMC without logging in and shows its certificate. One that a certificate authority proves "
      "(--ca, "
      "`ca` of the endpoints file, or the system's) is verified and needs nothing. Others are accepted after "
      "confirmation: their SHA-256 fingerprints are stored in STATE/trusted-certificates, and from then on all "
      "commands "
      "require that certificate from that BMC, even with --insecure. A BMC that presents another one is refused before "
      "a password is sent.",
      "Compare a fingerprint with the one at the machine (its console, its web page, or the vendor's list) before "
      "accepting it: at the first connection, this is the only protection against a man in the middle. --fingerprint "
      "accepts only certificates that have it. A changed certificate also needs --replace.",
      "Each certificate accepted or removed is journaled. Exit code 3 if some BMCs were unreachable, 4 if a "
      "certificate "
      "was not accepted."};
  command.examples = {
      {"weft oob trust cluster.yaml @train", "Show the certificates, and ask"},
      {"weft oob trust cluster.yaml train001 --fingerprint sha256:...", "Accept it only if it is this one"},
      {"weft oob trust cluster.yaml 'train[001-016]' --yes --reason 'new machines'", "Without a question"},
      {"weft oob trust cluster.yaml train001 --yes --replace", "After its certificate was renewed"},
      {"weft oob trust cluster.yaml --list", "What was accepted, when and by whom"}};
  command.arguments = {cluster_argument(), oob_hosts_argument()};
  command.options = joined({{.name = "yes", .help = "accept new certificates without asking"},
                            {.name = "fingerprint",
                             .value = "SHA256",
                             .help = "accept only certificates with this fingerprint; may be repeated",
                             .repeatable = true},
                            {.name = "replace", .help = "also accept certificates that changed"},
                            {.name = "list", .help = "list the accepted certificates; needs no network"},
                            {.name = "remove", .help = "remove the accepted certificates of HOSTS"},
                            {.name = "dry-run", .help = "only show the certificates"},
                            {.name = "reason", .value = "TEXT", .help = "reason; written to the journal"},
                            output_option(),
                            file_option(),
                            catalog_option()},
                           oob_options());
  for (Option& option : command.options) {
    if (option.name != "credentials") continue;
    option.help = "accepted as by the other commands, and not used: this one does not log in";
    option.fallback.clear();
  }
  command.run = run_trust;
  return command;
}

}  // namespace weft::cli
