// Changes one value at a time across the examples and asks whether anyone notices: the reader of the file, or a rule.
// A mutant that nobody catches must be in tests/mutation/accepted.txt, with the reason why it does no harm. What is
// mutated: numbers (0, one more, ten times), addresses, switched words (on/off, permit/deny, ...), and whole lines or
// keys taken out. WEFT_MUTATION_REPORT=FILE appends every mutant and its fate.
#include <gtest/gtest.h>

#include <array>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <set>

#include "check/match.h"
#include "example_runner.h"

namespace weft {
namespace {

struct Mutant {
  std::size_t line = 0;  // from 1
  std::string shown;     // the line as it was, trimmed
  std::string change;    // "26 -> 0", "taken out"
  std::string text;      // the whole file
};

struct Token {
  std::size_t begin = 0;
  std::size_t end = 0;
};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Words and numbers of a line: runs of letters, digits, dots and dashes inside of words.
std::vector<Token> tokens_of(std::string_view line) {
  std::vector<Token> tokens;
  for (std::size_t i = 0; i < line.size();) {
    if (!is_word(line[i])) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < line.size() && (is_word(line[end]) || ((line[end] == '.' || line[end] == '-') &&
                                                        end + 1 < line.size() && is_word(line[end + 1])))) {
      ++end;
    }
    tokens.push_back({i, end});
    i = end;
  }
  return tokens;
}

std::string opposite(std::string_view word) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 31> kPairs = {
      {{"true", "false"},        {"on", "off"},           {"yes", "no"},          {"enabled", "disabled"},
       {"enable", "disable"},    {"up", "down"},          {"permit", "deny"},     {"FORWARD", "DROP"},
       {"STRICT", "DWRR"},       {"strict", "dwrr"},      {"l3", "l2"},           {"dscp", "pcp"},
       {"lossless", "lossy"},    {"ecn_all", "ecn_none"}, {"rs", "none"},         {"tls", "sys"},
       {"krb5p", "sys"},         {"deny", "allow"},       {"jwt", "none"},        {"vault", "files"},
       {"automatic", "manual"},  {"oidc", "none"},        {"oob", "frontend"},    {"vpn", "frontend"},
       {"training", "inference"}, {"rail-optimized", "tor"}, {"backend", "frontend"}, {"storage", "backend"},
       {"Retain", "Delete"},     {"NoSchedule", "PreferNoSchedule"}, {"drop", "forward"}}};
  for (const auto& [one, other] : kPairs) {
    if (word == one) return std::string(other);
    if (word == other) return std::string(one);
  }
  return {};
}

// What a token may become.
std::vector<std::string> changes_of(std::string_view token) {
  std::vector<std::string> changes;
  if (const std::string other = opposite(token); !other.empty()) return {other};
  if (!is_digit(token.front())) return {};
  const std::size_t digits = std::min(token.find_first_not_of("0123456789"), token.size());
  const std::string_view rest = token.substr(digits);
  if (std::count(token.begin(), token.end(), '.') == 3) return {"203.0.113.77"};
  if (digits > 12 || (!rest.empty() && rest.front() == '.')) return {};
  const long long value = std::strtoll(std::string(token.substr(0, digits)).c_str(), nullptr, 10);
  if (value != 0) changes.push_back("0" + std::string(rest));
  changes.push_back(std::to_string(value + 1) + std::string(rest));
  changes.push_back(std::to_string(value == 0 ? 10 : value * 10) + std::string(rest));
  return changes;
}

bool is_comment(std::string_view line) {
  const std::size_t first = line.find_first_not_of(" \t");
  return first == std::string_view::npos || (line[first] == '#' && !line.substr(first).starts_with("#SBATCH")) ||
         line[first] == '!';
}

// The line with numbers that are parts of names made alike: of many equal ports one is enough.
std::string shape_of(std::string_view line) {
  std::string shape;
  for (const Token& token : tokens_of(line)) {
    const std::string_view word = line.substr(token.begin, token.end - token.begin);
    const bool name = !is_digit(word.front());
    for (const char c : word) shape += name && is_digit(c) ? '#' : c;
    shape += ' ';
  }
  return shape;
}

