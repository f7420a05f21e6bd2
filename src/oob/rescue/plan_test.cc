#include "oob/rescue/plan.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "base/test_places.h"
#include "oob/rescue/fake.h"

namespace weft::oob {
namespace {

using testing::HasSubstr;

std::string book(const std::string& steps, const std::string& down = "[backend, frontend]",
                 const std::string& parameters = "[]") {
  return "weft_runbook: 1\nname: mine\ntitle: Mine\nassume_down: " + down + "\nparameters: " + parameters +
         "\nsteps:\n" + steps;
}

std::string findings_of(const RescuePlan& plan) {
  std::string text;
  for (const RescueFinding& finding : plan.findings)
    text +=
        (finding.severity == RescueSeverity::error ? "error " : "warning ") + finding.step + ": " + finding.text + "\n";
  return text;
}

std::string power(const std::string& verb, const std::string& hosts) {
  return "  - {id: go, title: Go, do: {power: {verb: \"" + verb + "\", hosts: \"" + hosts +
         "\"}}, expect: {power: {hosts: \"" + hosts + "\", state: on}}, within: 5m, back: by hand}\n";
}

TEST(RescueHosts, EveryServerAndSwitchIsInOneClass) {
  for (const char* example : {"pod16", "pod32", "superpod-h100-4su"}) {
    RescueBench bench(example);
    std::vector<int> seen(bench.inventory->targets().size(), 0);
    for (const std::string_view name : RescueHosts::class_names()) {
      const std::vector<std::uint32_t>* members = bench.hosts->members(name);
      ASSERT_NE(members, nullptr);
      for (const std::uint32_t target : *members) ++seen[target];
    }
    for (std::size_t i = 0; i < seen.size(); ++i) {
      const Role role = bench.inventory->targets()[i].role;
      EXPECT_EQ(seen[i], role == Role::server || role == Role::network_switch ? 1 : 0)
          << bench.inventory->targets()[i].name;
    }
  }
}

TEST(RescueHosts, Expressions) {
  RescueBench bench;
  const auto fold = [&](const char* expression) {
    const auto chosen = bench.hosts->select(expression);
    return chosen.ok() ? bench.hosts->fold(*chosen) : "! " + chosen.error().message;
  };
  EXPECT_EQ(fold("first control servers"), "infra001");
  EXPECT_EQ(fold("jump hosts"), "jump[001-002]");
  EXPECT_EQ(fold("fabric managers"), "");
  EXPECT_EQ(fold("gpu servers but @train"), "embed001,infer[001-004]");
  EXPECT_EQ(fold("train[001-003] but train002"), "train[001,003]");
  EXPECT_EQ(fold("behind be-train-u001-leaf3"), "train[001-016]");
  EXPECT_EQ(fold("first train[002-004],infra001"), "train002");
  EXPECT_EQ(fold("oob switches, frontend switches"), "fe-leaf001a,fe-leaf001b,oob-leaf[001-003],oob-spine[001-002]");
  EXPECT_THAT(fold("gpu server"), HasSubstr("did you mean `gpu servers`?"));
  EXPECT_THAT(fold("trian001"), HasSubstr("did you mean `train001`?"));
  const auto jump = bench.hosts->select("jump001");
  EXPECT_EQ(bench.hosts->address(jump->front(), "bmc").value_or("?"), "10.135.0.0");
  EXPECT_EQ(bench.hosts->address(jump->front(), "oob").value_or("?"), "10.135.0.1");
  EXPECT_FALSE(bench.hosts->address(jump->front(), "frontend").ok());
}

TEST(RescuePlan, ReportsDurationAndAffectedDevices) {
  RescueBench bench;
  const RescuePlan& plan = bench.plan_shipped("pfc-storm", {{"tor", "be-train-u001-leaf3"}});
  EXPECT_EQ(bench.hosts->fold(plan.hit), "be-train-u001-leaf3,infra001");
  EXPECT_EQ(bench.hosts->fold(plan.felt), "train[001-016]");
  // Timeouts 1 + 5 + 5 + 5 + 15 + 20 + 15 minutes; two steps with preconditions of 30 s; the longest rollback has two
  // parts of 15 minutes.
  EXPECT_EQ(plan.longest, milliseconds((66 + 1 + 30) * 60'000));
  EXPECT_TRUE(plan.dangerous());
  EXPECT_EQ(findings_of(plan), "");
  EXPECT_EQ(plan.find("cycle")->way, "oob-leaf002");
  const std::string text = write(rescue_plan_document(plan, *bench.hosts), {.format = OutputFormat::wide});
  EXPECT_THAT(text, HasSubstr("power cycle be-train-u001-leaf3"));
  EXPECT_THAT(text, HasSubstr("16 servers: train[001-016]"));
}

TEST(RescuePlan, SameInputSameDigest) {
  RescueBench one;
  RescueBench two;
  const std::string digest = one.plan_shipped("cold-start").digest;
  EXPECT_EQ(two.plan_shipped("cold-start").digest, digest);
  // The journaled parameters give the same plan again.
  std::map<std::string, std::string> kept(one.plan.parameters.begin(), one.plan.parameters.end());
  EXPECT_EQ(two.plan_shipped("cold-start", kept).digest, digest);
  EXPECT_NE(two.plan_shipped("cold-start", {{"scheduler_port", "6820"}}).digest, digest);
}

TEST(RescuePlan, RefusesInvalidSettings) {
  const std::vector<std::pair<std::map<std::string, std::string>, std::string>> cases = {
      {{}, "parameter `tor` is not set"},
      {{{"tor", "train001"}}, "`train001` is not a switch"},
      {{{"tor", "be-spine[001-002]"}}, "matches 2 devices, not one"},
      {{{"tor", "nonsense"}}, "is not a device"},
      {{{"tor", "be-spine001"}, {"tro", "x"}}, "has no parameter `tro`"},
      {{{"tor", "be-spine001"}, {"boot_time", "soon"}}, "not a duration"},
      {{{"tor", "be-spine001"}, {"ready", "("}}, "not a pattern"},
      {{{"tor", "be-spine001"}, {"squeue", ""}}, ": empty"},
      {{{"tor", "be-spine001"}, {"squeue", "-rm"}}, "would become an option"},
  };
  for (const auto& [settings, message] : cases) {
    RescueBench bench;
    const Result<Runbook> shipped = open_runbook("pfc-storm", bench.sources, bench.diagnostics);
    ASSERT_TRUE(shipped.ok());
    EXPECT_FALSE(make_rescue_plan(*shipped, *bench.hosts, settings, bench.diagnostics).has_value());
    EXPECT_THAT(render_all(bench.diagnostics, bench.sources, false), HasSubstr(message));
  }
}

TEST(RescuePlan, RefusesInvalidPortsAndAddresses) {
  for (const auto& [settings, message] : std::vector<std::pair<std::map<std::string, std::string>, std::string>>{
           {{{"scheduler_port", "ssh"}}, "not a number"},
           {{{"scheduler_port", "0"}}, "a port must be a number between 1 and 65535"},
           {{{"scheduler_address", "-x"}}, "is not an address"}}) {
    RescueBench bench;
    const Result<Runbook> shipped = open_runbook("cold-start", bench.sources, bench.diagnostics);
    ASSERT_TRUE(shipped.ok());
    EXPECT_FALSE(make_rescue_plan(*shipped, *bench.hosts, settings, bench.diagnostics).has_value());
    EXPECT_THAT(render_all(bench.diagnostics, bench.sources, false), HasSubstr(message));
  }
}

// A value is always one word; in a pattern it matches literally.
TEST(RescuePlan, ParametersAreNeverSplit) {
  RescueBench bench;
  const RescuePlan& plan =
      bench.plan_text(book("  - {id: say, title: Say, do: {run: [echo, \"{{what}}\", \"a{{what}}b\"]}, within: 1m,\n"
                           "     expect: {command: {run: [cat], matches: \"^{{what}}$\"}}}\n",
                           "[]", "[{name: what, kind: text, help: h}]"),
                      {{"what", "x; rm -rf * {{tor}}"}});
  EXPECT_EQ(plan.steps[0].action.words[1], "x; rm -rf * {{tor}}");
  EXPECT_EQ(plan.steps[0].action.words[2], "ax; rm -rf * {{tor}}b");
  EXPECT_EQ(plan.steps[0].expect[0].matches, "^x; rm -rf \\* \\{\\{tor\\}\\}$");
}

TEST(RescuePath, ShippedRunbooksDoNotDependOnWhatTheyRescue) {
  for (const char* example : {"pod16", "pod32"}) {
    for (const std::string& name : runbook_names()) {
      RescueBench bench(example);
      std::map<std::string, std::string> settings;
      if (name == "pfc-storm" || name == "tor-boot-loop") settings["tor"] = "be-train-u001-leaf1";
      if (name == "bad-config-push") settings["switches"] = "@backend";
      EXPECT_EQ(findings_of(bench.plan_shipped(name, settings)), "") << name << " on " << example;
    }
  }
}

// An out-of-band leaf that serves its own PDUs cannot be cycled from here: oob-leaf003 is in svc-r02.
TEST(RescuePath, SwitchIsNotCycledThroughItself) {
  RescueBench bench;
  std::vector<std::string> refused;
  std::vector<std::string> fine;
  for (const std::uint32_t target : *bench.hosts->members("oob switches")) {
    const std::string name = bench.inventory->targets()[target].name;
    const RescuePlan& plan = bench.plan_text(book(power("cycle", name)));
    (plan.refused() ? refused : fine).push_back(name);
    // From the cables: which leaves serve the PDUs that feed it?
    bool own = false;
    for (const std::uint32_t pdu : bench.inventory->targets()[target].pdus) {
      const model::Cluster& cluster = *bench.loaded->cluster;
      for (const model::PortId port : cluster.ports_of(bench.inventory->targets()[pdu].device))
        own = own || cluster.name_of(cluster.port(cluster.peer_of(port)).device) == name;
    }
    if (own) {
      EXPECT_THAT(findings_of(plan), HasSubstr("is reachable only through itself")) << name;
    }
  }
  EXPECT_FALSE(refused.empty());
  EXPECT_FALSE(fine.empty());  // spines: their PDUs are on leaves that have another spine
}

TEST(RescuePath, SpinesCanBeCycledButNotLeftOff) {
  RescueBench bench;
  EXPECT_FALSE(bench.plan_text(book(power("cycle", "oob-spine001"))).refused()) << findings_of(bench.plan);
  // Each jump host is on the leaf that serves the PDUs of a spine: both spines can be recovered.
  EXPECT_FALSE(bench.plan_text(book(power("cycle", "oob-spine[001-002]"))).refused()) << findings_of(bench.plan);
  // If left off, they are missing later: no jump host is on the leaf of train001.
  const std::string later =
      "  - {id: first, title: First, do: {power: {verb: \"off\", hosts: \"oob-spine[001-002]\"}}, "
      "expect: {power: {hosts: train001, state: on}}, within: 5m, back: by hand}\n" +
      power("reset", "train001");
  EXPECT_THAT(findings_of(bench.plan_text(book(later))), HasSubstr("error go: train001 cannot be reached"));
}

TEST(RescuePath, PoweringOffEveryJumpHostIsRefused) {
  RescueBench bench;
  EXPECT_THAT(findings_of(bench.plan_text(book(power("cycle", "jump hosts")))),
              HasSubstr("error go: powers off every jump host"));
  EXPECT_THAT(findings_of(bench.plan_text(book(power("cycle", "jump001")))),
              HasSubstr("warning go: powers off jump001: run it from another"));
  EXPECT_FALSE(bench.plan.refused());
  const std::string off =
      "  - {id: first, title: First, do: {power: {verb: \"off\", hosts: jump002}}, expect: "
      "{power: {hosts: jump002, state: \"off\"}}, within: 5m, back: by hand}\n";
  EXPECT_THAT(findings_of(bench.plan_text(book(off + power("reset", "jump001")))), HasSubstr("every jump host"));
  EXPECT_THAT(findings_of(bench.plan_text(book(power("reset", "train001"), "[jump hosts]"))),
              HasSubstr("every jump host"));
}

TEST(RescuePath, CommandsMustNotUseFabricsThatAreDown) {
  RescueBench bench;
  const auto run = [](const std::string& words) {
    return "  - {id: go, title: Go, do: {run: " + words + "}, within: 1m}\n";
  };
  EXPECT_THAT(findings_of(bench.plan_text(book(run("[ssh, \"admin@10.20.50.168\", uptime]")))),
              HasSubstr("10.20.50.168 (fe1 of infra001), an address of the frontend network"));
  EXPECT_THAT(findings_of(bench.plan_text(book(run("[curl, \"https://10.20.50.168:6820/slurm\"]")))),
              HasSubstr("error go: depends on 10.20.50.168"));
  EXPECT_THAT(findings_of(bench.plan_text(book(run("[ssh, infra001, uptime]")))), HasSubstr("the name infra001"));
  EXPECT_THAT(findings_of(bench.plan_text(book(run("{words: [squeue], over: frontend}")))),
              HasSubstr("depends on the frontend network"));
  EXPECT_EQ(findings_of(bench.plan_text(book(run("[ssh, \"admin@10.160.0.2\", uptime]")))), "");  // a management port
  EXPECT_EQ(findings_of(bench.plan_text(book(run("[ssh, infra001, uptime]"), "[backend]"))), "");
  const std::string needs =
      "  - {id: go, title: Go, needs: [{port: {hosts: infra001, at: frontend, port: 22}}], do: "
      "{note: n}}\n";
  EXPECT_THAT(findings_of(bench.plan_text(book(needs))), HasSubstr("a precondition that depends on"));
  // Evidence may use the rescued device: that is its purpose.
  const std::string expect =
      "  - {id: go, title: Go, do: {note: n}, expect: {port: {hosts: infra001, at: frontend, "
      "port: 22}}, within: 1m}\n";
  EXPECT_EQ(findings_of(bench.plan_text(book(expect))), "");
}

// An out-of-band network behind the frontend is not a path when the frontend is down.
TEST(RescuePath, OutOfBandOverTheFrontendIsRefused) {
  std::string text = read_file(source_dir() + "/examples/pod32.yaml").value_or("");
  const std::string key = "oob: {leaf";
  ASSERT_NE(text.find(key), std::string::npos);
  text.replace(text.find(key), key.size(), "oob: {uplink_to_frontend: true, leaf");
  RescueBench bench("hung", text);
  const RescuePlan& down = bench.plan_text(book(power("reset", "servers but jump hosts")));
  EXPECT_THAT(findings_of(down), HasSubstr("cannot be reached"));
  EXPECT_FALSE(bench.plan_text(book(power("reset", "servers but jump hosts"), "[backend]")).refused())
      << findings_of(bench.plan);
}

// The order of cold-start is a topological order of the dependencies, derived from the cables of the model.
TEST(ColdStart, IsATopologicalOrder) {
  for (const char* example : {"pod16", "pod32", "superpod-h100-4su"}) {
    RescueBench bench(example);
    const RescuePlan& plan = bench.plan_shipped("cold-start");
    const model::Cluster& cluster = *bench.loaded->cluster;
    std::map<std::string, std::size_t> rank;  // step in which a device is brought up
    for (const std::uint32_t one : *bench.hosts->members("oob switches"))
      rank[bench.inventory->targets()[one].name] = 0;
    for (std::size_t i = 0; i < plan.steps.size(); ++i) {
      if (plan.steps[i].action.kind != RunbookDo::power) continue;
      EXPECT_EQ(plan.steps[i].action.verb, RunbookPower::on);
      for (const std::string& host : plan.steps[i].action.hosts) {
        EXPECT_FALSE(rank.contains(host)) << host << " is brought up twice";
        rank[host] = i + 1;
      }
    }
    std::size_t edges = 0;
    const auto before = [&](const std::string& first, const std::string& then) {
      ++edges;
      EXPECT_LT(rank.at(first), rank.at(then)) << first << " before " << then;
    };
    std::vector<std::string> control;
    std::vector<std::string> storage;
    for (const std::uint32_t one : *bench.hosts->members("control servers"))
      control.push_back(bench.inventory->targets()[one].name);
    for (const std::uint32_t one : *bench.hosts->members("storage servers"))
      storage.push_back(bench.inventory->targets()[one].name);
    for (const Target& target : bench.inventory->targets()) {
      if (target.role == Role::pdu) continue;
      ASSERT_TRUE(rank.contains(target.name)) << target.name << " is left dark";
      const model::DeviceGroup& group = cluster.group_of(target.device);
      const bool gpus = group.kind == model::DeviceKind::server && *cluster.server_of(target.device).gpus > 0;
      for (const model::PortId id : cluster.ports_of(target.device)) {
        const model::PortId peer = cluster.peer_of(id);
        if (peer == model::kNone<model::PortId>) continue;
        const model::DeviceId other = cluster.port(peer).device;
        if (cluster.group_of(other).kind != model::DeviceKind::network_switch) continue;
        // Its BMC or management port is on an out-of-band leaf; a server also needs the leaves of its fabrics, a
        // control-plane server only the frontend's.
        const bool manages = cluster.port(id).fabric == model::FabricKind::oob && rank.at(target.name) > 0;
        const bool serves = group.kind == model::DeviceKind::server &&
                            (cluster.port(id).fabric == model::FabricKind::frontend || !target.control);
        if (manages || serves) before(cluster.name_of(other), target.name);
      }
      if (!gpus) continue;
      for (const std::string& one : control) before(one, target.name);
      for (const std::string& one : storage) before(one, target.name);
    }
    EXPECT_GT(edges, 500U);
  }
}

}  // namespace
}  // namespace weft::oob
