// A sweep: the cross product of values for keys of the cluster file and the job file. Each point has a number, an id
// that is stable from run to run, and the two files as they are at that point. Nothing here runs simulations or uses
// threads: points are pure values and can be requested from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/value.h"
#include "workload/result/life.h"
#include "workload/sweep/edit.h"

namespace weft::workload {

struct SweepAxis {
  std::string key;                  // "job.training.parallel.tensor", "cluster.pools.train.count"
  std::vector<std::string> values;  // as written
};

// "job.training.parallel.tensor=1,2,4,8". Commas inside brackets, braces or quotes do not separate.
[[nodiscard]] Result<SweepAxis> parse_sweep_axis(std::string_view text);

struct SweepFiles {
  std::string cluster_path;  // shown in errors
  std::string cluster_text;
  std::string job_path;
  std::string job_text;
};

using SweepSettings = std::vector<std::pair<std::string, std::string>>;  // key and value, in the order of the axes

struct SweepPoint {
  std::uint64_t index = 0;
  std::string id;  // 16 hexadecimal digits
  SweepSettings settings;
  std::string cluster_text;  // whole files, as YAML
  std::string job_text;
};

using SweepPlayer = std::function<Result<LifeResult>(const SweepPoint&)>;

class Sweep {
 public:
  static constexpr std::uint64_t kMaxPoints = 100'000;

  // `options` is everything else that affects the result (fidelity, seed): it goes into the ids. Every key and value is
  // checked here, so point() cannot fail. Files must be weft's own YAML.
  [[nodiscard]] static Result<Sweep> make(const SweepFiles& files, std::vector<SweepAxis> axes,
                                          std::string_view options = {});

  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] const std::vector<SweepAxis>& axes() const { return axes_; }
  // The last axis changes fastest. `index` must be below size().
  [[nodiscard]] SweepSettings settings(std::uint64_t index) const;
  // Depends on the content of the files, the settings and the options, not on comments or on the order of the axes.
  [[nodiscard]] std::string id(std::uint64_t index) const;
  [[nodiscard]] SweepPoint point(std::uint64_t index) const;

 private:
  struct Track {
    bool cluster = false;  // else in the job file
    Path path;
    std::vector<Value> values;
  };
  Sweep() = default;
  [[nodiscard]] Status add_track(const SweepAxis& axis);
  [[nodiscard]] std::vector<std::size_t> choice(std::uint64_t index) const;

  std::vector<SweepAxis> axes_;
  std::vector<Track> tracks_;  // one per axis
  Value cluster_;
  Value job_;
  std::string base_hash_;
  std::uint64_t size_ = 0;
};

}  // namespace weft::workload
