// weft serve with engine slurm on a Slurm that enforces accounts: slurmdbd with MariaDB, and 16 slurmd. Accounts,
// preemption by weft, and a slurmrestd that stops to answer without closing its connections.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "mariadb.h"
#include "slurm_fixture.h"

namespace weft {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using testing_lab::Lab;
using testing_program::contents;

class EngineSlurmAccounts : public testing_slurm::SlurmFixture {
 protected:
  EngineSlurmAccounts() : SlurmFixture(16) {}

  void SetUp() override {
    for (const char* program : {"mariadbd", "mariadb-install-db", "slurmdbd", "sacctmgr"}) WEFT_NEEDS_PROGRAM(program);
    SlurmFixture::SetUp();
  }

  // A private munge socket must be named for this link too.
  std::string more_conf() override {
    return "AccountingStorageType=accounting_storage/"
           "slurmdbd\nAccountingStorageHost=127.0.0.1\nAccountingStoragePort=" +
           std::to_string(more_port(0)) + "\nAccountingStoragePass=" + file("run/munge.socket") +
           "\nAccountingStorageEnforce=associations,limits,qos\nAccountingStorageTRES=gres/gpu\n";
  }

  void start_before_controller() override {
    ASSERT_EQ(testing_lab::start_mariadb(*lab_, more_port(1)), "");
    lab_->put("slurmdbd.conf", "AuthType=auth/munge\nAuthInfo=socket=" + file("run/munge.socket") +
                                   "\nDbdHost=localhost\nDbdPort=" + std::to_string(more_port(0)) +
                                   "\nSlurmUser=root\nLogFile=" + file("log/slurmdbd.log") +
                                   "\nPidFile=" + file("run/slurmdbd.pid") +
                                   "\nStorageType=accounting_storage/mysql\nStorageHost=127.0.0.1\nStoragePort=" +
                                   std::to_string(more_port(1)) + "\nStorageUser=root\nStorageLoc=slurm_acct\n");
    ::chmod(file("slurmdbd.conf").c_str(), 0600);
    lab_->start({"env", "SLURM_CONF=" + file("slurmdbd.conf"), "slurmdbd", "-D"});
    ASSERT_TRUE(Lab::wait(300, [&] {
      return lab_->run({"sacctmgr", "-n", "list", "cluster"}, 300).code == 0;
    })) << contents(file("log/slurmdbd.log"));
    for (const testing_lab::Words& words :
         {testing_lab::Words{"add", "cluster", "lab"}, testing_lab::Words{"add", "account", "team-a", "cluster=lab"},
          testing_lab::Words{"add", "user", "root", "account=team-a", "cluster=lab"}}) {
      testing_lab::Words all = {"sacctmgr", "-i", "-Q"};
      all.insert(all.end(), words.begin(), words.end());
      const testing_lab::Outcome outcome = lab_->run(all, 300, true);
      ASSERT_EQ(outcome.code, 0) << outcome.out;
    }
  }

