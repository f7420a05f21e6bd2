// The rotation of one BMC's password: a plain sequence of steps, each of which may be the last one before a crash.
// Private to manage/rotate.cc.
#pragma once

#include <string>

#include "oob/manage/rotate.h"

namespace weft::oob {

class TargetRotation {
 public:
  TargetRotation(Fleet& fleet, std::uint32_t target, const RotateOptions& options, const std::string& operation);

  [[nodiscard]] RotateOutcome run();

 private:
  using Session = std::unique_ptr<Bmc>;

  [[nodiscard]] RotateOutcome finish_earlier();
  [[nodiscard]] RotateOutcome begin_fresh();
  // With a session that the old password opened, and the new one in the store.
  [[nodiscard]] RotateOutcome introduce();
  [[nodiscard]] RotateOutcome refused_proof(const Status& told);
  [[nodiscard]] RotateOutcome old_in_force(const Status& told);
  [[nodiscard]] RotateOutcome neither_works();
  [[nodiscard]] std::optional<RotateOutcome> try_shortened();
  // Writes that `password` is the one, and only it.
  [[nodiscard]] RotateOutcome keep(const Secret& password, RotateResult result, std::string text);

  // Logs in, again after a while when there was no answer; `refused` gets one more chance when `patient`.
  [[nodiscard]] Result<Session> dial(const Secret& password, bool patient);
  [[nodiscard]] Status put(const Secret& password, const std::optional<Secret>& pending);
  [[nodiscard]] Status journal(Phase phase, Value detail);
  [[nodiscard]] RotateOutcome outcome(RotateResult result, std::string text) const;

  Fleet& fleet_;
  const Target& device_;
  const RotateOptions& options_;
  const std::string& operation_;
  std::uint32_t target_;
  Credential credential_;  // as the store has it
  Secret fresh_;           // the password that is being introduced
  Session session_;        // opened with the old one
  bool reached_ = false;
};

}  // namespace weft::oob
