#include "oob/manage/rotate_target.h"

#include <fmt/format.h>

#include <array>

namespace weft::oob {
namespace {

// A BMC restarts its services after a user change, and is unreachable for some seconds.
constexpr std::array<Duration, 4> kPauses = {milliseconds(1'000), milliseconds(2'000), milliseconds(4'000),
                                             milliseconds(8'000)};
// Some apply a new password shortly after they responded. One more attempt only: accounts are locked after three to
// five wrong ones.
constexpr Duration kSettle = milliseconds(3'000);
// IPMI 1.5 and many BMCs behind a Redfish interface store 16 bytes of a password (IPMI 2.0 section 22.30 distinguishes
// 16 from 20).
constexpr std::size_t kShortPassword = 16;

bool is_transient(ErrorCode code) {
  return code == ErrorCode::unavailable || code == ErrorCode::timeout || code == ErrorCode::conflict;
}

// The BMC itself rejected it, so the change cannot take effect later.
bool is_denied(const Status& told) {
  return !told.ok() && (told.error().code == ErrorCode::refused || told.error().code == ErrorCode::not_found);
}

}  // namespace

TargetRotation::TargetRotation(Fleet& fleet, std::uint32_t target, const RotateOptions& options,
                               const std::string& operation)
    : fleet_(fleet),
      device_(fleet.inventory.targets()[target]),
      options_(options),
      operation_(operation),
      target_(target) {}

RotateOutcome TargetRotation::outcome(RotateResult result, std::string text) const {
  return {target_, result, reached_, std::move(text)};
}

RotateOutcome TargetRotation::run() {
  if (device_.endpoint.protocol == Protocol::none)
    return outcome(RotateResult::not_done, "it has no Redfish or IPMI controller");
  Result<Credential> credential = fleet_.credentials.find(device_.name, device_.group);
  if (!credential.ok()) return outcome(RotateResult::not_done, credential.error().message);
  credential_ = std::move(credential).value();
  if (!options_.user.empty() && options_.user != credential_.user)
    return outcome(RotateResult::not_done, fmt::format("the store logs in as a user other than {}", options_.user));
  RotateOutcome ended = credential_.pending ? finish_earlier() : begin_fresh();
  session_.reset();  // logs out before the outcome is written
  const Status kept =
      journal(Phase::outcome,
              Value::map().set("result", to_text(ended.result)).set("text", ended.text).set("user", credential_.user));
  if (!kept.ok()) ended.text += "; the journal could not be written";
  return ended;
}

RotateOutcome TargetRotation::finish_earlier() {
  fresh_ = *credential_.pending;
  const Result<Session> with_new = dial(fresh_, false);
  if (with_new.ok())
    return keep(fresh_, RotateResult::done, "an earlier rotation completed on the BMC: the new password works");
  if (with_new.error().code != ErrorCode::refused)
    return outcome(
        RotateResult::unknown,
        fmt::format(
            "{}; one of its two kept passwords is in force: run `weft oob rotate --settle` when it is reachable",
            with_new.error().message));
  Result<Session> with_old = dial(credential_.password, false);
  if (with_old.ok()) {
    // The new password may have been sent and still be pending: it is sent again, not discarded.
    session_ = std::move(with_old).value();
    const Status kept = journal(Phase::intent, Value::map().set("user", credential_.user).set("again", true));
    if (!kept.ok()) return outcome(RotateResult::not_done, "the journal could not be written");
    return introduce();
  }
  if (with_old.error().code != ErrorCode::refused)
    return outcome(RotateResult::unknown, with_old.error().message + "; both passwords are kept");
  if (std::optional<RotateOutcome> shortened = try_shortened()) return *shortened;
  return neither_works();
}

RotateOutcome TargetRotation::begin_fresh() {
  Result<Session> opened = dial(credential_.password, false);
  if (!opened.ok()) return outcome(RotateResult::not_done, fmt::format("{}; nothing was sent", opened.error().message));
  session_ = std::move(opened).value();
  if (fleet_.clock.stopped()) return outcome(RotateResult::not_done, "stopped before anything was sent");
  const Protocol protocol = fleet_.inventory.targets()[target_].endpoint.protocol;
  fresh_ = new_password(protocol == Protocol::ipmi ? kIpmiPasswordLength : kPasswordLength);
  if (!journal(Phase::intent, Value::map().set("user", credential_.user)).ok())
    return outcome(RotateResult::not_done, "the journal could not be written; nothing was sent");
  const Status kept = put(credential_.password, fresh_);
  if (!kept.ok())
    return outcome(RotateResult::not_done,
                   fmt::format("the store could not be written: {}; nothing was sent", kept.error().message));
  return introduce();
}

RotateOutcome TargetRotation::introduce() {
  const Status told = session_->set_password(credential_.user, fresh_);
  // Regardless of the response, only a new session shows which password is in force.
  const Result<Session> proof = dial(fresh_, !is_denied(told));
  if (proof.ok()) {
    return keep(fresh_, RotateResult::done,
                told.ok() ? "the new password is verified"
                          : "the new password is verified, although the BMC returned an error");
  }
  if (proof.error().code == ErrorCode::refused) return refused_proof(told);
  return outcome(RotateResult::unknown, fmt::format("no response after the new password was sent ({}); both are kept: "
                                                    "run `weft oob rotate --settle` when it is reachable",
                                                    proof.error().message));
}

RotateOutcome TargetRotation::refused_proof(const Status& told) {
  Result<Session> with_old = dial(credential_.password, false);
  if (with_old.ok()) return old_in_force(told);
  if (with_old.error().code != ErrorCode::refused)
    return outcome(RotateResult::unknown,
                   fmt::format("it refuses the new password, and then: {}; both are kept", with_old.error().message));
  if (std::optional<RotateOutcome> shortened = try_shortened()) return *shortened;
  // It may have taken effect between the two attempts.
  if (dial(fresh_, false).ok()) return keep(fresh_, RotateResult::done, "the new password is verified after a delay");
  // The session opened before the change may still be able to restore the old password.
  if (session_ != nullptr && session_->set_password(credential_.user, credential_.password).ok() &&
      dial(credential_.password, true).ok()) {
    return keep(credential_.password, RotateResult::not_done,
                "it did not set the password that was sent; the old one is restored");
  }
  return neither_works();
}

RotateOutcome TargetRotation::old_in_force(const Status& told) {
  if (is_denied(told))
    return keep(credential_.password, RotateResult::not_done,
                fmt::format("it rejects the new password: {}", told.error().message));
  // It responded with success, or not at all, and did nothing so far. The change may still take effect, so the new
  // password is kept. That costs nothing: the old one is tried first, and the next rotation sends the new one again.
  return outcome(RotateResult::not_done,
                 told.ok()
                     ? "it accepted the new password without setting it; the old one works, and both are kept"
                     : "it did not respond and did not set the new password; the old one works, and both are kept");
}

std::optional<RotateOutcome> TargetRotation::try_shortened() {
  if (fresh_.reveal().size() <= kShortPassword) return std::nullopt;
  const Secret shortened(fresh_.reveal().substr(0, kShortPassword));
  if (!dial(shortened, false).ok()) return std::nullopt;
  const Status kept = put(credential_.password, shortened);
  if (!kept.ok())
    return outcome(RotateResult::unknown,
                   fmt::format("it set only the first {} bytes of the pending password, and the store could not be "
                               "written with that: log in with those and run `weft oob rotate --settle`",
                               kShortPassword));
  return keep(shortened, RotateResult::done,
              fmt::format("the new password is verified; the BMC stores only {} bytes", kShortPassword));
}

RotateOutcome TargetRotation::neither_works() {
  return outcome(RotateResult::unknown,
                 fmt::format("it refuses the old and the new password; both are kept in {}. Wait until a lock of the "
                             "account ends and run `weft oob rotate --settle`; if that does not help, set the pending "
                             "password at the machine (ipmitool user set password) or reset the BMC's accounts",
                             fleet_.credentials.name()));
}

RotateOutcome TargetRotation::keep(const Secret& password, RotateResult result, std::string text) {
  const Status kept = put(password, std::nullopt);
  if (kept.ok()) return outcome(result, std::move(text));
  return outcome(RotateResult::unknown, fmt::format("{}; but the store could not be written and still has both: run "
                                                    "`weft oob rotate --settle`",
                                                    text));
}

Result<TargetRotation::Session> TargetRotation::dial(const Secret& password, bool patient) {
  bool again = patient;
  for (std::size_t attempt = 0;; ++attempt) {
    Result<Session> opened = fleet_.connector.dial(device_.endpoint, credential_.user, password);
    if (opened.ok() || opened.error().code == ErrorCode::refused) reached_ = true;
    if (opened.ok()) return opened;
    const ErrorCode code = opened.error().code;
    if (code == ErrorCode::refused && again) {
      again = false;
      if (fleet_.clock.sleep(kSettle)) continue;
    }
    // A first login to an unreachable BMC is not worth long waits; after a change it is.
    const std::size_t most = session_ != nullptr ? kPauses.size() : 1;
    if (!is_transient(code) || attempt >= most || !fleet_.clock.sleep(kPauses[attempt])) return opened;
  }
}

Status TargetRotation::put(const Secret& password, const std::optional<Secret>& pending) {
  Credential next{credential_.user, password, pending};
  Status kept = fleet_.credentials.put(device_.name, next);
  if (kept.ok()) credential_ = std::move(next);
  return kept;
}

Status TargetRotation::journal(Phase phase, Value detail) {
  JournalEntry entry;
  entry.operation = operation_;
  entry.phase = phase;
  entry.verb = "rotate";
  entry.device = device_.name;
  entry.detail = std::move(detail);
  return fleet_.journal.append(std::move(entry));
}

}  // namespace weft::oob