  static std::string job_file(const std::string& name, const std::string& more) {
    return "job: 1\nname: " + name + "\nnodes: 2\nrestart: {backoff: 100ms}\n" + more;
  }
};

TEST_F(EngineSlurmAccounts, JobsAreChargedToTheirTenant) {
  lab_->put("cluster.yaml", cluster(16) + "  - {name: team-b}\n");
  start_server();
  wait_ready();
  const std::string number = submit(job_file("one", "tenant: team-a\ncommand: [/bin/true]\n"));
  EXPECT_EQ(weft({"job", "wait", number}).code, 0);
  std::string charged;
  ASSERT_TRUE(Lab::wait(300, [&] {  // slurmctld reports to slurmdbd every few seconds
    charged = slurm({"sacct", "-n", "-X", "-P", "-S", "now-1hour", "-o", "account,state,nnodes"});
    return contains(charged, "COMPLETED");
  })) << charged;
  EXPECT_THAT(charged, HasSubstr("team-a|COMPLETED|2"));
  // A tenant that Slurm has no account for: Slurm's answer is shown, and the start is tried again later.
  const std::string other = submit(job_file("two", "tenant: team-b\ncommand: [/bin/true]\n"));
  while (!contains(weft({"job", "show", other}).out, "Invalid account")) pause();
  slurm({"sacctmgr", "-i", "-Q", "add", "account", "team-b", "cluster=lab"});
  slurm({"sacctmgr", "-i", "-Q", "add", "user", "root", "account=team-b", "cluster=lab"});
  EXPECT_EQ(weft({"job", "wait", other}).code, 0);
}

TEST_F(EngineSlurmAccounts, AnUrgentJobPreempts) {
  lab_->put("cluster.yaml", cluster(16) + "priorities:\n  - {name: low, value: 100}\n  - {name: high, value: 1000}\n");
  start_server();
  wait_ready();
  const std::string wide = "nodes: 16\ntenant: team-a\nrestart: {backoff: 100ms}\n";
  const std::string low = submit("job: 1\nname: low\npriority: low\n" + wide +
                                 "command: [/bin/sh, -c, 'test $WEFT_ATTEMPT != 1 || sleep 9999']\n");
  wait_for_state(low, "running");
  while (ranks(low, "1").size() < 16) pause();
  const std::string high = submit("job: 1\nname: high\npriority: high\n" + wide + "command: [/bin/true]\n");
  EXPECT_EQ(weft({"job", "wait", high}).code, 0);
  EXPECT_EQ(job(high)["attempt"], 1);
  EXPECT_EQ(weft({"job", "wait", low}).code, 0);
  EXPECT_EQ(job(low)["attempt"], 2);
  EXPECT_THAT(history(), HasSubstr("preempt"));
}

// It accepts connections and never answers: lists come from the commands, and from it again once it continues.
TEST_F(EngineSlurmAccounts, SlurmrestdHangs) {
  WEFT_NEEDS_PROGRAM("slurmrestd");
  const pid_t rest = start_slurmrestd();
  start_server({"--slurmrestd", "unix:" + file("rest/sock")});
  wait_ready();
  wait_for_history("slurmrestd answers");
  ::kill(rest, SIGSTOP);
  wait_for_history("using Slurm's commands until it answers");
  const std::string number = submit(job_file("one", "tenant: team-a\ncommand: [/bin/true]\n"));
  EXPECT_EQ(weft({"job", "wait", number}).code, 0);
  EXPECT_EQ(job(number)["attempt"], 1);
  ::kill(rest, SIGCONT);
  wait_for_history("slurmrestd answers again");
}

// weft accounts against slurmdbd: the plan, its execution, a plan that is out of date, and what others have made.
constexpr const char* kQuotas =
    "  - {name: team-b, priority: high, quota: {gpus: 16, cpus: 96, memory: 6400000MiB}}\n"
    "priorities:\n  - {name: low, value: 100, preemptible: true}\n  - {name: high, value: 1000}\n";

TEST_F(EngineSlurmAccounts, AccountsArePlannedAndApplied) {
  const auto accounts = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "accounts");
    words.insert(words.begin() + 2, {file("cluster.yaml"), "--slurm-conf", file("slurm.conf")});
    return weft(words);
  };
  const auto plan_id = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "plan");
    words.insert(words.end(), {"-o", "json"});
    return json::parse(accounts(words).out)["accounts"]["plan"].get<std::string>();
  };
  const auto list = [&](const std::string& what, const std::string& columns) {
    return slurm({"sacctmgr", "-nP", "list", what, "format=" + columns});
  };
  lab_->put("cluster.yaml", cluster(16) + kQuotas);
  lab_->put("users", "# account user\nteam-b root\n");
  const std::string before = list("assoc", "cluster,account,user,grptres,qos") + list("qos", "name,priority");
  const auto planned = accounts({"plan", "--users", file("users")});
  EXPECT_EQ(planned.code, 1) << planned.err;
  EXPECT_THAT(planned.out, HasSubstr("mem=6400000M"));
  EXPECT_EQ(list("assoc", "cluster,account,user,grptres,qos") + list("qos", "name,priority"), before);
  // Nothing without a plan that was shown, or with one that is out of date.
  EXPECT_EQ(accounts({"apply", "--users", file("users")}).code, 4);
  const std::string old = plan_id({"--users", file("users")});
  slurm({"sacctmgr", "-i", "-Q", "add", "qos", "low", "priority=7"});
  const auto refused = accounts({"apply", "--users", file("users"), "--plan-id", old});
  EXPECT_EQ(refused.code, 4);
  EXPECT_THAT(refused.err, HasSubstr("out of date"));
  EXPECT_EQ(contains(list("assoc", "account"), "team-b"), false);
  const auto applied = accounts({"apply", "--users", file("users"), "--plan-id", plan_id({"--users", file("users")})});
  EXPECT_EQ(applied.code, 0) << applied.out << applied.err;
  EXPECT_THAT(list("qos", "name,priority,preempt,preemptmode"), HasSubstr("high|1000|low|requeue"));
  EXPECT_THAT(list("qos", "name,priority"), HasSubstr("low|100\n"));
  EXPECT_THAT(list("assoc", "account,user,grptres,qos,defaultqos"),
              HasSubstr("team-b||cpu=96,gres/gpu=16,mem=6250G|high,low|high\nteam-b|root|"));
  const auto again = accounts({"plan", "--users", file("users")});
  EXPECT_EQ(again.code, 0) << again.out << again.err;
  // What the file no longer has: only what weft created goes, and no account with a user.
  slurm({"sacctmgr", "-i", "-Q", "add", "account", "others", "cluster=lab"});
  lab_->put("cluster.yaml", cluster(16) + "  - {name: team-c}\n");
  EXPECT_EQ(accounts({"apply", "--plan-id", plan_id({})}).code, 0);
  lab_->put("cluster.yaml", cluster(16));
  EXPECT_EQ(accounts({"plan"}).code, 0);
  EXPECT_EQ(accounts({"apply", "--prune", "--plan-id", plan_id({"--prune"})}).code, 0);
  const std::string left = list("assoc", "account,user");
  EXPECT_THAT(left, HasSubstr("others|\n"));
  EXPECT_THAT(left, HasSubstr("team-b|root"));
  EXPECT_FALSE(contains(left, "team-c")) << left;
  EXPECT_THAT(list("qos", "name"), HasSubstr("high"));  // team-b uses it
  // Without slurmdbd nothing is concluded.
  slurm({"sacctmgr", "-i", "shutdown"});
  ASSERT_TRUE(Lab::wait(300, [&] { return lab_->run({"sacctmgr", "-n", "list", "cluster"}, 300).code != 0; }));
  EXPECT_EQ(accounts({"plan"}).code, 5);
}

}  // namespace
}  // namespace weft
