#include "cli/operate/oob_answer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/human_format.h"
#include "base/text.h"
#include "base/utf8.h"
#include "oob/redfish/json.h"

namespace weft::cli {
namespace {

constexpr std::size_t kMaxJobs = 20;  // of a blast radius, in words

bool is_envelope(std::string_view key) { return key == "schema_version" || key == "kind" || key == "notes"; }

// "not_done" -> "Not done"
std::string title_of(std::string_view key) {
  std::string title = replace_all(replace_all(std::string(key), "_", " "), "-", " ");
  if (!title.empty()) title.front() = to_upper(title.front());
  return title;
}

Cell cell_of(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value.state())) return *text;
  if (const auto* truth = std::get_if<bool>(&value.state())) return *truth;
  if (const auto* number = std::get_if<std::int64_t>(&value.state())) return *number;
  if (const auto* real = std::get_if<double>(&value.state())) return *real;
  return value.empty() ? Cell() : Cell(write_json_line(value));
}

bool is_number(const Cell& cell) {
  return std::holds_alternative<std::int64_t>(cell.value) || std::holds_alternative<double>(cell.value);
}

class DocumentReader {
 public:
  explicit DocumentReader(std::vector<std::string>* texts) : texts_(texts) {}

  void read(const Value& json) {
    document_.kind = oob::raw_text(json, {"kind"});
    FactsSection single{"result", "", {}};
    for (const auto& [key, value] : json.entries()) {
      if (is_envelope(key)) continue;
      if (value.is_list()) {
        add_table(key, value.items());
      } else if (value.is_map()) {
        add_facts(key, value);
      } else {
        single.facts.push_back({key, title_of(key), take(value)});
      }
    }
    if (!single.facts.empty()) document_.sections.emplace_back(std::move(single));
    for (const std::string& note : oob::texts(json, {"notes"})) document_.notes.push_back(note);
  }
  Document take_document() { return std::move(document_); }

 private:
  // Null where the text is printed after the tables.
  Cell take(const Value& value) {
    Cell cell = cell_of(value);
    if (texts_ == nullptr) return cell;
    if (const auto* real = std::get_if<double>(&cell.value)) cell.shown = format_fine_number(*real);
    const auto* text = std::get_if<std::string>(&cell.value);
    if (text == nullptr || !contains(*text, "\n")) return cell;
    texts_->push_back(*text);
    return {};
  }

  void add_facts(const std::string& key, const Value& map) {
    const std::size_t at = document_.sections.size();
    document_.sections.emplace_back(FactsSection{key, title_of(key), {}});
    FactsSection facts{key, title_of(key), {}};
    collect_facts(facts, "", map);
    document_.sections[at] = std::move(facts);
  }

  // Members of members are facts, too: "dependents_hosts"; rows of one are a table after them.
  void collect_facts(FactsSection& facts, const std::string& prefix, const Value& map) {
    for (const auto& [key, value] : map.entries()) {
      const std::string name = prefix + key;
      const bool has_rows = value.is_list() && !value.items().empty() && value.items().front().is_map();
      if (value.is_map() && !value.empty()) {
        collect_facts(facts, name + "_", value);
      } else if (has_rows) {
        add_table(name, value.items());
      } else {
        facts.facts.push_back({name, title_of(name), take(value)});
      }
    }
  }

  void add_table(const std::string& key, const Value::List& rows) {
    TableSection table{key, title_of(key), {}, {}};
    for (const Value& row : rows) {
      if (!row.is_map()) {
        add_cell(table, table.rows.emplace_back(), key, row);
        continue;
      }
      std::vector<Cell>& cells = table.rows.emplace_back();
      for (const auto& [name, value] : row.entries()) add_cell(table, cells, name, value);
    }
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      const bool numbers = std::all_of(table.rows.begin(), table.rows.end(), [&](const std::vector<Cell>& row) {
        return i >= row.size() || is_number(row[i]) || std::holds_alternative<std::monostate>(row[i].value);
      });
      if (numbers) table.columns[i].align = Column::Align::right;
    }
    document_.sections.emplace_back(std::move(table));
  }

  void add_cell(TableSection& table, std::vector<Cell>& cells, const std::string& name, const Value& value) {
    const auto found = std::find_if(table.columns.begin(), table.columns.end(),
                                    [&](const Column& column) { return column.key == name; });
    const auto index = static_cast<std::size_t>(found - table.columns.begin());
    if (found == table.columns.end()) table.columns.push_back({name, title_of(name)});
    if (cells.size() <= index) cells.resize(index + 1);
    cells[index] = take(value);
  }

  Document document_;
  std::vector<std::string>* texts_;
};

