// Gates reached by a command per call, such as `ssh NODE weft gate status`. The words of the command come from the
// operator; names of nodes are checked by the engines before.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "base/quantity.h"
#include "world/lease/gate_client.h"

namespace weft::world {

struct GateCommandOptions {
  std::vector<std::string> words;  // "{node}" in a word is replaced by the node's name
  Duration limit = milliseconds(20'000);
};

class GateCommand final : public GateClient {
 public:
  explicit GateCommand(GateCommandOptions options) : options_(std::move(options)) {}

  [[nodiscard]] Result<NodeLook> look(const std::string& node, control::Term term) override;
  [[nodiscard]] Result<NodeLook> obey(const std::string& node, const control::LeaseOrder& order) override;
  void stop() override { stopped_ = true; }

 private:
  [[nodiscard]] Result<NodeLook> call(const std::string& node, std::vector<std::string> arguments);

  GateCommandOptions options_;
  std::atomic<bool> stopped_ = false;
};

// The words of an operator's command. An error if it cannot be split or does not name {node}.
[[nodiscard]] Result<std::vector<std::string>> parse_gate_command(const std::string& text);

}  // namespace weft::world
