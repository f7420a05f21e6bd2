// The list of what a rendered tree holds: for every file its hash, where it follows from, who reads it, how it is put
// into effect and when its turn comes. Stands in the tree as manifest.json.
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
inline constexpr std::string_view kJobsTarget = "jobs";  // job files, kept in the tree as they were

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
  std::uint32_t order = 0;  // 1, 2, ...: files of one number may be applied together
  std::vector<std::string> sources;
};

struct Manifest {
  std::string cluster;
  std::vector<std::string> targets;
  std::vector<std::string> options;  // choices that were made: "ipam=nv-ipam"
  std::vector<std::string> notes;
  std::vector<std::string> left_out;  // of the cluster
  std::vector<ManifestEntry> files;   // by path
};

// The entry for a file that `target` made.
[[nodiscard]] ManifestEntry manifest_entry(const RenderedFile& file, std::string_view target);
// Sorts by path and numbers the order of application: stage by stage; in a fabric one spine or core at a time, then
// leaf by leaf, so that no two that stand in for each other are down together.
void finish(Manifest& manifest, const model::Cluster& cluster);

[[nodiscard]] std::string write_manifest(const Manifest& manifest);
[[nodiscard]] Result<Manifest> read_manifest(std::string_view text, const std::string& shown_path);

}  // namespace weft::render
