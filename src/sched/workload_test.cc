#include "sched/workload.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/gzip.h"

namespace weft::sched {
namespace {

struct Read {
  Sources sources;
  Diagnostics diagnostics;
  std::optional<Workload> workload;
};

Read read_published(const std::string& name) {
  Read read;
  Result<std::string> text = read_text_file(std::string(WEFT_SOURCE_DIR "/../shared/traces/") + name);
  if (!text.ok()) return read;
  const FileId file = read.sources.add(name, std::move(text).value());
  read.workload = read_workload(file, read.sources, {}, read.diagnostics);
  return read;
}

TEST(PublishedTraces, OpenbHasAllItsPods) {
  const Read read = read_published("openb/openb_pod_list_default.csv.gz");
  if (read.sources.text(1).empty()) GTEST_SKIP() << "the openb trace is not here";
  ASSERT_TRUE(read.workload.has_value()) << render_all(read.diagnostics, read.sources, false);
  EXPECT_EQ(read.workload->jobs.size(), 8152U);
}

TEST(PublishedTraces, PhillyHasAllItsJobs) {
  const Read read = read_published("philly/philly_jobs_82k.csv.gz");
  if (read.sources.text(1).empty()) GTEST_SKIP() << "the Philly trace is not here";
  ASSERT_TRUE(read.workload.has_value()) << render_all(read.diagnostics, read.sources, false);
  EXPECT_EQ(read.workload->jobs.size(), 82'247U);
  std::set<std::string> tenants;
  for (const Job& job : read.workload->jobs) tenants.insert(job.tenant);
  EXPECT_EQ(tenants.size(), 15U);
}

}  // namespace
}  // namespace weft::sched
