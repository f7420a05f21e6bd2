#include "serve/oob/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/text.h"
#include "base/utf8.h"
#include "oob/rescue/runbook_store.h"

namespace weft::serve {
namespace {

// Linux refuses one argument of 128 KiB.
constexpr std::size_t kMaxArgument = 120'000;

// Variables that weft oob, its credential programs and ssh read.
constexpr std::string_view kInherited[] = {"HOME",           "LANG",
                                           "LC_ALL",         "LD_LIBRARY_PATH",
                                           "LOGNAME",        "PATH",
                                           "SHELL",          "SSH_AUTH_SOCK",
                                           "TMPDIR",         "TZ",
                                           "USER",           "WEFT_ANCHOR",
                                           "WEFT_STATE",     "WEFT_VAULT_COMMAND",
                                           "XDG_STATE_HOME", "VAULT_ADDR",
                                           "VAULT_CACERT",   "VAULT_NAMESPACE",
                                           "VAULT_TOKEN"};

Error wrong(std::string_view name, std::string why) {
  return {ErrorCode::invalid_input, std::move(why), std::string(name)};
}

std::string variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe): nothing changes it
  return value == nullptr ? std::string() : std::string(value);
}

class CallChecker {
 public:
  CallChecker(const OobVerb& verb, const OobValues& values, const oob::Inventory& inventory)
      : values_(values), inventory_(inventory) {
    call_.verb = &verb;
  }

  Result<OobCall> check() {
    for (const auto& [name, value] : values_) {
      const auto& known = call_.verb->parameters;
      const bool found =
          std::any_of(known.begin(), known.end(),
                      [&, key = std::string_view(name)](const OobParameter& p) { return p.field.name == key; });
      if (!found) return wrong(name, fmt::format("{} has no parameter {}", call_.verb->id, in_backticks(name)));
    }
    for (const OobParameter& parameter : call_.verb->parameters) {
      if (Status added = add(parameter); !added.ok()) return added.error();
    }
    return std::move(call_);
  }

 private:
  Status add(const OobParameter& parameter) {
    const Field& field = parameter.field;
    const auto found = values_.find(field.name);
    if (found == values_.end() || found->second.empty()) {
      if (field.required) return wrong(field.name, "is missing");
      if (found != values_.end()) return wrong(field.name, "is empty");
      if (parameter.pass == OobPass::devices) return choose_all();
      return {};
    }
    const std::string& value = found->second;
    if (Status valid = check_value(field, value); !valid.ok()) return valid;
    call_.values[std::string(field.name)] = value;
    return pass(parameter, value);
  }

  static Status check_value(const Field& field, const std::string& value) {
    if (value.size() > kMaxArgument) return wrong(field.name, fmt::format("is longer than {} bytes", kMaxArgument));
    if (field.type == FieldType::content) return check_content(field, value);
    const std::uint64_t max = field.type == FieldType::integer ? 20 : field.type == FieldType::boolean ? 5 : field.max;
    if (std::string problem = find_text_problem(value, max); !problem.empty())
      return wrong(field.name, std::move(problem));
    switch (field.type) {
      case FieldType::integer: {
        const bool digits = std::all_of(value.begin(), value.end(), is_digit);
        if (!digits || value.size() > 18 || std::strtoull(value.c_str(), nullptr, 10) > field.max)
          return wrong(field.name, fmt::format("{} is not a number from 0 to {}", in_backticks(value), field.max));
        return {};
      }
      case FieldType::boolean:
        if (value != "true" && value != "false")
          return wrong(field.name, fmt::format("{} is not true or false", in_backticks(value)));
        return {};
      case FieldType::duration:
        if (const Result<Duration> time = parse_duration(value); !time.ok() || time->count() <= 0)
          return wrong(field.name, fmt::format("{} is not a duration such as 90s or 5m", in_backticks(value)));
        return {};
      case FieldType::text:
      case FieldType::content:
      case FieldType::hosts:
        break;
    }
    if (field.choices.empty()) return {};
    if (std::find(field.choices.begin(), field.choices.end(), value) != field.choices.end()) return {};
    return wrong(field.name, fmt::format("{} is not one of {}", in_backticks(value), join(field.choices, ", ")));
  }

