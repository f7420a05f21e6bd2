// Properties of SqliteStore under random faults: a killed process, a power loss, damaged files. Every record that was
// acknowledged is there, or there is an error.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>
#include <string>

#include "base/random.h"
#include "store/fault_vfs.h"
#include "store/sqlite_store.h"
#include "store/test_support.h"

namespace weft::store {
namespace {

int count_rounds(int usual) {
  const char* asked = std::getenv("WEFT_KILL_ROUNDS");  // NOLINT(concurrency-mt-unsafe): before any thread
  return asked == nullptr ? usual : std::atoi(asked);   // NOLINT(cert-err34-c)
}

std::string make_state(Sequence sequence) { return make_record(sequence) + "state"; }

// A batch, and sometimes a snapshot; returns false after an error.
bool write_batch(SqliteStore& store, RandomStream& random) {
  if (!write_records(store, 1 + random.below(20)).ok()) return false;
  if (!random.chance(0.2)) return true;
  const auto before = store.load_snapshot();
  if (!before.ok()) return false;
  const Sequence sequence = store.durable();
  if (!store.save_snapshot({sequence, make_state(sequence)}).ok()) return false;
  return !before->has_value() || store.compact(before.value()->sequence).ok();
}

void expect_intact(SqliteStore& store) {
  expect_all_records(store);
  const auto snapshot = store.load_snapshot();
  ASSERT_TRUE(snapshot.ok()) << snapshot.error().text();
  if (!snapshot->has_value()) {
    EXPECT_EQ(store.first(), 1U);
    return;
  }
  EXPECT_EQ(snapshot.value()->bytes, make_state(snapshot.value()->sequence));
  EXPECT_LE(store.first(), snapshot.value()->sequence + 1);
  EXPECT_LE(snapshot.value()->sequence, store.durable());
}

// Writes until it is killed, and reports each acknowledged sequence.
[[noreturn]] void run_writer(const std::string& directory, std::uint64_t seed, int acknowledgments) {
  RandomStream random(seed, "writer");
  Result<std::unique_ptr<SqliteStore>> store = open_store(directory);
  if (!store.ok()) ::_exit(2);
  for (;;) {
    if (!write_batch(**store, random)) ::_exit(3);
    const Sequence durable = (*store)->durable();
    if (::write(acknowledgments, &durable, sizeof durable) != sizeof durable) ::_exit(4);
  }
}

// Kills the writer after a random number of acknowledgments, and returns the last.
Sequence kill_writer(const std::string& directory, std::uint64_t seed, Sequence acknowledged) {
  int ends[2] = {};
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) run_writer(directory, seed, ends[1]);
  ::close(ends[1]);
  RandomStream random(seed, "killer");
  const std::uint64_t wanted = random.below(12);
  Sequence durable = 0;
  for (std::uint64_t i = 0; i < wanted && ::read(ends[0], &durable, sizeof durable) == sizeof durable; ++i)
    acknowledged = durable;
  // A little into what the writer does next; the work done here is random, not the time.
  volatile std::uint64_t work = random.below(300'000);
  while (work > 0) work = work - 1;
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status)) << "the writer failed: " << WEXITSTATUS(status);
  while (::read(ends[0], &durable, sizeof durable) == sizeof durable) acknowledged = durable;
  ::close(ends[0]);
  return acknowledged;
}

TEST(SqliteFaults, AKilledProcessLosesNothingAcknowledged) {
  const TemporaryDirectory directory;
  Sequence acknowledged = 0;
  for (int round = 0; round < count_rounds(40); ++round) {
    acknowledged = kill_writer(directory.path(), static_cast<std::uint64_t>(round), acknowledged);
    Result<std::unique_ptr<SqliteStore>> store = open_store(directory.path());
    ASSERT_TRUE(store.ok()) << store.error().text();
    ASSERT_GE((*store)->durable(), acknowledged);
    expect_intact(**store);
    acknowledged = (*store)->durable();
  }
}

TEST(SqliteFaults, AKilledProcessLeavesNoHalfCreatedStore) {
  for (int round = 0; round < count_rounds(10); ++round) {
    const TemporaryDirectory directory;
    const pid_t child = ::fork();
    if (child == 0) {
      (void)open_store(directory.path());
      ::pause();
    }
    volatile std::uint64_t work = RandomStream(static_cast<std::uint64_t>(round)).below(4'000'000);
    while (work > 0) work = work - 1;
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    Result<std::unique_ptr<SqliteStore>> store = open_store(directory.path());
    ASSERT_TRUE(store.ok()) << store.error().text();
    ASSERT_TRUE(write_records(**store, 3).ok());
  }
}

struct PowerLoss {
  Files files;
  Sequence acknowledged = 0;
  std::set<Sequence> batch_ends;
};

