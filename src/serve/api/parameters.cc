#include "serve/api/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "access/audit/entry.h"
#include "base/json.h"
#include "base/quantity.h"
#include "base/text.h"
#include "base/utf8.h"
#include "serve/http/target.h"

namespace weft::serve {
namespace {

constexpr std::size_t kMaxErrors = 20;

constexpr YamlLimits kBodyLimits{.bytes = std::size_t{8} << 20U, .nodes = 200'000, .depth = 4};

std::string_view type_name(FieldType type) {
  switch (type) {
    case FieldType::integer:
      return "a whole number";
    case FieldType::boolean:
      return "true or false";
    case FieldType::duration:
      return "a duration such as \"2h\"";
    case FieldType::hosts:
      return "a list of names, or a text such as \"train[001-004]\"";
    case FieldType::text:
    case FieldType::content:
      break;
  }
  return "a text";
}

const Field* find_field(const std::vector<const Field*>& fields, std::string_view name) {
  for (const Field* each : fields) {
    if (each->name == name) return each;
  }
  return nullptr;
}

}  // namespace

const std::string& Parameters::text(std::string_view name) const {
  static const std::string none;
  const auto found = values_.find(name);
  return found == values_.end() ? none : found->second;
}

std::uint64_t Parameters::number(std::string_view name, std::uint64_t otherwise) const {
  const std::string& digits = text(name);
  std::uint64_t value = otherwise;
  if (!digits.empty()) std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

const std::vector<Field>& format_fields() {
  static const std::vector<Field> fields = {
      {"output",
       FieldType::text,
       "format of the answer; default: json",
       false,
       16,
       {"table", "wide", "json", "yaml", "ndjson", "csv"}},
      {"color", FieldType::boolean, "color the output for a terminal, of tables"},
      {"width", FieldType::integer, "columns that tables may use; default: any number", false, kMaxTableWidth}};
  return fields;
}

const std::vector<Field>& list_fields() {
  static const std::vector<Field> fields = {
      {"limit", FieldType::integer, "maximum number of rows per page", false, 1'000'000},
      {"page", FieldType::text, "the next page: header weft-next-page of the last answer", false, 4096},
      {"sort", FieldType::text, "column to sort by; with - before it, in descending order", false, 64}};
  return fields;
}

const Field& reason_field() {
  static const Field field{"reason", FieldType::text, "why: goes into the journal and the audit log", false, 1000};
  return field;
}

class ParameterReader {
 public:
  ParameterReader(const RouteRow& row, std::vector<InputError>& errors) : row_(row), errors_(errors) {}

  void read_query(const QueryParameters& query) {
    std::vector<const Field*> fields;
    for (const Field& each : row_.query) fields.push_back(&each);
    if (row_.lists) {
      for (const Field& each : list_fields()) fields.push_back(&each);
    }
    for (const Field& each : format_fields()) fields.push_back(&each);
    where_ = InputError::Where::query;
    for (const auto& [name, value] : query) {
      const Field* field = find_field(fields, name);
      if (field == nullptr && row_.lists && row_.method == "GET") {
        out_.filters_.emplace_back(name, value);
      } else if (field == nullptr) {
        unknown(name, fields);
      } else if (out_.has(name)) {
        fail(name, fmt::format("{} occurs twice", in_backticks(name)));
      } else {
        take(*field, value);
      }
    }
    require(fields);
  }

  void read_body(const HttpRequest& request) {
    std::vector<const Field*> fields;
    for (const Field& each : row_.body) fields.push_back(&each);
    if (row_.reason != Reason::none) fields.push_back(&reason_field());
    where_ = InputError::Where::body;
    if (!trim(request.body).empty() && !read_object(request.body, fields)) return;
    require(fields);
    if (row_.reason == Reason::required && trim(out_.text("reason")).empty() && !has_failed("reason"))
      fail("reason", "a reason is needed: it goes into the journal and the audit log");
  }

  Parameters take_parameters() { return std::move(out_); }

 private:
  void fail(std::string_view name, std::string detail) {
    if (errors_.size() >= kMaxErrors) return;  // the answer stays small, whatever was sent
    errors_.push_back({where_, std::string(name), std::move(detail)});
  }

  [[nodiscard]] bool has_failed(std::string_view name) const {
    return std::any_of(errors_.begin(), errors_.end(),
                       [&](const InputError& each) { return each.where == where_ && each.name == name; });
  }

  void unknown(std::string_view name, const std::vector<const Field*>& fields) {
    std::vector<std::string_view> known;
    known.reserve(fields.size());
    for (const Field* each : fields) known.push_back(each->name);
    fail(name, fmt::format("unknown {} {}; known: {}", where_ == InputError::Where::body ? "member" : "parameter",
                           in_backticks(name), known.empty() ? "none" : join(known, ", ")));
  }

  void require(const std::vector<const Field*>& fields) {
    for (const Field* each : fields) {
      if (each->required && !out_.has(each->name) && !has_failed(each->name))
        fail(each->name, fmt::format("{} is missing: {}", in_backticks(each->name), each->about));
    }
  }

  // False if the body is no object, whose members could be read.
  bool read_object(const std::string& body, const std::vector<const Field*>& fields) {
    Sources sources;
    Diagnostics diagnostics;
    const FileId file = sources.add("body", body);
    const std::optional<YamlNode> root = parse_json(sources, file, diagnostics, kBodyLimits);
    for (const Diagnostic& each : diagnostics.sorted()) {  // a repeated member is a warning of the parser
      fail("", fmt::format("the body is not valid JSON: line {}, column {}: {}", each.place.line, each.place.column,
                           each.message));
      return false;
    }
    if (!root || root->kind != YamlNode::Kind::mapping) {
      fail("", "the body must be a JSON object");
      return false;
    }
    for (const YamlEntry& entry : root->entries) {
      const Field* field = find_field(fields, entry.key);
      if (field == nullptr) {
        unknown(entry.key, fields);
      } else if (entry.value.kind != YamlNode::Kind::null) {
        read_member(*field, entry.value);
      }
    }
    return true;
  }

  void read_member(const Field& field, const YamlNode& value) {
    const auto wrong_type = [&] {
      fail(field.name, fmt::format("{} must be {}", in_backticks(field.name), type_name(field.type)));
    };
    if (field.type == FieldType::hosts && value.kind == YamlNode::Kind::sequence) {
      std::string list;
      for (const YamlNode& item : value.items) {
        if (item.kind != YamlNode::Kind::scalar || !item.quoted || item.scalar.empty()) return wrong_type();
        list += (list.empty() ? "" : ",") + item.scalar;
      }
      return take(field, list);
    }
    const bool is_text = field.type != FieldType::integer && field.type != FieldType::boolean;
    if (value.kind != YamlNode::Kind::scalar || value.quoted != is_text) return wrong_type();
    take(field, value.scalar);
  }

  void take(const Field& field, std::string value) {
    switch (field.type) {
      case FieldType::integer: {
        std::uint64_t number = 0;
        const auto result = std::from_chars(value.data(), value.data() + value.size(), number);
        if (value.empty() || result.ec != std::errc() || result.ptr != value.data() + value.size() ||
            number > field.max) {
          return fail(field.name,
                      fmt::format("{} is {}, not a whole number up to {}", field.name, in_backticks(value), field.max));
        }
        break;
      }
      case FieldType::boolean:
        if (where_ == InputError::Where::query && (value == "1" || value == "0"))
          value = value == "1" ? "true" : "false";
        if (value != "true" && value != "false")
          return fail(field.name, fmt::format("{} is {}, not true or false", field.name, in_backticks(value)));
        break;
      case FieldType::duration:
        if (const Result<Duration> time = parse_duration(value); !value.empty() && !time.ok())
          return fail(field.name, fmt::format("{}: {}", field.name, time.error().message));
        if (value.empty()) return;
        break;
      case FieldType::content:
        if (value.size() > field.max)
          return fail(field.name, fmt::format("{} must be at most {} bytes", field.name, field.max));
        break;
      case FieldType::text:
      case FieldType::hosts:
        if (value.size() > field.max || !is_valid_text(value)) {
          return fail(field.name, fmt::format("{} must be at most {} bytes of UTF-8 without control characters",
                                              field.name, field.max));
        }
        break;
    }
    const auto& choices = field.choices;
    if (!choices.empty() && !value.empty() && std::find(choices.begin(), choices.end(), value) == choices.end()) {
      return fail(field.name, fmt::format("{} is {}; known: {}", field.name, in_backticks(value), join(choices, ", ")));
    }
    // Reasons are kept in journals and shown to others: a token that was pasted into one is not.
    if (&field == &reason_field()) value = access::remove_tokens(value);
    out_.values_.emplace(std::string(field.name), std::move(value));
  }

  const RouteRow& row_;
  std::vector<InputError>& errors_;
  Parameters out_;
  InputError::Where where_ = InputError::Where::query;
};

Parameters read_parameters(const RouteRow& row, const HttpRequest& request, std::vector<InputError>& errors) {
  ParameterReader reader(row, errors);
  reader.read_query(request.query);
  if (row.method != "GET") reader.read_body(request);
  return reader.take_parameters();
}

}  // namespace weft::serve
