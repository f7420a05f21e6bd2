#include "oob/credentials/credentials.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <thread>

#include "base/file.h"
#include "base/random.h"
#include "base/test_prerequisites.h"
#include "oob/credentials/book.h"
#include "oob/credentials/log.h"
#include "oob/durable/kill_rounds.h"

namespace weft::oob {
namespace {

constexpr const char* kDocument =
    "# of the machines in hall 2\n"
    "weft_credentials: 1\n"
    "default: {user: admin, password: s3cretD}\n"
    "groups:\n"
    "  train: {user: root, password: s3cretG}\n"
    "devices:\n"
    "  \"train[001-003],login1\": {password: s3cretO}\n"
    "  train004: {user: op, password: s3cretP, pending: s3cretN}\n";

class CredentialsTest : public testing::Test {
 protected:
  CredentialsTest() : folder_(fmt::format("{}/weft-credentials-{}", testing::TempDir(), ::getpid())) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~CredentialsTest() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path() const { return folder_ + "/bmc.yaml"; }
  void write(const std::string& name, const std::string& content, mode_t mode = 0600) const {
    FILE* file = std::fopen(name.c_str(), "wb");
    ASSERT_NE(file, nullptr);
    std::fwrite(content.data(), 1, content.size(), file);
    std::fclose(file);
    ASSERT_EQ(::chmod(name.c_str(), mode), 0);
  }
  static std::string unset(const char*) { return {}; }
  [[nodiscard]] Result<std::unique_ptr<CredentialStore>> try_open() const { return open_credentials(path(), unset); }
  [[nodiscard]] std::unique_ptr<CredentialStore> open() const {
    Result<std::unique_ptr<CredentialStore>> store = try_open();
    EXPECT_TRUE(store.ok()) << store.error().text();
    return store.ok() ? std::move(store).value() : nullptr;
  }
  static Credential credential(const std::string& password, const std::string& pending = {}) {
    Credential made{"admin", Secret(password), std::nullopt};
    if (!pending.empty()) made.pending = Secret(pending);
    return made;
  }
  [[nodiscard]] static std::string password(const CredentialStore& store, const std::string& device,
                                            const std::string& group = {}) {
    const Result<Credential> found = store.find(device, group);
    return found.ok() ? found->password.reveal() : "none";
  }

