// Blocks SIGPIPE while libcurl is called: needed by everything that uses libcurl with TLS.
#pragma once

#include <signal.h>

#include <ctime>

namespace weft::http {

// OpenSSL writes with write(2), which raises SIGPIPE if the peer has closed; libcurl does not guard against it under
// CURLOPT_NOSIGNAL. Blocks the signal in this thread during its lifetime, and discards a pending one.
class NoPipeSignal {
 public:
  NoPipeSignal() {
    sigset_t pending;
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoPipeSignal() {
    const timespec no_wait{0, 0};
    if (!was_pending_) sigtimedwait(&pipe_, nullptr, &no_wait);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;

 private:
  sigset_t pipe_{};
  sigset_t before_{};
  bool was_pending_ = false;
};

}  // namespace weft::http
