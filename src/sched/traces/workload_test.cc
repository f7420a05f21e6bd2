#include "sched/traces/workload.h"

#include <set>

#include "base/test_places.h"
#include "base/test_prerequisites.h"
#include "sched/machine/plain_machine.h"
#include "sched/traces/fixture.h"
#include "sched/traces/gzip.h"

namespace weft::sched {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kOpenb =
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n";
const std::string kHelios =
    "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n";

TEST(OpenbTrace, RowsAreInterpretedCorrectly) {
  const TraceRead read = read_trace(kOpenb +
                                    "a,12000,16384,1,460,,LS,Running,100,500,150\n"
                                    "b,6000,1024,8,1000,V100M16|V100M32,BE,Failed,200,260,\n"
                                    "c,500,64,0,0,,Burstable,Running,300,,310\n"
                                    "d,500,64,2,1000,T4|V100M32,Guaranteed,Running,300,400,300\n");
  ASSERT_TRUE(read.workload) << read.said();
  EXPECT_EQ(read.workload->format, TraceFormat::openb);
  EXPECT_THAT(read.workload->models, ElementsAre("V100M16", "V100M32", "T4"));
  const std::vector<Job>& jobs = read.workload->jobs;
  ASSERT_EQ(jobs.size(), 4U);
  EXPECT_EQ(jobs[0].name, "a");
  EXPECT_EQ(jobs[0].task.cpu, 12'000);
  EXPECT_EQ(jobs[0].task.memory_mib, 16'384);
  EXPECT_EQ(jobs[0].task.gpus, 1);
  EXPECT_EQ(jobs[0].task.gpu_milli, 460);
  EXPECT_EQ(jobs[0].submitted, Moment(100'000'000'000));
  EXPECT_EQ(jobs[0].run_time, seconds(350));
  EXPECT_EQ(jobs[0].priority, 2);
  EXPECT_FALSE(jobs[0].preemptible);
  EXPECT_EQ(jobs[1].task.models, 0b011U);
  EXPECT_EQ(jobs[1].run_time, seconds(60));  // never scheduled: until its deletion
  EXPECT_EQ(jobs[1].priority, 0);
  EXPECT_TRUE(jobs[1].preemptible);
  EXPECT_EQ(jobs[2].task.gpus, 0);
  EXPECT_EQ(jobs[2].run_time, kUnlimited);
  EXPECT_EQ(jobs[2].priority, 1);
  EXPECT_EQ(jobs[3].task.models, 0b110U);
  EXPECT_EQ(jobs[3].gpu_milli(), 2000);
  EXPECT_THAT(read.workload->notes, testing::Contains(HasSubstr("1 pods were never scheduled")));
}

TEST(OpenbTrace, ShortFormIsEnoughForPacking) {
  const TraceRead read = read_trace("name,cpu_milli,memory_mib,num_gpu,gpu_milli\nx,1000,1,1,500\n");
  ASSERT_TRUE(read.workload) << read.said();
  EXPECT_EQ(read.workload->jobs[0].submitted, Moment());
  EXPECT_EQ(read.workload->jobs[0].run_time, kUnlimited);
}

TEST(OpenbTrace, ErrorsHaveTheirLocation) {
  const TraceRead read = read_trace(kOpenb +
                                    "a,x,16384,1,460,,LS,R,1,5,2\n"
                                    "b,1,1,17,1000,,LS,R,1,5,2\n"
                                    "c,1,1,2,500,,LS,R,1,5,2\n"
                                    "d,1,1,1,0,,LS,R,1,5,2\n"
                                    "e,1,1,1,1000,,XX,R,1,5,2\n"
                                    "f,1,1,1,1000,,LS,R,1,5,7\n"
                                    "g,1,1,1,1000,,LS,R,-1,5,7\n"
                                    "h,1,1,1\n"
                                    "i,1,1,1,1000,,LS,R,1,5,2,9\n"
                                    "j,-1,99999999999,1,1000,,LS,R,1,5,2\n"
                                    "k,0,0,0,0,,LS,R,1,5,2\n");
  EXPECT_THAT(read.errors(),
              ElementsAre("2:3 `cpu_milli` is not a whole number: `x`", "3:7 `num_gpu` is 17; expected 0 to 16",
                          "4:9 several GPUs must be whole: `gpu_milli` is 500, expected 1000",
                          "5:9 `gpu_milli` is 0 for one GPU", "6:15 unknown class `XX`",
                          "7:22 times are out of order; expected created, scheduled, deleted",
                          "8:20 `creation_time` is -1 s; expected 0 to 3155760000 s (100 years)",
                          "9:8 the row has 4 fields, the header 11", "10:26 the row has 12 fields, the header 11",
                          "11:3 `cpu_milli` is -1; expected 0 to 2147483647",
                          "11:6 `memory_mib` is 99999999999; expected 0 to 2147483647",
                          "12:1 a task requests no GPU, no CPU and no memory"));
}

TEST(OpenbNodes, AreReadWithTheirModels) {
  Sources sources;
  Diagnostics diagnostics;
  const FileId file = sources.add("nodes",
                                  "sn,cpu_milli,memory_mib,gpu,model\nn10,64000,262144,2,P100\n"
                                  "n2,96000,393216,8,V100M16\nn1,32000,1024,0,\n");
  const std::optional<Machine> machine = read_openb_nodes(file, sources, {"V100M16"}, diagnostics);
  ASSERT_TRUE(machine) << render_all(diagnostics, sources, false);
  EXPECT_THAT(machine->models, ElementsAre("V100M16", "P100"));
  EXPECT_EQ(machine->gpus(), 10);
  ASSERT_EQ(machine->nodes().size(), 3U);
  EXPECT_EQ(machine->nodes()[0].name, "n1");
  EXPECT_EQ(machine->nodes()[0].model, -1);
  EXPECT_EQ(machine->nodes()[1].model, 0);
  EXPECT_EQ(machine->nodes()[2].model, 1);
  EXPECT_EQ(machine->nodes()[2].memory_mib, 262'144);
  EXPECT_EQ(machine->domains(Level::nvlink).size(), 3U);
  EXPECT_EQ(machine->domains(Level::pod).size(), 1U);
}

TEST(OpenbNodes, ErrorsHaveTheirLocation) {
  const auto errors = [](const std::string& text) {
    TraceRead read;
    const FileId file = read.sources.add("nodes", text);
    EXPECT_FALSE(read_openb_nodes(file, read.sources, {}, read.diagnostics).has_value());
    return read.errors();
  };
  const std::string header = "sn,cpu_milli,memory_mib,gpu,model\n";
  EXPECT_THAT(errors(header + "a,1,1,17,X\nb,1,1,2,\n,1,1,0,\n"),
              ElementsAre("2:7 `gpu` is 17; expected 0 to 16", "3:9 2 GPUs without a model", "4:1 no `sn`"));
  EXPECT_THAT(errors(header + "a,1,1,0,\na,1,1,0,\n"), ElementsAre("0:0 two nodes have the name a"));
  EXPECT_THAT(errors(header), ElementsAre("1:1 the node list is empty"));
  EXPECT_THAT(errors("sn,cpu,memory_mib,gpu,model\n"), ElementsAre("1:1 missing column `cpu_milli`"));
  std::string many = header;
  for (int i = 0; i < 65; ++i) many += "n" + std::to_string(i) + ",1,1,1,m" + std::to_string(i) + "\n";
  EXPECT_THAT(errors(many), ElementsAre("66:11 more than 64 GPU models"));
}

TEST(PhillyTrace, TimesAreRelativeToTheFirstSubmission) {
  const TraceRead read = read_trace(
      "submit_time,duration_s,num_gpus,vc\r\n"
      "2017-09-04 10:30:51,60,16,v1\r\n"
      "2017-09-04 10:30:41,2240194,12,v2\r\n"
      "2017-09-04 10:31:41,5,0,v2\r\n"
      "2017-09-04 10:31:41,0,11,v1");
  ASSERT_TRUE(read.workload) << read.said();
  const Workload& workload = *read.workload;
  EXPECT_EQ(workload.origin, 1'504'521'041);
  EXPECT_EQ(workload.skipped, 1);
  ASSERT_EQ(workload.jobs.size(), 3U);
  EXPECT_EQ(workload.jobs[0].name, "job-2");
  EXPECT_EQ(workload.jobs[0].submitted, Moment(0));
  EXPECT_EQ(workload.jobs[0].tasks, 2);
  EXPECT_EQ(workload.jobs[0].task.gpus, 6);
  EXPECT_EQ(workload.jobs[0].run_time, seconds(2'240'194));
  EXPECT_EQ(workload.jobs[0].limit, kUnlimited);
  EXPECT_EQ(workload.jobs[1].tenant, "v1");
  EXPECT_EQ(workload.jobs[1].submitted, Moment(10'000'000'000));
  EXPECT_EQ(workload.jobs[1].tasks, 2);
  EXPECT_EQ(workload.jobs[1].task.gpus, 8);
  EXPECT_EQ(workload.jobs[2].tasks, 11);
  EXPECT_THAT(workload.notes, ElementsAre(HasSubstr("1 rows are out of order"), "1 rows skipped: they request no GPU"));
}

TEST(PhillyTrace, LimitsAndServersFollowTheOptions) {
  TraceOptions options;
  options.limit_factor = 1.5;
  options.node_gpus = 4;
  const TraceRead read = read_trace("submit_time,duration_s,num_gpus,vc\n2017-09-04 10:30:51,60,16,v1\n", options);
  ASSERT_TRUE(read.workload);
  EXPECT_EQ(read.workload->jobs[0].limit, seconds(90));
  EXPECT_EQ(read.workload->jobs[0].tasks, 4);
  options.node_gpus = 0;
  EXPECT_THAT(read_trace("submit_time,duration_s,num_gpus,vc\n", options).errors(),
              ElementsAre(HasSubstr("servers of 0 GPUs")));
}

// The example rows from the README of HeliosData.
TEST(HeliosTrace, PublishedExample) {
  const TraceRead read = read_trace(
      kHelios +
      "1425511,uXBbc,vcJkd,1,1,1,COMPLETED,2020-06-09 18:41:01,2020-06-09 18:41:01,2020-06-10 04:55:09,36848,0\n"
      "1425512,uVMrF,vchbv,4,16,1,FAILED,2020-06-09 18:41:27,2020-06-09 18:41:27,2020-06-09 18:45:36,249,0\n"
      "1425513,uzqls,vcpDC,1,1,1,CANCELLED,2020-06-09 18:41:28,2020-06-09 18:41:28,2020-06-17 14:15:21,675233,0\n");
  ASSERT_TRUE(read.workload) << read.said();
  EXPECT_EQ(read.workload->format, TraceFormat::helios);
  const std::vector<Job>& jobs = read.workload->jobs;
  ASSERT_EQ(jobs.size(), 3U);
  EXPECT_EQ(jobs[0].run_time, seconds(36'848));
  EXPECT_EQ(jobs[1].name, "1425512");
  EXPECT_EQ(jobs[1].user, "uVMrF");
  EXPECT_EQ(jobs[1].tenant, "vchbv");
  EXPECT_EQ(jobs[1].task.gpus, 4);
  EXPECT_EQ(jobs[1].task.cpu, 16'000);
  EXPECT_EQ(jobs[1].submitted, Moment(26'000'000'000));
  EXPECT_EQ(jobs[1].run_time, seconds(249));
  EXPECT_EQ(jobs[2].run_time, seconds(675'233));
  EXPECT_EQ(read.workload->origin, 1'591'728'061);
}

TEST(HeliosTrace, UsesTheJobsServersIfGpusDivideEvenly) {
  const std::string rest = ",C,2020-06-09 18:41:01,2020-06-09 18:41:01,2020-06-09 18:41:02,1,0\n";
  const TraceRead read = read_trace(kHelios + "1,u,v,8,32,2" + rest + "2,u,v,16,48,3" + rest + "3,u,v,64,64,2" + rest +
                                    "4,u,v,0,4,1" + rest +
                                    "5,u,v,1,4,1,CANCELLED,2020-06-09 18:41:01,None,2020-06-09 18:41:02,0,1\n"
                                    "6,u,v,1,4,1,C,2020-06-09 18:41:01,2020-06-09 18:41:03,2020-06-09 18:41:02,0,1\n"
                                    "7,u,v,1,4,1,RUNNING,2020-06-09 18:41:01,2020-06-09 18:41:03,,,1\n");
  ASSERT_TRUE(read.workload) << read.said();
  const std::vector<Job>& jobs = read.workload->jobs;
  ASSERT_EQ(jobs.size(), 3U);
  EXPECT_EQ(std::pair(jobs[0].tasks, jobs[0].task.gpus), std::pair(2, 4));
  EXPECT_EQ(jobs[0].task.cpu, 16'000);
  EXPECT_EQ(std::pair(jobs[1].tasks, jobs[1].task.gpus), std::pair(2, 8));
  EXPECT_EQ(std::pair(jobs[2].tasks, jobs[2].task.gpus), std::pair(8, 8));
  EXPECT_EQ(read.workload->skipped, 4);
  EXPECT_THAT(read.workload->notes,
              ElementsAre("1 rows skipped: they end before they start", "1 rows skipped: they had not ended",
                          "1 rows skipped: they never started", "1 rows skipped: they request no GPU"));
}

// The example rows from the README of AcmeTrace. The `duration` of Kalos starts at the submission (18 s, of which 10 in
// the queue); the run time is from start to end.
TEST(AcmeTrace, PublishedExamples) {
  const TraceRead kalos = read_trace(
      "job_id,user,node_num,gpu_num,cpu_num,mem_per_pod_GB,shared_mem_per_pod,type,state,submit_time,start_time,"
      "end_time,fail_time,stop_time,duration,queue,gpu_time\n"
      "dlctk696s0jbvitv,uf794,8,64,960,1000,100.0,Other,FAILED,2023-05-17 11:00:58+00:00,2023-05-17 11:01:08+00:00,"
      "2023-05-17 11:01:16+00:00,2023-05-17 11:01:16+00:00,,18,10.0,1152.0\n");
  ASSERT_TRUE(kalos.workload) << kalos.said();
  EXPECT_EQ(kalos.workload->format, TraceFormat::acme);
  const Job& job = kalos.workload->jobs.at(0);
  EXPECT_EQ(std::pair(job.tasks, job.task.gpus), std::pair(8, 8));
  EXPECT_EQ(job.task.cpu, 120'000);
  EXPECT_EQ(job.task.memory_mib, 953'674);  // 10^12 bytes
  EXPECT_EQ(job.run_time, seconds(8));
  EXPECT_EQ(job.priority, 1);
  EXPECT_EQ(job.tenant, "Other");
  EXPECT_EQ(job.user, "uf794");
  const TraceRead seren = read_trace(
      "job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,duration,queue,gpu_time\n"
      "5778432,u5907,1,8,128,Pretrain,FAILED,2023-03-01 00:18:22+08:00,2023-03-01 00:18:54+08:00,"
      "2023-03-01 00:20:51+08:00,117,32,936.0\n"
      "5778469,u5907,1,8,128,Evaluation,COMPLETED,2023-03-01 00:23:58+08:00,2023-03-01 00:24:11+08:00,"
      "2023-03-01 01:09:04+08:00,2693,13,21544.0\n");
  ASSERT_TRUE(seren.workload) << seren.said();
  EXPECT_EQ(seren.workload->origin, 1'677'601'102);
  EXPECT_EQ(seren.workload->jobs[0].run_time, seconds(117));
  EXPECT_EQ(seren.workload->jobs[0].priority, 2);
  EXPECT_EQ(seren.workload->jobs[1].run_time, seconds(2693));
  EXPECT_EQ(seren.workload->jobs[1].priority, 0);
  EXPECT_EQ(seren.workload->jobs[1].submitted, Moment(336'000'000'000));
}

TEST(SwfTrace, JobsOfTheStandardWorkloadFormat) {
  const std::string text =
      "; Version: 2.2\n; MaxNodes: 32\n;   MaxProcs: 256\n; UnixStartTime: 875000000\n\n"
      "  1    0 -1   90  16 -1 -1  -1  120 1048576 1 3 1 -1 1 -1 -1 -1\n"
      "  2   30  5 10.5   4 -1 -1   6   -1      -1 0 4 -1 -1 1 -1 -1 -1\n"
      "  3   31 -1   -1  -1 -1 -1   8   60      -1 5 4 2 -1 1 -1 -1 -1\n"
      "  4   32  1   20   8 -1 -1   8   60      -1 2 4 2 -1 1 -1 -1 -1\r\n"
      "  5   33  1   20  -1 -1 -1  -1   60      -1 1 4 2 -1 1 -1 -1 -1";
  const TraceRead read = read_trace(text);
  ASSERT_TRUE(read.workload) << read.said();
  const Workload& workload = *read.workload;
  EXPECT_EQ(workload.format, TraceFormat::swf);
  EXPECT_EQ(workload.origin, 875'000'000);
  EXPECT_EQ(workload.skipped, 3);
  ASSERT_EQ(workload.jobs.size(), 2U);
  EXPECT_EQ(workload.jobs[0].name, "1");
  EXPECT_EQ(std::pair(workload.jobs[0].tasks, workload.jobs[0].task.gpus), std::pair(2, 8));
  EXPECT_EQ(workload.jobs[0].task.memory_mib, 8 * 1024);  // 1 GiB per processor
  EXPECT_EQ(workload.jobs[0].limit, seconds(120));
  EXPECT_EQ(workload.jobs[0].user, "3");
  EXPECT_EQ(workload.jobs[0].tenant, "1");
  EXPECT_EQ(workload.jobs[1].task.gpus, 6);
  EXPECT_EQ(workload.jobs[1].run_time, Duration(10'500'000'000));
  EXPECT_EQ(workload.jobs[1].limit, kUnlimited);
  EXPECT_EQ(workload.jobs[1].tenant, "");
  TraceOptions cores;
  cores.node_cores = 12;
  const TraceRead again = read_trace(text, cores);
  ASSERT_TRUE(again.workload);
  EXPECT_EQ(again.workload->jobs[0].task.gpus, 0);
  EXPECT_EQ(again.workload->jobs[0].task.cpu, 8'000);
  EXPECT_EQ(again.workload->jobs[0].tasks, 2);
}

TEST(SwfTrace, ErrorsHaveTheirLocation) {
  const TraceRead read = read_trace(
      "1 0 -1 90 16 -1 -1 -1 120 -1 1 3 1 -1 1 -1 -1 -1\n"
      "2 0 -1 90 16\n"
      "3 -1 -1 90 16 -1 -1 -1 120 -1 1 3 1 -1 1 -1 -1 -1\n"
      "4 0 -1 x 2000000 -1 -1 -2 120 -1 1 3 1 -1 1 -1 -1 -1\n");
  EXPECT_THAT(read.errors(), ElementsAre("2:1 the line has 5 fields; a job has 18",
                                         "3:3 `submit time` is -1 s; expected 0 to 3155760000 s (100 years)",
                                         "4:8 `run time` is not a number of seconds: `x`",
                                         "4:10 `allocated processors` is 2000000; expected -1 to 1000000",
                                         "4:24 `requested processors` is -2; expected -1 to 1000000"));
}

TEST(TraceForm, IsDetectedByTheFirstLine) {
  EXPECT_THAT(read_trace("").errors(), ElementsAre("1:1 the trace is empty"));
  EXPECT_THAT(read_trace(" \n\r\n").errors(), ElementsAre("1:1 the trace is empty"));
  EXPECT_THAT(read_trace("sn,cpu_milli,memory_mib,gpu,model\n").errors(),
              ElementsAre("1:1 this is a node list, not a job trace"));
  const TraceRead strange = read_trace("foo,bar\n1,2\n");
  EXPECT_THAT(strange.errors(), ElementsAre("1:1 unknown trace format: the first line is not a known header"));
  EXPECT_THAT(read_trace("nmae;gpsu\n").hints(), ElementsAre("columns must be comma-separated"));
  EXPECT_THAT(read_trace("gpu,runtime\n").hints(), ElementsAre("did you mean `gpus`?"));
  const TraceRead marked = read_trace("\xEF\xBB\xBFgpus\n1\n");
  EXPECT_TRUE(marked.workload) << marked.said();
}

TEST(TraceForm, ExplicitFormatIsEnforced) {
  TraceOptions options;
  options.format = TraceFormat::philly;
  EXPECT_THAT(read_trace("submit_time,duration,num_gpus,vc\n", options).errors(),
              ElementsAre("1:1 missing column `duration_s`"));
  options.format = TraceFormat::helios;
  EXPECT_THAT(read_trace("", options).errors(), ElementsAre("1:1 the file has no header line"));
}

TEST(TraceNames, AreMadeUnique) {
  const TraceRead read = read_trace("name,gpus\na,1\na,1\na#2,1\na,1\n\xC3\xA9,1\n");
  ASSERT_TRUE(read.workload);
  std::vector<std::string> names;
  for (const Job& job : read.workload->jobs) names.push_back(job.name);
  EXPECT_THAT(names, ElementsAre("a", "a#3", "a#2", "a#4", "\xC3\xA9"));
  EXPECT_THAT(read.workload->notes, ElementsAre(HasSubstr("2 jobs have a duplicate name")));
}

TEST(TraceRows, AllErrorsAreCountedAndTheListIsTruncated) {
  std::string text = "gpus\n";
  for (int i = 0; i < 1000; ++i) text += "x\n";
  const TraceRead read = read_trace(text);
  EXPECT_EQ(read.diagnostics.error_count(), 1000U);
  EXPECT_EQ(read.errors().size(), Diagnostics::kMaxKept);
}

TEST(PlainMachine, HasItsLevels) {
  PlainMachine plain;
  plain.nodes = 300;
  const Machine machine = plain_machine(plain);
  EXPECT_EQ(machine.gpus(), 2400);
  EXPECT_EQ(machine.domains(Level::rack).size(), 75U);
  EXPECT_EQ(machine.domains(Level::leaf).size(), 10U);
  EXPECT_EQ(machine.domains(Level::pod).size(), 2U);
  EXPECT_EQ(machine.nodes()[9].name, "node-10");
  EXPECT_EQ(machine.nodes()[0].gpu_numa[3], 0);
  EXPECT_EQ(machine.nodes()[0].gpu_numa[4], 1);
  plain.rack = 0;
  plain.leaf = 7;
  plain.pod = 0;
  const Machine odd = plain_machine(plain);
  EXPECT_EQ(odd.domains(Level::leaf).size(), 43U);
  EXPECT_EQ(odd.domains(Level::rack).size(), 43U);
  EXPECT_EQ(odd.domains(Level::pod).size(), 1U);
}

// The published files; the sums were computed from them with awk.
class PublishedTraces : public testing::Test {
 protected:
  void open(const std::string& name) {
    Result<std::string> text = read_text_file(test_data_dir() + "/traces/" + name);
    ASSERT_TRUE(text.ok()) << text.error().text();
    file_ = sources_.add(name, std::move(text).value());
  }
  std::optional<Workload> workload() { return read_workload(file_, sources_, {}, diagnostics_); }
  [[nodiscard]] std::string said() const { return render_all(diagnostics_, sources_, false); }

  Sources sources_;
  Diagnostics diagnostics_;
  FileId file_ = 0;
};

TEST_F(PublishedTraces, OpenbDefault) {
  WEFT_NEEDS_DATA("traces/openb");
  ASSERT_NO_FATAL_FAILURE(open("openb/openb_pod_list_default.csv.gz"));
  const std::optional<Workload> read = workload();
  ASSERT_TRUE(read) << said();
  EXPECT_EQ(read->jobs.size(), 8152U);
  std::int64_t gpus = 0;
  std::int64_t cpus = 0;
  double ran = 0;
  for (const Job& job : read->jobs) {
    gpus += job.gpu_milli();
    cpus += job.task.cpu;
    ran += seconds_of(job.run_time);
  }
  EXPECT_EQ(gpus, 6'086'800);
  EXPECT_EQ(cpus, 85'436'012);
  EXPECT_EQ(ran, 210'197'755.0);
  EXPECT_EQ(read->jobs[1].name, "openb-pod-0001");
  EXPECT_EQ(read->jobs[1].task.gpu_milli, 460);
  EXPECT_THAT(read->notes, testing::Contains(HasSubstr("897 pods were never scheduled")));
}

TEST_F(PublishedTraces, OpenbMultiGpuHasNoTimes) {
  WEFT_NEEDS_DATA("traces/openb");
  ASSERT_NO_FATAL_FAILURE(open("openb/openb_pod_list_multigpu20.csv.gz"));
  const std::optional<Workload> read = workload();
  ASSERT_TRUE(read) << said();
  EXPECT_EQ(read->jobs.size(), 8324U);
}

TEST_F(PublishedTraces, OpenbNodes) {
  WEFT_NEEDS_DATA("traces/openb");
  ASSERT_NO_FATAL_FAILURE(open("openb/openb_node_list_gpu_node.csv.gz"));
  const std::optional<Machine> machine = read_openb_nodes(file_, sources_, {}, diagnostics_);
  ASSERT_TRUE(machine) << said();
  EXPECT_EQ(machine->nodes().size(), 1213U);
  EXPECT_EQ(machine->gpus(), 6212);
  EXPECT_EQ(machine->models.size(), 7U);
}

TEST_F(PublishedTraces, Philly) {
  WEFT_NEEDS_DATA("traces/philly");
  ASSERT_NO_FATAL_FAILURE(open("philly/philly_jobs_82k.csv.gz"));
  const std::optional<Workload> read = workload();
  ASSERT_TRUE(read) << said();
  EXPECT_EQ(read->jobs.size(), 82'247U);
  std::set<std::string> tenants;
  std::int64_t gpus = 0;
  double gpu_seconds = 0;
  for (const Job& job : read->jobs) {
    tenants.insert(job.tenant);
    gpus += std::int64_t{job.tasks} * job.task.gpus;
    gpu_seconds += seconds_of(job.run_time) * job.tasks * job.task.gpus;
  }
  EXPECT_EQ(tenants.size(), 15U);
  EXPECT_EQ(gpus, 107'235);
  EXPECT_EQ(gpu_seconds, 3'521'082'502.0);
  EXPECT_EQ(read->origin, 1'504'521'041);
  EXPECT_EQ(read->jobs.front().submitted, Moment());
}

}  // namespace
}  // namespace weft::sched
