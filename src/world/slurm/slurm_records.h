// Reads Slurm's JSON lists record by record (see slurm_json.h). For the parsers of this folder only.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/utf8.h"

namespace weft::world::slurm_records {

using nlohmann::json;

inline constexpr int kMaxDepth = 32;
inline constexpr std::size_t kMaxRecords = 1'000'000;
inline constexpr std::uint64_t kUnset = 4'294'967'294;     // NO_VAL
inline constexpr std::int64_t kMaxTime = 253'402'300'799;  // the year 9999

inline Error invalid(const std::string& message) {
  return {ErrorCode::unavailable, "invalid answer of Slurm: " + message, {}};
}

struct Field {
  std::optional<std::string> text;
  std::optional<std::uint64_t> number;
  std::vector<std::string> list;
};
using Fields = std::map<std::string, Field, std::less<>>;

// Reads {"errors": [...], SECTION: [{...}, ...]} as a stream and passes on the flat fields of each record: an answer
// about ten thousand jobs is larger than everything that is kept of it.
class RecordReader : public json::json_sax_t {
 public:
  using Record = std::function<bool(Fields&)>;
  // Fields that are not `wanted` are skipped; without any, all are kept.
  RecordReader(std::string_view section, std::span<const std::string_view> wanted, Record record)
      : section_(section), wanted_(wanted), record_(std::move(record)) {}

  bool null() override { return true; }
  bool boolean(bool value) override {
    if (is_field()) fields_[field_].number = value ? 1 : 0;
    return true;
  }
  bool number_integer(number_integer_t value) override {
    if (is_field() && value >= 0) fields_[field_].number = static_cast<std::uint64_t>(value);
    return true;
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (is_field()) fields_[field_].number = value;
    return true;
  }
  bool number_float(number_float_t /*value*/, const string_t& /*text*/) override { return true; }
  bool string(string_t& value) override {
    if (is_field()) {
      fields_[field_].text = std::move(value);
    } else if (depth_ == 4 && in_record_ && in_list_ && is_wanted_) {
      fields_[field_].list.push_back(std::move(value));
    }
    return true;
  }
  bool binary(binary_t& /*value*/) override { return false; }
  bool start_object(std::size_t /*size*/) override {
    if (depth_ == 2 && in_array_) {
      in_record_ = true;
      fields_.clear();
    }
    return open();
  }
  bool key(string_t& name) override {
    if (depth_ == 1) top_ = name;
    if (depth_ == 3) {
      is_wanted_ =
          wanted_.empty() || top_ != section_ || std::find(wanted_.begin(), wanted_.end(), name) != wanted_.end();
      field_ = name;
    }
    return true;
  }
  bool end_object() override {
    --depth_;
    if (depth_ != 2 || !in_record_) return true;
    in_record_ = false;
    if (top_ == "errors") {
      note_error();
      return true;
    }
    return ++records_ <= kMaxRecords && record_(fields_);
  }
  bool start_array(std::size_t /*size*/) override {
    if (depth_ == 0) return false;
    if (depth_ == 1) {
      in_array_ = top_ == section_ || top_ == "errors";
      found_ = found_ || top_ == section_;
    }
    if (depth_ == 3) in_list_ = true;
    return open();
  }
  bool end_array() override {
    --depth_;
    if (depth_ == 1) in_array_ = false;
    if (depth_ == 3) in_list_ = false;
    return true;
  }
  bool parse_error(std::size_t at, const std::string& /*token*/, const json::exception& /*error*/) override {
    problem_ = fmt::format("no JSON at byte {}", at);
    return false;
  }

  // After parsing; `complete` is what the parser returned.
  [[nodiscard]] Status result(bool complete) const {
    if (!errors_.empty()) return Error{ErrorCode::unavailable, "Slurm: " + errors_, {}};
    if (!problem_.empty()) return invalid(problem_);
    if (!complete) return invalid("it has an unexpected structure");
    if (!found_) return invalid(fmt::format("it has no list \"{}\"", section_));
    return {};
  }

 private:
  bool open() { return ++depth_ <= kMaxDepth; }
  [[nodiscard]] bool is_field() const { return in_record_ && depth_ == 3 && is_wanted_; }
  void note_error() {
    if (!errors_.empty()) return;
    for (const char* name : {"description", "error"}) {
      const auto found = fields_.find(name);
      if (found != fields_.end() && found->second.text && !found->second.text->empty())
        errors_ += (errors_.empty() ? "" : ": ") + *found->second.text;
    }
    if (errors_.empty()) errors_ = "an error without a text";
  }

  std::string_view section_;
  std::span<const std::string_view> wanted_;
  Record record_;
  bool is_wanted_ = true;
  int depth_ = 0;
  bool in_array_ = false;
  bool in_record_ = false;
  bool in_list_ = false;
  bool found_ = false;
  std::string top_;
  std::string field_;
  Fields fields_;
  std::size_t records_ = 0;
  std::string errors_;
  std::string problem_;
};

inline std::optional<std::uint64_t> number_of(const Fields& fields, std::string_view name) {
  const auto found = fields.find(name);
  if (found == fields.end() || !found->second.number || *found->second.number == kUnset) return std::nullopt;
  return found->second.number;
}

inline std::uint32_t small_number(const Fields& fields, std::string_view name) {
  const std::uint64_t number = number_of(fields, name).value_or(0);
  return number > kUnset ? 0 : static_cast<std::uint32_t>(number);
}

inline std::int64_t time_of(const Fields& fields, std::string_view name) {
  const std::uint64_t number = number_of(fields, name).value_or(0);
  return number > static_cast<std::uint64_t>(kMaxTime) ? 0 : static_cast<std::int64_t>(number);
}

inline std::string text_of(const Fields& fields, std::string_view name) {
  const auto found = fields.find(name);
  return found == fields.end() ? std::string() : found->second.text.value_or("");
}

inline std::vector<std::string> list_of(const Fields& fields, std::string_view name) {
  const auto found = fields.find(name);
  return found == fields.end() ? std::vector<std::string>() : found->second.list;
}

// What is missing without which the job cannot be told apart from others; "": nothing.
inline std::string_view find_missing(const Fields& fields) {
  if (const std::uint64_t id = number_of(fields, "job_id").value_or(0); id == 0 || id > kUnset) return "job_id";
  if (time_of(fields, "submit_time") == 0) return "submit_time";
  if (text_of(fields, "job_state").empty()) return "job_state";
  return {};
}

// Slurm passes on names and comments of users as they are. One byte that is not UTF-8 must not hide all jobs: each such
// byte becomes '?', which leaves the structure as it is.
inline std::string replace_invalid_utf8(std::string_view text) {
  std::string out(text);
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint point = decode_utf8(text, i);
    if (!point.valid) out[i] = '?';
    i += point.size;
  }
  return out;
}

// Calls `take(fields)` for each record: "" or what is wrong with it. An answer is read completely or not at all.
template <class Take>
Status read_records(std::string_view text, std::string_view section, std::span<const std::string_view> wanted,
                    const Take& take) {
  std::string problem;
  RecordReader reader(section, wanted, [&](Fields& fields) {
    problem = take(fields);
    return problem.empty();
  });
  // The parser takes a NUL for the end and would ignore what follows.
  if (text.find('\0') != std::string_view::npos) return invalid("it contains a NUL byte");
  const bool complete = json::sax_parse(replace_invalid_utf8(text), &reader);
  if (!problem.empty()) return invalid(problem);
  return reader.result(complete);
}

}  // namespace weft::world::slurm_records
