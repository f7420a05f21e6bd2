// Bytes as what comes to the server's end of TLS: as a handshake from the first byte, in pieces of any size, and as
// damage to the records of a handshake that succeeded. No text comes out that no peer has encrypted, a failure is
// final, and the answer stays small.
#include <stdlib.h>  // mkdtemp()
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "serve/http/tls_context.h"

namespace weft::serve {
namespace {

using State = TlsChannel::State;
constexpr std::size_t kMaxAnswer = 65536;

struct Ends {
  std::shared_ptr<TlsContext> server;
  std::shared_ptr<TlsClientContext> client;
};

// Keys differ from run to run; what the bytes of an input mean to the parser does not.
Ends make_ends() {
  std::string folder = "/tmp/weft-fuzz-XXXXXX";
  CHECK(::mkdtemp(folder.data()) != nullptr, "a folder");
  const Result<SelfSigned> made = make_self_signed(folder, {});
  CHECK(made.ok(), "a certificate");
  TlsFiles files = made->files;
  files.client_ca = files.certificate;
  Result<std::shared_ptr<TlsContext>> server = TlsContext::load(files);
  TlsTrust trust;
  trust.fingerprint = made->fingerprint;
  Result<std::shared_ptr<TlsClientContext>> client = TlsClientContext::load(trust);
  CHECK(server.ok() && client.ok(), "contexts");
  for (const std::string& file : {files.certificate, files.key}) (void)::unlink(file.c_str());
  (void)::rmdir(folder.c_str());
  return {*server, *client};
}

void feed(TlsChannel& channel, std::string_view bytes, std::size_t step, std::string& plain) {
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    const State before = channel.state();
    const State after = channel.receive(bytes.substr(at, step), plain);
    CHECK(after == channel.state(), "one state");
    CHECK(before != State::failed || after == State::failed, "a failure is final");
    CHECK(after != State::failed || !channel.problem().empty(), "a reason");
    CHECK(channel.output().size() <= kMaxAnswer, "a small answer");
  }
  channel.send("reply");
  channel.send_close();
}

void try_handshake(const Ends& ends, std::string_view bytes, std::size_t step) {
  const std::unique_ptr<TlsChannel> channel = ends.server->open();
  std::string plain;
  feed(*channel, bytes, step, plain);
  CHECK(plain.empty(), "no peer has the key");
  CHECK(!channel->peer_certificate().has_value(), "no peer has shown one");
}

void try_damage(const Ends& ends, std::string_view bytes, std::size_t step) {
  const std::unique_ptr<TlsChannel> server = ends.server->open();
  const std::unique_ptr<TlsChannel> client = ends.client->open("localhost");
  std::string plain;
  (void)client->receive({}, plain);
  for (int i = 0; i < 4; ++i) {
    (void)server->receive(std::exchange(client->output(), {}), plain);
    (void)client->receive(std::exchange(server->output(), {}), plain);
  }
  CHECK(server->state() == State::open && client->state() == State::open, "a handshake");
  const std::string text(100, 'x');
  client->send(text);
  client->send(text);
  std::string records = std::exchange(client->output(), {});
  for (std::size_t i = 0; i < std::min(bytes.size(), records.size()); ++i)
    records[i] = static_cast<char>(records[i] ^ bytes[i]);
  if (bytes.size() > records.size()) records += bytes.substr(records.size());
  feed(*server, records, step, plain);
  CHECK((text + text).starts_with(plain), "only what was sent");
}

}  // namespace
}  // namespace weft::serve

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft::serve;
  static const Ends ends = make_ends();
  if (size < 2 || size > 16384) return 0;
  const std::string bytes(data + 2, data + size);
  const std::size_t step = data[1] == 0 ? bytes.size() + 1 : data[1];
  if (data[0] % 2 == 0) {
    try_handshake(ends, bytes, step);
  } else {
    try_damage(ends, bytes, step);
  }
  return 0;
}
