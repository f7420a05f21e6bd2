// Mutation test: changes one value at a time across the examples and checks that the parser or a rule reports it.
// Mutations: numbers (0, one more, ten times), addresses, keywords (on/off, permit/deny, ...), and removed lines or
// keys. tests/mutation/matter.txt lists the mutants that matter: each of those must be caught, unless
// tests/mutation/accepted.txt lists it with the reason why it is harmless. The test runs only those;
// WEFT_MUTATION_REPORT=FILE runs all mutants and appends each with its result to the file.
#include <gtest/gtest.h>

#include <array>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>

#include "base/test_places.h"
#include "base/wildcard.h"
#include "example_runner.h"

namespace weft {
namespace {

struct Mutant {
  std::size_t line = 0;  // from 1
  std::string shown;     // the original line, trimmed
  std::string change;    // "dscp: 26 -> 0", "taken out"
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
      {{"true", "false"},
       {"on", "off"},
       {"yes", "no"},
       {"enabled", "disabled"},
       {"enable", "disable"},
       {"up", "down"},
       {"permit", "deny"},
       {"FORWARD", "DROP"},
       {"STRICT", "DWRR"},
       {"strict", "dwrr"},
       {"l3", "l2"},
       {"dscp", "pcp"},
       {"lossless", "lossy"},
       {"ecn_all", "ecn_none"},
       {"rs", "none"},
       {"tls", "sys"},
       {"krb5p", "sys"},
       {"deny", "allow"},
       {"jwt", "none"},
       {"vault", "files"},
       {"automatic", "manual"},
       {"oidc", "none"},
       {"oob", "frontend"},
       {"vpn", "frontend"},
       {"training", "inference"},
       {"rail-optimized", "tor"},
       {"backend", "frontend"},
       {"storage", "backend"},
       {"Retain", "Delete"},
       {"NoSchedule", "PreferNoSchedule"},
       {"drop", "forward"}}};
  for (const auto& [one, other] : kPairs) {
    if (word == one) return std::string(other);
    if (word == other) return std::string(one);
  }
  return {};
}

// Possible replacements of a token.
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
  if (value < 64) changes.push_back(std::to_string(value + 1) + std::string(rest));  // classes, priorities, DSCPs
  changes.push_back(std::to_string(value == 0 ? 10 : value * 10) + std::string(rest));
  return changes;
}

bool is_comment(std::string_view line) {
  const std::size_t first = line.find_first_not_of(" \t");
  return first == std::string_view::npos || (line[first] == '#' && !line.substr(first).starts_with("#SBATCH")) ||
         line[first] == '!';
}

// The line with numbers in names made equal: one of many equal ports is enough.
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

// Whether to mutate a line: two of the many similar lines about single ports are enough.
bool is_fresh(std::string_view line, std::map<std::string, int>& shapes) {
  std::string shape = shape_of(line);
  const std::size_t first = line.find_first_not_of(" \t\"");
  const bool port = first != std::string_view::npos && (line.substr(first).starts_with("Ethernet") ||
                                                        line.substr(first).starts_with("interface Ethernet") ||
                                                        line.substr(first).starts_with("default|Ethernet"));
  if (port) std::replace_if(shape.begin(), shape.end(), is_digit, '#');
  return ++shapes[shape] <= (port ? 2 : 1);
}

