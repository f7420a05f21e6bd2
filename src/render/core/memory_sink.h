// Rendered files kept in memory: for tests, and for comparing a tree with what weft would render now.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "render/core/target.h"

namespace weft::render {

class MemorySink : public FileSink {
 public:
  void add(RenderedFile file) override {
    std::string path = file.path;
    files.insert_or_assign(std::move(path), std::move(file));
  }
  void note(std::string text) override { notes.push_back(std::move(text)); }

  // "" if there is no such file.
  [[nodiscard]] std::string content(const std::string& path) const {
    const auto found = files.find(path);
    return found == files.end() ? std::string() : found->second.content;
  }

  std::map<std::string, RenderedFile> files;  // by path
  std::vector<std::string> notes;
};

}  // namespace weft::render
