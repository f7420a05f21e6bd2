#include "oob/switches/transport.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/process.h"
#include "base/text.h"
#include "base/utf8.h"

namespace weft::oob {
namespace {

// Maximum accepted config size. A SONiC database of a 512-port switch is about 2 MiB.
constexpr std::size_t kMaxConfig = 32U << 20U;
constexpr int kSshFailed = 255;  // ssh(1), EXIT STATUS: an error of ssh itself

// One pass, so a value that contains "{command}" is not expanded.
std::string filled(const std::string& word, const SwitchDevice& device, const std::string& command) {
  const std::pair<std::string_view, const std::string*> places[] = {
      {"{host}", &device.name}, {"{address}", &device.address}, {"{command}", &command}};
  std::string out;
  for (std::size_t at = 0; at < word.size();) {
    bool found = false;
    for (const auto& [place, value] : places) {
      if (word.compare(at, place.size(), place) != 0) continue;
      out += *value;
      at += place.size();
      found = true;
      break;
    }
    if (!found) out += word[at++];
  }
  return out;
}

// The last non-blank line.
std::string last_line(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.remove_suffix(1);
  const std::size_t start = text.rfind('\n');
  return printable(start == std::string_view::npos ? text : text.substr(start + 1), 200);
}

class ProgramTransport final : public SwitchTransport {
 public:
  ProgramTransport(std::vector<std::string> words, bool ssh, Clock& clock)
      : words_(std::move(words)), ssh_(ssh), clock_(clock) {}

  Result<std::string> run(const SwitchDevice& device, const std::string& command, const std::string& input,
                          Duration limit) override {
    ProcessRequest request;
    request.words.reserve(words_.size());
    for (const std::string& word : words_) request.words.push_back(filled(word, device, command));
    request.input = input;
    request.limit = limit;
    request.most_output = kMaxConfig;
    request.stopped = [this] { return clock_.stopped(); };
    Result<ProcessOutcome> outcome = run_process(request);
    if (!outcome.ok()) {
      Error error = outcome.error();
      error.message = fmt::format("{}: {}", request.words.front(), error.message);
      error.where = device.name;
      return error;
    }
    if (outcome->code == 0) return std::move(outcome->out);
    const std::string said = last_line(outcome->err.empty() ? outcome->out : outcome->err);
    if (ssh_ && outcome->code == kSshFailed)
      return Error{ErrorCode::unavailable, said.empty() ? "ssh failed" : said, device.name};
    return Error{
        ErrorCode::refused,
        fmt::format("`{}` ended with {}{}{}", printable(command, 60), outcome->code, said.empty() ? "" : ": ", said),
        device.name};
  }

