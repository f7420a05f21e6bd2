// For tests only: runs tests/oidc_issuer.py, our OpenID Connect provider, with a certificate of its own and the users
// of a test, and sends it control requests. It ends with the object.
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/pem.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "access/oidc/http_fetch.h"
#include "base/check.h"
#include "base/file.h"
#include "base/test_places.h"
#include "oob/redfish/test_server.h"

namespace weft::access::test {

struct IssuerOptions {
  std::string python = "/usr/bin/python3";
  // See tests/oidc_issuer.py.
  std::string users = R"({"ada": {"password": "lovelace-1", "groups": ["sre", "research"]},
                          "bob": {"password": "builder-22", "groups": ["research"]}})";
  std::string client = "weft";  // ID or ID=SECRET
  std::vector<std::string> redirects{"https://127.0.0.1:8443/login/callback"};
};

class TestIssuer {
 public:
  explicit TestIssuer(const IssuerOptions& options = {}) {
    std::string pattern = (std::filesystem::temp_directory_path() / "weft_issuer_XXXXXX").string();
    CHECK(::mkdtemp(pattern.data()) != nullptr, "a temporary folder");
    folder_ = pattern;
    const oob::test::Certificate certificate = oob::test::make_certificate();
    CHECK(write_file(ca_file(), certificate.pem()).ok(), "write");
    CHECK(write_file(folder_ + "/users.json", options.users).ok(), "write");
    const std::unique_ptr<BIO, decltype(&::BIO_free)> key(::BIO_new_file((folder_ + "/key.pem").c_str(), "w"),
                                                          &::BIO_free);
    CHECK(::PEM_write_bio_PrivateKey(key.get(), certificate.key.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1,
          "write");
    (void)BIO_flush(key.get());
    start(options);
  }
  ~TestIssuer() {
    ::close(input_);  // it ends with its standard input
    int status = 0;
    ::waitpid(process_, &status, 0);
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  TestIssuer(const TestIssuer&) = delete;
  TestIssuer& operator=(const TestIssuer&) = delete;

  [[nodiscard]] const std::string& url() const { return url_; }
  [[nodiscard]] std::string ca_file() const { return folder_ + "/certificate.pem"; }

  // POST /control/NAME.
  nlohmann::json control(const std::string& name, const nlohmann::json& body = nlohmann::json::object()) {
    const FetchResponse response = request("POST", "/control/" + name, body.dump());
    CHECK(response.status == 200, response.body.c_str());
    return nlohmann::json::parse(response.body);
  }
  // The text of a token, as /control/token makes it.
  std::string token(const nlohmann::json& wish = nlohmann::json::object()) { return control("token", wish)["token"]; }

  // `form`: the body, whatever its type.
  FetchResponse request(const std::string& method, const std::string& path, const std::string& form = {}) {
    FetchRequest request;
    request.method = method;
    request.url = path.starts_with("https://") ? path : url_ + path;
    request.form = oob::Secret(form);
    request.ca_file = ca_file();
    Result<FetchResponse> response = fetch_.fetch(request);
    CHECK(response.ok(), "the issuer answers");
    return std::move(response).value();
  }

 private:
  void start(const IssuerOptions& options) {
    std::vector<std::string> words = {options.python,  source_dir() + "/tests/oidc_issuer.py",
                                      "--certificate", ca_file(),
                                      "--key",         folder_ + "/key.pem",
                                      "--users",       folder_ + "/users.json",
                                      "--client",      options.client};
    for (const std::string& redirect : options.redirects) words.insert(words.end(), {"--redirect", redirect});
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    std::array<int, 2> in{};
    std::array<int, 2> out{};
    CHECK(::pipe2(in.data(), O_CLOEXEC) == 0 && ::pipe2(out.data(), O_CLOEXEC) == 0, "pipes");
    posix_spawn_file_actions_t actions{};
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, in[0], 0);
    ::posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    CHECK(::posix_spawn(&process_, argv[0], &actions, nullptr, argv.data(), environ) == 0, "start the issuer");
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(in[0]);
    ::close(out[1]);
    input_ = in[1];
    std::string line;
    for (char c = 0; ::read(out[0], &c, 1) == 1 && c != '\n';) line += c;
    ::close(out[0]);
    CHECK(line.starts_with("{"), "the issuer says where it is");
    url_ = nlohmann::json::parse(line)["issuer"];
  }

  std::string folder_;
  std::string url_;
  pid_t process_ = -1;
  int input_ = -1;
  CurlFetch fetch_;
};

}  // namespace weft::access::test
