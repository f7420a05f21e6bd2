#include "serve/api/list_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/host_range.h"
#include "base/text.h"
#include "base/utf8.h"

namespace weft::serve {
namespace {

struct Order {
  std::size_t column = 0;
  bool descending = false;
};

// Absent values first, then numbers by value, then texts in natural order.
int compare(const Cell& a, const Cell& b) {
  const auto rank = [](const Cell& cell) {
    if (std::holds_alternative<std::monostate>(cell.value)) return 0;
    return std::holds_alternative<std::string>(cell.value) ? 2 : 1;
  };
  const auto number = [](const Cell& cell) {
    if (const auto* whole = std::get_if<std::int64_t>(&cell.value)) return static_cast<double>(*whole);
    if (const auto* real = std::get_if<double>(&cell.value)) return *real;
    return std::get<bool>(cell.value) ? 1.0 : 0.0;
  };
  if (rank(a) != rank(b)) return rank(a) < rank(b) ? -1 : 1;
  if (rank(a) == 0) return 0;
  if (rank(a) == 2) {
    const std::string& left = std::get<std::string>(a.value);
    const std::string& right = std::get<std::string>(b.value);
    return natural_less(left, right) ? -1 : static_cast<int>(natural_less(right, left));
  }
  if (number(a) == number(b)) return 0;
  return number(a) < number(b) ? -1 : 1;
}

int compare_rows(const std::vector<Cell>& a, const std::vector<Cell>& b, const Order& order) {
  const int first = compare(a[order.column], b[order.column]);
  if (first != 0) return order.descending ? -first : first;
  return compare(a.front(), b.front());
}

std::string text_of(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell.value)) return *text;
  if (const auto* whole = std::get_if<std::int64_t>(&cell.value)) return std::to_string(*whole);
  if (const auto* real = std::get_if<double>(&cell.value)) return fmt::format("{}", *real);
  if (const auto* truth = std::get_if<bool>(&cell.value)) return *truth ? "true" : "false";
  return {};
}

// A cell as text that yields the same cell again: its type's letter, then its value, in hexadecimal digits.
std::string encode(const Cell& cell) {
  const char type = "nsifb"[cell.value.index()];
  std::string out(1, type);
  for (const char c : text_of(cell)) append_format(out, "{:02x}", static_cast<unsigned char>(c));
  return out;
}

std::optional<Cell> decode(std::string_view token) {
  if (token.empty() || token.size() % 2 != 1) return std::nullopt;
  std::string text;
  for (std::size_t i = 1; i < token.size(); i += 2) {
    const auto digit = [](char c) {
      if (c >= '0' && c <= '9') return c - '0';
      return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    };
    const int high = digit(token[i]);
    const int low = digit(token[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    text += static_cast<char>(high * 16 + low);
  }
  switch (token.front()) {
    case 'n':
      return text.empty() ? std::optional<Cell>(Cell()) : std::nullopt;
    case 's':
      return Cell(std::move(text));
    case 'b':
      return Cell(text == "true");
    default:
      break;
  }
  double number = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = result.ec == std::errc() && result.ptr == text.data() + text.size() && std::isfinite(number);
  if (!is_number || (token.front() != 'i' && token.front() != 'f')) return std::nullopt;
  return Cell(number);
}

class ListPage {
 public:
  ListPage(TableSection& table, const Parameters& parameters, std::vector<InputError>& errors)
      : table_(table), parameters_(parameters), errors_(errors) {}

  std::string apply() {
    for (const auto& [name, value] : parameters_.filters()) filter(name, value);
    const bool pages = parameters_.has("limit") || parameters_.has("page");
    if (!pages && !parameters_.has("sort")) return {};
    const std::optional<Order> order = read_order();
    if (!order || !errors_.empty()) return {};
    std::stable_sort(table_.rows.begin(), table_.rows.end(),
                     [&](const auto& a, const auto& b) { return compare_rows(a, b, *order) < 0; });
    return pages ? cut(*order) : std::string();
  }

 private:
  std::optional<std::size_t> column_of(const std::string& parameter, std::string_view name) {
    std::vector<std::string_view> known;
    for (std::size_t i = 0; i < table_.columns.size(); ++i) {
      if (table_.columns[i].key == name) return i;
      known.push_back(table_.columns[i].key);
    }
    errors_.push_back(
        {InputError::Where::query, parameter,
         fmt::format("unknown parameter or column {}; columns: {}", in_backticks(name), join(known, ", "))});
    return std::nullopt;
  }

  void filter(const std::string& name, const std::string& value) {
    const std::optional<std::size_t> column = column_of(name, name);
    if (!column) return;
    std::erase_if(table_.rows, [&](const std::vector<Cell>& row) { return text_of(row[*column]) != value; });
  }

  std::optional<Order> read_order() {
    std::string_view name = parameters_.text("sort");
    if (name.empty()) return Order{};
    const bool descending = name.front() == '-';
    if (descending) name.remove_prefix(1);
    const std::optional<std::size_t> column = column_of("sort", name);
    if (!column) return std::nullopt;
    return Order{*column, descending};
  }

  std::string cut(const Order& order) {
    if (parameters_.has("page") && !skip(order)) {
      errors_.push_back({InputError::Where::query, "page", "page is not a value that an earlier answer gave"});
      return {};
    }
    const std::uint64_t limit = parameters_.number("limit", table_.rows.size());
    if (limit == 0 || limit >= table_.rows.size()) {
      if (limit == 0) table_.rows.clear();
      return {};
    }
    table_.rows.resize(limit);
    return encode(table_.rows.back()[order.column]) + "." + encode(table_.rows.back().front());
  }

  // Drops the rows up to the one that the page continues after.
  bool skip(const Order& order) {
    const std::vector<std::string_view> parts = split(parameters_.text("page"), '.');
    if (parts.size() != 2) return false;
    const std::optional<Cell> key = decode(parts[0]);
    const std::optional<Cell> first = decode(parts[1]);
    if (!key || !first) return false;
    const auto is_before = [&](const std::vector<Cell>& row) {
      int way = compare(row[order.column], *key);
      if (order.descending) way = -way;
      return way != 0 ? way <= 0 : compare(row.front(), *first) <= 0;
    };
    table_.rows.erase(table_.rows.begin(), std::find_if_not(table_.rows.begin(), table_.rows.end(), is_before));
    return true;
  }

  TableSection& table_;
  const Parameters& parameters_;
  std::vector<InputError>& errors_;
};

}  // namespace

std::string apply_list_parameters(Document& document, const Parameters& parameters, std::vector<InputError>& errors) {
  for (auto& section : document.sections) {
    if (auto* table = std::get_if<TableSection>(&section)) return ListPage(*table, parameters, errors).apply();
  }
  return {};
}

}  // namespace weft::serve
