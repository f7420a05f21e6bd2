#include "oob/ipmi/console.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <mutex>
#include <utility>

#include "oob/ipmi/error.h"
#include "oob/ipmi/lazy_freeipmi.h"

namespace weft::oob {
namespace {

using Steady = std::chrono::steady_clock;

// libipmiconsole waits for its housekeeping pipe with select(), which does not support descriptors from FD_SETSIZE up;
// the engine opens at most this many when it starts.
constexpr int kEngineDescriptors = 16;

// Counts the open consoles.
class Engine {
 public:
  static bool enter() {
    const std::lock_guard<std::mutex> lock(mutex());
    if (users() == 0 && (!has_low_descriptors() || ipmiconsole_engine_init(0, 0) != 0)) return false;
    ++users();
    return true;
  }
  // The last one waits for the sessions to close, at most their timeout.
  static void leave() {
    const std::lock_guard<std::mutex> lock(mutex());
    if (--users() == 0) ipmiconsole_engine_teardown(1);
  }

 private:
  static std::mutex& mutex() {
    static std::mutex instance;
    return instance;
  }
  static int& users() {
    static int count = 0;
    return count;
  }
  static bool has_low_descriptors() {
    const int next = ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);  // NOLINT(cppcoreguidelines-pro-type-vararg)
    if (next >= 0) ::close(next);
    return next >= 0 && next + kEngineDescriptors < FD_SETSIZE;
  }
};

class SolStream final : public ConsoleStream {
 public:
  SolStream(ipmiconsole_ctx_t context, std::string device) : context_(context), device_(std::move(device)) {}
  ~SolStream() override {
    if (descriptor_ >= 0) ::close(descriptor_);
    ipmiconsole_ctx_destroy(context_);
    Engine::leave();
  }

  // Not the library's blocking call: that has no timeout and waits with select().
  Status establish(unsigned int limit) {
    if (ipmiconsole_engine_submit(context_, nullptr, nullptr) < 0) return failed("open the console");
    descriptor_ = ipmiconsole_ctx_fd(context_);
    if (descriptor_ < 0) return failed("open the console");
    const auto end = Steady::now() + std::chrono::milliseconds(limit);
    for (;;) {
      const ipmiconsole_ctx_status_t status = ipmiconsole_ctx_status(context_);
      if (status == IPMICONSOLE_CTX_STATUS_SOL_ESTABLISHED) return {};
      if (status != IPMICONSOLE_CTX_STATUS_SUBMITTED) return failed("open the console");
      if (Steady::now() > end) {
        return Error{ErrorCode::timeout, fmt::format("the console did not open within {} ms", limit), device_};
      }
      pollfd wait{descriptor_, 0, 0};  // only the end of the stream wakes it up
      (void)::poll(&wait, 1, 5);
    }
  }

  Result<std::string> read(Duration wait) override {
    pollfd ready{descriptor_, POLLIN, 0};
    const auto limit = std::clamp<std::int64_t>(wait.count() / 1'000'000, 0, 3'600'000);
    if (::poll(&ready, 1, static_cast<int>(limit)) <= 0) return std::string();
    std::array<char, 4096> bytes{};
    const ssize_t got = ::read(descriptor_, bytes.data(), bytes.size());
    if (got > 0) return std::string(bytes.data(), static_cast<std::size_t>(got));
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return std::string();
    return failed("read the console");
  }

  Status write(std::string_view text) override {
    const auto end = Steady::now() + std::chrono::seconds(10);  // the engine's buffer drains at line speed
    while (!text.empty()) {
      const ssize_t put = ::send(descriptor_, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (put > 0) {
        text.remove_prefix(static_cast<std::size_t>(put));
        continue;
      }
      if (put < 0 && errno != EAGAIN && errno != EINTR) return failed("write to the console");
      if (Steady::now() > end) return Error{ErrorCode::timeout, "the console accepts no more input", device_};
      pollfd ready{descriptor_, POLLOUT, 0};
      (void)::poll(&ready, 1, 100);
    }
    return {};
  }

 private:
  Error failed(const char* what) const {
    const int number = ipmiconsole_ctx_errnum(context_);
    if (number == IPMICONSOLE_ERR_SUCCESS) {
      return {ErrorCode::unavailable, fmt::format("cannot {}: the BMC closed it", what), device_};
    }
    return console_error(number, what, device_);
  }

  ipmiconsole_ctx_t context_;
  std::string device_;
  int descriptor_ = -1;
};

}  // namespace

Result<std::unique_ptr<ConsoleStream>> open_ipmi_console(const IpmiOptions& options, int suite, const std::string& user,
                                                         const Secret& password) {
  if (const auto problem = libipmiconsole.load()) return Error{ErrorCode::internal, *problem, options.device};
  if (!Engine::enter()) {
    return Error{ErrorCode::unavailable, "the console engine cannot start: no file descriptors or threads left",
                 options.device};
  }
  // The library copies all of these; its parameters just lack const.
  std::string name = user;
  ipmiconsole_ipmi_config access{};
  access.username = name.data();
  access.password = const_cast<char*>(password.reveal().c_str());  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  access.privilege_level = IPMICONSOLE_PRIVILEGE_ADMIN;
  access.cipher_suite_id = suite;
  access.workaround_flags = options.console_flags;
  ipmiconsole_protocol_config limits{};
  limits.session_timeout_len = static_cast<int>(options.request_limit);
  limits.retransmission_timeout_len = static_cast<int>(options.retransmission / 2);
  limits.retransmission_backoff_count = 2;
  // An unreachable BMC is detected within the limit even if the console is silent.
  limits.keepalive_timeout_len = static_cast<int>(options.request_limit / 3);
  limits.retransmission_keepalive_timeout_len = static_cast<int>(options.request_limit / 6);
  limits.acceptable_packet_errors_count = 16;
  // The retransmission interval grows by one after every two attempts: 1, 1, 2, 2, 3, 3, 4, 4 is about the request
  // limit.
  limits.maximum_retransmission_count = 8;
  ipmiconsole_engine_config engine{};
  engine.engine_flags = options.engine_flags;
  const ipmiconsole_ctx_t context = ipmiconsole_ctx_create(options.address.c_str(), &access, &limits, &engine);
  if (context == nullptr) {
    const int number = errno;
    Engine::leave();
    return Error{number == EINVAL ? ErrorCode::invalid_input : ErrorCode::unavailable,
                 "cannot open the console: the console library refused the settings", options.device};
  }
  auto stream = std::make_unique<SolStream>(context, options.device);
  if (const Status opened = stream->establish(options.connect_limit + options.request_limit); !opened) {
    return opened.error();
  }
  return std::unique_ptr<ConsoleStream>(std::move(stream));
}

}  // namespace weft::oob
