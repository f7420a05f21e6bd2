// A grammar of configuration commands for tests: forms of lines, word by word, with the sections they belong to, the
// names they define and use, and the features they need. Independent of weft's parsers; each dialect has its own table
// of forms, taken from the vendor's documentation.
#pragma once

#include <arpa/inet.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace weft::testing_grammar {

using Names = std::vector<std::string>;
// The names that a word of this type denotes: a plain value denotes itself, a list its members; none if the word is not
// of the type.
using ValueReader = std::optional<Names> (*)(const std::string& word);
using ValueTypes = std::map<std::string, ValueReader, std::less<>>;

// A word of a form is one of
//   mtu          itself
//   in|out       one of several
//   [secondary]  may be left out (the last word only)
//   <576..9216>  a number between the two
//   <ip>         a value of the type `ip`
//   <+vlan>      a value of the type `vlan`, which the line defines
//   <=vlan>      one that an earlier line defined
//   <~vlan>      one that any line of the file defines
//   <=vlan:vlans>  names of the kind `vlan`, written as the type `vlans`
//   <text>       everything to the end of the line
struct Form {
  std::string_view where;         // sections it may occur in, separated by '|'; "" for the top level
  std::string_view line;          // its words
  std::string_view opens = {};    // the section whose heading it is
  std::string_view feature = {};  // that an earlier line must have enabled
};

struct Mention {
  char how = '=';  // '+', '=' or '~'
  std::string kind;
  std::string name;
};

struct Match {
  const Form* form = nullptr;
  std::vector<Mention> mentions;
  std::vector<Names> words;  // of the line, lists as their members
};

inline Names split(std::string_view text, char at) {
  Names out;
  std::string part;
  for (const char c : text) {
    if (c != at) {
      part += c;
    } else {
      out.push_back(std::exchange(part, {}));
    }
  }
  out.push_back(part);
  return out;
}

// Decimal digits without leading zeros, as accepted on a command line.
inline std::optional<std::uint64_t> number_of(std::string_view word) {
  if (word.empty() || word.size() > 12 || (word.size() > 1 && word.front() == '0')) return std::nullopt;
  std::uint64_t out = 0;
  for (const char c : word) {
    if (c < '0' || c > '9') return std::nullopt;
    out = out * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return out;
}

inline bool is_between(std::string_view word, std::uint64_t low, std::uint64_t high) {
  const auto number = number_of(word);
  return number.has_value() && *number >= low && *number <= high;
}

// "1-4,7" as 1 2 3 4 7; none unless the numbers ascend.
inline std::optional<std::vector<std::uint64_t>> ranges_of(const std::string& word) {
  std::vector<std::uint64_t> out;
  for (const std::string& part : split(word, ',')) {
    const Names ends = split(part, '-');
    const auto first = number_of(ends.front());
    const auto last = number_of(ends.back());
    if (ends.size() > 2 || !first || !last || *last < *first || (ends.size() == 2 && *first == *last)) return {};
    if (*last - *first > 4096 || (!out.empty() && *first <= out.back())) return {};
    for (std::uint64_t one = *first; one <= *last; ++one) out.push_back(one);
  }
  return out;
}

struct Prefix {
  bool ipv6 = false;
  std::vector<std::uint8_t> bytes;  // of the address, as written
  unsigned length = 0;

  [[nodiscard]] bool has_bit(unsigned n) const { return (bytes[n / 8] >> (7 - n % 8) & 1) != 0; }
  // The network that the address is in.
  [[nodiscard]] Prefix network() const {
    Prefix out = *this;
    for (unsigned n = length; n < 8 * bytes.size(); ++n)
      out.bytes[n / 8] &= static_cast<std::uint8_t>(~(0x80U >> n % 8));
    return out;
  }
  [[nodiscard]] bool contains(const Prefix& other) const {
    if (ipv6 != other.ipv6 || other.length < length) return false;
    Prefix cut = other;
    cut.length = length;
    return cut.network().bytes == network().bytes;
  }
  friend bool operator==(const Prefix&, const Prefix&) = default;
  friend bool operator<(const Prefix& a, const Prefix& b) {
    return std::tie(a.bytes, a.length) < std::tie(b.bytes, b.length);
  }
};

// "10.0.0.1", "10.0.0.1/24", "fd00::1/64"; an address without a length has the full length.
inline std::optional<Prefix> prefix_of(const std::string& word) {
  const Names parts = split(word, '/');
  Prefix out;
  out.ipv6 = word.find(':') != std::string::npos;
  out.bytes.resize(out.ipv6 ? 16 : 4);
  const auto most = static_cast<unsigned>(8 * out.bytes.size());
  if (parts.size() > 2 || inet_pton(out.ipv6 ? AF_INET6 : AF_INET, parts.front().c_str(), out.bytes.data()) != 1)
    return {};
  if (parts.size() == 2 && !is_between(parts.back(), 0, most)) return {};
  out.length = parts.size() == 2 ? static_cast<unsigned>(*number_of(parts.back())) : most;
  return out;
}

// Value types common to all dialects. `ip`, `ip6`: an address; `net`, `net6`: an address with its length; `subnet`,
// `subnet6`: the same without host bits.
template <bool kIpv6, bool kLength, bool kNoHostBits>
std::optional<Names> read_address(const std::string& word) {
  const auto prefix = prefix_of(word);
  if (!prefix || prefix->ipv6 != kIpv6 || (word.find('/') != std::string::npos) != kLength) return {};
  if (kNoHostBits && prefix->network().bytes != prefix->bytes) return {};
  return Names{word};
}

// Letters, digits and `more`, a letter or digit first.
inline bool is_name(const std::string& word, std::size_t longest, std::string_view more = "_.-") {
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); };
  return !word.empty() && word.size() <= longest && plain(word.front()) &&
         std::all_of(word.begin(), word.end(), [&](char c) { return plain(c) || more.find(c) != more.npos; });
}