  std::string folder_;
};

TEST_F(CredentialsTest, DevicePrecedesGroupPrecedesDefault) {
  write(path(), kDocument);
  const auto store = open();
  EXPECT_EQ(password(*store, "train002", "train"), "s3cretO");
  EXPECT_EQ(store->find("train002", "train")->user, "admin");  // from the default
  EXPECT_EQ(password(*store, "login1"), "s3cretO");
  EXPECT_EQ(password(*store, "train009", "train"), "s3cretG");
  EXPECT_EQ(store->find("train009", "train")->user, "root");
  EXPECT_EQ(password(*store, "x", "y"), "s3cretD");
  EXPECT_EQ(store->find("train004", "train")->pending->reveal(), "s3cretN");
  EXPECT_TRUE(store->has_own("train001"));
  EXPECT_FALSE(store->has_own("train009"));
  EXPECT_TRUE(store->writable());
  EXPECT_EQ(store->name(), "file:" + path());
}

TEST_F(CredentialsTest, MissingEntryIsNotFound) {
  write(path(), "weft_credentials: 1\ndevices:\n  a: {user: u, password: \"\"}\n");
  const auto store = open();
  EXPECT_EQ(store->find("b", "").error().code, ErrorCode::not_found);
  EXPECT_EQ(password(*store, "a"), "");
  EXPECT_EQ(open_credentials("file:" + folder_ + "/none.yaml", unset).error().code, ErrorCode::not_found);
}

TEST_F(CredentialsTest, FileReadableByOthersIsRefused) {
  for (const mode_t mode : {mode_t{0640}, mode_t{0604}, mode_t{0660}, mode_t{0601}}) {
    write(path(), kDocument, mode);
    const auto store = try_open();
    ASSERT_FALSE(store.ok());
    EXPECT_EQ(store.error().code, ErrorCode::refused);
    EXPECT_NE(store.error().message.find("chmod 600"), std::string::npos);
  }
  write(path(), kDocument, 0400);
  EXPECT_TRUE(try_open().ok());
  std::filesystem::create_directory(folder_ + "/d");
  EXPECT_FALSE(open_credentials(folder_ + "/d", unset).ok());
}

TEST_F(CredentialsTest, FilesAndLinksOfOthersAreRefused) {
  WEFT_NEEDS_ROOT();  // only root can change the owner of a file
  write(path(), kDocument);
  ASSERT_EQ(::chown(path().c_str(), 12345, 12345), 0);
  EXPECT_EQ(try_open().error().code, ErrorCode::refused);
  ASSERT_EQ(::chown(path().c_str(), 0, 0), 0);
  const std::string link = folder_ + "/link.yaml";
  ASSERT_EQ(::symlink(path().c_str(), link.c_str()), 0);
  EXPECT_TRUE(open_credentials(link, unset).ok());
  ASSERT_EQ(::lchown(link.c_str(), 12345, 12345), 0);
  EXPECT_EQ(open_credentials(link, unset).error().code, ErrorCode::refused);
}

TEST_F(CredentialsTest, ErrorsNameTheLocationAndNoSecret) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "is not a file of credentials"},
      {"default: {user: a, password: s3cret}\n", "is missing"},
      {"weft_credentials: 2\n", "must be 1"},
      {"weft_credentials: 1\ndefault: {user: a, passwrd: s3cret}\n", "unknown key"},
      {"weft_credentials: 1\ndefault: {user: a, s3cret}\n", ""},
      {"weft_credentials: 1\ndefault: {user: a, password: s3cret\n", ""},
      {"weft_credentials: 1\ndefault: &s3cret {user: a, password: x}\n", ""},
      {"weft_credentials: 1\ndefault: {user: a, password: *s3cret}\n", ""},
      {"weft_credentials: 1\ndefault: {user: a, password: x, s3cret: 1, s3cret: 2}\n", ""},
      {"weft_credentials: 1\ndefault: {password: s3cret}\n", "no user"},
      {"weft_credentials: 1\ndefault: {user: a}\n", "no password"},
      {"weft_credentials: 1\ndefault: {user: a, password: [s3cret]}\n", "must be text"},
      {"weft_credentials: 1\ns3cret: 1\n", "unknown key"},
      {"weft_credentials: 1\ngroups: {\"@g\": {user: a, password: s3cret}}\n", "without @"},
      {"weft_credentials: 1\ndevices: {\"@g\": {user: a, password: s3cret}}\n", "under groups"},
      {"weft_credentials: 1\ndevices: {\"n[1-\": {user: a, password: s3cret}}\n", "not a host range"},
      {"weft_credentials: 1\ndevices: {\"n[1-3]\": {user: a, password: s3cret}, n2: {user: a, password: s3cret}}\n",
       "has an entry already"},
      {"weft_credentials: 1\ndevices: [s3cret]\n", "must be a mapping"},
      {"weft_credentials: 1\ndefault: {user: a, password: \"s3cret\xFF\"}\n", "UTF-8"},
  };
  for (const auto& [text, message] : cases) {
    write(path(), text);
    const auto store = try_open();
    ASSERT_FALSE(store.ok()) << text;
    EXPECT_EQ(store.error().code, ErrorCode::invalid_input) << text;
    EXPECT_NE(store.error().text().find(message), std::string::npos) << store.error().text();
    EXPECT_TRUE(store.error().where.starts_with(path())) << store.error().where;
    EXPECT_EQ(store.error().text().find("s3cret"), std::string::npos) << store.error().text();
  }
}

