// Shared by `weft oob backup`, `drift` and `restore`: the transport to the switches' command lines, the version store,
// and the journal. They need no BMC and no BMC credentials.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/oob/input.h"
#include "oob/switches/backup.h"

namespace weft::cli {

// endpoints, state, fanout, timeout, transport, jump, user.
[[nodiscard]] std::vector<Option> oob_switch_options();

class SwitchSetup {
 public:
  // Null after an error was reported; `code` is then the exit code.
  [[nodiscard]] static std::unique_ptr<SwitchSetup> open(Context& context, Exit& code, OobUse use = OobUse::change);

  [[nodiscard]] OobSetup& oob() { return *oob_; }
  [[nodiscard]] oob::SwitchFleet& fleet() { return *fleet_; }
  [[nodiscard]] oob::ConfigStore& store() { return *store_; }
  // The switches among HOSTS; all switches when none were named.
  [[nodiscard]] const std::vector<oob::SwitchDevice>& switches() const { return switches_; }
  [[nodiscard]] std::vector<std::uint32_t> switch_targets() const;
  // Journals the access; an exit code if it cannot be written.
  [[nodiscard]] std::optional<Exit> note(Context& context, const std::string& verb);

 private:
  SwitchSetup() = default;
  std::unique_ptr<OobSetup> oob_;
  std::unique_ptr<oob::SwitchTransport> transport_;
  std::unique_ptr<oob::ConfigStore> store_;
  std::unique_ptr<oob::SwitchFleet> fleet_;
  std::vector<oob::SwitchDevice> switches_;
};

// Tables for people, followed by the diffs; machine formats have them in the rows.
[[nodiscard]] Exit deliver_with_texts(Context& context, const Document& document, const std::vector<std::string>& texts,
                                      Exit outcome);
// "3f2a91c07b55": a prefix of a version's name, long enough to find it.
[[nodiscard]] std::string short_version(const std::string& version);

}  // namespace weft::cli
