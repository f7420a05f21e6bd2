// The fleet over real sockets, with libcurl as an independent client.
#include "bmcsim/fleet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "lazy/curl.h"

namespace weft::bmcsim {
namespace {

using ::testing::HasSubstr;

struct Answer {
  CURLcode code = CURLE_OK;
  long status = 0;  // NOLINT(google-runtime-int): curl's
  std::string body;
  long redirects = 0;  // NOLINT(google-runtime-int)
};

std::size_t keep(char* bytes, std::size_t size, std::size_t count, void* into) {
  auto* body = static_cast<std::string*>(into);
  if (body->size() > (1U << 20U)) return 0;  // endless
  body->append(bytes, size * count);
  return size * count;
}

// One keep-alive connection, like a client session.
class Client {
 public:
  explicit Client(std::string ca) : handle_((load_curl(), curl_easy_init())), ca_(std::move(ca)) {}
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client() { curl_easy_cleanup(handle_); }

  Answer ask(const std::string& url, const std::string& body = {}, const char* method = nullptr) {
    Answer answer;
    curl_easy_reset(handle_);
    curl_slist* headers = curl_slist_append(nullptr, "Content-Type: application/json");
    set(CURLOPT_URL, url.c_str());
    set(CURLOPT_CAINFO, ca_.c_str());
    set(CURLOPT_USERPWD, "admin:weft-simulated");
    set(CURLOPT_NOPROXY, "*");
    set(CURLOPT_WRITEFUNCTION, &keep);
    set(CURLOPT_WRITEDATA, &answer.body);
    set(CURLOPT_HTTPHEADER, headers);
    set(CURLOPT_TIMEOUT_MS, limit_ms);
    set(CURLOPT_NOSIGNAL, 1L);
    if (!body.empty()) set(CURLOPT_COPYPOSTFIELDS, body.c_str());
    if (method != nullptr) set(CURLOPT_CUSTOMREQUEST, method);
    answer.code = curl_easy_perform(handle_);
    curl_easy_getinfo(handle_, CURLINFO_RESPONSE_CODE, &answer.status);  // NOLINT(cppcoreguidelines-pro-type-vararg)
    curl_slist_free_all(headers);
    return answer;
  }
  long limit_ms = 20'000;  // NOLINT(google-runtime-int)

 private:
  template <class T>
  void set(CURLoption option, T value) {
    curl_easy_setopt(handle_, option, value);  // NOLINT(cppcoreguidelines-pro-type-vararg)
  }
  CURL* handle_;
  std::string ca_;
};

class SimFleetConcurrentTest : public testing::Test {
 protected:
  void begin(std::uint32_t count, SimOptions options = {}) {
    std::vector<SimDevice> devices(count);
    for (std::uint32_t i = 0; i < count; ++i) devices[i] = {.name = "n" + std::to_string(i), .offset = i};
    Result<std::unique_ptr<SimFleet>> made = SimFleet::make(std::move(devices), std::move(options));
    ASSERT_TRUE(made.ok()) << made.error().text();
    fleet_ = std::move(made).value();
    ca_ = testing::TempDir() + "weft_sim_" + std::to_string(::getpid()) + "_" +
          testing::UnitTest::GetInstance()->current_test_info()->name() + ".pem";
    std::ofstream(ca_) << fleet_->ca_pem();
    ASSERT_TRUE(fleet_->start().ok());
  }
  ~SimFleetConcurrentTest() override { std::filesystem::remove(ca_); }

  static SimOptions with(const std::string& fault) {
    SimOptions options;
    options.faults = parse_fault(fault).value();
    return options;
  }
  [[nodiscard]] std::string system(std::uint32_t device) const { return fleet_->url(device) + "/redfish/v1/Systems/1"; }
  // The result of one GET of the system.
  Answer one(const std::string& fault, long limit_ms = 20'000) {  // NOLINT(google-runtime-int)
    begin(2, with("n0=" + fault));
    Client client(ca_);
    client.limit_ms = limit_ms;
    return client.ask(system(0));
  }