TEST_F(CredentialsTest, PutEntriesPersistInReadableForm) {
  write(path(), kDocument);
  {
    const auto store = open();
    ASSERT_TRUE(store->put("train002", credential("old", "new")).ok());
    EXPECT_EQ(password(*store, "train002"), "old");
    ASSERT_TRUE(store->put("train002", credential("new")).ok());
    ASSERT_TRUE(store->put("train050", credential("p: \"x\" # '\n\t\xC3\xA9")).ok());
    EXPECT_TRUE(std::filesystem::exists(path() + ".new"));
  }
  EXPECT_FALSE(std::filesystem::exists(path() + ".new"));
  EXPECT_FALSE(std::filesystem::exists(path() + ".tmp"));
  const std::string text = read_file(path()).value_or("");
  EXPECT_TRUE(text.starts_with("# of the machines in hall 2\n")) << text;
  EXPECT_NE(text.find("\"login1,train[001,003]\":"), std::string::npos) << text;
  struct stat info {};
  ASSERT_EQ(::stat(path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
  const auto store = open();
  EXPECT_EQ(password(*store, "train002"), "new");
  EXPECT_FALSE(store->find("train002", "")->pending.has_value());
  EXPECT_EQ(password(*store, "train050"), "p: \"x\" # '\n\t\xC3\xA9");
  EXPECT_EQ(password(*store, "train001"), "s3cretO");
  EXPECT_EQ(password(*store, "x", "train"), "s3cretG");
}

TEST_F(CredentialsTest, PutRefusesWhatCannotBeStored) {
  write(path(), kDocument);
  const auto store = open();
  for (const char* name : {"", "a,b", "n[1-2]", "@train"})
    EXPECT_EQ(store->put(name, credential("x")).error().code, ErrorCode::invalid_input) << name;
  const Status bad = store->put("a", credential("caf\xE9"));
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().text().find("caf"), std::string::npos);
}

TEST_F(CredentialsTest, TwoStoresSeeEachOthersEntries) {
  write(path(), kDocument);
  {
    const auto a = open();
    const auto b = open();
    ASSERT_TRUE(a->put("n1", credential("a1")).ok());
    ASSERT_TRUE(b->put("n2", credential("b2")).ok());
    EXPECT_EQ(password(*b, "n1"), "a1");
    // b has not read what a wrote for n3.
    ASSERT_TRUE(a->put("n3", credential("a3")).ok());
    const Status late = b->put("n3", credential("b3"));
    ASSERT_FALSE(late.ok());
    EXPECT_EQ(late.error().code, ErrorCode::conflict);
    ASSERT_TRUE(b->put("n3", credential("b3")).ok());
  }
  const auto store = open();
  EXPECT_EQ(password(*store, "n1"), "a1");
  EXPECT_EQ(password(*store, "n2"), "b2");
  EXPECT_EQ(password(*store, "n3"), "b3");
}

TEST_F(CredentialsTest, ManualEditIsReadBeforeWriting) {
  write(path(), kDocument);
  {
    const auto store = open();
    ASSERT_TRUE(store->put("n1", credential("one")).ok());
    std::string text = kDocument;
    text += "  hand1: {password: byhand}\n";
    write(path(), text);
    ASSERT_TRUE(store->put("n2", credential("two")).ok());
    EXPECT_EQ(password(*store, "hand1"), "byhand");
  }
  const auto store = open();
  EXPECT_EQ(password(*store, "n1"), "one");
  EXPECT_EQ(password(*store, "n2"), "two");
  EXPECT_EQ(password(*store, "hand1"), "byhand");
}

TEST_F(CredentialsTest, OnlyOneProcessHoldsAStore) {
  write(path(), kDocument);
  const auto a = open();
  const auto b = open();
  {
    const Result<std::shared_ptr<void>> held = a->hold();
    ASSERT_TRUE(held.ok());
    EXPECT_EQ(b->hold().error().code, ErrorCode::conflict);
  }
  EXPECT_TRUE(b->hold().ok());
}

// A crash may end the side log at any byte; complete lines count, the rest was never acknowledged.
TEST_F(CredentialsTest, LogTruncatedAtAnyByteIsRead) {
  const std::string id = "0123456789abcdef";
  const std::string first = log_opening(id) + log_line(id, "n1", credential("one", "two"));
  const std::string log = first + log_line(id, "n2", credential("three"));
  for (std::size_t cut = 0; cut < log.size(); cut += 3) {
    write(path(), kDocument);
    write(path() + ".new", log.substr(0, cut));
    const auto store = open();
    ASSERT_NE(store, nullptr);
    EXPECT_EQ(password(*store, "n1"), cut >= first.size() ? "one" : "s3cretD") << cut;
    EXPECT_EQ(password(*store, "n2"), "s3cretD") << cut;
    EXPECT_FALSE(std::filesystem::exists(path() + ".new"));
  }
  // Merged, and its writer died before it could remove the log: it does not count again.
  const std::string merged = read_file(path()).value_or("");
  ASSERT_NE(merged.find(id), std::string::npos);
  std::string edited = merged;
  edited.replace(edited.find("password: one"), 13, "password: six");
  write(path(), edited);
  write(path() + ".new", log);
  EXPECT_EQ(password(*open(), "n1"), "six");
}

TEST_F(CredentialsTest, ADamagedLogIsAnError) {
  const std::string id = "0123456789abcdef";
  const std::string line = log_line(id, "n1", credential("s3cret"));
  std::string changed = line;
  changed[changed.find("s3cret")] = 'S';
  for (const std::string& log : {log_opening(id) + changed, log_opening(id) + changed + line,
                                 std::string("something else\n"), "\n" + log_opening(id) + line}) {
    write(path(), kDocument);
    write(path() + ".new", log);
    const auto store = try_open();
    ASSERT_FALSE(store.ok());
    EXPECT_EQ(store.error().text().find("3cret"), std::string::npos);
    EXPECT_EQ(read_file(path() + ".new").value_or(""), log) << "nothing is removed";
  }
  write(path() + ".new", log_opening(id) + line, 0644);
  EXPECT_EQ(try_open().error().code, ErrorCode::refused);
}

TEST_F(CredentialsTest, FullDiskIsAnErrorAndKeepsTheOldEntries) {
  write(path(), kDocument);
  const pid_t child = ::fork();
  if (child == 0) {
    (void)::signal(SIGXFSZ, SIG_IGN);
    const auto store = open();
    if (!store->put("n1", credential("one")).ok()) _exit(2);
    const rlim_t room = std::filesystem::file_size(path() + ".new") + 40;
    const rlimit limit{room, room};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(3);
    const bool refused = !store->put("n2", credential("two")).ok() && password(*store, "n2") == "s3cretD";
    _exit(refused ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  const auto store = open();
  EXPECT_EQ(password(*store, "n1"), "one");
  EXPECT_EQ(password(*store, "n2"), "s3cretD");
}

TEST_F(CredentialsTest, EnvironmentVariables) {
  std::map<std::string, std::string> variables = {{"BMC_USER", "root"}, {"BMC_PASSWORD", "a:b"}, {"ONE", "admin:x:y"}};
  const auto environment = [&](const char* name) { return variables[name]; };
  const auto store = open_credentials("env:BMC", environment);
  ASSERT_TRUE(store.ok());
  EXPECT_EQ((*store)->find("n1", "g")->user, "root");
  EXPECT_EQ((*store)->find("n1", "g")->password.reveal(), "a:b");
  EXPECT_FALSE((*store)->writable());
  EXPECT_EQ((*store)->put("n1", credential("x")).error().code, ErrorCode::refused);
  const auto one = open_credentials("env:ONE", environment);
  ASSERT_TRUE(one.ok());
  EXPECT_EQ((*one)->find("n1", "")->user, "admin");
  EXPECT_EQ((*one)->find("n1", "")->password.reveal(), "x:y");
  EXPECT_EQ(open_credentials("env:NONE", environment).error().code, ErrorCode::not_found);
}

TEST_F(CredentialsTest, ProgramsGetAndPutThroughTheirStreams) {
  const std::string script = folder_ + "/helper";
  write(folder_ + "/document", kDocument);
  write(script,
        fmt::format("#!/bin/sh\necho \"$# $*\" >> {0}/calls\n"
                    "case \"$2\" in get) cat {0}/document;; put) cat > {0}/put-$3;; esac\n",
                    folder_),
        0700);
  const auto store = open_credentials(fmt::format("command:{} 'two words'", script), unset);
  ASSERT_TRUE(store.ok()) << store.error().text();
  EXPECT_EQ((*store)->name(), "command:" + script);
  EXPECT_EQ((*store)->find("train001", "")->password.reveal(), "s3cretO");
  ASSERT_TRUE((*store)->put("train001", credential("old", "new")).ok());
  EXPECT_EQ((*store)->find("train001", "")->pending->reveal(), "new");
  EXPECT_EQ(read_file(folder_ + "/put-train001").value_or(""),
            "{\"device\": \"train001\", \"user\": \"admin\", \"password\": \"old\", \"pending\": \"new\"}\n");
  EXPECT_EQ(read_file(folder_ + "/calls").value_or(""), "2 two words get\n3 two words put train001\n");

  write(script, "#!/bin/sh\necho 'permission denied' >&2; exit 7\n", 0700);
  const auto denied = open_credentials("command:" + script, unset);
  ASSERT_FALSE(denied.ok());
  EXPECT_NE(denied.error().message.find("ended with 7: permission denied"), std::string::npos);
  EXPECT_EQ((*store)->put("train001", credential("x")).error().code, ErrorCode::unavailable);
  EXPECT_EQ((*store)->find("train001", "")->password.reveal(), "old");
  EXPECT_FALSE(open_credentials("command:", unset).ok());
  EXPECT_FALSE(open_credentials("command:/nonexistent/helper", unset).ok());
}

TEST_F(CredentialsTest, MissingProgramIsNamed) {
  const auto none = [](const char*) { return std::string("no-such-vault --token hunter2"); };
  const auto store = open_credentials("vault:secret/bmc", none);
  ASSERT_FALSE(store.ok());
  EXPECT_THAT(store.error().text(), testing::HasSubstr("`no-such-vault` cannot be run"));
  EXPECT_THAT(store.error().text(), testing::Not(testing::HasSubstr("hunter2")));
}

TEST_F(CredentialsTest, VaultCommandFindsThePathInItsEnvironment) {
  const std::string script = folder_ + "/vault";
  write(folder_ + "/document", kDocument);
  write(script, fmt::format("#!/bin/sh\necho \"$1 $WEFT_VAULT_PATH\" > {0}/calls\ncat {0}/document\n", folder_), 0700);
  const auto environment = [&](const char* name) {
    return std::string(name) == "WEFT_VAULT_COMMAND" ? script : std::string();
  };
  const auto store = open_credentials("vault:secret/bmc", environment);
  ASSERT_TRUE(store.ok()) << store.error().text();
  EXPECT_TRUE((*store)->writable());
  EXPECT_EQ(read_file(folder_ + "/calls").value_or(""), "get secret/bmc\n");
}

TEST_F(CredentialsTest, NewPasswordsAreLongMixedAndDiffer) {
  std::set<std::string> seen;
  std::map<char, int> counts;
  for (int i = 0; i < 2000; ++i) {
    const Secret secret = new_password();
    const std::string& text = secret.reveal();
    ASSERT_EQ(text.size(), 20U);
    EXPECT_EQ(text.find_first_of("0Oo1lI"), std::string::npos);
    EXPECT_NE(text.find_first_of("ABCDEFGHJKLMNPQRSTUVWXYZ"), std::string::npos);
    EXPECT_NE(text.find_first_of("abcdefghijkmnpqrstuvwxyz"), std::string::npos);
    EXPECT_NE(text.find_first_of("23456789"), std::string::npos);
    seen.insert(text);
    for (const char c : text) ++counts[c];
  }
  EXPECT_EQ(seen.size(), 2000U);
  EXPECT_EQ(new_password(kIpmiPasswordLength).reveal().size(), 16U);
  // 40,000 characters out of 56: 714 of each, with a standard deviation of 27; a deviation of seven times that has a
  // probability of 1 in 10^11.
  EXPECT_EQ(counts.size(), 56U);
  for (const auto& [c, count] : counts) EXPECT_NEAR(count, 714, 190) << c;
}

TEST_F(CredentialsTest, ConcurrentPutsOfThreadsAndProcessesAllPersist) {
  constexpr int kProcesses = 4;
  constexpr int kThreads = 16;
  write(path(), kDocument);
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p) {
    const pid_t child = ::fork();
    if (child != 0) {
      children.push_back(child);
      continue;
    }
    std::atomic<int> failed{0};
    {
      const auto store = open();
      std::vector<std::thread> threads;
      for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([&, t] {
          const std::string device = fmt::format("p{}t{}", p, t);
          failed += store->put(device, credential("old", "new")).ok() ? 0 : 1;
          failed += store->put(device, credential("new" + device)).ok() ? 0 : 1;
        });
      }
      for (std::thread& thread : threads) thread.join();
    }
    _exit(failed == 0 ? 0 : 1);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_FALSE(std::filesystem::exists(path() + ".new"));
  const auto store = open();
  for (int p = 0; p < kProcesses; ++p) {
    for (int t = 0; t < kThreads; ++t)
      EXPECT_EQ(password(*store, fmt::format("p{}t{}", p, t)), fmt::format("newp{0}t{1}", p, t));
  }
}

// A writer is killed at a random moment, also while it merges the side log into the file. Each device counts up; no
// acknowledged value is lost, and no value is present that was not at least begun.
TEST_F(CredentialsTest, KilledWritersLoseNoAcknowledgedEntry) {
  constexpr int kDevices = 3;
  RandomStream random(2, "credentials-kill");
  write(path(), kDocument);
  std::array<int, kDevices> acknowledged{};
  for (int round = 0; round < kill_rounds(); ++round) {
    int channel[2] = {-1, -1};
    ASSERT_EQ(::pipe(channel), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(channel[0]);
      std::array<int, kDevices> next = acknowledged;
      for (;;) {
        const auto store = open();  // and closes it: the log is merged into the file every few puts
        if (store == nullptr) _exit(1);
        for (int i = 0; i < 4 * kDevices; ++i) {
          const auto device = static_cast<std::size_t>(i % kDevices);
          if (!store->put(fmt::format("n{}", device), credential(fmt::format("{}", ++next[device]))).ok()) _exit(1);
          const char byte = static_cast<char>('0' + device);
          (void)!::write(channel[1], &byte, 1);
        }
      }
    }
    ::close(channel[1]);
    char byte = 0;
    // Every other writer is killed while writing, however slow the machine; the rest also while opening.
    if (round % 2 == 1 && ::read(channel[0], &byte, 1) == 1) ++acknowledged[static_cast<std::size_t>(byte - '0')];
    ::usleep(static_cast<useconds_t>(random.below(15'000)));
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the writer failed by itself";
    while (::read(channel[0], &byte, 1) == 1) ++acknowledged[static_cast<std::size_t>(byte - '0')];
    ::close(channel[0]);
    const auto store = open();
    ASSERT_NE(store, nullptr);
    for (std::size_t d = 0; d < kDevices; ++d) {
      const std::string found = password(*store, fmt::format("n{}", d));
      const int there = found == "s3cretD" ? 0 : std::stoi(found);
      ASSERT_GE(there, acknowledged[d]);
      ASSERT_LE(there, acknowledged[d] + 1);
      acknowledged[d] = there;
    }
    ASSERT_EQ(password(*store, "train001"), "s3cretO");
  }
  EXPECT_GT(acknowledged[0], 0);
}

}  // namespace
}  // namespace weft::oob