std::vector<Mutant> mutants_of(const std::string& file, const std::string& text) {
  std::vector<Mutant> mutants;
  std::set<std::string> shapes;
  const bool json = file.ends_with(".json");
  std::size_t number = 0;
  for (std::size_t start = 0; start < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    const std::string_view line = std::string_view(text).substr(start, end - start);
    const std::size_t next = std::min(end + 1, text.size());
    if (!is_comment(line) && shapes.insert(shape_of(line)).second) {
      const auto add = [&](std::string change, const std::string& replacement, bool whole) {
        Mutant mutant{number + 1, std::string(line.substr(line.find_first_not_of(" \t"))), std::move(change), {}};
        mutant.text = text.substr(0, start) + replacement + text.substr(whole ? next : end);
        mutants.push_back(std::move(mutant));
      };
      for (const Token& token : tokens_of(line)) {
        const std::string_view word = line.substr(token.begin, token.end - token.begin);
        for (const std::string& change : changes_of(word)) {
          std::string changed(line);
          changed.replace(token.begin, token.end - token.begin, change);
          add(std::string(word) + " -> " + change, changed, false);
        }
      }
      if (!json) {
        add("taken out", "", true);
      } else if (const std::size_t quote = line.find('"');
                 quote != std::string_view::npos && line.find("\":") != std::string_view::npos) {
        std::string changed(line);
        changed.insert(quote + 1, "x_");
        add("taken out", changed, false);
      }
    }
    start = next;
  }
  return mutants;
}

struct Accepted {
  std::string file;
  std::string line;
  std::string change;
  mutable bool used = false;
};

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t") - first + 1));
}

// file | line | change | reason, with * as a wildcard; # starts a comment.
const std::vector<Accepted>& accepted() {
  static const std::vector<Accepted> all = [] {
    std::vector<Accepted> entries;
    std::ifstream in(std::string(WEFT_SOURCE_DIR) + "/tests/mutation/accepted.txt");
    for (std::string line; std::getline(in, line);) {
      if (line.empty() || line.front() == '#') continue;
      std::vector<std::string> parts;
      for (std::size_t start = 0; start <= line.size();) {
        const std::size_t bar = std::min(line.find(" | ", start), line.size());
        parts.push_back(trimmed(line.substr(start, bar - start)));
        start = bar + 3;
      }
      EXPECT_EQ(parts.size(), 4U) << line;
      if (parts.size() == 4) {
        EXPECT_GE(parts[3].size(), 8U) << "no reason: " << line;
        entries.push_back({parts[0], parts[1], parts[2]});
      }
    }
    return entries;
  }();
  return all;
}

bool is_accepted(const std::string& file, const Mutant& mutant) {
  for (const Accepted& entry : accepted()) {
    if (wildcard_match(entry.file, file) && wildcard_match(entry.line, mutant.shown) &&
        wildcard_match(entry.change, mutant.change)) {
      return true;
    }
  }
  return false;
}

class Mutation : public testing::TestWithParam<std::string> {};

TEST_P(Mutation, NoneThatMattersIsMissed) {
  const std::string file = GetParam();
  const std::vector<Mutant> mutants = mutants_of(file, examples::text_of(file));
  ASSERT_FALSE(mutants.empty());
  std::ofstream report;
  if (const char* path = std::getenv("WEFT_MUTATION_REPORT")) report.open(path, std::ios::app);
  std::size_t refused = 0;
  std::size_t caught = 0;
  std::size_t harmless = 0;
  for (const Mutant& mutant : mutants) {
    const examples::Outcome outcome = examples::check(examples::set_of(file), {file, mutant.text});
    std::string fate;
    if (!outcome.problems.empty()) {
      ++refused;
      fate = "refused";
    } else if (!outcome.found.empty()) {
      ++caught;
      fate = outcome.found.front().substr(0, 5);
    } else if (is_accepted(file, mutant)) {
      ++harmless;
      fate = "accepted";
    } else {
      fate = "MISSED";
      ADD_FAILURE() << "nobody noticed: " << file << ":" << mutant.line << ": " << mutant.change << "   in: "
                    << mutant.shown;
    }
    if (report) report << fate << '\t' << file << ':' << mutant.line << '\t' << mutant.change << '\t' << mutant.shown << '\n';
  }
  std::cout << file << ": " << mutants.size() << " mutants, " << refused << " refused by readers, " << caught
            << " caught by rules, " << harmless << " harmless\n";
}

std::vector<std::string> all_files() {
  std::vector<std::string> files = {"pod16.yaml"};
  for (const char* folder : {"running", "running-nexus"}) {
    for (std::string& file : examples::files_in(folder)) files.push_back(std::move(file));
  }
  return files;
}

INSTANTIATE_TEST_SUITE_P(Examples, Mutation, testing::ValuesIn(all_files()), [](const auto& each) {
  std::string name = each.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !is_word(c); }, '_');
  return name;
});

}  // namespace
}  // namespace weft
