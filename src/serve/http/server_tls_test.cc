// The HTTP server over TLS, on real loopback sockets: handshakes, limits per source, stuck clients, reload under load.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "serve/http/client.h"
#include "serve/http/test_tls.h"

namespace weft::serve {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class HttpTlsTest : public TlsServerTest {};

TEST_F(HttpTlsTest, AnswersRequests) {
  start_tls();
  const std::string reply = talk_tls(get("/a", "Connection: close\r\n"));
  EXPECT_THAT(reply, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(reply, HasSubstr("\r\nStrict-Transport-Security: max-age=31536000\r\n"));
  EXPECT_THAT(reply, HasSubstr("\r\nX-Content-Type-Options: nosniff\r\n"));
  EXPECT_THAT(reply, EndsWith("GET /a "));
  EXPECT_FALSE(last_request_.is_local);
  EXPECT_EQ(last_request_.address, "127.0.0.1");
  EXPECT_NE(last_request_.peer.uid, 0U) << "never root";
  EXPECT_FALSE(last_request_.certificate.has_value());
  EXPECT_NE(last_request_.request_id, "");
  const std::string id = last_request_.request_id;

  EXPECT_THAT(talk(get("/b")), Not(HasSubstr("Strict-Transport-Security"))) << "on the Unix socket";
  EXPECT_TRUE(last_request_.is_local);
  EXPECT_EQ(last_request_.address, "");
  EXPECT_EQ(last_request_.peer.uid, ::getuid());
  EXPECT_NE(last_request_.request_id, id);
  EXPECT_EQ(server_->counters().handshakes, 1U);
  EXPECT_EQ(server_->counters().handshake_failures, 0U);
}

TEST_F(HttpTlsTest, KeepsAConnectionForManyRequests) {
  start_tls();
  const auto client = connect_tls();
  for (int i = 0; i < 5; ++i) {
    client->send(get(fmt::format("/{}", i)) + get(fmt::format("/{}", i + 100)));
    ASSERT_TRUE(run_until([&] { return client->has(fmt::format("GET /{} ", i + 100)); }));
  }
  client->send("POST /large HTTP/1.1\r\nHost: x\r\nContent-Length: 3000000\r\n\r\n" + std::string(3'000'000, 'x'));
  ASSERT_TRUE(run_until([&] { return client->received().size() > 3'000'000 || client->is_closed(); }));
  EXPECT_EQ(last_request_.body.size(), 3'000'000U);
  EXPECT_EQ(server_->counters().accepted, 1U);
}

TEST_F(HttpTlsTest, AHandshakeByteByByte) {
  start_tls();
  TlsTestClient client(server_->port());
  const std::unique_ptr<TlsChannel> tls = client_context_->open("localhost");
  std::string plain;
  (void)tls->receive({}, plain);
  bool asked = false;
  ASSERT_TRUE(run_until([&] {
    (void)tls->receive(client.take_received(), plain);
    if (!asked && tls->state() == TlsChannel::State::open) {
      tls->send(get("/slow"));
      asked = true;
    }
    if (!tls->output().empty()) {
      client.send(tls->output().substr(0, 1));
      tls->output().erase(0, 1);
    }
    client.pump();
    return plain.find("GET /slow") != std::string::npos;
  }));
}

TEST_F(HttpTlsTest, AnUnfinishedHandshakeTimesOut) {
  options_.handshake_deadline = milliseconds(50);
  start_tls();
  TlsTestClient silent(server_->port());
  TlsTestClient half(server_->port());
  const std::unique_ptr<TlsChannel> tls = client_context_->open("localhost");
  std::string plain;
  (void)tls->receive({}, plain);
  half.send(tls->output().substr(0, 40));
  ASSERT_TRUE(run_until([&] { return silent.is_closed() && half.is_closed(); }));
  EXPECT_EQ(server_->counters().handshake_failures, 2U);
  EXPECT_EQ(silent.received() + half.received(), "");
  EXPECT_EQ(server_->counters().connections, 0U);
}

TEST_F(HttpTlsTest, PlainHttpGetsAHint) {
  start_tls();
  TlsTestClient client(server_->port());
  client.send(get("/secret", "Authorization: Bearer abc\r\n"));
  ASSERT_TRUE(run_until([&] { return client.is_closed(); }));
  EXPECT_THAT(client.received(), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(client.received(), HasSubstr("this port speaks TLS"));
  EXPECT_THAT(client.received(), Not(HasSubstr("Strict-Transport-Security")));
  TlsTestClient noise(server_->port());
  noise.send(std::string("\0\x01\x02garbage", 10));
  ASSERT_TRUE(run_until([&] { return noise.is_closed(); }));
  EXPECT_EQ(noise.received(), "");
  TlsTestClient record(server_->port());
  record.send("\x16\x03\x01\xFF\xFFgarbage");
  ASSERT_TRUE(run_until([&] { return record.is_closed(); }));
  EXPECT_EQ(server_->counters().requests, 0U);
  EXPECT_EQ(server_->counters().handshake_failures, 3U);
}

TEST_F(HttpTlsTest, LimitsConnectionsPerSource) {
  options_.max_connections_per_source = 2;
  start_tls();
  const auto first = connect_tls();
  auto second = connect_tls();
  const auto third = connect_tls();
  EXPECT_TRUE(third->is_closed());
  EXPECT_EQ(server_->counters().source_refused, 1U);
  EXPECT_EQ(server_->counters().refused, 1U);
  EXPECT_THAT(talk(get("/a")), EndsWith("GET /a ")) << "the Unix socket is not a source";
  second.reset();
  ASSERT_TRUE(run_until([&] { return server_->counters().connections == 1; }));
  EXPECT_THAT(talk_tls(get("/b", "Connection: close\r\n")), EndsWith("GET /b "));
}

TEST_F(HttpTlsTest, TcpLeavesConnectionsToTheUnixSocket) {
  options_.max_connections = 5;
  options_.reserved_for_unix = 2;
  start_tls();
  std::vector<std::unique_ptr<TlsTestClient>> clients;
  clients.reserve(5);
  for (int i = 0; i < 5; ++i) clients.push_back(connect_tls());
  EXPECT_EQ(server_->counters().connections, 3U);
  EXPECT_EQ(server_->counters().refused, 2U);
  const auto unix_client = connect();
  ASSERT_TRUE(run_until([&] { return server_->counters().connections == 4; }));
  EXPECT_THAT(talk(get("/a")), EndsWith("GET /a "));
}

TEST_F(HttpTlsTest, AStuckStreamIsCut) {
  options_.max_stream_bytes = 100'000;
  EventStream stream;
  handler_ = [&](const HttpRequest&, const Responder& responder) { stream = responder.open_stream(); };
  start_tls();
  const auto client = connect_tls();
  client->send(get("/events"));
  ASSERT_TRUE(run_until([&] { return stream.is_open() && client->has("text/event-stream"); }));
  client->stop_reading();
  const std::string data(10'000, 'x');
  std::uint64_t id = 0;
  ASSERT_TRUE(run_until([&] {
    for (int i = 0; i < 20; ++i) (void)stream.send(++id, "e", data);
    EXPECT_LE(stream.buffered_bytes(), options_.max_stream_bytes + 70'000) << "encrypted or not";
    return !stream.is_open();
  }));
  EXPECT_EQ(server_->counters().slow_streams, 1U);
  ASSERT_TRUE(run_until([&] { return server_->counters().connections == 0; }));
}

TEST_F(HttpTlsTest, AStreamThatStallsIsCutWithoutManyEvents) {
  options_.heartbeat_interval = milliseconds(5);
  options_.stream_stall_limit = milliseconds(40);
  EventStream stream;
  handler_ = [&](const HttpRequest&, const Responder& responder) { stream = responder.open_stream(); };
  start_tls();
  const auto client = connect_tls();
  client->send(get("/events"));
  ASSERT_TRUE(run_until([&] { return stream.is_open() && client->has(": "); })) << "a heartbeat";
  client->stop_reading();
  // Fills the sockets' buffers, and then one more event waits.
  while (stream.buffered_bytes() == 0) {
    ASSERT_TRUE(stream.send(1, "e", std::string(50'000, 'x')));
    (void)server_->run_once(milliseconds(1));
  }
  ASSERT_TRUE(run_until([&] { return !stream.is_open(); }));
  EXPECT_EQ(server_->counters().slow_streams, 1U);
}

TEST_F(HttpTlsTest, AStuckReaderOfAResponseIsCut) {
  options_.response_deadline = milliseconds(50);
  handler_ = [](const HttpRequest&, const Responder& responder) {
    responder.respond({200, "text/plain", std::string(std::size_t{32} << 20U, 'x'), {}});
  };
  start_tls();
  const auto client = connect_tls();
  client->stop_reading();
  client->send(get("/a"));
  ASSERT_TRUE(run_until([&] { return server_->counters().requests == 1; }));
  ASSERT_TRUE(run_until([&] { return server_->counters().connections == 0; }));
}

TEST_F(HttpTlsTest, AClientThatLeavesItsStreamIsNoticed) {
  for (const bool politely : {false, true}) {
    EventStream stream;
    handler_ = [&](const HttpRequest&, const Responder& responder) { stream = responder.open_stream(); };
    if (server_ == nullptr) start_tls();
    auto client = connect_tls();
    client->send(get("/events"));
    ASSERT_TRUE(run_until([&] { return stream.is_open(); }));
    if (politely) {
      client->tls().send_close();
      client->pump();
    } else {
      client.reset();
    }
    ASSERT_TRUE(run_until([&] { return !stream.is_open(); })) << "no event or heartbeat was due";
  }
}

TEST_F(HttpTlsTest, AStreamEndsWithACloseNotify) {
  EventStream stream;
  handler_ = [&](const HttpRequest&, const Responder& responder) { stream = responder.open_stream(); };
  start_tls();
  const auto client = connect_tls();
  client->send(get("/events"));
  ASSERT_TRUE(run_until([&] { return stream.is_open(); }));
  ASSERT_TRUE(stream.send(7, "e", "data"));
  stream.close();
  ASSERT_TRUE(run_until([&] { return client->is_closed(); }));
  EXPECT_EQ(client->tls().state(), TlsChannel::State::closed);
  EXPECT_THAT(client->received(), EndsWith("0\r\n\r\n"));
}

// The response must arrive although the client is still sending: a reset would destroy it.
TEST_F(HttpTlsTest, ARefusedLargeRequestReadsItsResponse) {
  start_tls();
  const auto client = connect_tls();
  client->send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9000000\r\n\r\n" + std::string(4'000'000, 'x'));
  ASSERT_TRUE(run_until([&] { return client->has("HTTP/1.1 413 "); }));
  ASSERT_TRUE(run_until([&] { return client->has("more than 8388608 bytes"); }));
  client->close();
  ASSERT_TRUE(run_until([&] { return server_->counters().connections == 0; }));
}

TEST_F(HttpTlsTest, ClientCertificatesReachTheHandler) {
  files_.client_ca = authority_.path();
  start_tls();
  const TlsFiles client = authority_.issue_client("ada");
  TlsTrust trust{authority_.path(), {}, client.certificate, client.key};
  client_context_ = *TlsClientContext::load(trust);
  EXPECT_THAT(talk_tls(get("/a", "Connection: close\r\n")), EndsWith("GET /a "));
  ASSERT_TRUE(last_request_.certificate.has_value());
  EXPECT_EQ(last_request_.certificate->name, "ada");
  EXPECT_EQ(last_request_.certificate->organizations, (std::vector<std::string>{"sre", "research"}));
  trust = {authority_.path(), {}, {}, {}};
  client_context_ = *TlsClientContext::load(trust);
  EXPECT_THAT(talk_tls(get("/b", "Connection: close\r\n")), EndsWith("GET /b "));
  EXPECT_FALSE(last_request_.certificate.has_value());
}

TEST_F(HttpTlsTest, ListensOnSeveralAddresses) {
  files_ = authority_.issue_server();
  options_.tls = *TlsContext::load(files_);
  options_.listeners = {{"127.0.0.1", 0}, {"127.0.0.2", 0}};
  start();
  EXPECT_NE(server_->port(0), 0);
  EXPECT_NE(server_->port(1), 0);
  EXPECT_EQ(server_->port(2), 0);
  HttpOptions second = options_;
  second.socket_path = folder_.file("second.sock");
  second.listeners = {{"127.0.0.1", server_->port()}};
  const Result<std::unique_ptr<HttpServer>> taken =
      HttpServer::listen(second, [](const HttpRequest&, const Responder&) {});
  ASSERT_FALSE(taken.ok());
  EXPECT_EQ(taken.error().text(), fmt::format("another program is listening on 127.0.0.1:{}", server_->port()));
  EXPECT_NE(::access(second.socket_path.c_str(), F_OK), 0) << "nothing is left behind";
  second.listeners = {{"localhost", 0}};
  EXPECT_FALSE(HttpServer::listen(second, [](const HttpRequest&, const Responder&) {}).ok());
  server_->stop();
  EXPECT_TRUE(server_->is_stopped());
}

TEST_F(HttpTlsTest, ConcurrentReloadUnderLoad) {
  start_tls();
  const TlsFiles another = authority_.issue_server("another");
  const std::string first = options_.tls->fingerprint();
  ClientRequest request;
  request.endpoint = *Endpoint::from_url(fmt::format("https://localhost:{}", server_->port()));
  request.endpoint.host = "127.0.0.1";
  request.endpoint.trust.ca_file = authority_.path();
  request.target = "/a";
  std::atomic<int> done{0};
  std::atomic<int> failed{0};
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      while (!stop) {
        const Result<HttpResponse> response = send_request(request);
        ++(response.ok() && response->status == 200 ? done : failed);
      }
    });
  }
  const auto old = connect_tls();
  ASSERT_TRUE(run_until([&] { return done >= 20; }));
  for (int reloads = 0; reloads < 3; ++reloads) {
    const TlsFiles& files = reloads % 2 == 0 ? another : authority_.issue_server("third");
    ASSERT_TRUE(write_file(files_.certificate, *read_file(files.certificate)).ok());
    EXPECT_FALSE(options_.tls->reload().ok()) << "the key is not written yet";
    ASSERT_TRUE(write_file(files_.key, *read_file(files.key)).ok());
    ASSERT_EQ(::chmod(files_.key.c_str(), 0600), 0);
    ASSERT_TRUE(options_.tls->reload().ok());
    const int before = done;
    ASSERT_TRUE(run_until([&] { return done >= before + 20; }));
  }
  stop = true;
  std::atomic<std::size_t> joined{0};
  std::thread joiner([&] {
    for (std::thread& thread : threads) thread.join();
    joined = threads.size();
  });
  EXPECT_TRUE(run_until([&] { return joined == threads.size(); }));
  joiner.join();
  EXPECT_EQ(failed, 0);
  old->send(get("/old"));
  EXPECT_TRUE(run_until([&] { return old->has("GET /old"); })) << "with the certificate it began with";
  EXPECT_EQ(old->tls().judged_fingerprint(), first);
  const auto fresh = connect_tls();
  EXPECT_EQ(fresh->tls().judged_fingerprint(), options_.tls->fingerprint());
  EXPECT_NE(options_.tls->fingerprint(), first);
}

TEST(RemoteAddresses, AreCountedByTheirSource) {
  const auto v6 = [](const char* text) {
    sockaddr_storage storage{};
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    EXPECT_EQ(::inet_pton(AF_INET6, text, &address.sin6_addr), 1);
    std::memcpy(&storage, &address, sizeof address);
    return read_address(storage);
  };
  EXPECT_EQ(v6("2001:db8:1:2:3:4:5:6").text, "2001:db8:1:2:3:4:5:6");
  EXPECT_EQ(v6("2001:db8:1:2:3:4:5:6").source, v6("2001:db8:1:2::9").source);
  EXPECT_NE(v6("2001:db8:1:2::9").source, v6("2001:db8:1:3::9").source);
  EXPECT_EQ(v6("::ffff:192.0.2.7").text, "192.0.2.7");
  EXPECT_EQ(v6("::ffff:192.0.2.7").source, "192.0.2.7");
  EXPECT_EQ(v6("::1").text, "::1");
}

}  // namespace
}  // namespace weft::serve
