#include "cli/framework/user_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "base/file.h"

namespace weft::cli {
namespace {

using ::testing::HasSubstr;

constexpr const char* kHex = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

struct Parsed {
  std::optional<UserConfig> config;
  std::string problems;
};

Parsed parse(const std::string& text) {
  Sources sources;
  Diagnostics diagnostics;
  Parsed parsed;
  parsed.config = read_user_config(sources, sources.add("config.yaml", text), diagnostics);
  if (diagnostics.has_errors()) parsed.problems = render_all(diagnostics, sources, false);
  return parsed;
}

std::string test_folder(const std::string& name) {
  std::string path = testing::TempDir() + "/weft_config_" + name;
  std::filesystem::remove_all(path);
  return path;
}

TEST(UserConfigTest, ReadsContexts) {
  const Parsed parsed = parse(
      "weft_config: 1\n"
      "current: prod\n"
      "contexts:\n"
      "  prod: {server: https://Weft.example.org, ca: /etc/ssl/lab-ca.pem}\n"
      "  lab:  {server: 'https://127.0.0.1:8443', fingerprint: \"SHA256:" +
      std::string(kHex) +
      "\"}\n"
      "  here: {socket: /run/weft/weft.sock}\n");
  ASSERT_TRUE(parsed.config) << parsed.problems;
  EXPECT_EQ(*parsed.config->current, "prod");
  EXPECT_EQ(*parsed.config->find("prod")->server, "https://weft.example.org:8443");
  EXPECT_EQ(*parsed.config->find("prod")->ca, "/etc/ssl/lab-ca.pem");
  EXPECT_EQ(*parsed.config->find("lab")->fingerprint, std::string("sha256:") + kHex);
  EXPECT_EQ(*parsed.config->find("here")->socket, "/run/weft/weft.sock");
  EXPECT_EQ(parsed.config->find("no"), nullptr);
  const Parsed again = parse(write_user_config(*parsed.config));
  ASSERT_TRUE(again.config) << again.problems;
  EXPECT_EQ(write_user_config(*again.config), write_user_config(*parsed.config));
}

TEST(UserConfigTest, AnEmptyFileIsAnEmptyConfiguration) {
  ASSERT_TRUE(parse("").config);
  ASSERT_TRUE(parse("# nothing yet\n").config);
  EXPECT_TRUE(parse("weft_config: 1\n").config);
}

TEST(UserConfigTest, EveryProblemHasItsPlace) {
  const auto problem = [](const std::string& text) {
    const Parsed parsed = parse("weft_config: 1\n" + text);
    EXPECT_FALSE(parsed.config) << text;
    return parsed.problems;
  };
  EXPECT_THAT(parse("contexts: {}\n").problems, HasSubstr("weft_config"));
  EXPECT_THAT(parse("weft_config: 2\n").problems, HasSubstr("config.yaml:1:14"));
  EXPECT_THAT(problem("curent: a\n"), HasSubstr("config.yaml:2:1: error: unknown key `curent`"));
  EXPECT_THAT(problem("current: a\n"), HasSubstr("config.yaml:2:10: error: there is no context `a`"));
  EXPECT_THAT(problem("contexts: {a: {}}\n"), HasSubstr("has neither"));
  EXPECT_THAT(problem("contexts: {a: {server: https://h, socket: /s}}\n"), HasSubstr("not both"));
  EXPECT_THAT(problem("contexts: {a: {socket: /s, ca: /c}}\n"), HasSubstr("a socket has no certificate"));
  EXPECT_THAT(problem("contexts: {a: {socket: s}}\n"), HasSubstr("must be an absolute path"));
  EXPECT_THAT(problem("contexts: {a: {server: http://h}}\n"), HasSubstr("https only"));
  EXPECT_THAT(problem("contexts: {a: {server: https://h, ca: c}}\n"), HasSubstr("must be an absolute path"));
  EXPECT_THAT(problem("contexts: {a: {server: https://h, fingerprint: abc}}\n"), HasSubstr("is not a fingerprint"));
  EXPECT_THAT(problem("contexts: {a: {server: https://h, token: t}}\n"), HasSubstr("unknown key `token`"));
  EXPECT_THAT(problem("contexts: {'a b': {socket: /s}}\n"), HasSubstr("is not a name of a context"));
}

TEST(UserConfigTest, UrlsOfServers) {
  const auto normal = [](const std::string& text) {
    const Result<ServerUrl> url = parse_server_url(text);
    return url.ok() ? format_server_url(*url) : "error";
  };
  EXPECT_EQ(normal("https://weft.example.org"), "https://weft.example.org:8443");
  EXPECT_EQ(normal("HTTPS://WEFT:443/"), "https://weft:443");
  EXPECT_EQ(normal("https://192.0.2.7:9000"), "https://192.0.2.7:9000");
  EXPECT_EQ(normal("https://[2001:DB8::7]:9000"), "https://[2001:db8::7]:9000");
  for (const char* wrong :
       {"", "weft", "http://weft", "https://", "https://:1", "https://h:", "https://h:0", "https://h:65536",
        "https://h:1x", "https://u@h", "https://h/path", "https://h?q", "https://[::1", "https://[::1]x", "https://[h]",
        "https://-h", "https://h\n", "https://h:1:2"}) {
    EXPECT_EQ(normal(wrong), "error") << wrong;
  }
}

TEST(UserConfigTest, FingerprintsAsOtherProgramsPrintThem) {
  std::string colons;
  for (std::size_t i = 0; i < 64; i += 2) colons += (i == 0 ? "" : ":") + std::string("AB");
  EXPECT_EQ(parse_fingerprint(colons).value_or(""), "sha256:" + std::string(64, ' ').replace(0, 64, [] {
    std::string digits;
    for (int i = 0; i < 32; ++i) digits += "ab";
    return digits;
  }()));
  EXPECT_FALSE(parse_fingerprint("sha1:00").ok());
  EXPECT_FALSE(parse_fingerprint(std::string(63, 'a')).ok());
  EXPECT_FALSE(parse_fingerprint(std::string(64, 'g')).ok());
}

TEST(UserConfigTest, TheFileIsWhereTheEnvironmentSays) {
  std::map<std::string, std::string> variables;
  Io io;
  io.environment = [&](const char* name) { return variables[name]; };
  EXPECT_EQ(user_config_path(io), "");
  variables["HOME"] = "/home/ada";
  EXPECT_EQ(user_config_path(io), "/home/ada/.config/weft/config.yaml");
  variables["XDG_CONFIG_HOME"] = "/c";
  EXPECT_EQ(user_config_path(io), "/c/weft/config.yaml");
  variables["WEFT_CONFIG"] = "/own.yaml";
  EXPECT_EQ(user_config_path(io), "/own.yaml");
}

TEST(UserConfigTest, ChangesReplaceTheFileAndKeepItsHeading) {
  const std::string folder = test_folder("change");
  const std::string path = folder + "/weft/config.yaml";
  const auto add = [&](const std::string& name) {
    return change_user_config(path, [&](UserConfig& config) -> Status {
      ServerContext context;
      context.socket = std::string("/run/") + name;
      config.put(name, context);
      config.current = name;
      return {};
    });
  };
  ASSERT_TRUE(add("a").ok());
  EXPECT_EQ(load_user_config(path)->current.value, "a");
  ASSERT_TRUE(write_file(path, "# mine\n" + read_file(path).value_or("")).ok());
  ASSERT_TRUE(add("b").ok());
  EXPECT_THAT(read_file(path).value_or(""), HasSubstr("# mine\n"));
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
  ASSERT_TRUE(change_user_config(path, [](UserConfig& config) -> Status {
                config.remove("b");
                return {};
              }).ok());
  EXPECT_FALSE(load_user_config(path)->current.has_value());
  EXPECT_NE(load_user_config(path)->find("a"), nullptr);
}

TEST(UserConfigTest, AnInvalidFileIsNotReplaced) {
  const std::string folder = test_folder("invalid");
  std::filesystem::create_directories(folder);
  const std::string path = folder + "/config.yaml";
  ASSERT_TRUE(write_file(path, "weft_config: 1\nother: 1\n").ok());
  const Status status = change_user_config(path, [](UserConfig&) -> Status { return {}; });
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("config.yaml:2:1: error: unknown key `other`"));
  EXPECT_EQ(read_file(path).value_or(""), "weft_config: 1\nother: 1\n");
  EXPECT_TRUE(load_user_config(folder + "/none.yaml").ok());
}

TEST(UserConfigTest, ALinkIsKept) {
  const std::string folder = test_folder("link");
  std::filesystem::create_directories(folder);
  ASSERT_TRUE(write_file(folder + "/real.yaml", "weft_config: 1\n").ok());
  ASSERT_EQ(::symlink("real.yaml", (folder + "/config.yaml").c_str()), 0);
  ASSERT_TRUE(change_user_config(folder + "/config.yaml", [](UserConfig& config) -> Status {
                ServerContext context;
                context.socket = std::string("/s");
                config.put("a", context);
                return {};
              }).ok());
  EXPECT_TRUE(std::filesystem::is_symlink(folder + "/config.yaml"));
  EXPECT_NE(load_user_config(folder + "/real.yaml")->find("a"), nullptr);
}

}  // namespace
}  // namespace weft::cli
