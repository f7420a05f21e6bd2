#include "oob/ipmi/session.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <mutex>
#include <utility>

#include "oob/bmc/cause.h"
#include "oob/ipmi/error.h"
#include "oob/ipmi/probe.h"
#include "oob/ipmi/relay.h"

namespace weft::oob {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::string_view kSuiteHelp = "; `ciphers` in the endpoints file allows others, such as 3";

// Once per process: libgcrypt must not be initialized by two threads at the same time.
bool crypto_ready() {
  static std::once_flag once;
  static bool ready = false;
  std::call_once(once, [] { ready = ipmi_rmcpplus_init() == 0; });
  return ready;
}

// FreeIPMI's error numbers for a response that it cannot parse: "invalid parameters" of its own functions, or "success"
// where it set none. Our parameters were checked before.
bool makes_no_sense(int number) {
  return number == IPMI_ERR_IPMI_ERROR || number == IPMI_ERR_INTERNAL_ERROR || number == IPMI_ERR_PARAMETERS ||
         number == IPMI_ERR_SUCCESS;
}

// Open Session returns 11h if no suite matches, and 04h, 05h or 10h if an algorithm is unsupported (IPMI 2.0, table
// 13-15). FreeIPMI has one number for the first and one for the others; a response that ends after the code, as an
// error may, is an "internal IPMI error" to it.
bool suite_refused(int number) {
  return number == IPMI_ERR_CIPHER_SUITE_ID_UNAVAILABLE || number == IPMI_ERR_BAD_RMCPPLUS_STATUS_CODE ||
         makes_no_sense(number);
}

std::string_view login_cause(int number) {
  switch (number) {
    case IPMI_ERR_CIPHER_SUITE_ID_UNAVAILABLE:
    case IPMI_ERR_BAD_RMCPPLUS_STATUS_CODE:
      return kNoCipherSuite;
    case IPMI_ERR_USERNAME_INVALID:
    case IPMI_ERR_PASSWORD_INVALID:
    case IPMI_ERR_PASSWORD_VERIFICATION_TIMEOUT:
      return kLoginRefused;
    default:
      return {};
  }
}

bool session_gone(int number) {
  return number == IPMI_ERR_SESSION_TIMEOUT || number == IPMI_ERR_CONNECTION_TIMEOUT ||
         number == IPMI_ERR_DEVICE_NOT_OPEN || number == IPMI_ERR_SYSTEM_ERROR;
}

}  // namespace

Result<std::unique_ptr<IpmiSession>> IpmiSession::open(const Endpoint& endpoint, const std::string& user,
                                                       const Secret& password) {
  Result<IpmiOptions> options = ipmi_options(endpoint);
  if (!options) return options.error();
  if (const Status fits = check_ipmi_user(user, endpoint.device); !fits) return fits.error();
  if (const Status fits = check_ipmi_password(password, endpoint.device); !fits) return fits.error();
  if (const auto problem = libfreeipmi.load()) return Error{ErrorCode::internal, *problem, endpoint.device};
  if (!crypto_ready()) return Error{ErrorCode::internal, "cannot initialize libgcrypt", endpoint.device};
  if (const Status alive = probe_ipmi(endpoint); !alive) return alive.error();
  std::unique_ptr<IpmiSession> session(new IpmiSession(std::move(options).value(), user, password));
  if (const Status opened = session->open_any(); !opened) return opened.error();
  return session;
}

IpmiSession::~IpmiSession() = default;

Result<IpmiSession::Context> IpmiSession::connect(const std::string& address, const Secret& password, int suite,
                                                  int& number) const {
  Context context(ipmi_ctx_create());
  number = IPMI_ERR_OUT_OF_MEMORY;
  if (!context) return Error{ErrorCode::internal, "out of memory", options_.device};
  const int opened =
      ipmi_ctx_open_outofband_2_0(context.get(), address.c_str(), user_.c_str(), password.reveal().c_str(), nullptr, 0,
                                  IPMI_PRIVILEGE_LEVEL_ADMIN, static_cast<std::uint8_t>(suite), options_.request_limit,
                                  options_.retransmission, options_.session_flags, IPMI_FLAGS_DEFAULT);
  number = opened == 0 ? IPMI_ERR_SUCCESS : ipmi_ctx_errnum(context.get());
  const std::string what = fmt::format("log in with cipher suite {}", suite);
  if (opened != 0 && makes_no_sense(number)) {
    return Error{ErrorCode::refused, fmt::format("cannot {}: the BMC refused it or sent an invalid response", what),
                 options_.device};
  }
  if (opened == 0) return context;
  Error refusal = ipmi_error(number, what, options_.device);
  if (const std::string_view cause = login_cause(number); !cause.empty())
    refusal.message = fmt::format("{}: {}{}", cause, refusal.message, cause == kNoCipherSuite ? kSuiteHelp : "");
  return refusal;
}

