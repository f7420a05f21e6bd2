// The rendered HAProxy configuration loaded and run by HAProxy itself, between curl and small servers at the nodes' own
// addresses: the cluster file puts the frontend into a subnet of 127.0.0.0/8.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <atomic>
#include <memory>
#include <set>
#include <sstream>

#include "base/test_prerequisites.h"
#include "lab.h"
#include "rendered.h"

namespace weft {
namespace {

using testing_lab::Lab;
using testing_lab::Outcome;
using testing_lab::Words;
using testing_rendered::Edits;
using testing_rendered::load_example;
using testing_rendered::Rendering;

// A subnet for this process only: tests run in parallel.
std::string own_net() {
  return "127." + std::to_string(16 + ::getpid() % 200) + "." + std::to_string(1 + ::getpid() / 200 % 250) + ".";
}
std::string own_address(int last) { return own_net() + std::to_string(last); }

Edits loopback(const std::string& more = {}) {
  Edits edits{{"frontend: {leaf: sn4600c,", "frontend: {leaf: sn4600c, subnets: [" + own_net() + "0/24],"}};
  if (!more.empty())
    edits.emplace_back("timeout: 300s, min_available: 2}", "timeout: 300s, min_available: 2, " + more + "}");
  return edits;
}

// The server of one node: responds with its name after a delay, and to /health as configured.
class Replica {
 public:
  Replica(std::string name, Ipv4 address, int port, int milliseconds)
      : name_(std::move(name)), delay_(milliseconds), socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_port = htons(static_cast<std::uint16_t>(port));
    place.sin_addr.s_addr = htonl(address.bits);
    const int yes = 1;
    ::setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    good_ = ::bind(socket_, reinterpret_cast<const sockaddr*>(&place), sizeof place) == 0 && ::listen(socket_, 64) == 0;
    accepting_ = std::thread([this] { accept_all(); });
  }
  ~Replica() {
    stopping_ = true;
    ::shutdown(socket_, SHUT_RDWR);
    accepting_.join();
    for (std::thread& one : answering_) one.join();
    ::close(socket_);
  }
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;

  [[nodiscard]] bool good() const { return good_; }
  [[nodiscard]] int answered() const { return answered_; }
  [[nodiscard]] int asked_for_health() const { return health_; }
  void healthy(bool is) { healthy_ = is; }

 private:
  void accept_all() {
    while (!stopping_) {
      const int connection = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
      if (connection < 0) continue;
      answering_.emplace_back([this, connection] { answer(connection); });
    }
  }
  void answer(int connection) {
    const timeval patience{5, 0};
    ::setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    std::string request;
    char buffer[4096];
    while (request.find("\r\n\r\n") == std::string::npos) {
      const ssize_t count = ::recv(connection, buffer, sizeof buffer, 0);
      if (count <= 0) break;
      request.append(buffer, static_cast<std::size_t>(count));
    }
    const bool health = request.starts_with("GET /health ");
    bool good = true;
    if (health) {
      ++health_;
      good = healthy_;
    } else if (!request.empty()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(delay_));
      ++answered_;
    }
    const std::string body = name_ + "\n";
    const std::string text = std::string(good ? "HTTP/1.1 200 OK" : "HTTP/1.1 503 Service Unavailable") +
                             "\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
                             body;
    if (!request.empty()) (void)::send(connection, text.data(), text.size(), MSG_NOSIGNAL);
    ::close(connection);
  }

  std::string name_;
  int delay_;
  int socket_;
  bool good_ = false;
  std::atomic<bool> healthy_{true};
  std::atomic<bool> stopping_{false};
  std::atomic<int> answered_{0};
  std::atomic<int> health_{0};
  std::thread accepting_;
  std::vector<std::thread> answering_;
};

void replace(std::string& text, const std::string& from, const std::string& to) {
  std::size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos) << from;
  for (; at != std::string::npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
}

