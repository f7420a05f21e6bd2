#include "sched/traces/gzip.h"

#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdio>
#include <string>

#include "base/file.h"

namespace weft::sched {
namespace {

constexpr std::size_t kRoom = 1U << 22U;

std::string packed(const std::string& text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, text.size()), '\0');
  std::string in = text;
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(out.size() - stream.avail_out);
  deflateEnd(&stream);
  return out;
}

std::string why_not(const std::string& data, std::size_t limit = kRoom) {
  const Result<std::string> text = gunzip(data, limit);
  return text.ok() ? "it was read" : text.error().message;
}

TEST(Gzip, DecompressesZlibOutput) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{65536}, std::size_t{1000003}}) {
    std::string text(size, 'a');
    for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * i >> 7U);
    const Result<std::string> back = gunzip(packed(text), kRoom);
    ASSERT_TRUE(back.ok()) << back.error().message;
    EXPECT_TRUE(*back == text);
  }
}

TEST(Gzip, ReadsAStreamOfSeveralMembers) {
  const Result<std::string> text = gunzip(packed("one ") + packed("") + packed("two"), kRoom);
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(*text, "one two");
}

TEST(Gzip, RejectsAnythingButOneCompleteStream) {
  const std::string whole = packed("a line of text\n");
  EXPECT_EQ(why_not("plain"), "is not a gzip stream");
  EXPECT_EQ(why_not(""), "is not a gzip stream");
  for (std::size_t length = 2; length < whole.size(); ++length) {
    EXPECT_EQ(why_not(whole.substr(0, length)), "is a truncated gzip stream") << length;
  }
  EXPECT_EQ(why_not(whole + "xyz"), "3 bytes follow the end of the gzip stream");
  EXPECT_EQ(why_not(whole + whole.substr(0, 12)), "is a truncated gzip stream");
  std::string damaged = whole;
  damaged[damaged.size() - 6] = static_cast<char>(damaged[damaged.size() - 6] ^ 1);  // of the CRC
  EXPECT_EQ(why_not(damaged), "is a corrupt gzip stream: incorrect data check");
}

TEST(Gzip, StopsADecompressionBombAtTheLimit) {
  const std::string bomb = packed(std::string(3'000'000, '\0'));
  EXPECT_LT(bomb.size(), 10'000U);
  EXPECT_EQ(why_not(bomb, 1'000'000), "decompresses to more than 1000000 bytes");
  EXPECT_EQ(why_not(bomb, 2'999'999), "decompresses to more than 2999999 bytes");
  EXPECT_EQ(gunzip(bomb, 3'000'000)->size(), 3'000'000U);
  EXPECT_EQ(why_not(packed("x"), 0), "decompresses to more than 0 bytes");
  EXPECT_EQ(gunzip(packed(""), 0)->size(), 0U);
}

TEST(Gzip, EveryChangedByteIsDetectedOrHarmless) {
  const std::string text = "name,gpus\na,8\nb,4\nname,gpus\na,8\nb,4\n";
  const std::string whole = packed(text);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    for (const int bit : {0, 3, 7}) {
      std::string changed = whole;
      changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
      const Result<std::string> back = gunzip(changed, kRoom);
      // Header fields such as the timestamp have no checksum.
      if (back.ok()) {
        EXPECT_EQ(*back, text) << i;
      }
    }
  }
}

TEST(Gzip, DetectsCompressionByTheFirstBytes) {
  const std::string path = testing::TempDir() + "weft-gzip-test-" + std::to_string(::getpid());
  for (const std::string& content : {std::string("plain text"), packed("plain text")}) {
    ASSERT_TRUE(write_file(path, content).ok());
    const Result<std::string> text = read_text_file(path);
    ASSERT_TRUE(text.ok());
    EXPECT_EQ(*text, "plain text");
  }
  ASSERT_TRUE(write_file(path, packed("x") + "junk").ok());
  EXPECT_EQ(read_text_file(path).error().text(), path + ": 4 bytes follow the end of the gzip stream");
  ASSERT_TRUE(write_file(path, packed(std::string(5000, 'x'))).ok());
  EXPECT_EQ(read_text_file(path, 4999).error().text(), path + ": decompresses to more than 4999 bytes");
  EXPECT_EQ(read_text_file(path + ".none").error().code, ErrorCode::not_found);
  std::remove(path.c_str());
}

}  // namespace
}  // namespace weft::sched
