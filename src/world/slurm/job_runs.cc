#include "world/slurm/job_runs.h"

#include <algorithm>
#include <charconv>

#include "base/host_range.h"
#include "base/text.h"
#include "world/slurm/slurm_records.h"

namespace weft::world {
namespace {

namespace records = slurm_records;

constexpr std::string_view kRunFields[] = {"job_id",      "job_state",   "start_time",    "end_time", "time_limit",
                                           "user_id",     "group_id",    "comment",       "nodes",    "cpus",
                                           "gres_detail", "submit_time", "tres_alloc_str"};
constexpr std::uint64_t kMaxMinutes = 1'000'000'000;

std::optional<std::int64_t> parse_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

}  // namespace

std::int64_t memory_of_tres(std::string_view tres) {
  for (const std::string_view part : split(tres, ',')) {
    if (!part.starts_with("mem=")) continue;
    std::string_view amount = part.substr(4);
    double factor = 1;  // Slurm's default unit is MiB
    if (!amount.empty() && amount.back() >= 'A') {
      const std::size_t unit = std::string_view("KMGTP").find(amount.back());
      if (unit == std::string_view::npos) return 0;
      constexpr double kFactors[] = {1.0 / 1024, 1, 1024, 1024.0 * 1024, 1024.0 * 1024 * 1024};
      factor = kFactors[unit];
      amount.remove_suffix(1);
    }
    double number = 0;
    const auto [end, error] = std::from_chars(amount.data(), amount.data() + amount.size(), number);
    if (error != std::errc() || end != amount.data() + amount.size() || !(number >= 0) || number * factor > 1e15)
      return 0;
    return static_cast<std::int64_t>(number * factor);
  }
  return 0;
}

Result<std::vector<JobRun>> parse_job_runs(std::string_view text) {
  std::vector<JobRun> runs;
  const Status read =
      records::read_records(text, "jobs", kRunFields, [&](const records::Fields& fields) -> std::string {
        if (const std::string_view missing = records::find_missing(fields); !missing.empty())
          return fmt::format("a job has no {}", missing);
        JobRun run;
        run.id = records::small_number(fields, "job_id");
        run.state = parse_slurm_state(records::text_of(fields, "job_state"));
        run.started = records::time_of(fields, "start_time");
        const std::uint64_t minutes = records::number_of(fields, "time_limit").value_or(0);
        run.ends = minutes == 0 || minutes > kMaxMinutes ? 0 : records::time_of(fields, "end_time");
        // Without an owner, no file can be given to the right user.
        const std::optional<std::uint64_t> uid = records::number_of(fields, "user_id");
        const std::optional<std::uint64_t> gid = records::number_of(fields, "group_id");
        if (!uid || !gid) return fmt::format("job {} has no user_id or no group_id", run.id);
        run.uid = static_cast<std::uint32_t>(*uid);
        run.gid = static_cast<std::uint32_t>(*gid);
        run.comment = records::text_of(fields, "comment");
        const std::string nodes = records::text_of(fields, "nodes");
        if (!nodes.empty()) {
          Result<std::vector<std::string>> names = expand_hosts(nodes);
          if (!names.ok()) return fmt::format("job {} has the nodes '{}'", run.id, printable(nodes));
          run.nodes = std::move(names).value();
        }
        for (const std::string& detail : records::list_of(fields, "gres_detail"))
          run.gpus.push_back(count_gpus(detail));
        run.cpus = records::small_number(fields, "cpus");
        run.memory_mib = memory_of_tres(records::text_of(fields, "tres_alloc_str"));
        runs.push_back(std::move(run));
        return {};
      });
  if (!read.ok()) return read.error();
  return runs;
}

std::optional<bool> find_accounted_end(std::string_view text, std::uint32_t id, std::int64_t started) {
  std::optional<bool> ended;
  for (const std::string_view line : split_lines(text)) {
    const std::vector<std::string_view> fields = split(trim(line), '|');
    if (fields.size() != 3 || parse_number(fields[0]) != std::int64_t{id} || parse_number(fields[1]) != started)
      continue;
    const SlurmState state = parse_slurm_state(fields[2].substr(0, fields[2].find(' ')));  // "CANCELLED by 1000"
    ended = is_ended(state);
  }
  return ended;
}

}  // namespace weft::world
