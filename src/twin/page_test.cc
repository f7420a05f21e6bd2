#include "twin/page.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "twin/plot.h"

namespace weft::twin {
namespace {

constexpr std::string_view kEvil = "<script>alert(1)</script>\"'&";
constexpr std::string_view kEvilEscaped = "&lt;script&gt;alert(1)&lt;/script&gt;";

GpuTime of_hours(double hours) { return static_cast<GpuTime>(hours * 3.6e9); }
std::size_t at(Use use) { return static_cast<std::size_t>(use); }

// Ten hours of 16 GPUs with two causes.
TwinResult example() {
  TwinResult result;
  result.cluster = "pod";
  result.length = sched::seconds(36'000);
  result.nodes = 2;
  result.gpus = 16;
  result.sample_period = sched::seconds(3600);
  result.samples.assign(10, {12, 1, 2, 1});
  result.time[at(Use::productive)] = of_hours(120);
  result.time[at(Use::lost)] = of_hours(10);
  result.time[at(Use::idle)] = of_hours(20);
  result.time[at(Use::person)] = of_hours(10);
  result.causes = {{"none", "no incident", 0, 0, {}}, {"gpu", "GPU fault", 1, 1, {}}, {"nic", "NIC & cable", 1, 0, {}}};
  result.causes[1].time[at(Use::lost)] = of_hours(10);
  result.causes[2].time[at(Use::person)] = of_hours(10);
  for (const std::uint32_t cause : {0U, 1U}) {
    IncidentCourse course;
    course.incident.at = sched::seconds(3600 * (1 + cause));
    course.incident.cause = cause;
    course.jobs = cause == 0 ? 1 : 0;
    course.returned = kTwinStart + course.incident.at + sched::seconds(5400);
    result.courses.push_back(course);
  }
  JobResult job;
  job.name = "training";
  job.milli_gpus = 16'000;
  job.account.attempts = 2;
  job.account.interruptions = 1;
  job.account.time[at(Use::productive)] = of_hours(120);
  job.account.time[at(Use::lost)] = of_hours(10);
  job.ettr = job.ettr_queued = 120.0 / 130;
  result.jobs.push_back(job);
  return result;
}

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t from = text.find(part); from != std::string_view::npos; from = text.find(part, from + 1)) ++found;
  return found;
}

// Every element that is opened is closed; void elements and those of SVG that close themselves are passed over.
void expect_balanced(std::string_view page) {
  std::vector<std::string> open;
  for (std::size_t from = page.find('<'); from != std::string_view::npos; from = page.find('<', from + 1)) {
    const std::size_t to = page.find('>', from);
    ASSERT_NE(to, std::string_view::npos);
    const std::string_view tag = page.substr(from + 1, to - from - 1);
    if (tag.empty() || tag.front() == '!' || tag.front() == '?' || tag.back() == '/') continue;
    const bool closes = tag.front() == '/';
    const std::string name(tag.substr(closes ? 1 : 0, tag.find_first_of(" \n", 1) - (closes ? 1 : 0)));
    if (name == "meta" || name == "link" || name == "br") continue;
    if (!closes) {
      open.push_back(name);
      continue;
    }
    ASSERT_FALSE(open.empty()) << name;
    EXPECT_EQ(open.back(), closes ? name : "") << std::string(page.substr(from > 80 ? from - 80 : 0, 120));
    open.pop_back();
  }
  EXPECT_TRUE(open.empty()) << open.back();
}

TEST(TwinPage, IsAWellFormedPage) {
  const std::string page = twin_page(example());
  EXPECT_TRUE(page.starts_with("<!DOCTYPE html>"));
  expect_balanced(page);
  EXPECT_EQ(count(page, "<h1>"), 1U);
  EXPECT_EQ(count(page, "<script"), 0U);
  EXPECT_EQ(count(page, "<table"), count(page, "class=\"scroll\" tabindex=\"0\" role=\"region\""));
  EXPECT_TRUE(contains(page, "default-src 'none'"));
}

TEST(TwinPage, ShowsFiguresAndEveryCause) {
  const TwinResult result = example();
  const std::string page = twin_page(result);
  EXPECT_TRUE(contains(page, "<dd>92.31 %</dd>"));  // 120 of 130 GPU-hours of the job
  EXPECT_TRUE(contains(page, "<dd>75.00 %</dd>"));  // 120 of 160
  EXPECT_TRUE(contains(page, "<dd>93.75 %</dd>"));  // all but 10 of 160
  EXPECT_TRUE(contains(page, "GPU fault, work lost: 10 GPU-hours"));
  EXPECT_TRUE(contains(page, "NIC &amp; cable, node out: 10 GPU-hours"));
  EXPECT_TRUE(contains(page, "at most 4 h: 2 incidents"));
  for (const std::string_view layer : {"computing: 12 GPUs", "overhead: 1 GPUs", "idle: 2 GPUs"}) {
    EXPECT_TRUE(contains(page, layer)) << layer;
  }
}

TEST(TwinPage, EscapesNames) {
  TwinResult result = example();
  result.cluster = result.fault_source = result.jobs[0].name = result.causes[1].title = kEvil;
  result.notes = {std::string(kEvil)};
  result.jobs.push_back(result.jobs[0]);
  const std::string page = twin_page(result);
  EXPECT_FALSE(contains(page, "<script>"));
  EXPECT_GE(count(page, kEvilEscaped), 6U);
  expect_balanced(page);
}

// A run in which nothing happened has no plots of incidents.
TEST(TwinPage, ARunWithoutIncidents) {
  TwinResult result = example();
  result.courses.clear();
  result.causes.resize(1);
  result.jobs.clear();
  const std::string page = twin_page(result);
  expect_balanced(page);
  EXPECT_EQ(twin_plots(result).size(), 1U);
  EXPECT_FALSE(contains(page, "nan"));
}

TEST(TwinPage, NothingAtAll) {
  TwinResult result;
  result.causes = {{"none", "no incident", 0, 0, {}}};
  const std::string page = twin_page(result);
  expect_balanced(page);
  EXPECT_FALSE(contains(page, "nan"));
  EXPECT_FALSE(contains(page, "inf "));
}

TEST(TwinPlots, JobsBySizeNeedSeveralJobs) {
  TwinResult result = example();
  EXPECT_EQ(twin_plots(result).size(), 4U);
  result.jobs.push_back(result.jobs[0]);
  ASSERT_EQ(twin_plots(result).size(), 5U);
  EXPECT_TRUE(contains(twin_plots(result)[4].svg, "at most 16 GPUs: ETTR 92.31 %, 2 jobs, 2 interruptions"));
}

}  // namespace
}  // namespace weft::twin