std::vector<Mutant> mutants_of(const std::string& file, const std::string& text) {
  std::vector<Mutant> mutants;
  std::map<std::string, int> shapes;
  const bool json = file.ends_with(".json");
  std::size_t number = 0;
  for (std::size_t start = 0; start < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    const std::string_view line = std::string_view(text).substr(start, end - start);
    const std::size_t next = std::min(end + 1, text.size());
    if (!is_comment(line) && is_fresh(line, shapes)) {
      const auto add = [&](std::string change, const std::string& replacement, bool whole) {
        Mutant mutant{number + 1, std::string(line.substr(line.find_first_not_of(" \t"))), std::move(change), {}};
        mutant.text = text.substr(0, start) + replacement + text.substr(whole ? next : end);
        mutants.push_back(std::move(mutant));
      };
      std::string_view before;  // the previous token, if a colon or an equals sign makes it the key of this one
      std::size_t before_end = 0;
      for (const Token& token : tokens_of(line)) {
        const std::string_view word = line.substr(token.begin, token.end - token.begin);
        const std::string_view gap = line.substr(before_end, token.begin - before_end);
        const bool keyed = !before.empty() && gap.find_first_of(":=") != std::string_view::npos;
        const std::string key = keyed ? std::string(before) + ": " : std::string();
        before = word;
        before_end = token.end;
        if (gap.find(" #") != std::string_view::npos) break;  // a comment
        for (const std::string& change : changes_of(word)) {
          std::string changed(line);
          changed.replace(token.begin, token.end - token.begin, change);
          add(key + std::string(word) + " -> " + change, changed, false);
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

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t") - first + 1));
}

struct Pattern {
  std::string file;
  std::string line;
  std::string change;
};

// file | line | change | reason, with * as a wildcard; a line that starts with # is a comment.
std::vector<Pattern> read_patterns(const char* name) {
  std::vector<Pattern> patterns;
  std::ifstream in(source_dir() + "/tests/mutation/" + name);
  EXPECT_TRUE(in.good()) << name;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line.front() == '#') continue;
    std::vector<std::string> parts;
    for (std::size_t start = 0; start <= line.size();) {
      const std::size_t bar = std::min(line.find(" | ", start), line.size());
      parts.push_back(trimmed(line.substr(start, bar - start)));
      start = bar + 3;
    }
    EXPECT_EQ(parts.size(), 4U) << name << ": " << line;
    if (parts.size() != 4) continue;
    EXPECT_GE(parts[3].size(), 8U) << name << ": no reason: " << line;
    patterns.push_back({parts[0], parts[1], parts[2]});
  }
  return patterns;
}

bool is_in(const std::vector<Pattern>& patterns, const std::string& file, const Mutant& mutant) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const Pattern& pattern) {
    return wildcard_match(pattern.file, file) && wildcard_match(pattern.line, mutant.shown) &&
           wildcard_match(pattern.change, mutant.change);
  });
}

class Mutation : public testing::TestWithParam<std::string> {};

TEST_P(Mutation, EveryMutantThatMattersIsCaught) {
  static const std::vector<Pattern> matter = read_patterns("matter.txt");
  static const std::vector<Pattern> accepted = read_patterns("accepted.txt");
  const std::string file = GetParam();
  const std::vector<Mutant> mutants = mutants_of(file, examples::text_of(file));
  ASSERT_FALSE(mutants.empty());
  std::ofstream report;
  if (const char* path = std::getenv("WEFT_MUTATION_REPORT")) report.open(path, std::ios::app);
  std::map<std::string, int> fates;
  for (const Mutant& mutant : mutants) {
    const bool matters = is_in(matter, file, mutant) && !is_in(accepted, file, mutant);
    if (!matters && !report.is_open()) continue;
    const examples::Outcome outcome = examples::check(examples::set_of(file), {file, mutant.text});
    std::string fate = matters ? "MISSED" : "not seen";
    if (!outcome.problems.empty()) fate = "refused";
    if (!outcome.found.empty()) fate = outcome.found.front().substr(0, 5);
    ++fates[fate.size() == 5 ? "caught by a rule" : fate];
    if (fate == "MISSED") {
      ADD_FAILURE() << "not detected: " << file << ":" << mutant.line << ": " << mutant.change
                    << "   in: " << mutant.shown;
    }
    if (report.is_open()) {
      report << fate << '\t' << file << ':' << mutant.line << '\t' << mutant.change << '\t' << mutant.shown << '\n';
    }
  }
  std::cout << file << ": " << mutants.size() << " mutants";
  for (const auto& [fate, count] : fates) std::cout << ", " << count << ' ' << fate;
  std::cout << '\n';
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

// A pattern that no longer matches would let its mutants pass unchecked.
TEST(MutationLists, EveryPatternMatchesAMutant) {
  std::map<std::string, std::vector<Mutant>> mutants;
  for (const std::string& file : all_files()) mutants[file] = mutants_of(file, examples::text_of(file));
  for (const char* list : {"matter.txt", "accepted.txt"}) {
    const std::vector<Pattern> patterns = read_patterns(list);
    EXPECT_GT(patterns.size(), 3U) << list;
    for (const Pattern& pattern : patterns) {
      const bool used = std::any_of(mutants.begin(), mutants.end(), [&](const auto& file) {
        return std::any_of(file.second.begin(), file.second.end(),
                           [&](const Mutant& one) { return is_in({pattern}, file.first, one); });
      });
      EXPECT_TRUE(used) << list << ": " << pattern.file << " | " << pattern.line << " | " << pattern.change;
    }
  }
}

}  // namespace
}  // namespace weft
