// What `weft oob backup`, `drift` and `restore` share: the way to the switches' command lines, the store of versions,
// and the journal. They need no BMC and no credentials of one.
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
  // Null after it was said what is wrong; `code` then holds the exit.
  [[nodiscard]] static std::unique_ptr<SwitchSetup> open(Context& context, Exit& code);

  [[nodiscard]] OobSetup& oob() { return *oob_; }
  [[nodiscard]] oob::SwitchFleet& fleet() { return *fleet_; }
  [[nodiscard]] oob::ConfigStore& store() { return *store_; }
  // The switches among HOSTS; all switches when none were named.
  [[nodiscard]] const std::vector<oob::SwitchDevice>& switches() const { return switches_; }
  [[nodiscard]] std::vector<std::uint32_t> switch_targets() const;
  // A line of access in the journal; an exit when it cannot be written.
  [[nodiscard]] std::optional<Exit> note(Context& context, const std::string& verb);

 private:
  SwitchSetup() = default;
  std::unique_ptr<OobSetup> oob_;
  std::unique_ptr<oob::SwitchTransport> transport_;
  std::unique_ptr<oob::ConfigStore> store_;
  std::unique_ptr<oob::SwitchFleet> fleet_;
  std::vector<oob::SwitchDevice> switches_;
};

// Tables for people, with differences after them; machine formats carry them in the rows.
[[nodiscard]] Exit deliver_with_texts(Context& context, const Document& document, const std::vector<std::string>& texts,
                                      Exit outcome);
// "3f2a91c07b55": enough of a version's name to find it by.
[[nodiscard]] std::string short_version(const std::string& version);

}  // namespace weft::cli
