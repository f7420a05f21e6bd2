#include "sched/traces/gzip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/file.h"

namespace weft::sched {
namespace {

constexpr int kGzipWindow = 15 + 16;  // zlib.h, inflateInit2: the largest window, and 16 for a gzip header only
constexpr std::size_t kFirstChunk = std::size_t{1} << 16U;

Error bad_stream(std::string why) { return {ErrorCode::invalid_input, std::move(why), {}}; }

class Inflater {
 public:
  Inflater() { CHECK(inflateInit2(&stream_, kGzipWindow) == Z_OK, "zlib can start"); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() { inflateEnd(&stream_); }

  // Consumes `input`, writes to `output` from `used` on, and returns zlib's status. Sizes are limited to the range of
  // zlib's counters.
  int step(std::string_view& input, std::string& output, std::size_t& used) {
    constexpr std::size_t most = std::numeric_limits<uInt>::max();
    // zlib does not write through next_in; its interface predates const.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input.data()));  // NOLINT
    const std::size_t given = std::min(input.size(), most);
    stream_.avail_in = static_cast<uInt>(given);
    stream_.next_out = reinterpret_cast<Bytef*>(output.data() + used);  // NOLINT
    const std::size_t room = std::min(output.size() - used, most);
    stream_.avail_out = static_cast<uInt>(room);
    const int state = inflate(&stream_, Z_NO_FLUSH);
    input.remove_prefix(given - stream_.avail_in);
    used += room - stream_.avail_out;
    return state;
  }
  void next_member() { CHECK(inflateReset(&stream_) == Z_OK, "zlib can start again"); }
  [[nodiscard]] const char* message() const { return stream_.msg == nullptr ? "bad data" : stream_.msg; }

 private:
  z_stream stream_{};
};

}  // namespace

bool is_gzip(std::string_view data) { return data.substr(0, 2) == "\x1f\x8b"; }

Result<std::string> gunzip(std::string_view data, std::size_t limit) {
  if (!is_gzip(data)) return bad_stream("is not a gzip stream");
  Inflater inflater;
  std::string text;
  std::size_t used = 0;
  // One byte more than allowed, to detect that the limit is exceeded.
  text.resize(std::min(limit, std::max(kFirstChunk, data.size() * 4)) + 1);
  while (true) {
    const int state = inflater.step(data, text, used);
    if (used > limit) return bad_stream(fmt::format("decompresses to more than {} bytes", limit));
    if (state == Z_STREAM_END) {
      if (data.empty()) break;
      if (!is_gzip(data)) return bad_stream(fmt::format("{} bytes follow the end of the gzip stream", data.size()));
      inflater.next_member();
      continue;
    }
    if (state == Z_MEM_ERROR) return Error{ErrorCode::unavailable, "not enough memory to decompress it", {}};
    if (state != Z_OK && state != Z_BUF_ERROR) {
      return bad_stream(fmt::format("is a corrupt gzip stream: {}", inflater.message()));
    }
    if (used == text.size()) {
      text.resize(std::min(limit, used * 2) + 1);
    } else if (data.empty()) {
      return bad_stream("is a truncated gzip stream");
    }
  }
  text.resize(used);
  return text;
}

Result<std::string> read_text_file(const std::string& path, std::size_t limit) {
  Result<std::string> data = read_file(path, limit);
  if (!data.ok() || !is_gzip(*data)) return data;
  Result<std::string> text = gunzip(*data, limit);
  if (text.ok()) return text;
  Error error = text.error();
  error.where = path == "-" ? "standard input" : path;
  return error;
}

}  // namespace weft::sched