bool is_for_people(OutputFormat format) { return format == OutputFormat::table || format == OutputFormat::wide; }

std::int64_t count_in(const Value& value, std::initializer_list<std::string_view> keys) {
  return static_cast<std::int64_t>(oob::number(value, keys).value_or(0));
}

std::string describe_jobs(const Value::List& jobs) {
  std::vector<std::string> texts;
  for (const Value& job : jobs) {
    if (texts.size() == kMaxJobs) {
      texts.push_back(fmt::format("and {} more", jobs.size() - kMaxJobs));
      break;
    }
    texts.push_back(fmt::format("{} ({}, {})", count_in(job, {"job"}), oob::clean_text(job, {"name"}),
                                oob::clean_text(job, {"user"})));
  }
  return fmt::format("{} there: {}", jobs.size() == 1 ? "1 job runs" : fmt::format("{} jobs run", jobs.size()),
                     join(texts, ", "));
}

}  // namespace

Document document_of_json(const Value& json, std::vector<std::string>* texts) {
  DocumentReader reader(texts);
  if (json.is_map()) reader.read(json);
  return reader.take_document();
}

Exit deliver_json(Context& context, const Value& json, Exit outcome) {
  if (json.empty()) return outcome;
  // What a command prints that is no document: a runbook.
  const Value* text = json.find("text");
  if (json.is_map() && json.entries().size() == 1 && text != nullptr && text->is_text())
    return context.deliver(text->text(), outcome);
  const OutputFormat format = context.output_format();
  if (format == OutputFormat::json) return context.deliver(write_json(json), outcome);
  std::vector<std::string> texts;
  const Document document = document_of_json(json, is_for_people(format) ? &texts : nullptr);
  if (texts.empty()) return context.deliver(document, outcome);
  std::string shown = write(document, {.format = format, .color = context.colors_result()});
  for (const std::string& each : texts) {
    for (const std::string_view line : split_lines(each)) shown.append(printable(line)).append("\n");
  }
  return context.deliver(shown, outcome);
}

Exit exit_of_result(std::string_view result) {
  static constexpr std::string_view kResults[] = {"ok", "findings", "usage", "partial", "refused", "unavailable"};
  const auto* const found = std::find(std::begin(kResults), std::end(kResults), result);
  return found == std::end(kResults) ? Exit::unavailable : static_cast<Exit>(found - std::begin(kResults));
}

std::vector<std::string> describe_blast_radius(std::string_view verb, const Value& radius,
                                               const std::vector<std::string>& notes) {
  std::vector<std::string> lines;
  const auto add = [&](std::string start, const std::string& hosts) {
    const bool is_known =
        std::any_of(notes.begin(), notes.end(), [&](const std::string& note) { return note.ends_with(": " + hosts); });
    if (!hosts.empty() && !is_known) lines.push_back(std::move(start) + ": " + hosts);
  };
  add(fmt::format("{} affects {} in {}", verb, plural(count_in(radius, {"devices"}), "device"),
                  plural(count_in(radius, {"racks"}), "rack")),
      oob::raw_text(radius, {"hosts"}));
  add(fmt::format("{} lose power, too", plural(count_in(radius, {"dependents", "devices"}), "dependent")),
      oob::raw_text(radius, {"dependents", "hosts"}));
  add(fmt::format("links of {} are affected", plural(count_in(radius, {"servers_behind", "devices"}), "server")),
      oob::raw_text(radius, {"servers_behind", "hosts"}));
  for (std::string& line : lines) line = printable(line);
  if (const Value::List& jobs = oob::list(radius, {"running"}); !jobs.empty()) lines.push_back(describe_jobs(jobs));
  return lines;
}

std::vector<std::string> new_lines(const std::vector<std::string>& before, const std::vector<std::string>& now) {
  for (std::size_t known = std::min(before.size(), now.size()); known > 0; --known) {
    if (std::equal(before.end() - static_cast<std::ptrdiff_t>(known), before.end(), now.begin()))
      return {now.begin() + static_cast<std::ptrdiff_t>(known), now.end()};
  }
  return now;
}

}  // namespace weft::cli
