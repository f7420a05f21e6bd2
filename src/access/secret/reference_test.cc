#include "access/secret/reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "access/secret/private_file.h"
#include "access/secret/test_support.h"
#include "base/test_prerequisites.h"

namespace weft::access {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kSecret = "hunter2";

class SecretTest : public testing::Test {
 protected:
  SecretTest() {
    sources_.environment = [](const char* name) { return std::string(name) == "WEFT_SECRET" ? kSecret : ""; };
  }
  [[nodiscard]] Result<oob::Secret> read(SecretReference::Kind kind, std::vector<std::string> words) const {
    return read_secret({kind, std::move(words)}, sources_);
  }
  [[nodiscard]] Result<oob::Secret> read_from_file(const std::string& path) const {
    return read(SecretReference::Kind::file, {path});
  }
  [[nodiscard]] std::string refusal(const std::string& path) const {
    const Result<oob::Secret> secret = read_from_file(path);
    EXPECT_FALSE(secret.ok());
    if (secret.ok()) return {};
    EXPECT_THAT(secret.error().text(), Not(HasSubstr(kSecret)));
    return secret.error().text();
  }

  StoreFolder folder_;
  SecretSources sources_;
};

TEST_F(SecretTest, ReadsFilesThatOnlyTheirOwnerMayUse) {
  for (const std::string content : {"hunter2", "hunter2\n", "hunter2\r\n"}) {
    const Result<oob::Secret> secret = read_from_file(folder_.write("s", content));
    ASSERT_TRUE(secret.ok()) << secret.error().text();
    EXPECT_EQ(secret->reveal(), kSecret);
  }
  EXPECT_EQ(read_from_file(folder_.write("s", "a b\n\n", 0400))->reveal(), "a b\n");
}

TEST_F(SecretTest, RefusesOtherModesAndKinds) {
  for (const mode_t mode : {0640U, 0620U, 0604U, 0602U, 0666U, 0610U})
    EXPECT_THAT(refusal(folder_.write("s", kSecret, mode)), HasSubstr("others than its owner"));
  EXPECT_THAT(refusal(folder_.file("none")), HasSubstr("No such file"));
  std::filesystem::create_directory(folder_.file("d"));
  EXPECT_THAT(refusal(folder_.file("d")), HasSubstr("not a regular file"));
  ASSERT_EQ(::mkfifo(folder_.file("f").c_str(), 0600), 0);
  EXPECT_THAT(refusal(folder_.file("f")), HasSubstr("not a regular file"));
  EXPECT_THAT(refusal("/dev/zero"), HasSubstr("not a regular file"));
  EXPECT_THAT(refusal(folder_.write("s", "")), HasSubstr("empty"));
  EXPECT_THAT(refusal(folder_.write("s", "\n")), HasSubstr("empty"));
  EXPECT_THAT(refusal(folder_.write("s", std::string("hunter2\0x", 9))), HasSubstr("null byte"));
  EXPECT_THAT(refusal(folder_.write("s", std::string(kMaxSecretBytes + 1, 'x'))), HasSubstr("larger than"));
  EXPECT_TRUE(read_from_file(folder_.write("s", std::string(kMaxSecretBytes, 'x'))).ok());
  EXPECT_THAT(refusal(std::string("s\0t", 3)), HasSubstr("not a file name"));
}

TEST_F(SecretTest, FollowsLinksOnlyWhereOthersCannotPlaceThem) {
  const std::string target = folder_.write("s", kSecret);
  ASSERT_EQ(::symlink(target.c_str(), folder_.file("link").c_str()), 0);
  EXPECT_TRUE(read_from_file(folder_.file("link")).ok());
  const std::string shared = folder_.file("shared");
  std::filesystem::create_directory(shared);
  ASSERT_EQ(::symlink("../s", (shared + "/link").c_str()), 0);
  ASSERT_EQ(::symlink("..", (shared + "/up").c_str()), 0);
  EXPECT_TRUE(read_from_file(shared + "/link").ok());
  EXPECT_TRUE(read_from_file(shared + "/up/s").ok());
  ASSERT_EQ(::chmod(shared.c_str(), 01777), 0);
  EXPECT_THAT(refusal(shared + "/link"), HasSubstr("symbolic link"));
  EXPECT_THAT(refusal(shared + "/up/s"), HasSubstr("symbolic link"));
  // A link to a link is checked as well.
  ASSERT_EQ(::symlink((shared + "/link").c_str(), folder_.file("chain").c_str()), 0);
  EXPECT_THAT(refusal(folder_.file("chain")), HasSubstr("symbolic link"));
  ASSERT_EQ(::symlink("loop", folder_.file("loop").c_str()), 0);
  EXPECT_THAT(refusal(folder_.file("loop")), HasSubstr("symbolic links"));
}

TEST_F(SecretTest, RefusesFilesAndLinksOfOtherUsers) {
  WEFT_NEEDS_ROOT();  // to make them
  const std::string path = folder_.write("s", kSecret);
  ASSERT_EQ(::chown(path.c_str(), 12345, 0), 0);
  EXPECT_THAT(refusal(path), HasSubstr("another user"));
  ASSERT_EQ(::chown(path.c_str(), 0, 0), 0);
  ASSERT_EQ(::symlink(path.c_str(), folder_.file("link").c_str()), 0);
  ASSERT_EQ(::lchown(folder_.file("link").c_str(), 12345, 0), 0);
  EXPECT_THAT(refusal(folder_.file("link")), HasSubstr("another user"));
}

TEST_F(SecretTest, ReadsConfigurationThatOthersMayRead) {
  const std::string path = folder_.write("c", "text", 0644);
  EXPECT_EQ(*read_private_file(path, Others::may_read, 100), "text");
  EXPECT_FALSE(read_private_file(path, Others::may_read, 3).ok());
  EXPECT_FALSE(read_private_file(folder_.write("c", "text", 0664), Others::may_read, 100).ok());
  EXPECT_FALSE(read_private_file(folder_.write("c", "text", 0646), Others::may_read, 100).ok());
}

TEST_F(SecretTest, ReadsTheEnvironment) {
  using Kind = SecretReference::Kind;
  EXPECT_EQ(read(Kind::environment, {"WEFT_SECRET"})->reveal(), kSecret);
  const Result<oob::Secret> unset = read(Kind::environment, {"WEFT_NONE"});
  ASSERT_FALSE(unset.ok());
  EXPECT_THAT(unset.error().text(), HasSubstr("environment variable WEFT_NONE"));
}

TEST_F(SecretTest, RunsProgramsWithoutAShell) {
  using Kind = SecretReference::Kind;
  EXPECT_EQ(read(Kind::program, {"printf", "%s\n", "a;b $(c)"})->reveal(), "a;b $(c)");
  const Result<oob::Secret> failed = read(Kind::program, {"sh", "-c", "echo hunter2; echo hunter2 >&2; exit 3"});
  ASSERT_FALSE(failed.ok());
  EXPECT_THAT(failed.error().text(), HasSubstr("exit code 3"));
  EXPECT_THAT(failed.error().text(), Not(HasSubstr(kSecret)));
  EXPECT_FALSE(read(Kind::program, {"weft-no-such-program"}).ok());
  EXPECT_FALSE(read(Kind::program, {"true"}).ok());
}

TEST_F(SecretTest, LimitsProgramsInTimeAndOutput) {
  ProcessRequest seen;
  sources_.deadline = milliseconds(1234);
  sources_.run = [&](const ProcessRequest& request) -> Result<ProcessOutcome> {
    seen = request;
    return Error{ErrorCode::timeout, "timed out", {}};
  };
  const Result<oob::Secret> secret = read(SecretReference::Kind::program, {"vault", "kv", "get"});
  ASSERT_FALSE(secret.ok());
  EXPECT_EQ(secret.error().text(), "program vault: timed out");
  EXPECT_EQ(seen.limit, milliseconds(1234));
  EXPECT_EQ(seen.most_output, kMaxSecretBytes);
  EXPECT_EQ(seen.words, (std::vector<std::string>{"vault", "kv", "get"}));
}

TEST_F(SecretTest, IsWrittenInFilesAsAReference) {
  const auto parse = [](const std::string& text, SecretReference& out) {
    Sources sources;
    Diagnostics diagnostics;
    const FileId file = sources.add("a.yaml", text);
    const std::optional<YamlNode> node = parse_yaml(sources, file, diagnostics);
    if (node && model::Codec<SecretReference>::read(*node, diagnostics, out)) return std::string();
    return render_all(diagnostics, sources, false);
  };
  SecretReference reference;
  EXPECT_EQ(parse("{file: /a}", reference), "");
  EXPECT_EQ(reference, (SecretReference{SecretReference::Kind::file, {"/a"}}));
  EXPECT_EQ(parse("{env: A_1}", reference), "");
  EXPECT_EQ(reference.describe(), "environment variable A_1");
  EXPECT_EQ(parse("{program: [vault, kv, get]}", reference), "");
  EXPECT_EQ(reference.words.size(), 3U);
  EXPECT_EQ(reference.describe(), "program vault");
  EXPECT_THAT(parse("{}", reference), HasSubstr("missing"));
  EXPECT_THAT(parse("{file: /a, env: B}", reference), HasSubstr("one source"));
  EXPECT_THAT(parse("{env: \"A B\"}", reference), HasSubstr("environment variable"));
  EXPECT_THAT(parse("{env: 1A}", reference), HasSubstr("environment variable"));
  EXPECT_THAT(parse("{file: \"\"}", reference), HasSubstr("not the path"));
  EXPECT_THAT(parse("{program: []}", reference), HasSubstr("program is missing"));
  EXPECT_THAT(parse("{program: [a, \"b\\0c\"]}", reference), HasSubstr("control character"));
  EXPECT_THAT(parse("{fil: /a}", reference), HasSubstr("did you mean `file`?"));
  const std::string direct = parse("hunter2", reference);
  EXPECT_THAT(direct, HasSubstr("must not be in this file"));
  EXPECT_THAT(direct, Not(HasSubstr(kSecret)));
}

TEST(RandomTest, MakesIdsAndSecrets) {
  const RandomFill random = make_test_random();
  EXPECT_EQ(make_secret_text(random).size(), kSecretCharacters);
  const std::string first = make_secret_text(random);
  EXPECT_NE(make_secret_text(random), first);
  std::string seen;
  for (int i = 0; i < 200; ++i) {
    const std::string id = make_id(random);
    ASSERT_EQ(id.size(), kIdCharacters);
    ASSERT_EQ(id.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789"), std::string::npos);
    seen += id;
  }
  for (const char c : {'a', 'z', '0', '9'}) EXPECT_NE(seen.find(c), std::string::npos);
  const std::string id = make_id(system_random());
  EXPECT_NE(make_id(system_random()), id);
}

}  // namespace
}  // namespace weft::access
