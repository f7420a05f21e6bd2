#include "pipeline/workflow_container.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "base/utf8.h"

namespace weft::pipeline {
namespace {

constexpr std::string_view kGpus = "nvidia.com/gpu";
// Interpreters that take a script as the argument after -c.
constexpr std::array<std::string_view, 7> kInterpreters = {"sh", "bash", "dash", "ash", "zsh", "python", "python3"};

// Kubernetes replaces $(NAME) in commands and reads $$ as $.
std::string escape_dollars(std::string_view text) { return replace_all(std::string(text), "$", "$$"); }

class ContainerReader {
 public:
  ContainerReader(PipelineBuilder& builder, const ContainerUse& use, Step& step)
      : builder_(builder), use_(use), step_(step) {}

  void read(std::int64_t deadline) {
    std::vector<std::string_view> keys = {"name", "image",     "imagePullPolicy", "command",
                                          "env",  "resources", "workingDir"};
    keys.push_back(use_.script ? "source" : "args");
    if (!builder_.check_keys(use_.node, use_.script ? "the script" : "the container", keys, true)) return;
    Value container = Value::map({{"name", "main"}});
    if (const auto image = read_text("image")) container.set("image", *image);
    if (const auto directory = read_text("workingDir")) container.set("workingDir", *directory);
    container.set("command", Value::texts(read_command()));
    container.set("env", read_environment());
    container.set("resources", read_resources());
    step_.engine = step_.gpus > 0 ? StepEngine::slurm : StepEngine::kubernetes;
    // A failure is final: the pipeline repeats steps.
    Value spec = Value::map({{"backoffLimit", 0}});
    if (deadline > 0) spec.set("activeDeadlineSeconds", deadline);
    spec.set("template", Value::map({{"spec", Value::map({{"restartPolicy", "Never"},
                                                          {"containers", Value::list({std::move(container)})}})}}));
    step_.dollars_expand = true;
    step_.job = Value::map({{"apiVersion", "batch/v1"},
                            {"kind", "Job"},
                            {"metadata", Value::map({{"name", job_name(builder_.pipeline().name, step_.name)}})},
                            {"spec", std::move(spec)}});
  }

 private:
  std::optional<std::string> read_text(std::string_view key) {
    const YamlNode* node = use_.node.find(key);
    const std::optional<std::string> text = builder_.text(node, fmt::format("`{}`", key));
    if (!text) return std::nullopt;
    return use_.rewrite(*text, node->place);
  }

  std::vector<std::string> read_words(std::string_view key) {
    std::vector<std::string> words;
    for (const YamlNode& word : builder_.items(use_.node.find(key), fmt::format("`{}`", key))) {
      if (word.kind != YamlNode::Kind::scalar) {
        builder_.error(word.place, fmt::format("a word of `{}` must be a text", key));
        continue;
      }
      words.push_back(use_.rewrite(word.scalar, word.place));
    }
    return words;
  }

  std::vector<std::string> read_command() {
    std::vector<std::string> words = read_words("command");
    if (words.empty()) {
      builder_.error(use_.node.place, fmt::format("the {} has no `command`", use_.script ? "script" : "container"),
                     "the entrypoint of an image is not known to weft");
      return {};
    }
    if (use_.script) {
      add_source(words);
    } else {
      for (std::string& word : read_words("args")) words.push_back(std::move(word));
    }
    if (step_.outputs.empty()) return words;
    words = with_outputs(words, step_.outputs);
    for (const std::size_t own : {std::size_t{2}, std::size_t{5}}) words[own] = escape_dollars(words[own]);
    return words;
  }

  void add_source(std::vector<std::string>& words) {
    const YamlNode* source = use_.node.find("source");
    const std::string_view program = std::string_view(words.front()).substr(words.front().rfind('/') + 1);
    if (std::find(kInterpreters.begin(), kInterpreters.end(), program) == kInterpreters.end()) {
      builder_.error(use_.node.find("command")->place,
                     fmt::format("scripts for {} are not supported", in_backticks(words.front())),
                     "sh, bash, dash, ash, zsh, python or python3; or a container with a command");
    }
    const std::optional<std::string> text = builder_.text(source, "`source`");
    if (source == nullptr) builder_.error(use_.node.place, "the script has no `source`");
    if (!text) return;
    words.emplace_back("-c");
    words.push_back(use_.rewrite(escape_dollars(*text), source->place));
  }

  Value read_environment() {
    Value list = Value::list();
    for (const YamlNode& each : builder_.items(use_.node.find("env"), "`env`")) {
      if (!builder_.check_keys(each, "the variable", {"name", "value"}, true)) continue;
      const std::optional<std::string> name = builder_.text(each.find("name"), "the name of a variable");
      const YamlNode* value = each.find("value");
      if (name && value != nullptr && value->kind == YamlNode::Kind::scalar) {
        list.add(Value::map({{"name", *name}, {"value", use_.rewrite(value->scalar, value->place)}}));
      } else {
        builder_.error(each.place, "a variable needs `name` and `value`");
      }
    }
    return list;
  }

  Value read_resources() {
    const YamlNode* node = use_.node.find("resources");
    if (node == nullptr) return Value::map();
    if (!builder_.check_keys(*node, "resources", {"limits", "requests"}, true)) return Value::map();
    Value out = Value::map();
    for (const char* kind : {"limits", "requests"}) {
      const YamlNode* amounts = node->find(kind);
      if (amounts == nullptr || !builder_.check_keys(*amounts, kind, {"cpu", "memory", kGpus}, true)) continue;
      Value& kept = out[kind];
      for (const YamlEntry& entry : amounts->entries) {
        const std::optional<std::string> amount = builder_.text(&entry.value, fmt::format("`{}`", entry.key));
        if (amount) kept.set(entry.key, *amount);
        if (entry.key == kGpus) step_.gpus = builder_.count(&entry.value, kGpus, 0, 72).value_or(0);
      }
    }
    return out;
  }

  PipelineBuilder& builder_;
  const ContainerUse& use_;
  Step& step_;
};

}  // namespace

void read_container(PipelineBuilder& builder, const ContainerUse& use, std::int64_t deadline, Step& step) {
  ContainerReader(builder, use, step).read(deadline);
}

}  // namespace weft::pipeline
