// Shared by the `weft oob` commands: options, the inventory of a cluster file, selected devices, access (credentials,
// TLS, journal, syslog), and the safeguards of dangerous verbs: show affected devices, require --yes and a reason, and
// refuse to affect more devices than the limit.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/framework/context.h"
#include "cli/framework/stop_signals.h"
#include "cli/oob/progress.h"
#include "oob/bmc/fleet.h"
#include "oob/journal/syslog.h"

namespace weft::cli {

// Options of every command that talks to BMCs: endpoints, credentials, state, fanout, timeout, ca, insecure, syslog.
[[nodiscard]] std::vector<Option> oob_options();
// Options of commands that change something: dry-run, yes, reason, limit.
[[nodiscard]] std::vector<Option> oob_action_options();
[[nodiscard]] Argument oob_hosts_argument();  // "HOSTS", optional
[[nodiscard]] std::vector<Option> joined(std::vector<Option> a, const std::vector<Option>& b);

// The folder of --state, or the default.
[[nodiscard]] std::string oob_state_folder(const Context& context);
// The user as named in the journal: "alice@jump1".
[[nodiscard]] std::string user_at_host(const Io& io);
// The journal in that folder.
[[nodiscard]] std::string oob_journal_path(const std::string& state);

// The second record of the journal's end (journal/anchor.h): $WEFT_ANCHOR or STATE.anchor.
[[nodiscard]] std::string oob_anchor_path(const Io& io, const std::string& state);

// What a state folder that cannot be written means: a command that only reads goes on with a warning; one that changes
// something is refused before anything is sent, since its journal could not be written.
enum class OobUse : std::uint8_t { read, change };
// Of a command that changes something unless it has --dry-run.
[[nodiscard]] OobUse use_of(const Context& context);

// Whether the operator confirmed, and why.
struct ActionTerms {
  bool dry_run = false;
  bool yes = false;
  std::string reason;
  std::optional<std::uint32_t> limit;
};

// The arguments of a command: a cluster file, and HOSTS ("" for all).
struct OobWords {
  std::string cluster;
  std::string hosts;
};

class OobSetup {
 public:
  // CLUSTER and HOSTS are the arguments from `first` on. Null after an error was reported; `code` is then the exit
  // code. `needs_credentials`: also open the provider, the journal and the connector.
  [[nodiscard]] static std::unique_ptr<OobSetup> open(Context& context, bool needs_credentials, Exit& code,
                                                      std::size_t first = 0, OobUse use = OobUse::change);
  // For commands that find their arguments themselves.
  [[nodiscard]] static std::unique_ptr<OobSetup> open(Context& context, bool needs_credentials, Exit& code,
                                                      OobWords words, OobUse use = OobUse::change);
  // For commands that need the journal and the state folder, but no login to a BMC: after open() without credentials.
  // False after an error was reported.
  [[nodiscard]] bool open_journal_alone(Context& context, Exit& code, OobUse use = OobUse::change);
  // The same, with the options for connections and the accepted certificates.
  [[nodiscard]] bool open_without_credentials(Context& context, Exit& code, OobUse use);
  // Shows how many of the devices are finished; from one thread at a time.
  void show_progress(std::uint32_t finished, std::uint32_t total);
  ~OobSetup();
  OobSetup(const OobSetup&) = delete;
  OobSetup& operator=(const OobSetup&) = delete;

  [[nodiscard]] const model::Cluster& cluster() const { return *loaded_->cluster; }
  [[nodiscard]] const oob::Inventory& inventory() const { return inventory_; }
  // The devices named by HOSTS, or all.
  [[nodiscard]] const std::vector<std::uint32_t>& chosen() const { return chosen_; }
  [[nodiscard]] bool all_chosen() const { return all_chosen_; }
  [[nodiscard]] oob::SystemClock& clock() { return clock_; }
  [[nodiscard]] oob::Fleet& fleet() { return *fleet_; }
  [[nodiscard]] oob::Journal& journal() { return *journal_; }
  // As in the journal: "alice@jump1", or "bob via weft serve (weft@jump1, operation 4f1c09d2ab37e865)".
  [[nodiscard]] const std::string& who() const { return who_; }
  // Folder for the journal, console logs and switch backups.
  [[nodiscard]] const std::string& state() const { return state_; }
  // Names of targets, folded: "train[001-004]".
  [[nodiscard]] std::string fold(const std::vector<std::uint32_t>& targets) const { return inventory_.fold(targets); }

  [[nodiscard]] ActionTerms terms() const;
  // Prints the affected devices, racks and dependents on standard error and decides: empty to continue (also for a dry
  // run: the command then shows its plan and stops); otherwise the exit code: refused if --yes or --reason is missing
  // or the limit is exceeded. A refusal is journaled. `default_limit`: devices that may be affected without --limit.
  [[nodiscard]] std::optional<Exit> permit(Context& context, std::string_view verb,
                                           const std::vector<std::uint32_t>& targets, std::uint32_t default_limit);

 private:
  OobSetup() = default;
  // Each reports its own errors and sets `code`.
  [[nodiscard]] bool open_inventory(Context& context, Exit& code);
  [[nodiscard]] bool choose(Context& context, Exit& code);
  [[nodiscard]] bool adjust_endpoints(Context& context, Exit& code);
  [[nodiscard]] bool apply_trusted(Context& context, Exit& code, OobUse use);
  [[nodiscard]] bool open_fleet(Context& context, Exit& code, OobUse use);
  [[nodiscard]] bool open_journal(Context& context, Exit& code, OobUse use);
  [[nodiscard]] bool go_on_without_journal(Context& context, Exit& code, OobUse use, const Error& why);
  [[nodiscard]] bool open_syslog(Context& context, Exit& code);
  void listen_for_signals();

  std::unique_ptr<model::Loaded> loaded_;
  oob::Inventory inventory_;
  std::vector<std::uint32_t> chosen_;
  bool all_chosen_ = true;
  std::string state_;
  std::string who_;
  OobWords words_;
  int width_ = oob::kDefaultFanOut;
  oob::SystemClock clock_;
  std::optional<StopSignals> signals_;
  std::unique_ptr<oob::CredentialStore> credentials_;
  std::unique_ptr<oob::BmcConnector> connector_;
  std::unique_ptr<oob::SyslogForwarder> syslog_;
  oob::SyslogTarget syslog_target_;
  Context* context_ = nullptr;
  std::unique_ptr<oob::Journal> journal_;
  std::unique_ptr<oob::Fleet> fleet_;
  std::unique_ptr<OobProgress> progress_;
  const Arguments* arguments_ = nullptr;
};

}  // namespace weft::cli
