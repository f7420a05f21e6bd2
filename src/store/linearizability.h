// For tests: whether a history of concurrent calls to one register is linearizable, that is, whether each call can be
// given a moment between its begin and its end so that every read returns the write before it. The search is that of
// Wing and Gong (1993) with Lowe's memory of configurations (2017). A call whose answer was lost may take effect at any
// time after its begin, or never.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace weft::store {

struct RegisterCall {
  enum class Kind : std::uint8_t { read, write };
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  Kind kind = Kind::read;
  int value = 0;  // 0: the register is empty
  std::int64_t began = 0;
  std::int64_t ended = 0;  // kNever: there was no answer
};

// Values are written once each. So a write without an answer took effect before the end of the first read that returned
// its value; if there is none, leaving it out changes nothing.
inline std::vector<RegisterCall> settle_lost_answers(const std::vector<RegisterCall>& calls) {
  std::map<int, std::int64_t> read;
  for (const RegisterCall& call : calls) {
    if (call.kind != RegisterCall::Kind::read) continue;
    const auto found = read.try_emplace(call.value, call.ended).first;
    found->second = std::min(found->second, call.ended);
  }
  std::vector<RegisterCall> settled;
  settled.reserve(calls.size());
  for (RegisterCall call : calls) {
    if (call.ended == RegisterCall::kNever) {
      const auto found = read.find(call.value);
      if (found == read.end()) continue;
      call.ended = found->second;
    }
    settled.push_back(call);
  }
  return settled;
}

// Calls in order of their begins; a window of those that overlap is searched at a time.
inline bool is_linearizable(const std::vector<RegisterCall>& history) {
  std::vector<RegisterCall> calls = settle_lost_answers(history);
  std::sort(calls.begin(), calls.end(), [](const RegisterCall& a, const RegisterCall& b) { return a.began < b.began; });
  struct Configuration {
    std::size_t first = 0;         // calls before it have taken effect, or never will
    std::set<std::size_t> done{};  // of the others, those that have taken effect
    int value = 0;
    bool operator<(const Configuration& other) const {
      return std::tie(first, value, done) < std::tie(other.first, other.value, other.done);
    }
  };
  std::set<Configuration> seen;
  std::vector<Configuration> open = {{}};
  while (!open.empty()) {
    Configuration now = std::move(open.back());
    open.pop_back();
    while (now.done.erase(now.first) > 0) ++now.first;
    if (!seen.insert(now).second) continue;
    // The earliest end of a call that is not done: whatever begins after it must come later.
    std::int64_t deadline = RegisterCall::kNever;
    for (std::size_t i = now.first; i < calls.size() && calls[i].began <= deadline; ++i) {
      if (now.done.contains(i)) continue;
      deadline = std::min(deadline, calls[i].ended);
    }
    if (now.first == calls.size()) return true;
    // A read that fits now may come now: it changes nothing. Only the order of writes is searched.
    std::vector<std::size_t> writes;
    std::optional<std::size_t> read;
    for (std::size_t i = now.first; i < calls.size() && calls[i].began <= deadline && !read; ++i) {
      if (now.done.contains(i)) continue;
      if (calls[i].kind == RegisterCall::Kind::write) writes.push_back(i);
      if (calls[i].kind == RegisterCall::Kind::read && calls[i].value == now.value) read = i;
    }
    if (read) writes = {*read};
    for (const std::size_t i : writes) {
      Configuration next = now;
      next.done.insert(i);
      if (calls[i].kind == RegisterCall::Kind::write) next.value = calls[i].value;
      open.push_back(std::move(next));
    }
  }
  return false;
}

}  // namespace weft::store