Status IpmiSession::open_any() {
  context_.reset();
  for (std::size_t i = 0; i < options_.suites.size(); ++i) {
    int number = 0;
    Result<Context> opened = connect(options_.address, password_, options_.suites[i], number);
    if (opened) {
      context_ = std::move(opened).value();
      suite_ = options_.suites[i];
      lost_ = false;
      heard_ = Steady::now();
      return {};
    }
    if (!suite_refused(number) || i + 1 == options_.suites.size()) return opened.error();
  }
  return Error{ErrorCode::internal, "no IPMI cipher suite to try", options_.device};
}

// FreeIPMI measures a request's timeout from the last response, and a BMC ends a session that was silent for a minute
// (IPMI 2.0, section 6.12.15): a session that was idle for long is reopened before use. Real time on purpose, because
// both use it.
Result<ipmi_ctx_t> IpmiSession::context() {
  const auto idle = Steady::now() - heard_;
  if (!context_ || lost_ || idle > std::chrono::milliseconds(options_.request_limit / 2) ||
      idle > std::chrono::seconds(50)) {
    if (const Status opened = open_any(); !opened) return opened.error();
  }
  return context_.get();
}

Status IpmiSession::try_login(const Secret& password) const {
  int number = 0;
  const Result<Context> opened = connect(options_.address, password, suite_, number);
  return opened ? Status() : Status(opened.error());
}

Result<IpmiBytes> IpmiSession::send(ipmi_ctx_t context, const IpmiCommand& command) {
  IpmiBytes request{command.command};
  request.insert(request.end(), command.data.begin(), command.data.end());
  std::array<std::uint8_t, 1024> answer{};
  const int got =
      ipmi_cmd_raw(context, command.lun, command.function, request.data(), static_cast<unsigned int>(request.size()),
                   answer.data(), static_cast<unsigned int>(answer.size()));
  explicit_bzero(request.data(), request.size());  // it may have contained a password
  if (got < 0) {
    const int number = ipmi_ctx_errnum(context);
    if (context == context_.get() && (session_gone(number) || makes_no_sense(number))) lost_ = true;
    if (makes_no_sense(number)) {
      return Error{ErrorCode::invalid_input, fmt::format("cannot {}: the BMC sent an invalid response", command.what),
                   options_.device};
    }
    return ipmi_error(number, command.what, options_.device);
  }
  if (context == context_.get()) heard_ = Steady::now();
  if (got < 2 || answer[0] != command.command) {
    return Error{ErrorCode::invalid_input, fmt::format("cannot {}: the BMC sent a truncated response", command.what),
                 options_.device};
  }
  return IpmiBytes(answer.begin() + 1, answer.begin() + got);
}

Result<IpmiBytes> IpmiSession::command_with_code(const IpmiCommand& command) {
  const Result<ipmi_ctx_t> alive = context();
  if (!alive) return alive.error();
  return send(*alive, command);
}

Result<IpmiBytes> IpmiSession::command(const IpmiCommand& command) {
  Result<IpmiBytes> answer = command_with_code(command);
  if (!answer) return answer.error();
  if (answer->front() != 0) return completion_error(answer->front(), command.what, options_.device);
  answer->erase(answer->begin());
  return answer;
}

Result<IpmiBytes> IpmiSession::command_once(const IpmiCommand& command) {
  const auto not_sent = [](Error error) {
    if (error.code == ErrorCode::timeout) error.code = ErrorCode::unavailable;  // no request was sent yet
    error.message += "; the command was not sent";
    return error;
  };
  const Result<std::unique_ptr<IpmiRelay>> relay = IpmiRelay::open(options_.host, options_.port, options_.device);
  if (!relay) return not_sent(relay.error());
  int number = 0;
  Result<Context> own = connect(fmt::format("127.0.0.1:{}", (*relay)->port()), password_, suite_, number);
  if (!own) return not_sent(own.error());
  (*relay)->arm();
  Result<IpmiBytes> answer = send(own->get(), command);
  (*relay)->disarm();
  if (!answer) {
    Error error = answer.error();
    error.message += "; the outcome is unknown";
    return error;
  }
  if (answer->front() != 0) return completion_error(answer->front(), command.what, options_.device);
  answer->erase(answer->begin());
  return answer;
}

}  // namespace weft::oob
