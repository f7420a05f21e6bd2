#include "cli/operate/oob_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include "base/text.h"
#include "base/utf8.h"

namespace weft::cli {
namespace {

using serve::OobParameter;
using serve::OobPass;
using serve::OobVerb;

// Options of the client itself.
const std::set<std::string, std::less<>>& own_options() {
  static const std::set<std::string, std::less<>> names = {"output",  "file",   "reason",  "yes",
                                                           "dry-run", "server", "context", "socket"};
  return names;
}

bool takes_option(const OobVerb& verb, std::string_view name) {
  const auto is_fixed = [&](std::string_view word) { return word.starts_with("--") && word.substr(2) == name; };
  return std::any_of(verb.words.begin(), verb.words.end(), is_fixed) ||
         std::any_of(verb.parameters.begin(), verb.parameters.end(),
                     [&](const OobParameter& parameter) { return !name.empty() && parameter.option == name; });
}

std::vector<const OobVerb*> verbs_of(const OobLine& line) {
  std::vector<const OobVerb*> verbs;
  for (const OobVerb& verb : serve::oob_verbs()) {
    if (std::equal(verb.command.begin(), verb.command.end(), line.command.begin(), line.command.end()))
      verbs.push_back(&verb);
  }
  return verbs;
}

// Compares a line with one verb.
class VerbMatcher {
 public:
  VerbMatcher(const OobVerb& verb, const OobLine& line) : line_(line) { call_.verb = &verb; }

  // Why the line is not this verb; the first reason is shown. A lower score is a closer verb.
  struct Mismatch {
    std::string reason;
    int score = 0;
  };
  std::optional<Mismatch> match() {
    for (const std::string_view word : call_.verb->words) match_fixed(word);
    for (const OobParameter& parameter : call_.verb->parameters) match_parameter(parameter);
    if (next_ < line_.words.size())
      fail(fmt::format("unexpected argument {}", in_backticks(line_.words[next_])), kUnexpected);
    for (const auto& [name, values] : line_.options) {
      if (!own_options().contains(name) && !takes_option(*call_.verb, name)) fail(describe_unknown(name), kUnknown);
    }
    if (mismatch_.score == 0) return std::nullopt;
    return mismatch_;
  }
  [[nodiscard]] OobVerbCall take_call() { return std::move(call_); }

 private:
  static constexpr int kMissing = 1;
  static constexpr int kUnexpected = 2;
  static constexpr int kOtherVerb = 3;
  static constexpr int kUnknown = 4;

  void fail(std::string reason, int score) {
    if (mismatch_.reason.empty()) mismatch_.reason = std::move(reason);
    mismatch_.score += score;
  }

  [[nodiscard]] std::string describe_unknown(const std::string& name) const {
    const std::vector<const OobVerb*> verbs = verbs_of(line_);
    const bool is_of_other =
        std::any_of(verbs.begin(), verbs.end(), [&](const OobVerb* verb) { return takes_option(*verb, name); });
    if (is_of_other) return fmt::format("--{} cannot be combined with the other options", name);
    return fmt::format("--{} cannot be combined with --{}: the server has its own settings for reaching devices", name,
                       line_.server_option);
  }

  void match_fixed(std::string_view word) {
    if (word.starts_with("--")) {
      if (!line_.options.contains(word.substr(2)))
        fail(fmt::format("with --{}, {} is needed", line_.server_option, word), kOtherVerb);
    } else if (next_ < line_.words.size() && line_.words[next_] == word) {
      ++next_;
    } else {
      fail(fmt::format("missing {}", word), kOtherVerb);
    }
  }