 private:
  std::vector<std::string> words_;
  bool ssh_;
  Clock& clock_;
};

std::vector<std::string> ssh_words(const TransportOptions& options) {
  std::vector<std::string> words = {
      "ssh",
      "-T",
      "-o",
      "BatchMode=yes",
      "-o",
      "StrictHostKeyChecking=yes",
      "-o",
      fmt::format("ConnectTimeout={}", std::max<std::int64_t>(1, options.connect_limit.count() / 1'000'000'000))};
  if (!options.jump.empty()) words.insert(words.end(), {"-o", "ProxyJump=" + options.jump});
  if (!options.user.empty()) words.insert(words.end(), {"-l", options.user});
  words.insert(words.end(), {"--", "{address}", "{command}"});
  return words;
}

// Input of `scp -t`: a header, the bytes, and a zero byte for success.
std::string scp_stream(const std::string& text) {
  std::string stream = fmt::format("C0600 {} weft-restore\n", text.size()) + text;
  stream += '\0';
  return stream;
}

std::string fed(const SwitchSystem& system, Feed feed, const std::string& text) {
  switch (feed) {
    case Feed::nothing:
      return {};
    case Feed::text:
      return text;
    case Feed::scp:
      return scp_stream(text);
    case Feed::script:
      return std::string(system.opens) + text + (text.ends_with('\n') ? "" : "\n") + std::string(system.closes);
  }
  return {};
}

Status complaint_in(const SwitchDevice& device, std::string_view command, const std::string& answer) {
  for (std::string_view line : split_lines(answer)) {
    line.remove_prefix(std::min(line.find_first_not_of(kLineSpaces), line.size()));
    for (const std::string_view sign : device.system->refused) {
      if (line.starts_with(sign))
        return Error{ErrorCode::refused, fmt::format("`{}`: {}", printable(command, 60), printable(line, 200)),
                     device.name};
    }
  }
  return {};
}

Error unknown_system(const SwitchDevice& device) {
  return {ErrorCode::not_found,
          device.system_name.empty() ? "the cluster file does not give its switch OS"
                                     : fmt::format("unsupported switch OS `{}`", device.system_name),
          device.name};
}

}  // namespace

std::vector<SwitchDevice> switches_among(const model::Cluster& cluster, const Inventory& inventory,
                                         const std::vector<std::uint32_t>& targets) {
  std::vector<SwitchDevice> switches;
  for (const std::uint32_t target : targets) {
    const Target& device = inventory.targets()[target];
    if (device.role != Role::network_switch || device.device == model::kNone<model::DeviceId>) continue;
    const std::string_view system = cluster.switch_os_of(device.device);
    switches.push_back(
        {device.name, device.endpoint.host, device.fabric, find_switch_system(system), std::string(system)});
  }
  return switches;
}

Result<std::unique_ptr<SwitchTransport>> open_transport(const TransportOptions& options, Clock& clock) {
  for (const std::string* word : {&options.jump, &options.user}) {
    if (word->starts_with('-') || word->find_first_of(" \t\n'\"") != std::string::npos)
      return Error{ErrorCode::invalid_input, fmt::format("{} is not a valid name", in_backticks(*word)), {}};
  }
  if (options.words.empty())
    return std::unique_ptr<SwitchTransport>(std::make_unique<ProgramTransport>(ssh_words(options), true, clock));
  Result<std::vector<std::string>> words = split_words(options.words);
  if (!words.ok()) return words.error();
  if (words->empty()) return Error{ErrorCode::invalid_input, "the transport has no program", {}};
  const bool takes_command = std::any_of(words->begin(), words->end(), [](const std::string& word) {
    return word.find("{command}") != std::string::npos;
  });
  if (!takes_command)
    return Error{ErrorCode::invalid_input, "the transport has no {command} placeholder", in_backticks(options.words)};
  for (std::string& word : *words) word = replace_all(word, "{user}", options.user);
  return std::unique_ptr<SwitchTransport>(std::make_unique<ProgramTransport>(std::move(*words), false, clock));
}

Result<std::string> fetch_config(SwitchTransport& transport, const SwitchDevice& device, Duration limit) {
  if (device.system == nullptr) return unknown_system(device);
  Result<std::string> answer = transport.run(device, std::string(device.system->fetch), {}, limit);
  if (!answer.ok()) return answer;
  std::string text;
  text.reserve(answer->size());
  for (std::size_t i = 0; i < answer->size(); ++i) {
    const char c = (*answer)[i];
    if (c == '\r' && (i + 1 == answer->size() || (*answer)[i + 1] == '\n')) continue;
    if (c != '\0') text += c;
  }
  return text;
}

Status push_config(SwitchTransport& transport, const SwitchDevice& device, const std::string& text, Duration limit) {
  if (device.system == nullptr) return unknown_system(device);
  for (const PushStep& step : device.system->push) {
    const Result<std::string> answer =
        transport.run(device, std::string(step.command), fed(*device.system, step.feed, text), limit);
    if (!answer.ok()) return answer.error();
    if (Status said = complaint_in(device, step.command, *answer); !said.ok()) return said;
  }
  return {};
}

Status save_config(SwitchTransport& transport, const SwitchDevice& device, Duration limit) {
  if (device.system == nullptr) return unknown_system(device);
  if (device.system->save.empty()) return {};
  const Result<std::string> answer = transport.run(device, std::string(device.system->save), {}, limit);
  if (!answer.ok()) return answer.error();
  return complaint_in(device, device.system->save, *answer);
}

}  // namespace weft::oob
