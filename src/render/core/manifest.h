// The list of files in a rendered tree (manifest.json): for every file its hash, the parts of the cluster file it is
// derived from, its consumer, how to apply it, and in which order.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/cluster.h"
#include "render/core/file_sink.h"

namespace weft::render {

inline constexpr std::string_view kManifestName = "manifest.json";
inline constexpr std::string_view kJobsTarget = "jobs";  // job files, copied to the tree unchanged

struct ManifestEntry {
  std::string path;
  std::string sha256;
  std::uint64_t bytes = 0;
  std::string target;
  std::string device;
  std::string consumer;
  std::string install;
  std::string apply;
  std::string mode;
  std::string owner;
  std::string group;
  Risk risk = Risk::none;
  Stage stage = Stage::platform;
  std::uint32_t order = 0;  // 1, 2, ...: files with the same number may be applied together
  std::vector<std::string> sources;
};

struct Manifest {
  std::string cluster;
  std::vector<std::string> targets;
  std::vector<std::string> options;  // options that were chosen: "ipam=nv-ipam"
  std::vector<std::string> notes;
  std::vector<std::string> left_out;  // of the cluster
  std::vector<ManifestEntry> files;   // by path
};

// The entry for a file rendered by `target`.
[[nodiscard]] ManifestEntry manifest_entry(const RenderedFile& file, std::string_view target);
// Sorts by path and numbers the order of application: stage by stage; within a fabric one spine or core at a time, then
// leaf by leaf, so that two redundant switches are never down at the same time.
void finish(Manifest& manifest, const model::Cluster& cluster);

[[nodiscard]] std::string write_manifest(const Manifest& manifest);
[[nodiscard]] Result<Manifest> read_manifest(std::string_view text, const std::string& shown_path);

}  // namespace weft::render