  // Lines KEY=VALUE.
  static Status check_content(const Field& field, const std::string& value) {
    if (value.size() > field.max) return wrong(field.name, fmt::format("is longer than {} bytes", field.max));
    for (const std::string_view line : split_lines(value)) {
      if (std::string problem = find_text_problem(line, field.max); !problem.empty())
        return wrong(field.name, std::move(problem));
      const std::size_t equals = line.find('=');
      const bool named = equals != std::string_view::npos && equals > 0 &&
                         std::all_of(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(equals),
                                     [](char c) { return is_letter_or_digit(c) || c == '_' || c == '-'; });
      if (!named) return wrong(field.name, fmt::format("{} is not KEY=VALUE", in_backticks(line)));
    }
    return {};
  }

  Status pass(const OobParameter& parameter, const std::string& value) {
    const std::string_view option = parameter.option;
    switch (parameter.pass) {
      case OobPass::option:
        call_.options.push_back(fmt::format("--{}={}", option, value));
        return {};
      case OobPass::flag:
        if (value == "true") call_.options.push_back(fmt::format("--{}", option));
        return {};
      case OobPass::inverted_flag:
        if (value == "false") call_.options.push_back(fmt::format("--{}", option));
        return {};
      case OobPass::repeated:
        for (const std::string_view item : split(value, ',')) {
          if (trim(item).empty()) return wrong(parameter.field.name, "has an empty item");
          call_.options.push_back(fmt::format("--{}={}", option, trim(item)));
        }
        return {};
      case OobPass::lines:
        for (const std::string_view line : split_lines(value))
          call_.options.push_back(fmt::format("--{}={}", option, line));
        return {};
      case OobPass::devices:
        return choose(parameter.field, value);
      case OobPass::word:
        if (parameter.field.name == "runbook") {
          // A name with a slash would be a file of this machine.
          const std::vector<std::string> names = oob::runbook_names();
          if (std::find(names.begin(), names.end(), value) == names.end())
            return wrong(parameter.field.name, fmt::format("there is no runbook {}", in_backticks(value)));
        }
        call_.words.push_back(value);
        return {};
      case OobPass::server:
        return {};
    }
    return {};
  }

  Status choose_all() {
    call_.targets.resize(inventory_.targets().size());
    for (std::uint32_t i = 0; i < call_.targets.size(); ++i) call_.targets[i] = i;
    call_.hosts = "all";
    call_.values["devices"] = "all";
    return {};
  }

  Status choose(const Field& field, const std::string& value) {
    // A pool or rack without a name, as of a script with an empty variable, must not select devices without one.
    for (const std::string_view item : split_outside_brackets(value)) {
      if (item == "@" || item == "rack:") return wrong(field.name, fmt::format("{} has no name", in_backticks(item)));
    }
    Result<std::vector<std::uint32_t>> chosen = inventory_.select(value);
    if (!chosen.ok()) return wrong(field.name, chosen.error().message);
    if (chosen->empty()) return wrong(field.name, fmt::format("{} names no device", in_backticks(value)));
    if (field.name == "device" && chosen->size() != 1)
      return wrong(field.name, fmt::format("{} is not one device", in_backticks(value)));
    call_.targets = std::move(*chosen);
    // Names of the inventory, whatever was sent.
    const bool all = call_.targets.size() == inventory_.targets().size();
    call_.hosts = all ? "all" : inventory_.fold(call_.targets);
    if (call_.hosts.size() > kMaxArgument)
      return wrong(field.name, fmt::format("names {} devices, too many for one operation; name pools or ranges",
                                           call_.targets.size()));
    call_.values[std::string(field.name)] = call_.hosts;
    return {};
  }

  const OobValues& values_;
  const oob::Inventory& inventory_;
  OobCall call_;
};

