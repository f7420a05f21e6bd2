// What a renderer makes: files with what someone who applies them must know, handed over one at a time so that a tree
// of any size never stands in memory at once. Renderers know nothing of disks; see tree.h for where files go.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::render {

// What putting a file into effect does to traffic that is running.
enum class Risk : std::uint8_t {
  none,     // read when next needed, or taken over without a pause
  reload,   // the service that reads it restarts; traffic of others goes on
  traffic,  // packets or jobs are lost on what it belongs to, unless that was drained before
};
[[nodiscard]] std::string_view to_text(Risk risk);

// When a file's turn comes. The lifeline first, what carries traffic before what uses it.
enum class Stage : std::uint8_t { oob, storage, frontend, backend, hosts, platform, workloads, monitoring, acceptance };
[[nodiscard]] std::string_view to_text(Stage stage);

struct RenderedFile {
  std::string path;  // below the tree, '/' between: "sonic/be-spine001/config_db.json"
  std::string content;
  std::string device{};    // the device or pool it belongs to; "" for the whole cluster
  std::string consumer{};  // the program that reads it: "SONiC", "slurmctld"
  std::string install{};   // where that program reads it: "/etc/sonic/config_db.json"; "" when it is applied as it is
  std::string apply{};     // the command that puts it into effect: "config reload -y"
  std::string mode{"0644"};
  std::string owner{"root"};
  std::string group{"root"};
  Risk risk = Risk::none;
  Stage stage = Stage::platform;
  std::vector<std::string> sources{};  // the parts of the cluster file it follows from: "fabrics.backend.qos"
};

class FileSink {
 public:
  virtual ~FileSink() = default;
  virtual void add(RenderedFile file) = 0;
  // What a person must see to or should know; one sentence.
  virtual void note(std::string text) = 0;
  // Something of the cluster that the tree does not hold, and why; one sentence. Then the rendering is partial.
  virtual void left_out(std::string text) { note(std::move(text)); }
};

}  // namespace weft::render
