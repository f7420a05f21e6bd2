#include "serve/http/tls_channel.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "http/fingerprint.h"
#include "serve/http/certificate.h"

namespace weft::serve {
namespace {

constexpr std::size_t kRecordBytes = 16384;  // the most that one record has (RFC 8446 section 5.1)

std::string take_problem() {
  const unsigned long code = ERR_get_error();  // NOLINT(google-runtime-int)
  ERR_clear_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return reason == nullptr ? "invalid TLS" : reason;
}

// OpenSSL asks a BIO to flush what it has written; every other question is answered by no.
long control_pipe(BIO* /*bio*/, int question, long /*number*/, void* /*data*/) {  // NOLINT(google-runtime-int)
  return question == BIO_CTRL_FLUSH ? 1 : 0;
}

}  // namespace

BIO_METHOD* TlsChannel::pipe_method() {
  static BIO_METHOD* const method = [] {
    constexpr int kType = BIO_TYPE_SOURCE_SINK | 0x7F;
    BIO_METHOD* made = BIO_meth_new(kType, "weft");
    CHECK(made != nullptr, "out of memory");
    (void)BIO_meth_set_read(made, &TlsChannel::read_pipe);
    (void)BIO_meth_set_write(made, &TlsChannel::write_pipe);
    (void)BIO_meth_set_ctrl(made, &control_pipe);
    return made;
  }();
  return method;
}

int TlsChannel::read_pipe(BIO* bio, char* out, int size) {
  auto* pipe = static_cast<Pipe*>(BIO_get_data(bio));
  BIO_clear_flags(bio, BIO_FLAGS_RWS | BIO_FLAGS_SHOULD_RETRY);
  const std::size_t count = std::min(pipe->input.size(), static_cast<std::size_t>(std::max(size, 0)));
  if (count == 0) {
    BIO_set_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY);
    return -1;
  }
  std::copy_n(pipe->input.data(), count, out);
  pipe->input.remove_prefix(count);
  return static_cast<int>(count);
}

int TlsChannel::write_pipe(BIO* bio, const char* bytes, int size) {
  BIO_clear_flags(bio, BIO_FLAGS_RWS | BIO_FLAGS_SHOULD_RETRY);
  if (size <= 0) return 0;
  static_cast<Pipe*>(BIO_get_data(bio))->output.append(bytes, static_cast<std::size_t>(size));
  return size;
}

TlsChannel::TlsChannel(std::unique_ptr<SSL, FreeSsl> session) : session_(std::move(session)) {
  BIO* bio = BIO_new(pipe_method());
  CHECK(bio != nullptr, "out of memory");
  BIO_set_data(bio, &pipe_);
  BIO_set_init(bio, 1);
  SSL_set_bio(session_.get(), bio, bio);  // owns it
  CHECK(SSL_set_ex_data(session_.get(), 0, this) == 1, "out of memory");
}

TlsChannel::~TlsChannel() = default;

TlsChannel* TlsChannel::find(const SSL* session) { return static_cast<TlsChannel*>(SSL_get_ex_data(session, 0)); }

void TlsChannel::set_judgment(std::string fingerprint, int code) {
  judged_fingerprint_ = std::move(fingerprint);
  judgment_ = code;
}

TlsChannel::State TlsChannel::receive(std::string_view bytes, std::string& plain) {
  if (state_ == State::failed || state_ == State::closed) return state_;
  pipe_.input = bytes;
  if (state_ == State::handshaking) {
    ERR_clear_error();
    const int done = SSL_do_handshake(session_.get());
    if (done == 1) {
      state_ = State::open;
    } else if (SSL_get_error(session_.get(), done) != SSL_ERROR_WANT_READ) {
      fail();
    }
  }
  if (state_ == State::open) read_records(plain);
  pipe_.input = {};
  return state_;
}

// Until OpenSSL wants bytes that have not come: it keeps the part of a record that has.
void TlsChannel::read_records(std::string& plain) {
  std::array<char, kRecordBytes> record;  // NOLINT(cppcoreguidelines-pro-type-member-init): SSL_read() fills it
  for (;;) {
    ERR_clear_error();
    const int count = SSL_read(session_.get(), record.data(), static_cast<int>(record.size()));
    if (count > 0) {
      plain.append(record.data(), static_cast<std::size_t>(count));
      continue;
    }
    const int why = SSL_get_error(session_.get(), count);
    if (why == SSL_ERROR_WANT_READ) return;
    if (why != SSL_ERROR_ZERO_RETURN) return fail();
    state_ = State::closed;
    return;
  }
}

void TlsChannel::fail() {
  problem_ = take_problem();
  state_ = State::failed;
}

void TlsChannel::send(std::string_view plain) {
  // After close_notify of the other end ours may still send.
  const bool is_writable = (state_ == State::open || state_ == State::closed) && !sent_close_;
  while (is_writable && !plain.empty()) {
    ERR_clear_error();
    const int count =
        SSL_write(session_.get(), plain.data(), static_cast<int>(std::min<std::size_t>(plain.size(), kRecordBytes)));
    if (count <= 0) return fail();
    plain.remove_prefix(static_cast<std::size_t>(count));
  }
}

void TlsChannel::send_close() {
  if (sent_close_ || (state_ != State::open && state_ != State::closed)) return;
  sent_close_ = true;
  ERR_clear_error();
  (void)SSL_shutdown(session_.get());
}

std::optional<ClientCertificate> TlsChannel::peer_certificate() const {
  X509* certificate = SSL_get0_peer_certificate(session_.get());
  if (certificate == nullptr || SSL_get_verify_result(session_.get()) != X509_V_OK) return std::nullopt;
  ClientCertificate out;
  std::vector<std::string> names = subject_fields(certificate, NID_commonName);
  if (names.size() == 1) out.name = std::move(names.front());
  out.organizations = subject_fields(certificate, NID_organizationName);
  out.fingerprint = weft::http::fingerprint_of(certificate);
  out.valid_until_ms = end_of_validity(certificate);
  const STACK_OF(X509)* chain = SSL_get0_verified_chain(session_.get());
  for (int i = 0; i < sk_X509_num(chain); ++i)
    out.valid_until_ms = std::min(out.valid_until_ms, end_of_validity(sk_X509_value(chain, i)));
  if (out.valid_until_ms <= 0) return std::nullopt;
  return out;
}

}  // namespace weft::serve