  std::unique_ptr<SimFleet> fleet_;
  std::string ca_;
};

TEST_F(SimFleetConcurrentTest, EveryAddressIsAnotherBmcWithAValidCertificate) {
  begin(300);
  for (const std::uint32_t i : {0U, 1U, 255U, 299U}) {
    Client client(ca_);
    const Answer answer = client.ask(system(i));
    ASSERT_EQ(answer.code, CURLE_OK) << curl_easy_strerror(answer.code);
    EXPECT_EQ(answer.status, 200);
    EXPECT_THAT(answer.body, HasSubstr("\"HostName\": \"n" + std::to_string(i) + "\""));
    EXPECT_EQ(fleet_->counters(i).requests, 1U);
  }
  EXPECT_EQ(fleet_->address(255), "127.16.1.0");
  EXPECT_EQ(fleet_->totals().requests, 4U);
  EXPECT_NE(Client(ca_).ask("https://127.17.0.1:" + std::to_string(fleet_->port())).code, CURLE_OK);
}

TEST_F(SimFleetConcurrentTest, ConnectionIsKeptAlive) {
  begin(1);
  Client client(ca_);
  for (int i = 0; i < 20; ++i) ASSERT_EQ(client.ask(system(0)).status, 200);
  EXPECT_EQ(client.ask(system(0), R"({"AssetTag":"x"})", "PATCH").status, 204);
  EXPECT_EQ(fleet_->counters(0).connections, 1U);
  EXPECT_EQ(fleet_->counters(0).requests, 21U);
  EXPECT_EQ(fleet_->counters(0).in_flight, 0U);
}

TEST_F(SimFleetConcurrentTest, PowerChangesThroughRedfishAndDirectly) {
  begin(1);
  Client client(ca_);
  EXPECT_EQ(client.ask(system(0) + "/Actions/ComputerSystem.Reset", R"({"ResetType":"ForceOff"})").status, 204);
  for (int i = 0; i < 6'000 && fleet_->power(0) != oob::PowerState::off; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(fleet_->power(0), oob::PowerState::off);
  EXPECT_EQ(fleet_->counters(0).resets[static_cast<std::size_t>(SimReset::force_off)], 1U);
  fleet_->set_power(0, true);
  for (int i = 0; i < 6'000 && fleet_->power(0) != oob::PowerState::on; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(fleet_->power(0), oob::PowerState::on);
  EXPECT_TRUE(fleet_->opens(0, "admin", oob::Secret("weft-simulated")));
  EXPECT_FALSE(fleet_->opens(0, "admin", oob::Secret("x")));
  EXPECT_THAT(fleet_->report(), HasSubstr("\"ForceOff\": 1"));
}

TEST_F(SimFleetConcurrentTest, ManyClientsAtOnceAreCounted) {
  SimOptions options;
  options.latency = milliseconds(200);
  begin(4, options);
  std::vector<std::thread> threads;
  std::atomic<int> fine{0};
  for (std::uint32_t i = 0; i < 12; ++i) {
    threads.emplace_back([&, i] {
      Client client(ca_);
      client.limit_ms = 30'000;
      for (int k = 0; k < 2; ++k) fine += client.ask(system(i % 4)).status == 200 ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(fine, 24);
  EXPECT_EQ(fleet_->totals().requests, 24U);
  EXPECT_GE(fleet_->totals().most_in_flight, 2U);
  EXPECT_LE(fleet_->totals().most_in_flight, 3U);  // three clients each
  EXPECT_EQ(fleet_->totals().in_flight, 0U);
}

TEST_F(SimFleetConcurrentTest, PlainHttp) {
  SimOptions options;
  options.tls = false;
  begin(1, options);
  EXPECT_EQ(fleet_->ca_pem(), "");
  EXPECT_EQ(Client(ca_).ask(system(0)).status, 200);
}

TEST_F(SimFleetConcurrentTest, LargeBodiesAreRefusedWithAResponse) {
  begin(1);
  // curl sends Expect: 100-continue with bodies above 1 MiB or on request; these are rejected by their length while
  // they are being sent, and the response must still arrive.
  Client client(ca_);
  for (const std::size_t size : {70'000U, 900'000U, 900'000U, 70'000U}) {
    EXPECT_EQ(client.ask(system(0), std::string(size, ' '), "PATCH").status, 413) << size;
  }
}

// The libcurl error of each fault; a status where the response is HTTP.
TEST_F(SimFleetConcurrentTest, SilentIsATimeout) {
  EXPECT_EQ(one("dead", 300).code, CURLE_OPERATION_TIMEDOUT);
  EXPECT_EQ(fleet_->counters(0).connections, 0U);  // no SYN was answered
  fleet_->set_faults(0, FaultSet());
  Client client(ca_);
  client.limit_ms = 20'000;
  EXPECT_EQ(client.ask(system(0)).status, 200);
}
TEST_F(SimFleetConcurrentTest, MuteIsATimeout) {
  EXPECT_EQ(one("dead:mute", 300).code, CURLE_OPERATION_TIMEDOUT);
  EXPECT_EQ(fleet_->counters(0).connections, 1U);
}
TEST_F(SimFleetConcurrentTest, ResetIsAConnectionError) {
  const CURLcode code = one("dead:reset").code;
  EXPECT_TRUE(code == CURLE_SSL_CONNECT_ERROR || code == CURLE_RECV_ERROR || code == CURLE_COULDNT_CONNECT) << code;
}
TEST_F(SimFleetConcurrentTest, SlowAnswersLate) {
  EXPECT_EQ(one("slow:10s", 300).code, CURLE_OPERATION_TIMEDOUT);
  EXPECT_EQ(fleet_->counters(0).requests, 1U);
}
TEST_F(SimFleetConcurrentTest, OtherAuthority) {
  EXPECT_EQ(one("wrong_certificate").code, CURLE_PEER_FAILED_VERIFICATION);
}
TEST_F(SimFleetConcurrentTest, OtherName) {
  EXPECT_EQ(one("wrong_certificate:name").code, CURLE_PEER_FAILED_VERIFICATION);
}
TEST_F(SimFleetConcurrentTest, Expired) { EXPECT_EQ(one("expired_certificate").code, CURLE_PEER_FAILED_VERIFICATION); }
TEST_F(SimFleetConcurrentTest, Truncated) { EXPECT_EQ(one("truncated").code, CURLE_PARTIAL_FILE); }
TEST_F(SimFleetConcurrentTest, EndlessBody) {
  const Answer answer = one("endless", 5'000);
  EXPECT_EQ(answer.code, CURLE_WRITE_ERROR);
  EXPECT_GT(answer.body.size(), 1U << 20U);
}
TEST_F(SimFleetConcurrentTest, EndlessHeaders) {
  const CURLcode code = one("endless_headers", 5'000).code;  // curl limits them
  EXPECT_TRUE(code != CURLE_OK && code != CURLE_OPERATION_TIMEDOUT) << code;
}
TEST_F(SimFleetConcurrentTest, Trickle) {
  const Answer answer = one("slow_trickle:1ms", 300);
  EXPECT_EQ(answer.code, CURLE_OPERATION_TIMEDOUT);
}
TEST_F(SimFleetConcurrentTest, RedirectsPointToTheNeighbor) {
  EXPECT_EQ(one("redirect").status, 308);
  EXPECT_EQ(fleet_->counters(1).requests, 0U);
}
TEST_F(SimFleetConcurrentTest, FlapsOverTime) {
  begin(1, with("n0=flapping:100ms"));
  // Up, down and up again, however long a request takes on this machine.
  int turns = 0;
  for (int i = 0; i < 6'000 && turns < 3; ++i) {
    const bool up = Client(ca_).ask(system(0)).status == 200;
    turns += up == (turns % 2 == 0) ? 1 : 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(turns, 3);
}

TEST(SimFleet, RejectsInvalidOptions) {
  EXPECT_FALSE(SimFleet::make({}, {}).ok());
  EXPECT_FALSE(SimFleet::make({{.name = "a"}, {.name = "a", .offset = 1}}, {}).ok());
  EXPECT_FALSE(SimFleet::make({{.name = "a"}, {.name = "b"}}, {}).ok());
  EXPECT_FALSE(SimFleet::make({{.name = "a", .offset = 0x00F00000}}, {}).ok());
  SimOptions elsewhere;
  elsewhere.base = Ipv4{0x0A000001};
  EXPECT_FALSE(SimFleet::make({{.name = "a"}}, elsewhere).ok());
  SimOptions fault;
  fault.faults = {{"b", FaultKind::slow, 1}};
  EXPECT_EQ(SimFleet::make({{.name = "a"}}, fault).error().code, ErrorCode::not_found);
  fault.faults = {{"train01", FaultKind::slow, 1}};
  EXPECT_THAT(SimFleet::make({{.name = "train001"}}, fault).error().message, HasSubstr("did you mean `train001`"));
  fault.faults = {{"a", FaultKind::xid, to_argument({.gpu = 9, .code = 79})}};
  EXPECT_THAT(SimFleet::make({{.name = "a", .gpus = 8}}, fault).error().message, HasSubstr("has no GPU 9"));
}

TEST(SimFleet, KeepsItsCa) {
  SimOptions options;
  options.authority = testing::TempDir() + "weft_sim_ca_" + std::to_string(::getpid());
  std::filesystem::create_directories(options.authority);
  const std::string first = SimFleet::make({{.name = "a"}}, options).value()->ca_pem();
  EXPECT_EQ(SimFleet::make({{.name = "a"}}, options).value()->ca_pem(), first);
  using std::filesystem::perms;
  EXPECT_EQ(std::filesystem::status(options.authority + "/ca.key").permissions(),
            perms::owner_read | perms::owner_write);
  std::ofstream(options.authority + "/ca.key") << "rubbish";
  EXPECT_EQ(SimFleet::make({{.name = "a"}}, options).error().code, ErrorCode::invalid_input);
  std::filesystem::remove_all(options.authority);
}

}  // namespace
}  // namespace weft::bmcsim