template <std::size_t kLongest>
std::optional<Names> read_name(const std::string& word) {
  if (!is_name(word, kLongest)) return {};
  return Names{word};
}

inline ValueTypes address_types() {
  return {{"ip", read_address<false, false, false>},   {"ip6", read_address<true, false, false>},
          {"net", read_address<false, true, false>},   {"net6", read_address<true, true, false>},
          {"subnet", read_address<false, true, true>}, {"subnet6", read_address<true, true, true>}};
}

class Grammar {
 public:
  Grammar(const std::vector<Form>& forms, const ValueTypes& types) {
    for (const Form& form : forms) {
      Parsed parsed{&form, {}};
      for (const std::string& word : split(form.line, ' ')) parsed.words.push_back(parse(word, types));
      for (const std::string& section : split(form.where, '|')) forms_[section].push_back(parsed);
    }
  }

  // The form that a line of the section matches; none if there is none.
  [[nodiscard]] std::optional<Match> match(const std::string& section, const std::string& line) const {
    return match_words(section, split(line, ' '));
  }
  [[nodiscard]] std::optional<Match> match_words(const std::string& section, const Names& words) const {
    const auto found = forms_.find(section);
    if (found == forms_.end()) return std::nullopt;
    for (const Parsed& parsed : found->second) {
      Match match{parsed.form, {}, {}};
      if (matches(parsed.words, words, match)) return match;
    }
    return std::nullopt;
  }
  // Types that forms use but that are not defined: such a form would never match.
  [[nodiscard]] const Names& unknown_types() const { return unknown_; }

 private:
  struct Word {
    bool optional = false;
    bool text = false;
    Names choices{};               // of a literal
    ValueReader reader = nullptr;  // of a type
    char how = 0;                  // of a mention
    std::string kind{};
    std::uint64_t low = 0;  // of a number
    std::uint64_t high = 0;
  };
  struct Parsed {
    const Form* form;
    std::vector<Word> words;
  };

  Word parse(std::string word, const ValueTypes& types) {
    Word out;
    out.optional = word.front() == '[';
    if (out.optional) word = word.substr(1, word.size() - 2);
    out.text = word == "<text>";
    if (out.text) return out;
    if (word.front() != '<') {
      out.choices = split(word, '|');
      return out;
    }
    const std::string inner = word.substr(1, word.size() - 2);
    if (const std::size_t dots = inner.find(".."); dots != std::string::npos) {
      out.low = number_of(inner.substr(0, dots)).value_or(1);
      out.high = number_of(inner.substr(dots + 2)).value_or(0);
      return out;
    }
    const bool mentions = std::string_view("+=~").find(inner.front()) != std::string_view::npos;
    const Names kind = split(mentions ? inner.substr(1) : inner, ':');
    const auto type = types.find(kind.back());
    if (type == types.end()) {
      unknown_.push_back(kind.back());
      return out;
    }
    out.reader = type->second;
    out.how = mentions ? inner.front() : '\0';
    out.kind = kind.front();
    return out;
  }

  [[nodiscard]] static bool matches(const std::vector<Word>& form, const Names& words, Match& match) {
    for (std::size_t n = 0; n < form.size() && n < words.size(); ++n) {  // cheap checks first
      const Names& choices = form[n].choices;
      if (!choices.empty() && std::find(choices.begin(), choices.end(), words[n]) == choices.end()) return false;
    }
    for (std::size_t n = 0; n < form.size(); ++n) {
      if (form[n].text) return n < words.size() && !words.back().empty() && !words[n].empty();
      if (n >= words.size()) return form[n].optional && n + 1 == form.size();
      if (!word_matches(form[n], words[n], match)) return false;
    }
    return words.size() == form.size();
  }

