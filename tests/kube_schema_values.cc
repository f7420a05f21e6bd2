#include "kube_schema_values.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <map>
#include <optional>
#include <regex>

#include "kube_schema.h"
#include "kube_schema_store.h"

namespace weft::kube_schema {

namespace {

using Kind = YamlNode::Kind;

bool matches(const std::string& text, const std::string& pattern) {
  static std::map<std::string, std::regex> compiled;
  auto found = compiled.find(pattern);
  if (found == compiled.end()) found = compiled.emplace(pattern, std::regex(pattern)).first;
  return std::regex_match(text, found->second);
}

// Patterns of schemas use Go syntax; std::regex supports neither inline flags nor Unicode classes.
std::optional<std::regex> compile(std::string pattern) {
  auto flags = std::regex::ECMAScript;
  const std::size_t flag = pattern.find("(?i)");
  if (flag != std::string::npos) {
    pattern.erase(flag, 4);
    flags |= std::regex::icase;
  }
  const std::size_t printable = pattern.find("\\PC");
  if (printable != std::string::npos) pattern.replace(printable, 3, "[^\\x01-\\x1f\\x7f]");
  try {
    return std::regex(pattern, flags);
  } catch (const std::regex_error&) {
    return {};
  }
}

const std::optional<std::regex>& pattern_of(const std::string& text) {
  static std::map<std::string, std::optional<std::regex>> known;
  const auto [found, is_new] = known.try_emplace(text);
  if (is_new) found->second = compile(text);
  return found->second;
}

std::size_t characters(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

double number_of(const YamlNode& node) { return std::strtod(node.scalar.c_str(), nullptr); }

struct Wrong {
  std::vector<std::string> messages;
  void say(std::string message) { messages.push_back(std::move(message)); }
};

std::string kind_name(const YamlNode& node) {
  if (node.kind == Kind::mapping) return "object";
  if (node.kind == Kind::sequence) return "array";
  switch (type_of(node)) {
    case ScalarType::boolean:
      return "boolean";
    case ScalarType::integer:
      return "integer";
    case ScalarType::number:
      return "number";
    case ScalarType::text:
      break;
  }
  return "string";
}

bool has_type(const std::string& found, const std::string& wanted) {
  return found == wanted || (wanted == "number" && found == "integer");
}

void check_type(const YamlNode& node, const YamlNode& schema, const std::string& name, Wrong& wrong) {
  const std::string found = kind_name(node);
  const bool mixed = scalar_of(schema.find("x-kubernetes-int-or-string")) == "true" || name.ends_with(".IntOrString");
  if (mixed) {
    if (found != "integer" && found != "string") wrong.say("neither a whole number nor text but " + found);
    return;
  }
  const std::string wanted = scalar_of(schema.find("type"));
  if (!wanted.empty() && !has_type(found, wanted)) wrong.say(found + " where the schema wants " + wanted);
}

template <class T>
bool parses_as(const std::string& text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data() + (text.starts_with('+') ? 1 : 0), end, value);
  return result.ec == std::errc() && result.ptr == end;
}

void check_format(const YamlNode& node, const std::string& format, Wrong& wrong) {
  const std::string& text = node.scalar;
  const bool number = kind_name(node) == "integer";
  if (format == "int32" && number && !parses_as<std::int32_t>(text)) wrong.say("not a 32-bit number: " + text);
  if (format == "int64" && number && !parses_as<std::int64_t>(text)) wrong.say("not a 64-bit number: " + text);
  static const std::string kByte = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$";
  if (format == "byte" && !matches(text, kByte)) wrong.say("not base64");
  static const std::string kTime = R"(^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$)";
  if (format == "date-time" && !matches(text, kTime)) wrong.say("not a time: " + text);
  static const std::string kIpv4 = R"(^((25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(\.(?!$)|$)){4}$)";
  if (format == "ipv4" && !matches(text, kIpv4)) wrong.say("not an IPv4 address: " + text);
}

void check_number(const YamlNode& node, const YamlNode& schema, Wrong& wrong) {
  const double value = number_of(node);
  const YamlNode* low = schema.find("minimum");
  const YamlNode* high = schema.find("maximum");
  const bool above = scalar_of(schema.find("exclusiveMinimum")) == "true";
  const bool under = scalar_of(schema.find("exclusiveMaximum")) == "true";
  if (low != nullptr && (value < number_of(*low) || (above && value <= number_of(*low)))) {
    wrong.say(node.scalar + " is below " + low->scalar);
  }
  if (high != nullptr && (value > number_of(*high) || (under && value >= number_of(*high)))) {
    wrong.say(node.scalar + " is above " + high->scalar);
  }
}

void check_count(std::size_t count, const YamlNode& schema, std::string_view low_key, std::string_view high_key,
                 Wrong& wrong) {
  const YamlNode* low = schema.find(low_key);
  const YamlNode* high = schema.find(high_key);
  const auto size = static_cast<double>(count);
  if (low != nullptr && size < number_of(*low)) wrong.say("fewer than " + std::string(low_key) + " " + low->scalar);
  if (high != nullptr && size > number_of(*high)) wrong.say("more than " + std::string(high_key) + " " + high->scalar);
}

void check_text(const YamlNode& node, const YamlNode& schema, Wrong& wrong, std::vector<std::string>& not_understood) {
  check_count(characters(node.scalar), schema, "minLength", "maxLength", wrong);
  const std::string pattern = scalar_of(schema.find("pattern"));
  if (pattern.empty()) return;
  const auto& compiled = pattern_of(pattern);
  // std::regex recurses once per character.
  if (!compiled.has_value() || node.scalar.size() > 4096) return not_understood.push_back(pattern);
  if (!std::regex_search(node.scalar, *compiled)) wrong.say("does not match " + pattern + ": " + node.scalar);
}

// A type and field of Kubernetes with the values that its validation accepts.
struct Choice {
  std::string_view type;
  std::string_view field;
  std::string_view values;  // with '|' around each
};

constexpr std::string_view kProtocols = "|TCP|UDP|SCTP|";
constexpr std::string_view kEffects = "|NoSchedule|PreferNoSchedule|NoExecute|";
constexpr std::string_view kReclaim = "|Delete|Retain|Recycle|";
constexpr std::string_view kAccess = "|ReadWriteOnce|ReadOnlyMany|ReadWriteMany|ReadWriteOncePod|";
constexpr auto kChoices = std::to_array<Choice>({
    {"StorageClass", "reclaimPolicy", "|Delete|Retain|"},
    {"StorageClass", "volumeBindingMode", "|Immediate|WaitForFirstConsumer|"},
    {"PersistentVolumeSpec", "persistentVolumeReclaimPolicy", kReclaim},
    {"PersistentVolumeSpec", "accessModes", kAccess},
    {"PersistentVolumeClaimSpec", "accessModes", kAccess},
    {"PersistentVolumeClaimSpec", "volumeMode", "|Filesystem|Block|"},
    {"ServiceSpec", "type", "|ClusterIP|NodePort|LoadBalancer|ExternalName|"},
    {"ServiceSpec", "externalTrafficPolicy", "|Cluster|Local|"},
    {"ServiceSpec", "internalTrafficPolicy", "|Cluster|Local|"},
    {"ServiceSpec", "sessionAffinity", "|None|ClientIP|"},
    {"ServiceSpec", "ipFamilyPolicy", "|SingleStack|PreferDualStack|RequireDualStack|"},
    {"ServicePort", "protocol", kProtocols},
    {"ContainerPort", "protocol", kProtocols},
    {"NetworkPolicyPort", "protocol", kProtocols},
    {"NetworkPolicySpec", "policyTypes", "|Ingress|Egress|"},
    {"PodSpec", "restartPolicy", "|Always|OnFailure|Never|"},
    {"PodSpec", "dnsPolicy", "|ClusterFirst|ClusterFirstWithHostNet|Default|None|"},
    {"PodSpec", "preemptionPolicy", "|PreemptLowerPriority|Never|"},
    {"PriorityClass", "preemptionPolicy", "|PreemptLowerPriority|Never|"},
    {"Container", "imagePullPolicy", "|Always|IfNotPresent|Never|"},
    {"SeccompProfile", "type", "|RuntimeDefault|Unconfined|Localhost|"},
    {"Taint", "effect", kEffects},
    {"Toleration", "effect", kEffects},
    {"Toleration", "operator", "|Exists|Equal|Lt|Gt|"},
    {"NodeSelectorRequirement", "operator", "|In|NotIn|Exists|DoesNotExist|Gt|Lt|"},
    {"LabelSelectorRequirement", "operator", "|In|NotIn|Exists|DoesNotExist|"},
    {"TopologySpreadConstraint", "whenUnsatisfiable", "|DoNotSchedule|ScheduleAnyway|"},
    {"JobSpec", "completionMode", "|NonIndexed|Indexed|"},
    {"JobSpec", "podReplacementPolicy", "|TerminatingOrFailed|Failed|"},
    {"PodFailurePolicyRule", "action", "|FailJob|FailIndex|Ignore|Count|"},
    {"PodFailurePolicyOnExitCodesRequirement", "operator", "|In|NotIn|"},
    {"CronJobSpec", "concurrencyPolicy", "|Allow|Forbid|Replace|"},
    {"DeploymentStrategy", "type", "|Recreate|RollingUpdate|"},
    {"DaemonSetUpdateStrategy", "type", "|OnDelete|RollingUpdate|"},
    {"StatefulSetSpec", "podManagementPolicy", "|OrderedReady|Parallel|"},
    {"MetricSpec", "type", "|Object|Pods|Resource|ContainerResource|External|"},
    {"MetricTarget", "type", "|Utilization|Value|AverageValue|"},
    {"HPAScalingPolicy", "type", "|Pods|Percent|"},
    {"HPAScalingRules", "selectPolicy", "|Max|Min|Disabled|"},
    {"PodDisruptionBudgetSpec", "unhealthyPodEvictionPolicy", "|IfHealthyBudget|AlwaysAllow|"},
    {"EmptyDirVolumeSource", "medium", "||Memory|HugePages|HugePages-2Mi|HugePages-1Gi|"},
    {"HTTPIngressPath", "pathType", "|Exact|Prefix|ImplementationSpecific|"},
    {"ScopedResourceSelectorRequirement", "operator", "|In|NotIn|Exists|DoesNotExist|"},
    {"ScopedResourceSelectorRequirement", "scopeName",
     "|Terminating|NotTerminating|BestEffort|NotBestEffort|PriorityClass|CrossNamespacePodAffinity|"
     "VolumeAttributesClass|"},
    {"LimitRangeItem", "type", "|Pod|Container|PersistentVolumeClaim|"},
    {"Subject", "kind", "|User|Group|ServiceAccount|"},
    {"RoleRef", "kind", "|Role|ClusterRole|"},
});

}  // namespace

ScalarType type_of(const YamlNode& scalar) {
  if (scalar.quoted) return ScalarType::text;
  static const std::string kBoolean =
      "^(true|True|TRUE|false|False|FALSE|y|Y|yes|Yes|YES|n|N|no|No|NO|on|On|ON|off|Off|OFF)$";
  static const std::string kInteger = "^([-+]?[0-9][0-9_]*|0x[0-9a-fA-F_]+|0b[01_]+|0o[0-7_]+)$";
  static const std::string kNumber =
      R"(^([-+]?(\.[0-9]+|[0-9][0-9_]*(\.[0-9_]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$)";
  if (scalar.scalar.size() > 64) return ScalarType::text;
  if (matches(scalar.scalar, kBoolean)) return ScalarType::boolean;
  if (matches(scalar.scalar, kInteger)) return ScalarType::integer;
  if (matches(scalar.scalar, kNumber)) return ScalarType::number;
  return ScalarType::text;
}

std::vector<std::string> wrong_values(const YamlNode& node, const YamlNode& schema, const std::string& name,
                                      std::vector<std::string>& not_understood) {
  Wrong wrong;
  check_type(node, schema, name, wrong);
  if (name.ends_with(".Quantity")) {
    // The grammar of k8s.io/apimachinery/pkg/api/resource, as the CRDs spell it.
    static const std::string kNumber = R"((([0-9]+(\.[0-9]*)?)|(\.[0-9]+)))";
    static const std::string kQuantity =
        R"(^(\+|-)?)" + kNumber + R"((([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?)" + kNumber + "))?$";
    if (node.kind != Kind::scalar || !matches(node.scalar, kQuantity)) wrong.say("not a quantity: " + node.scalar);
    return wrong.messages;
  }
  if (node.kind == Kind::mapping) check_count(node.entries.size(), schema, "minProperties", "maxProperties", wrong);
  if (node.kind == Kind::sequence) check_count(node.items.size(), schema, "minItems", "maxItems", wrong);
  if (node.kind != Kind::scalar) return wrong.messages;
  const ScalarType type = type_of(node);
  if (type == ScalarType::integer || type == ScalarType::number) check_number(node, schema, wrong);
  if (type == ScalarType::text) check_text(node, schema, wrong, not_understood);
  check_format(node, scalar_of(schema.find("format")), wrong);
  if (const YamlNode* choices = schema.find("enum")) {
    const bool listed = std::any_of(choices->items.begin(), choices->items.end(),
                                    [&](const YamlNode& choice) { return choice.scalar == node.scalar; });
    if (!listed) wrong.say("not one of the schema's choices: " + node.scalar);
  }
  return wrong.messages;
}

std::vector<std::string> wrong_choice(const YamlNode& node, std::string_view type, std::string_view field) {
  const std::string_view own = type.substr(type.rfind('.') + 1);
  for (const Choice& choice : kChoices) {
    if (choice.type != own || choice.field != field) continue;
    std::vector<std::string> wrong;
    const auto judge = [&](const YamlNode& value) {
      if (choice.values.find("|" + value.scalar + "|") == std::string_view::npos) {
        wrong.push_back("not one of " + std::string(choice.values) + ": " + value.scalar);
      }
    };
    if (node.kind == Kind::scalar) judge(node);
    for (const YamlNode& item : node.items) judge(item);
    return wrong;
  }
  return {};
}

bool is_dns_label(const std::string& text) {
  return text.size() <= 63 && matches(text, "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$");
}

bool is_dns_subdomain(const std::string& text) {
  return text.size() <= 253 && matches(text, R"(^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$)");
}

bool is_dns_1035_label(const std::string& text) {
  return text.size() <= 63 && matches(text, "^[a-z]([-a-z0-9]*[a-z0-9])?$");
}

bool is_qualified_name(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash != std::string::npos && !is_dns_subdomain(text.substr(0, slash))) return false;
  const std::string name = slash == std::string::npos ? text : text.substr(slash + 1);
  return name.size() <= 63 && matches(name, "^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$");
}

bool is_label_value(const std::string& text) {
  return text.size() <= 63 && matches(text, "^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$");
}

}  // namespace weft::kube_schema
