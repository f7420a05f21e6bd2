// The output of renderers: files with the metadata needed to apply them, passed on one at a time so that a whole tree
// is never in memory. Renderers do no disk I/O; see tree.h for where files are written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::render {

// Effect on running traffic when a file is applied.
enum class Risk : std::uint8_t {
  none,     // read when next needed, or applied without interruption
  reload,   // the service that reads it restarts; other traffic is not affected
  traffic,  // packets or jobs on its device are lost unless it was drained first
};
[[nodiscard]] std::string_view to_text(Risk risk);

// When a file is applied: out-of-band first, then networks before the hosts and services that use them.
enum class Stage : std::uint8_t { oob, storage, frontend, backend, hosts, platform, workloads, monitoring, acceptance };
[[nodiscard]] std::string_view to_text(Stage stage);

struct RenderedFile {
  std::string path;  // relative to the tree, '/'-separated: "sonic/be-spine001/config_db.json"
  std::string content;
  std::string device{};    // the device or pool it belongs to; "" for the whole cluster
  std::string consumer{};  // the program that reads it: "SONiC", "slurmctld"
  std::string install{};   // where that program reads it: "/etc/sonic/config_db.json"; "" if it is applied directly
  std::string apply{};     // the command that applies it: "config reload -y"
  std::string mode{"0644"};
  std::string owner{"root"};
  std::string group{"root"};
  Risk risk = Risk::none;
  Stage stage = Stage::platform;
  std::vector<std::string> sources{};  // the parts of the cluster file it is derived from: "fabrics.backend.qos"
};

class FileSink {
 public:
  virtual ~FileSink() = default;
  virtual void add(RenderedFile file) = 0;
  // What the operator must do or should know; one sentence.
  virtual void note(std::string text) = 0;
  // A part of the cluster that the tree omits, and why; one sentence. The rendering is then partial.
  virtual void left_out(std::string text) { note(std::move(text)); }
};

}  // namespace weft::render