  void match_parameter(const OobParameter& parameter) {
    const std::string name(parameter.field.name);
    if (parameter.pass == OobPass::server) return;
    if (parameter.pass == OobPass::word || parameter.pass == OobPass::devices) {
      if (next_ < line_.words.size()) return match_word(parameter, line_.words[next_++]);
      if (!parameter.field.required) return;
      return fail(parameter.pass == OobPass::devices ? "missing HOSTS: name the devices, or give all"
                                                     : "missing " + to_upper(name),
                  kMissing);
    }
    const auto given = line_.options.find(parameter.option);
    if (given == line_.options.end()) {
      if (parameter.field.required) fail(fmt::format("missing --{}", parameter.option), kMissing);
      return;
    }
    switch (parameter.pass) {
      case OobPass::flag:
        call_.values[name] = "true";
        break;
      case OobPass::inverted_flag:
        call_.values[name] = "false";
        break;
      case OobPass::repeated:
        call_.values[name] = join(given->second, ",");
        break;
      case OobPass::lines:
        call_.values[name] = join(given->second, "\n");
        break;
      case OobPass::option:
      case OobPass::devices:
      case OobPass::word:
      case OobPass::server:
        call_.values[name] = given->second.back();
        check_number(parameter, given->second.back());
        break;
    }
  }

  void match_word(const OobParameter& parameter, const std::string& word) {
    const auto& choices = parameter.field.choices;
    if (!choices.empty() && std::find(choices.begin(), choices.end(), word) == choices.end())
      return fail(fmt::format("{} is not one of {}", in_backticks(word), join(choices, ", ")), kUnexpected);
    if (parameter.pass == OobPass::word && contains(word, "/"))
      return fail(
          fmt::format("{} is a file of this machine: the server has only what weft includes", in_backticks(word)),
          kUnexpected);
    call_.values[std::string(parameter.field.name)] = word;
  }

  void check_number(const OobParameter& parameter, const std::string& text) {
    if (parameter.field.type != serve::FieldType::integer) return;
    const bool is_number = !text.empty() && text.size() <= 18 && std::all_of(text.begin(), text.end(), is_digit);
    if (!is_number) fail(fmt::format("--{}: {} is not a number", parameter.option, in_backticks(text)), kMissing);
  }

  const OobLine& line_;
  OobVerbCall call_;
  Mismatch mismatch_;
  std::size_t next_ = 0;
};

}  // namespace

OobLine read_oob_line(const Context& context) {
  OobLine line;
  for (const std::string_view word : split(context.command().name, ' ')) line.command.emplace_back(word);
  line.words = context.arguments().words();
  for (const Option& option : context.command().options) {
    if (context.arguments().has(option.name)) line.options[option.name] = context.arguments().values(option.name);
  }
  line.server_option = context.arguments().server_option();
  return line;
}

Result<OobVerbCall> find_oob_verb_call(const OobLine& line) {
  VerbMatcher::Mismatch closest;
  for (const OobVerb* verb : verbs_of(line)) {
    VerbMatcher matcher(*verb, line);
    const std::optional<VerbMatcher::Mismatch> mismatch = matcher.match();
    if (!mismatch) return matcher.take_call();
    if (closest.score == 0 || mismatch->score < closest.score) closest = *mismatch;
  }
  if (closest.score == 0) closest.reason = fmt::format("this command has no meaning with --{}", line.server_option);
  return Error{ErrorCode::invalid_input, closest.reason, {}};
}

bool OobVerbCall::is_in_path(std::string_view parameter) const {
  return contains(verb->pattern, fmt::format("{{{}}}", parameter));
}

std::string OobVerbCall::path() const {
  std::string path(verb->pattern);
  for (const auto& [name, value] : values) path = replace_all(std::move(path), fmt::format("{{{}}}", name), value);
  return path;
}

Value OobVerbCall::body() const {
  Value body = Value::map();
  for (const OobParameter& parameter : verb->parameters) {
    const auto found = values.find(parameter.field.name);
    if (found == values.end() || is_in_path(found->first)) continue;
    const std::string& text = found->second;
    Value value(text);
    if (parameter.field.type == serve::FieldType::boolean) value = Value(text == "true");
    if (parameter.field.type == serve::FieldType::integer) {
      std::int64_t number = 0;
      std::from_chars(text.data(), text.data() + text.size(), number);
      value = Value(number);
    }
    body.set(found->first, std::move(value));
  }
  return body;
}

}  // namespace weft::cli
