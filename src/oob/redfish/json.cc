#include "oob/redfish/json.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

#include "base/utf8.h"

namespace weft::oob {
namespace {

constexpr std::size_t kMaxPathBytes = 512;

// Builds a Value from the parser's events. Returning false ends the parse.
class Builder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Builder(const JsonLimits& limits) : limits_(limits) {}

  bool null() override { return put(Value()); }
  bool boolean(bool truth) override { return put(Value(truth)); }
  bool number_integer(number_integer_t number) override { return put(Value(number)); }
  bool number_unsigned(number_unsigned_t number) override {
    if (number > static_cast<number_unsigned_t>(INT64_MAX)) return put(Value(static_cast<double>(number)));
    return put(Value(static_cast<std::int64_t>(number)));
  }
  bool number_float(number_float_t number, const string_t& /*text*/) override { return put(Value(number)); }
  bool string(string_t& text) override { return put(Value(std::move(text))); }
  bool binary(binary_t& /*bytes*/) override { return false; }
  bool start_object(std::size_t /*size*/) override { return open(Value(Value::Map{})); }
  bool start_array(std::size_t /*size*/) override { return open(Value(Value::List{})); }
  bool key(string_t& name) override {
    open_.back().key = std::move(name);
    return true;
  }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*why*/) override {
    if (problem_.empty()) problem_ = fmt::format("invalid JSON at byte {}", position);
    return false;
  }

  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] Value take() { return std::move(root_); }

 private:
  struct Level {
    Value value{};
    std::string key{};  // of the next member
  };

  bool count() {
    if (++nodes_ <= limits_.nodes) return true;
    problem_ = fmt::format("JSON with more than {} values", limits_.nodes);
    return false;
  }
  bool put(Value value) {
    if (!count()) return false;
    place(std::move(value));
    return true;
  }
  bool open(Value value) {
    if (!count()) return false;
    if (open_.size() >= limits_.depth) {
      problem_ = fmt::format("JSON nested more than {} levels deep", limits_.depth);
      return false;
    }
    open_.push_back({std::move(value), {}});
    return true;
  }
  bool close() {
    Value done = std::move(open_.back().value);
    open_.pop_back();
    place(std::move(done));
    return true;
  }
  void place(Value value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (Level& top = open_.back(); top.value.is_map()) {
      top.value.put(std::move(top.key), std::move(value));
      top.key.clear();
    } else {
      top.value.add(std::move(value));
    }
  }

  JsonLimits limits_;
  std::vector<Level> open_;
  std::size_t nodes_ = 0;
  std::string problem_;
  Value root_;
};

bool has_dot_segment(std::string_view path) {
  // Also with percent-encoded dots: the service may decode them before it checks.
  std::string plain;
  plain.reserve(path.size());
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] == '%' && path.size() - i >= 3 && path[i + 1] == '2' && (path[i + 2] == 'e' || path[i + 2] == 'E')) {
      plain += '.';
      i += 2;
    } else {
      plain += path[i];
    }
  }
  return plain.find("..") != std::string::npos;
}

}  // namespace

Result<Value> read_json_reply(std::string_view text, const JsonLimits& limits) {
  Builder builder(limits);
  bool read = false;
  try {
    read = nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  } catch (const std::exception&) {
    read = false;  // out of memory or a parser error: the text is rejected either way
  }
  if (read) return builder.take();
  return Error{ErrorCode::invalid_input, builder.problem().empty() ? "invalid JSON" : builder.problem(), {}};
}

const Value* member(const Value& value, std::initializer_list<std::string_view> keys) {
  const Value* here = &value;
  for (const std::string_view key : keys) {
    if (!here->is_map()) return nullptr;
    here = here->find(key);
    if (here == nullptr) return nullptr;
  }
  return here;
}

const Value* member_at(const Value& value, std::string_view path) {
  const Value* here = &value;
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    if (!here->is_map()) return nullptr;
    here = here->find(path.substr(0, slash));
    if (here == nullptr) return nullptr;
    path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
  }
  return here;
}

std::string raw_text(const Value& value, std::initializer_list<std::string_view> keys) {
  const Value* found = member(value, keys);
  return found != nullptr && found->is_text() ? found->text() : std::string();
}

std::string clean(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return printable(text, kMaxTextBytes);
}

std::string clean_text(const Value& value, std::initializer_list<std::string_view> keys) {
  const Value* found = member(value, keys);
  return found != nullptr && found->is_text() ? clean(found->text()) : std::string();
}

std::optional<double> number(const Value& value, std::initializer_list<std::string_view> keys) {
  const Value* found = member(value, keys);
  if (found == nullptr) return std::nullopt;
  if (const auto* whole = std::get_if<std::int64_t>(&found->state())) return static_cast<double>(*whole);
  const auto* real = std::get_if<double>(&found->state());
  return real != nullptr && std::isfinite(*real) ? std::optional(*real) : std::nullopt;
}

std::optional<bool> truth(const Value& value, std::initializer_list<std::string_view> keys) {
  const Value* found = member(value, keys);
  const auto* told = found == nullptr ? nullptr : std::get_if<bool>(&found->state());
  return told != nullptr ? std::optional(*told) : std::nullopt;
}

const Value::List& list(const Value& value, std::initializer_list<std::string_view> keys) {
  static const Value::List kNone;
  const Value* found = member(value, keys);
  return found != nullptr && found->is_list() ? found->items() : kNone;
}

std::vector<std::string> texts(const Value& value, std::initializer_list<std::string_view> keys) {
  std::vector<std::string> out;
  for (const Value& item : list(value, keys)) {
    if (item.is_text()) out.push_back(clean(item.text()));
  }
  return out;
}

bool is_trusted_path(std::string_view path) {
  if (!path.starts_with("/redfish/") || path.size() > kMaxPathBytes) return false;
  for (const char c : path) {
    if (c <= ' ' || c > '~' || c == '\\' || c == '"' || c == '<' || c == '>') return false;
  }
  // Code that joins paths could read "//" as the start of another host.
  return path.find("//") == std::string_view::npos && !has_dot_segment(path);
}

std::string path_of(const Value& value, std::initializer_list<std::string_view> keys) {
  const Value* found = member(value, keys);
  if (found != nullptr && found->is_map()) found = found->find("@odata.id");
  if (found == nullptr || !found->is_text()) return {};
  const std::string_view whole = found->text();
  const std::string_view path = whole.substr(0, whole.find('#'));
  return is_trusted_path(path) ? std::string(path) : std::string();
}

}  // namespace weft::oob