void add_option(std::vector<std::string>& words, std::string_view name, const std::string& value) {
  if (!value.empty()) words.push_back(fmt::format("--{}={}", name, value));
}

void add_connection(std::vector<std::string>& words, const OobConfig& config, const OobVerb& verb) {
  add_option(words, "state", config.state);
  if (verb.connection == OobConnection::journal) return;
  add_option(words, "endpoints", config.endpoints);
  add_option(words, "ca", config.ca);
  add_option(words, "syslog", config.syslog);
  for (const std::string& catalog : config.catalogs) add_option(words, "catalog", catalog);
  if (verb.connection != OobConnection::switches) {
    add_option(words, "credentials", config.credentials);
    if (config.insecure) words.emplace_back("--insecure");
  }
  if (verb.connection != OobConnection::bmc) {
    add_option(words, "jump", config.jump);
    add_option(words, "user", config.login);
    add_option(words, "via", config.via);
  }
  const std::string_view command = verb.command.back();
  if (command == "power") add_option(words, "host-probe", config.host_probe);
  if (command == "audit") add_option(words, "advisories", config.advisories);
}

}  // namespace

std::string find_text_problem(std::string_view text, std::uint64_t max_bytes) {
  if (text.size() > max_bytes) return fmt::format("is longer than {} bytes", max_bytes);
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint point = decode_utf8(text, i);
    if (!point.valid) return "is not UTF-8";
    if (!is_printable(point.value)) return fmt::format("has a character that cannot be printed, U+{:04X}", point.value);
    i += point.size;
  }
  return {};
}

Result<OobCall> check_oob_call(const OobVerb& verb, const OobValues& values, const oob::Inventory& inventory) {
  return CallChecker(verb, values, inventory).check();
}

std::vector<std::string> oob_command_line(const OobConfig& config, const OobCall& call, OobMode mode,
                                          const std::string& reason) {
  const OobVerb& verb = *call.verb;
  if (verb.planning == OobPlanning::listed && mode == OobMode::plan) {
    OobCall listing;
    listing.verb = find_oob_verb("oob.power-incomplete");
    return oob_command_line(config, listing, OobMode::execute, {});
  }
  std::vector<std::string> words = {config.executable};
  for (const std::string_view word : verb.command) words.emplace_back(word);
  std::vector<std::string> places;
  for (const std::string_view word : verb.words) (word.starts_with("--") ? words : places).emplace_back(word);
  words.emplace_back("--output=json");
  add_connection(words, config, verb);
  words.insert(words.end(), call.options.begin(), call.options.end());
  if (verb.reason != Reason::none) add_option(words, "reason", reason);
  if (verb.planning == OobPlanning::dry_run) words.emplace_back(mode == OobMode::plan ? "--dry-run" : "--yes");
  words.emplace_back("--");
  words.insert(words.end(), places.begin(), places.end());
  words.insert(words.end(), call.words.begin(), call.words.end());
  if (verb.takes_cluster) words.push_back(config.cluster_file);
  if (!call.hosts.empty()) words.push_back(call.hosts);
  return words;
}

std::vector<std::pair<std::string, std::string>> oob_environment(const OobConfig& config,
                                                                 const std::string& on_behalf_of,
                                                                 const std::string& operation) {
  std::vector<std::pair<std::string, std::string>> variables;
  const auto inherit = [&](const std::string& name) {
    if (std::string value = variable(name); !value.empty()) variables.emplace_back(name, std::move(value));
  };
  for (const std::string_view name : kInherited) inherit(std::string(name));
  if (config.credentials.starts_with("env:")) {
    inherit(config.credentials.substr(4) + "_USER");
    inherit(config.credentials.substr(4) + "_PASSWORD");
  }
  variables.emplace_back("WEFT_PROGRESS", "lines");
  if (!on_behalf_of.empty()) variables.emplace_back("WEFT_ON_BEHALF_OF", on_behalf_of);
  if (!operation.empty()) variables.emplace_back("WEFT_SERVE_OPERATION", operation);
  return variables;
}

}  // namespace weft::serve
