#include "cli/about/formats.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/framework/roff.h"
#include "design/prices.h"
#include "health/core/rules.h"
#include "model/catalog.h"
#include "model/job.h"
#include "model/spec.h"

namespace weft::access {
struct AccessFileSpec;
}
namespace weft::oob {
struct EndpointsFile;
}
namespace weft::twin {
struct FaultSpec;
struct RecordingSpec;
}  // namespace weft::twin

namespace weft::model {

// Defined next to their tables.
template <>
const Schema& schema_of<Spec>();
template <>
const Schema& schema_of<CatalogFile>();
template <>
const Schema& schema_of<design::Prices>();
template <>
const Schema& schema_of<JobSpec>();
template <>
const Schema& schema_of<access::AccessFileSpec>();
template <>
const Schema& schema_of<oob::EndpointsFile>();
template <>
const Schema& schema_of<twin::FaultSpec>();
template <>
const Schema& schema_of<twin::RecordingSpec>();

}  // namespace weft::model

namespace weft::cli {
namespace {

// "list of a name", "mapping to text", "`storage` (below)".
std::string type_text(const model::ValueType& type) {
  using Shape = model::ValueType::Shape;
  switch (type.shape) {
    case Shape::text:
      return type.name.empty() ? "text" : type.name;
    case Shape::integer:
      if (type.minimum == type.maximum) return fmt::format("{}", type.minimum);
      if (type.minimum != INT64_MIN && type.maximum != INT64_MAX)
        return fmt::format("number from {} to {}", type.minimum, type.maximum);
      if (type.minimum != INT64_MIN) return fmt::format("number, at least {}", type.minimum);
      return "number";
    case Shape::boolean:
      return "true or false";
    case Shape::choice:
      return listed(type.choices);
    case Shape::list:
      return "list: " + type_text(*type.element);
    case Shape::table:
      return "mapping: " + type_text(*type.element);
    case Shape::record:
      return fmt::format("keys below `{}`", type.record->name());
  }
  return {};
}

const model::Schema* record_of(const model::ValueType& type) {
  if (type.record != nullptr) return type.record;
  return type.element == nullptr ? nullptr : record_of(*type.element);
}

std::string record_keys(const model::Schema& schema) {
  std::vector<Choice> keys;
  for (const model::Field& field : schema.fields()) {
    keys.push_back({std::string(field.key),
                    fmt::format("{} ({}{})", field.help, type_text(field.type), field.required ? "; required" : "")});
  }
  return roff_entries(keys);
}

// The records that `schema` names, each once, in the order in which a reader meets them.
void collect_records(const model::Schema& schema, std::vector<const model::Schema*>& found) {
  for (const model::Field& field : schema.fields()) {
    const model::Schema* record = record_of(field.type);
    if (record == nullptr || std::find(found.begin(), found.end(), record) != found.end()) continue;
    found.push_back(record);
    collect_records(*record, found);
  }
}

}  // namespace

const std::vector<FileFormat>& file_formats() {
  static const std::vector<FileFormat> formats = {
      {"cluster",
       "weft cluster file",
       "cluster files",
       {"cluster.yaml", "*.cluster.yaml"},
       model::schema_of<model::Spec>},
      {"catalog",
       "weft catalog file",
       "catalog files, for --catalog",
       {"*.catalog.yaml"},
       model::schema_of<model::CatalogFile>},
      {"job", "weft job file", "job files, for `weft job submit`", {"*.job.yaml"}, model::schema_of<model::JobSpec>},
      {"prices",
       "weft price file",
       "price files, for `weft show bom --prices`",
       {"prices.yaml", "*.prices.yaml"},
       model::schema_of<design::Prices>},
      {"access",
       "weft access file",
       "access files, for `weft serve --access`",
       {"access.yaml", "*.access.yaml"},
       model::schema_of<access::AccessFileSpec>},
      {"endpoints",
       "weft endpoints file",
       "addresses of BMCs, for `weft oob --endpoints`",
       {"endpoints.yaml", "*.endpoints.yaml"},
       model::schema_of<oob::EndpointsFile>},
      {"faults",
       "weft fault file",
       "what fails in a simulated cluster, for `weft twin run --faults`",
       {"faults.yaml", "*.faults.yaml"},
       model::schema_of<twin::FaultSpec>},
      {"health",
       "weft health rules",
       "rules over health signals, for `weft health` and `weft serve --health`",
       {"health.yaml", "*.health.yaml"},
       model::schema_of<health::RulesSpec>},
      {"recording",
       "weft recording",
       "recorded operation of a cluster, for `weft twin replay`",
       {"*.recording.yaml"},
       model::schema_of<twin::RecordingSpec>},
  };
  return formats;
}

const FileFormat* find_file_format(std::string_view name) {
  for (const FileFormat& format : file_formats()) {
    if (format.name == name) return &format;
  }
  return nullptr;
}

std::string format_page_name(const FileFormat& format) { return "weft-" + std::string(format.name); }

std::string format_man_page(const FileFormat& format) {
  const model::Schema& schema = format.schema();
  const std::string page = format_page_name(format);
  std::string out = roff_title(page, 5, "File Formats");
  out += ".SH NAME\n" + roff(page) + " \\- " + roff_prose(format.purpose) + "\n";
  out += ".SH DESCRIPTION\n" + roff_prose(schema.help()) + "\n.PP\n";
  out += roff_prose(
      "The file is YAML: mappings, lists, text, numbers, true and false. Anchors, aliases, tags, merge keys and "
      "several "
      "documents are refused, and so are unknown and repeated keys. ");
  out += roff_prose(fmt::format("`weft schema {}` prints a JSON Schema of it for editors.", format.name)) + "\n";
  out += ".SH KEYS\n" + record_keys(schema);
  std::vector<const model::Schema*> records;
  collect_records(schema, records);
  for (const model::Schema* record : records) {
    out += ".SS \"" + roff(record->name()) + "\"\n" + roff_prose(record->help()) + "\n" + record_keys(*record);
  }
  out += ".SH \"SEE ALSO\"\n.BR weft (1),\n.BR weft\\-schema (1)\n";
  return out;
}

std::vector<Choice> format_pages() {
  std::vector<Choice> pages;
  for (const FileFormat& format : file_formats()) {
    pages.push_back({format_page_name(format), std::string(format.purpose)});
  }
  return pages;
}

}  // namespace weft::cli
