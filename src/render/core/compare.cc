#include "render/core/compare.h"

#include <algorithm>
#include <set>

namespace weft::render {
namespace {

// The part of a key that names its table or section: "PORT" for "PORT.Ethernet0.mtu", the first command of a section.
std::string_view table_of(TextForm form, std::string_view key) {
  if (form == TextForm::commands) return key.substr(0, key.find(" > "));
  return key.substr(0, key.find('.'));
}

// Tables and sections that occur in `statements`.
std::set<std::string, std::less<>> tables_of(TextForm form, const std::vector<Statement>& statements) {
  std::set<std::string, std::less<>> tables;
  for (const Statement& one : statements) tables.emplace(table_of(form, one.key));
  return tables;
}

class Comparer {
 public:
  Comparer(std::string_view target, std::string_view path, Risk own) : target_(target), path_(path), own_(own) {}

  void add(ChangeKind kind, const Statement* before, const Statement* after) {
    Change change;
    change.kind = kind;
    change.where = before != nullptr ? before->key : after->key;
    if (before != nullptr) {
      change.before = before->value;
      change.line = before->line;
    }
    if (after != nullptr) change.after = after->value;
    const Effect effect = effect_of(target_, path_, change.where, own_);
    change.risk = effect.risk;
    change.effect = effect.text;
    changes_.push_back(std::move(change));
  }
  std::vector<Change> take() { return std::move(changes_); }

 private:
  std::string_view target_;
  std::string_view path_;
  Risk own_;
  std::vector<Change> changes_;
};

}  // namespace

std::string_view to_text(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::added:
      return "added";
    case ChangeKind::removed:
      return "removed";
    case ChangeKind::changed:
      return "changed";
  }
  return "";
}

std::vector<Change> compare_texts(std::string_view target, std::string_view path, std::string_view before,
                                  std::string_view after, Risk own, const CompareOptions& options) {
  const TextForm form = form_of(path, after);
  const std::vector<Statement> old = statements_of(form, path, before);
  const std::vector<Statement> now = statements_of(form, path, after);
  const auto tables =
      options.running && form != TextForm::lines ? tables_of(form, now) : std::set<std::string, std::less<>>();
  Comparer comparer(target, path, own);
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < old.size() || j < now.size()) {
    const int order = i == old.size() ? 1 : j == now.size() ? -1 : old[i].key.compare(now[j].key);
    if (order < 0) {
      const bool foreign = options.running && !tables.contains(table_of(form, old[i].key));
      if (!foreign) comparer.add(ChangeKind::removed, &old[i], nullptr);
      ++i;
    } else if (order > 0) {
      comparer.add(ChangeKind::added, nullptr, &now[j]);
      ++j;
    } else {
      if (old[i].value != now[j].value) comparer.add(ChangeKind::changed, &old[i], &now[j]);
      ++i;
      ++j;
    }
  }
  return comparer.take();
}

}  // namespace weft::render
