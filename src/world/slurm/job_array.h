// Job arrays of Slurm: submit one, and list the tasks of those with a certain name. For work that its owner can split
// and resume by itself, such as a sweep; attempts of the control plane are never arrays.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace weft::world {

class CliClient;

struct ArrayTask {
  std::uint32_t job = 0;  // id of the array
  std::uint64_t index = 0;
  std::string state;   // as Slurm names it: PENDING, RUNNING, TIMEOUT, ...
  std::string reason;  // why it waits

  // Whether it waits, runs or may run again. True for states that this version does not know.
  [[nodiscard]] bool is_live() const;
};

class JobArrays {
 public:
  JobArrays() = default;
  JobArrays(const JobArrays&) = delete;
  JobArrays& operator=(const JobArrays&) = delete;
  JobArrays(JobArrays&&) = delete;
  JobArrays& operator=(JobArrays&&) = delete;
  virtual ~JobArrays() = default;

  // Tasks of this user's arrays of this name, those that ended a short time ago too. An error says nothing about them.
  [[nodiscard]] virtual Result<std::vector<ArrayTask>> list(const std::string& name) = 0;
  // Returns the id. Errors as those of SlurmClient: after `timeout` the array may exist.
  [[nodiscard]] virtual Result<std::uint32_t> submit(const std::string& script) = 0;
};

class SlurmArrays final : public JobArrays {
 public:
  explicit SlurmArrays(CliClient& client) : client_(client) {}
  [[nodiscard]] Result<std::vector<ArrayTask>> list(const std::string& name) override;
  [[nodiscard]] Result<std::uint32_t> submit(const std::string& script) override;

 private:
  CliClient& client_;
};

// What squeue prints with the format of SlurmArrays::list. A line that is not a task is an error.
[[nodiscard]] Result<std::vector<ArrayTask>> parse_array_tasks(std::string_view text);

}  // namespace weft::world