  [[nodiscard]] static bool word_matches(const Word& form, const std::string& word, Match& match) {
    if (form.reader == nullptr) {
      const bool same = form.choices.empty()
                            ? is_between(word, form.low, form.high)
                            : std::find(form.choices.begin(), form.choices.end(), word) != form.choices.end();
      if (same) match.words.push_back({word});
      return same;
    }
    auto names = form.reader(word);
    if (!names) return false;
    for (const std::string& name : *names) {
      if (form.how != 0) match.mentions.push_back({form.how, form.kind, name});
    }
    match.words.push_back(std::move(*names));
    return true;
  }

  std::map<std::string, std::vector<Parsed>, std::less<>> forms_;
  Names unknown_;
};

// A line of a file, and the lines below it.
struct Node {
  std::string text;
  std::string section;  // that the line opens; "" for none
  std::size_t number = 0;
  std::vector<Node> children{};

  [[nodiscard]] bool has(std::string_view line) const {
    return std::any_of(children.begin(), children.end(), [&](const Node& one) { return one.text == line; });
  }
  // What follows the words at the start of the first line below that has them; "" if there is none.
  [[nodiscard]] std::string value(const std::string& words) const {
    for (const Node& one : children) {
      if (one.text.rfind(words + " ", 0) == 0) return one.text.substr(words.size() + 1);
    }
    return {};
  }
  [[nodiscard]] std::vector<const Node*> all(std::string_view start) const {
    std::vector<const Node*> out;
    for (const Node& one : children) {
      if (one.text.rfind(start, 0) == 0) out.push_back(&one);
    }
    return out;
  }
};

// Problems of a file, line by line.
class Complaints {
 public:
  void add(const Node& at, const std::string& what) {
    all_.push_back("line " + std::to_string(at.number) + ": `" + at.text + "`: " + what);
  }
  [[nodiscard]] const Names& all() const { return all_; }
  [[nodiscard]] std::string text() const {
    std::string out;
    for (std::size_t n = 0; n < all_.size() && n < 8; ++n) out += all_[n] + "\n";
    return all_.size() > 8 ? out + "and " + std::to_string(all_.size() - 8) + " more\n" : out;
  }

 private:
  Names all_;
};

// Names by kind, as lines define and use them.
class NameTable {
 public:
  void define(const std::string& kind, const std::string& name) { defined_[kind].insert(name); }
  [[nodiscard]] bool has(const std::string& kind, const std::string& name) const {
    const auto found = defined_.find(kind);
    return found != defined_.end() && found->second.count(name) != 0;
  }
  // `once`: a second definition is an error.
  void mention(const Mention& mention, const Node& at, bool once, Complaints& out) {
    if (mention.how == '+') {
      if (!defined_[mention.kind].insert(mention.name).second && once)
        out.add(at, mention.kind + " " + mention.name + " is defined twice");
    } else if (mention.how == '~') {
      pending_.emplace_back(mention, Node{at.text, {}, at.number});
    } else if (!has(mention.kind, mention.name)) {
      out.add(at, mention.kind + " " + mention.name + " is not defined");
    }
  }
  void finish(Complaints& out) const {
    for (const auto& [mention, at] : pending_) {
      if (!has(mention.kind, mention.name)) out.add(at, mention.kind + " " + mention.name + " is not defined");
    }
  }

 private:
  std::map<std::string, std::set<std::string>> defined_;
  std::vector<std::pair<Mention, Node>> pending_;
};

// Every way to corrupt one word of a text's lines, once per kind of line: lines that differ only in numbers are of the
// same kind. Words after `free` (descriptions) are not changed.
inline std::vector<std::pair<std::string, std::string>> spoil_words(const std::string& text, std::string_view free) {
  std::vector<std::pair<std::string, std::string>> out;  // the corrupted line, the text with it
  std::set<std::string> kinds;
  std::size_t start = 0;
  for (const std::string& line : split(text, '\n')) {
    std::string kind;
    for (const char c : line) {
      const bool digit = c >= '0' && c <= '9';
      if (!digit || kind.empty() || kind.back() != '0') kind += digit ? '0' : c;
    }
    const std::size_t first = line.find_first_not_of(' ');
    const bool command = first != line.npos && line[first] != '!' && line[first] != '#';
    const std::size_t end =
        std::min(line.size(), line.find(free) == line.npos ? line.size() : line.find(free) + free.size());
    for (std::size_t at = first; command && kinds.count(kind) == 0 && at < end; ++at) {
      if (at + 1 != end && line[at + 1] != ' ') continue;
      std::string spoiled = line;
      spoiled.insert(at + 1, ":");
      out.emplace_back(spoiled, text.substr(0, start) + spoiled + text.substr(start + line.size()));
    }
    kinds.insert(kind);
    start += line.size() + 1;
  }
  return out;
}

}  // namespace weft::testing_grammar