class RenderHaproxy : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* program : {"haproxy", "curl", "openssl"}) {
      WEFT_NEEDS_PROGRAM(program);
    }
  }

  // Renders, and adapts the file to run here: other ports, sockets and certificates, shorter check intervals.
  void render(const Edits& edits) {
    rendering_ = load_example("pod16.yaml", edits);
    ASSERT_NE(rendering_, nullptr);
    rendering_->render("haproxy");
    text_ = rendering_->sink.content("haproxy/haproxy.cfg");
    ASSERT_FALSE(text_.empty());
    const std::string folder = lab_.folder().string();
    ASSERT_EQ(lab_.run({"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                        "-nodes", "-days", "2", "-subj", "/CN=chat.pod16.internal", "-keyout", "key", "-out", "crt"})
                  .code,
              0);
    std::filesystem::create_directories(lab_.folder() / "certs");
    lab_.put("certs/chat.pem", Lab::contents(lab_.folder() / "crt") + Lab::contents(lab_.folder() / "key"));
    replace(text_, "/etc/haproxy/certs/", folder + "/certs/");
    replace(text_, "/run/haproxy/admin.sock", folder + "/admin.sock");
    replace(text_, "bind :80\n", "bind " + own_address(250) + ":8080\n");
    replace(text_, "bind :443 ", "bind " + own_address(250) + ":8443 ");
    replace(text_, "bind :8405\n", "bind " + own_address(250) + ":8405\n");
    replace(text_, "    user haproxy\n", "");
    replace(text_, "    group haproxy\n", "");
    replace(text_, "inter 2s", "inter 200ms");
    lab_.put("haproxy.cfg", text_);
  }

  // Servers on the first hosts of the pool: one per delay (milliseconds).
  void serve(const std::vector<int>& delays) {
    const render::PoolPlan* pool = rendering_->plan->pool("infer");
    ASSERT_NE(pool, nullptr);
    for (std::size_t i = 0; i < delays.size(); ++i) {
      const auto id = static_cast<model::DeviceId>(model::index_of(pool->group->first) + static_cast<std::uint32_t>(i));
      replicas_.push_back(std::make_unique<Replica>(rendering_->cluster().name_of(id),
                                                    rendering_->plan->frontend_address(id), 30000, delays[i]));
      ASSERT_TRUE(replicas_.back()->good());
    }
    process_ = lab_.start({"haproxy", "-db", "-f", "haproxy.cfg"});
    ASSERT_TRUE(Lab::wait(5, [&] { return command("show info").find("Uptime") != std::string::npos; })) << log();
    // The fourth host serves nothing: its checks fail, and it gets no requests.
    ASSERT_TRUE(Lab::wait(5, [&] { return down() == 4 - delays.size(); })) << command("show servers state");
  }

  // Output of the proxy.
  std::string log() {
    std::string all;
    for (const auto& entry : std::filesystem::directory_iterator(lab_.folder())) {
      if (entry.path().filename().string().starts_with("log")) all += Lab::contents(entry.path());
    }
    return all;
  }
  // Sends a command to the admin socket; returns the response.
  std::string command(const std::string& text) {
    const int connection = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un place{};
    place.sun_family = AF_UNIX;
    const std::string path = (lab_.folder() / "admin.sock").string();
    path.copy(place.sun_path, sizeof place.sun_path - 1);
    std::string answer;
    if (::connect(connection, reinterpret_cast<const sockaddr*>(&place), sizeof place) == 0) {
      const std::string line = text + "\n";
      (void)::send(connection, line.data(), line.size(), MSG_NOSIGNAL);
      char buffer[4096];
      for (ssize_t count = 0; (count = ::recv(connection, buffer, sizeof buffer, 0)) > 0;) {
        answer.append(buffer, static_cast<std::size_t>(count));
      }
    }
    ::close(connection);
    return answer;
  }
  // Servers of the service that are down.
  std::size_t down() {
    std::istringstream lines(command("show stat service_chat 4 -1"));
    std::size_t count = 0;
    for (std::string line; std::getline(lines, line);) count += line.find(",DOWN,") != std::string::npos ? 1U : 0U;
    return count;
  }
  // curl as the client with that loopback address; returns its output.
  std::string ask(int client, const Words& more, const std::string& path = "/v1/models") {
    Words words{"curl",         "-sk",
                "--interface",  "127.0.1." + std::to_string(client),
                "--connect-to", "::" + own_address(250) + ":8443"};
    words.insert(words.end(), more.begin(), more.end());
    words.push_back("https://chat.pod16.internal" + path);
    return lab_.run(words).out;
  }
  static std::size_t lines_of(const std::string& text, const std::string& wanted) {
    std::istringstream lines(text);
    std::size_t count = 0;
    for (std::string line; std::getline(lines, line);) count += line == wanted ? 1U : 0U;
    return count;
  }

  Lab lab_{"haproxy"};
  std::unique_ptr<Rendering> rendering_;
  std::string text_;
  std::vector<std::unique_ptr<Replica>> replicas_;
  pid_t process_ = -1;
};

TEST_F(RenderHaproxy, ConfigurationIsValid) {
  const std::vector<Edits> cases{
      {},
      {{"timeout: 300s, min_available: 2}",
        "timeout: 90500ms, probe: tcp, sticky: false, balancing: round-robin}\n"
        "  - {name: Big_One, pool: train, gpus: 8, host: api.example.com, port: 9000}"}},
      {{"control_plane: {kind: both, pool: infra, etcd_members: 3, allocator: slurm, ingress_replicas: 2}",
        "control_plane: {kind: slurm, pool: infra}"}},
  };
  for (const Edits& edits : cases) {
    render(edits);
    const Outcome outcome = lab_.run({"haproxy", "-c", "-f", "haproxy.cfg"}, 20, true);
    EXPECT_EQ(outcome.code, 0) << outcome.out;
    EXPECT_EQ(outcome.out.find("WARNING"), std::string::npos) << outcome.out;
  }
}

// If only Slurm runs, services listen on the hosts themselves.
TEST_F(RenderHaproxy, WithoutKubernetesThePortIsThatOfTheService) {
  render({{"control_plane: {kind: both, pool: infra, etcd_members: 3, allocator: slurm, ingress_replicas: 2}",
           "control_plane: {kind: slurm, pool: infra}"}});
  const render::PoolPlan* pool = rendering_->plan->pool("infer");
  const std::string address = to_text(rendering_->plan->frontend_address(pool->group->first));
  EXPECT_NE(text_.find(address + ":8000 "), std::string::npos);
  EXPECT_EQ(text_.find(":30000"), std::string::npos);
}

TEST_F(RenderHaproxy, BusyReplicasGetFewerRequests) {
  render(loopback("sticky: false"));
  serve({10, 600, 10});
  const std::string answers = ask(1, {"-Z", "--parallel-max", "6", "--no-progress-meter"}, "/v1/models?[1-60]");
  EXPECT_EQ(replicas_[0]->answered() + replicas_[1]->answered() + replicas_[2]->answered(), 60) << answers;
  // With round-robin it would be 20 each.
  EXPECT_LE(replicas_[1]->answered(), 12);
  EXPECT_GE(replicas_[0]->answered(), 20);
  EXPECT_GE(replicas_[2]->answered(), 20);
}

// The same servers with round-robin: what the test above would look like if it failed.
TEST_F(RenderHaproxy, RoundRobinSpreadsEvenly) {
  render(loopback("sticky: false, balancing: round-robin"));
  serve({10, 100, 10});
  (void)ask(1, {"-Z", "--parallel-max", "6", "--no-progress-meter"}, "/v1/models?[1-60]");
  for (const auto& replica : replicas_) EXPECT_NEAR(replica->answered(), 20, 3);
}

TEST_F(RenderHaproxy, SessionsStayWithTheirReplica) {
  render(loopback());
  serve({5, 5, 5});
  std::set<std::string> seen;
  for (int session = 0; session < 6; ++session) {
    const std::string jar = "jar" + std::to_string(session);
    const std::string first = ask(1, {"-c", jar});
    seen.insert(first);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(ask(1, {"-b", jar}), first);
    const std::string cookies = Lab::contents(lab_.folder() / jar);
    EXPECT_NE(cookies.find("WEFT_REPLICA"), std::string::npos);
    EXPECT_NE(cookies.find("#HttpOnly_"), std::string::npos);
  }
  EXPECT_EQ(seen.size(), 3U);  // without a cookie, sessions spread
}

TEST_F(RenderHaproxy, UnhealthyReplicasGetNoRequests) {
  render(loopback("sticky: false"));
  serve({5, 5, 5});
  EXPECT_GT(replicas_[0]->asked_for_health(), 0);
  replicas_[0]->healthy(false);
  ASSERT_TRUE(Lab::wait(5, [&] { return down() == 2; }));
  const int before = replicas_[0]->answered();
  for (int i = 0; i < 12; ++i) EXPECT_NE(ask(1, {}), "infer001\n");
  EXPECT_EQ(replicas_[0]->answered(), before);
  replicas_[0]->healthy(true);
  EXPECT_TRUE(Lab::wait(5, [&] { return down() == 1; }));
}

// A node is drained: existing sessions stay, new ones go elsewhere.
TEST_F(RenderHaproxy, NodesCanBeDrained) {
  render(loopback());
  serve({5, 5, 5});
  std::string jar;
  for (int i = 0; i < 12 && jar.empty(); ++i) {
    if (ask(1, {"-c", "jar"}) == "infer002\n") jar = "jar";
  }
  ASSERT_FALSE(jar.empty());
  EXPECT_EQ(command("set server service_chat/infer002 state drain"), "\n");
  EXPECT_EQ(ask(1, {"-b", jar}), "infer002\n");
  for (int i = 0; i < 9; ++i) EXPECT_NE(ask(1, {}), "infer002\n");
}

TEST_F(RenderHaproxy, OneClientCannotFloodTheRest) {
  render(loopback("sticky: false"));
  serve({1, 1, 1});
  const Words quiet{"-Z", "--parallel-max", "8", "--no-progress-meter", "-o", "/dev/null", "-w", "%{http_code}\n"};
  const std::string codes = ask(7, quiet, "/v1/models?[1-140]");
  EXPECT_EQ(lines_of(codes, "200"), 100U) << codes;
  EXPECT_EQ(lines_of(codes, "429"), 40U);
  EXPECT_NE(ask(7, {"-i"}).find("retry-after: 10"), std::string::npos);
  const std::string other = ask(8, {"-o", "/dev/null", "-w", "%{http_code}"});
  EXPECT_EQ(other, "200");
}

TEST_F(RenderHaproxy, OnlyTheApiIsExposed) {
  render(loopback());
  serve({1, 1, 1});
  const Words code{"-o", "/dev/null", "-w", "%{http_code}"};
  EXPECT_EQ(ask(1, code), "200");
  EXPECT_EQ(ask(1, code, "/health"), "404");
  EXPECT_EQ(ask(1, code, "/metrics"), "404");
  Words other = code;
  other.insert(other.end(), {"-H", "Host: elsewhere.example"});
  EXPECT_EQ(ask(1, other), "421");
  const Outcome plain = lab_.run({"curl", "-s", "-o", "/dev/null", "-w", "%{http_code} %{redirect_url}", "-H",
                                  "Host: chat.pod16.internal", "http://" + own_address(250) + ":8080/v1/models"});
  EXPECT_EQ(plain.out, "301 https://chat.pod16.internal/v1/models");
  const Outcome old = lab_.run({"curl", "-sk", "--tls-max", "1.1", "--connect-to", "::" + own_address(250) + ":8443",
                                "https://chat.pod16.internal/v1/models"});
  EXPECT_NE(old.code, 0);  // TLS 1.2 at least
  const Outcome metrics = lab_.run({"curl", "-s", "http://" + own_address(250) + ":8405/metrics"});
  EXPECT_NE(metrics.out.find("haproxy_server_status{proxy=\"service_chat\",server=\"infer001\",state=\"UP\"} 1"),
            std::string::npos);
}

}  // namespace
}  // namespace weft