// Writes batches until power is lost.
PowerLoss lose_power(const std::string& directory, RandomStream& random) {
  open_store(directory).value().reset();
  FaultVfs faults;
  PowerLoss loss;
  loss.batch_ends.insert(0);
  std::string marker = read_files(directory)["format"];
  {
    const std::unique_ptr<SqliteStore> store = open_store(directory, faults.name()).value();
    faults.lose_power_after(1 + random.below(400));
    while (faults.has_power()) {
      EXPECT_TRUE(write_batch(*store, random));
      loss.batch_ends.insert(store->durable());
      if (!faults.has_power()) break;
      loss.acknowledged = store->durable();
      // It is not synced: the disk has the newest value or an older one.
      if (random.chance(0.7)) marker = read_files(directory)["format"];
    }
    for (const auto& [path, bytes] : faults.surviving_files(random))
      loss.files[std::filesystem::path(path).filename()] = bytes;
  }
  loss.files["format"] = marker;
  return loss;
}

TEST(SqliteFaults, APowerLossLosesNothingAcknowledged) {
  for (int round = 0; round < count_rounds(60); ++round) {
    RandomStream random(static_cast<std::uint64_t>(round), "power");
    const TemporaryDirectory before;
    const TemporaryDirectory after;
    const PowerLoss loss = lose_power(before.path(), random);
    write_files(after.path(), loss.files);
    Result<std::unique_ptr<SqliteStore>> store = open_store(after.path());
    ASSERT_TRUE(store.ok()) << "round " << round << ": " << store.error().text();
    ASSERT_GE((*store)->durable(), loss.acknowledged);
    EXPECT_EQ(loss.batch_ends.count((*store)->durable()), 1U) << "a part of a batch";
    expect_intact(**store);
    ASSERT_TRUE(write_records(**store, 5).ok());
    expect_intact(**store);
  }
}

// Damages one of the files in one of several ways.
void damage(Files& files, RandomStream& random) {
  auto chosen = std::next(files.begin(), static_cast<std::ptrdiff_t>(random.below(files.size())));
  std::string& bytes = chosen->second;
  const std::uint64_t way = random.below(20);
  if (bytes.empty() || way == 0) {
    files.erase(chosen);
  } else if (way == 1) {
    bytes.resize(random.below(bytes.size()));
  } else if (way == 2) {
    bytes.append(random.below(10'000), 'x');
  } else if (way < 12) {
    const int flips = random.chance(0.7) ? 1 : 20;
    for (int i = 0; i < flips; ++i) {
      char& byte = bytes[random.below(random.chance(0.3) ? std::min<std::size_t>(bytes.size(), 200) : bytes.size())];
      byte = static_cast<char>(static_cast<unsigned char>(byte) ^ (1U << random.below(8)));
    }
  } else {  // a run of other bytes: zeros, noise, or a page of the same file
    const std::size_t size = std::min<std::size_t>(bytes.size(), random.chance(0.5) ? 512 : 4096);
    const std::size_t at = size * random.below(bytes.size() / size);
    const std::size_t from = size * random.below(bytes.size() / size);
    std::string run = way < 14 ? std::string(size, '\0') : bytes.substr(from, size);
    if (way > 16) {
      for (char& byte : run) byte = static_cast<char>(random.next());
    }
    bytes.replace(at, size, run);
  }
}

// A store as a crash leaves it, with a log, or as a clean end does, without.
Files make_files(bool crashed, RandomStream& random) {
  const TemporaryDirectory directory;
  std::unique_ptr<SqliteStore> store = open_store(directory.path()).value();
  for (int batch = 0; batch < 25; ++batch) EXPECT_TRUE(write_batch(*store, random));
  EXPECT_TRUE(store->save_snapshot({store->durable(), make_state(store->durable())}).ok());
  for (int batch = 0; batch < 5; ++batch) EXPECT_TRUE(write_records(*store, 7).ok());
  if (!crashed) store.reset();
  Files files = read_files(directory.path());
  files.erase("lock");
  EXPECT_EQ(files.count("journal.db-wal"), crashed ? 1U : 0U);
  return files;
}

TEST(SqliteFaults, DamagedFilesGiveTheRecordsOrAnError) {
  int errors = 0;
  int intact = 0;
  for (const bool crashed : {false, true}) {
    RandomStream random(crashed ? 1 : 2, "damage");
    const Files original = make_files(crashed, random);
    const TemporaryDirectory directory;
    write_files(directory.path(), original);
    const Sequence durable = open_store(directory.path()).value()->durable();
    for (int round = 0; round < 10 * count_rounds(25); ++round) {
      Files files = original;
      damage(files, random);
      write_files(directory.path(), files);
      Result<std::unique_ptr<SqliteStore>> store = open_store(directory.path());
      if (!store.ok()) {
        ++errors;
        EXPECT_FALSE(store.error().message.empty());
        Files left = read_files(directory.path());  // for those who repair it
        for (const auto& [name, bytes] : files) EXPECT_TRUE(left[name] == bytes) << name << " was changed";
        continue;
      }
      ASSERT_EQ((*store)->durable(), durable) << "round " << round;
      if (!read_records(**store, (*store)->first()).ok() || !(*store)->load_snapshot().ok()) {
        ++errors;
        continue;
      }
      ++intact;
      expect_intact(**store);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
  EXPECT_GT(errors, 0);
  EXPECT_GT(intact, 0);
  RecordProperty("errors", errors);
  RecordProperty("intact", intact);
}

}  // namespace
}  // namespace weft::store
