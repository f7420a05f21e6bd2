// Rotates the password of one BMC: a linear sequence of steps; weft may crash after any of them. Private to
// manage/rotate.cc.
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
  // With a session opened with the old password, and the new one in the store.
  [[nodiscard]] RotateOutcome introduce();
  [[nodiscard]] RotateOutcome refused_proof(const Status& told);
  [[nodiscard]] RotateOutcome old_in_force(const Status& told);
  [[nodiscard]] RotateOutcome neither_works();
  [[nodiscard]] std::optional<RotateOutcome> try_shortened();
  // Stores `password` as the only valid one.
  [[nodiscard]] RotateOutcome keep(const Secret& password, RotateResult result, std::string text);

  // Logs in, with a retry after a delay if there was no response; `refused` is retried once if `patient`.
  [[nodiscard]] Result<Session> dial(const Secret& password, bool patient);
  [[nodiscard]] Status put(const Secret& password, const std::optional<Secret>& pending);
  [[nodiscard]] Status journal(Phase phase, Value detail);
  [[nodiscard]] RotateOutcome outcome(RotateResult result, std::string text) const;

  Fleet& fleet_;
  const Target& device_;
  const RotateOptions& options_;
  const std::string& operation_;
  std::uint32_t target_;
  Credential credential_;  // from the store
  Secret fresh_;           // the new password
  Session session_;        // opened with the old one
  bool reached_ = false;
};

}  // namespace weft::oob
