#include "oob/audit/audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/test_places.h"
#include "model/load.h"
#include "oob/audit/default_logins.h"
#include "oob/bmc/fake_bmc.h"

namespace weft::oob {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;

// ---- one device, judged ----

class AuditRulesTest : public testing::Test {
 protected:
  AuditRulesTest() {
    BmcSettings settings;
    settings.ipmi_over_lan = false;
    settings.http = false;
    settings.host_interface = false;
    settings.syslog = std::vector<std::string>{"10.128.0.10:514"};
    settings.firewall = std::vector<std::string>{"10.128.0.16/32"};
    settings.ntp = std::vector<std::string>{"10.128.0.11"};
    facts_.settings = settings;
    facts_.users = std::vector<BmcUser>{{"2", "weft", UserRole::administrator, true, false}};
    facts_.identity = BmcIdentity{"Example", "X1", "S1", "U1", "1.0", ""};
    facts_.ipmi = IpmiProbe{};
    facts_.tls = TlsFacts{{}, "TLSv1.3", {}};
    facts_.source = *parse_ipv4("10.128.0.16");
    policy_.syslog = {"10.128.0.10"};
    policy_.jump_hosts = {*parse_ipv4("10.128.0.16")};
    policy_.our_addresses = {*parse_ipv4("10.128.0.16")};
  }

  [[nodiscard]] std::vector<std::string> rules() const {
    std::vector<std::string> ids;
    for (const Finding& finding : findings_of(device_, facts_, policy_)) ids.emplace_back(finding.rule->id);
    return ids;
  }
  [[nodiscard]] Finding only() const {
    const std::vector<Finding> found = findings_of(device_, facts_, policy_);
    EXPECT_EQ(found.size(), 1U);
    return found.empty() ? Finding{&audit_rules().front(), Severity::error, "", ""} : found.front();
  }

  Target device_ = fake_target("train01");
  DeviceFacts facts_;
  AuditPolicy policy_;
};

TEST_F(AuditRulesTest, HardenedDeviceHasNoFindings) { EXPECT_THAT(rules(), IsEmpty()); }

TEST_F(AuditRulesTest, UnreportedSettingsAreNoFindings) {
  facts_ = {};
  facts_.settings = BmcSettings{};
  EXPECT_THAT(rules(), IsEmpty());
}

TEST_F(AuditRulesTest, IpmiReportedOnIsAFinding) {
  facts_.settings->ipmi_over_lan = true;
  EXPECT_EQ(only().rule->id, "OB025");
  EXPECT_EQ(only().fix, "weft oob settings CLUSTER HOSTS --ipmi off");
}

TEST_F(AuditRulesTest, IpmiObservedOnIsAFinding) {
  facts_.ipmi->answered = true;
  EXPECT_THAT(only().what, HasSubstr("reports IPMI as disabled, but answers"));
  facts_.settings.reset();
  EXPECT_EQ(only().what, "has IPMI over LAN enabled");
}

TEST_F(AuditRulesTest, IpmiAsTheOnlyAccessIsNotDisabled) {
  device_.endpoint.protocol = Protocol::ipmi;
  facts_.settings->ipmi_over_lan = true;
  EXPECT_EQ(only().rule->id, "OB025");
  EXPECT_THAT(only().fix, Not(HasSubstr("--ipmi off")));
}

TEST_F(AuditRulesTest, CipherSuites) {
  facts_.settings->cipher_suites = {17};
  EXPECT_THAT(rules(), IsEmpty());
  facts_.settings->cipher_suites = {3, 17};
  EXPECT_THAT(rules(), ElementsAre("OB027"));
  policy_.suites = {3, 17};  // allowed by the cluster file
  EXPECT_THAT(rules(), IsEmpty());
  policy_.suites = {0, 1, 3, 17};  // these are never allowed
  facts_.settings->cipher_suites = {0, 1, 17};
  EXPECT_THAT(rules(), ElementsAre("OB026", "OB027"));
  facts_.ipmi->suites = {17};  // observed suites take precedence over reported ones
  EXPECT_THAT(rules(), IsEmpty());
}

TEST_F(AuditRulesTest, HttpHostInterfaceFirewallAndTime) {
  facts_.settings->http = true;
  EXPECT_EQ(only().rule->id, "OB040");
  facts_.settings->http = false;
  facts_.settings->host_interface = true;
  EXPECT_EQ(only().rule->id, "OB030");
  facts_.settings->host_interface = false;
  facts_.settings->firewall->clear();
  EXPECT_EQ(only().rule->id, "OB029");
  EXPECT_EQ(only().fix, "weft oob settings CLUSTER HOSTS --allow 10.128.0.16/32");
  facts_.settings->firewall->push_back("10.0.0.0/8");
  facts_.settings->ntp->clear();
  EXPECT_EQ(only().rule->id, "OB043");
}

TEST_F(AuditRulesTest, Syslog) {
  facts_.settings->syslog->clear();
  EXPECT_EQ(only().rule->id, "OB019");
  EXPECT_EQ(only().fix, "weft oob settings CLUSTER HOSTS --log-to 10.128.0.10");
  facts_.settings->syslog = std::vector<std::string>{"udp://10.9.9.9:514"};
  EXPECT_EQ(only().rule->id, "OB042");
  facts_.settings->syslog->push_back("tls://10.128.0.10:6514");
  EXPECT_THAT(rules(), IsEmpty());
  facts_.settings->syslog = std::vector<std::string>{"10.9.9.9"};
  policy_.syslog.clear();  // the cluster file names none
  EXPECT_THAT(rules(), IsEmpty());
}

TEST_F(AuditRulesTest, Certificates) {
  facts_.tls->problems = {"has expired", "is self-signed"};
  EXPECT_EQ(only().rule->id, "OB041");
  EXPECT_EQ(only().what, "its certificate has expired, is self-signed");
  facts_.tls.reset();
  device_.endpoint.tls.verify = false;
  EXPECT_EQ(only().rule->id, "OB028");
  device_.endpoint.protocol = Protocol::ipmi;
  EXPECT_THAT(rules(), IsEmpty());
}

TEST_F(AuditRulesTest, UsersWithoutAName) {
  facts_.users->push_back({"1", "", UserRole::none, false, false});  // an empty slot
  EXPECT_THAT(rules(), IsEmpty());
  facts_.users->push_back({"3", "", UserRole::operating, true, false});
  EXPECT_EQ(only().rule->id, "OB044");
  facts_.users.reset();
  facts_.ipmi->anonymous_login = true;
  EXPECT_EQ(only().rule->id, "OB044");
}

TEST_F(AuditRulesTest, FactoryLogins) {
  facts_.stored_default = true;
  EXPECT_EQ(only().rule->id, "OB023");
  facts_.stored_default = false;
  facts_.open_to = "ADMIN";
  EXPECT_EQ(only().rule->id, "OB023");
  EXPECT_THAT(only().fix, HasSubstr("--disable ADMIN"));
}

TEST_F(AuditRulesTest, UnreachableOrRefused) {
  facts_ = {};
  facts_.no_session = Error{ErrorCode::timeout, "no answer in time", {}};
  EXPECT_EQ(only().rule->id, "OB047");
  facts_.no_session = Error{ErrorCode::refused, "login refused", {}};
  EXPECT_EQ(only().rule->id, "OB048");
  facts_.tls = TlsFacts{{"has expired"}, "TLSv1.3", {}};  // the login was not the problem
  EXPECT_EQ(only().rule->id, "OB041");
  facts_.tls.reset();
  facts_.no_session.reset();
  facts_.untold = {"settings", "accounts"};
  facts_.untold_why = Error{ErrorCode::not_found, "no such thing; try another", {}};
  EXPECT_EQ(only().rule->id, "OB052");
  EXPECT_EQ(only().what, "does not report its settings and accounts: no such thing");
}

TEST_F(AuditRulesTest, ReachableFromOutsideTheJumpHosts) {
  facts_.source = *parse_ipv4("10.30.1.7");
  policy_.our_addresses = {*parse_ipv4("10.30.1.7")};
  EXPECT_EQ(only().rule->id, "OB049");
  EXPECT_EQ(only().what, "is reachable from 10.30.1.7, which is not a jump host");
  policy_.jump_only = false;
  EXPECT_THAT(rules(), IsEmpty());
  policy_.jump_only = true;
  policy_.our_addresses.push_back(policy_.jump_hosts[0]);  // a jump host with a second address
  EXPECT_THAT(rules(), IsEmpty());
  policy_.our_addresses.clear();
  facts_.source = *parse_ipv4("127.0.0.1");
  EXPECT_THAT(rules(), IsEmpty());
  facts_.source = *parse_ipv4("10.30.1.7");
  facts_.no_session = Error{ErrorCode::unavailable, "no route", {}};  // the access list works
  EXPECT_THAT(rules(), ElementsAre("OB047"));
}

TEST_F(AuditRulesTest, Firmware) {
  Advisory advisory{"CVE-2099-1", "open", "https://example.org", Severity::warning, {}};
  advisory.affects.push_back({{"Example"}, "", FirmwareScope::ranges, {{"", "1.5", ""}}, false});
  policy_.advisories = {advisory};
  EXPECT_EQ(only().rule->id, "OB045");
  EXPECT_EQ(only().severity, Severity::warning);  // the advisory's own severity
  EXPECT_THAT(only().fix, HasSubstr("https://example.org"));
  policy_.advisories[0].affects[0] = {{"*"}, "", FirmwareScope::any, {}, true};
  EXPECT_THAT(rules(), IsEmpty());  // IPMI is off
  facts_.settings->ipmi_over_lan = true;
  EXPECT_THAT(rules(), ElementsAre("OB025", "OB045"));
  EXPECT_THAT(findings_of(device_, facts_, policy_).back().fix, HasSubstr("--ipmi off"));
  facts_.settings->ipmi_over_lan = false;
  policy_.advisories = {advisory};
  facts_.identity->firmware = "1.5";
  EXPECT_THAT(rules(), IsEmpty());
  facts_.identity->firmware = "";
  EXPECT_EQ(only().rule->id, "OB046");
  EXPECT_EQ(only().severity, Severity::note);
}

TEST(AuditRuleTable, IdsAreUniqueAndSorted) {
  const std::vector<AuditRule>& rules = audit_rules();
  ASSERT_GT(rules.size(), 10U);
  for (std::size_t i = 1; i < rules.size(); ++i) EXPECT_LT(rules[i - 1].id, rules[i].id);
}

// ---- a fleet ----

// Also checks user names: FakeConnector accepts any.
class NamedConnector final : public BmcConnector {
 public:
  struct Try {
    std::string device;
    std::string user;
  };
  [[nodiscard]] Result<std::unique_ptr<Bmc>> dial(const Endpoint& endpoint, const std::string& user,
                                                  const Secret& password) override {
    tries.push_back({endpoint.device, user});
    if (busy && user != "weft") return Error{ErrorCode::conflict, "no free session", endpoint.device};
    const auto machine = machines.find(endpoint.device);
    if (machine == machines.end()) return Error{ErrorCode::unavailable, "no answer", endpoint.device};
    const auto known = logins.find({endpoint.device, user});
    if (known == logins.end() || known->second != password.reveal())
      return Error{ErrorCode::refused, "login refused", endpoint.device};
    if (Status dialled = machine->second->dialled(password); !dialled.ok()) return dialled.error();
    return std::unique_ptr<Bmc>(std::make_unique<FakeBmc>(machine->second));
  }
  std::map<std::string, std::shared_ptr<FakeMachine>> machines;
  std::map<std::pair<std::string, std::string>, std::string> logins;
  std::vector<Try> tries;
  bool busy = false;
};

class AuditTest : public testing::Test {
 protected:
  AuditTest() {
    for (const char* name : {"train01", "train02", "train03"}) {
      auto machine = std::make_shared<FakeMachine>(name, clock_);
      machine->identity = {"Supermicro", "SYS-821GE", fmt::format("S-{}", name), fmt::format("uuid-{}", name),
                           "1.0",        ""};
      machine->users = {{"2", "weft", UserRole::administrator, true, false}};
      connector_.machines[name] = machine;
      connector_.logins[{name, "weft"}] = fmt::format("secret of {}", name);
      EXPECT_TRUE(credentials_.put(name, {"weft", Secret(fmt::format("secret of {}", name)), std::nullopt}).ok());
    }
    probes_.ipmi = [](const Endpoint&) -> Result<IpmiProbe> { return IpmiProbe{}; };
    probes_.tls = [](const Endpoint&) -> Result<TlsFacts> { return TlsFacts{}; };
    probes_.source = [](const std::string&) { return parse_ipv4("127.0.0.1"); };
  }

  AuditReport audit(bool try_defaults = false) {
    connector_.tries.clear();
    const std::vector<DeviceFacts> facts = gather_facts(fleet_, all_, {try_defaults, "test"}, probes_);
    return judge_fleet(fleet_, nullptr, all_, facts, policy_);
  }
  static std::vector<std::string> rules(const AuditReport& report) {
    std::vector<std::string> ids;
    for (const FoldedFinding& row : report.findings) ids.emplace_back(row.finding.rule->id);
    return ids;
  }
  [[nodiscard]] std::string text(const AuditReport& report, OutputFormat format = OutputFormat::table) const {
    return write(audit_document(inventory_, report, policy_, "pod.yaml"), {.format = format});
  }
  // Number of attempts with other accounts than ours.
  [[nodiscard]] std::size_t foreign_tries(const std::string& device) const {
    return static_cast<std::size_t>(
        std::count_if(connector_.tries.begin(), connector_.tries.end(),
                      [&](const NamedConnector::Try& one) { return one.device == device && one.user != "weft"; }));
  }

  ManualClock clock_;
  MemoryJournal journal_;
  Inventory inventory_{{fake_target("train01"), fake_target("train02"), fake_target("train03")}, {}};
  NamedConnector connector_;
  FakeCredentials credentials_;
  Fleet fleet_{inventory_, connector_, credentials_, clock_, journal_, 1};
  AuditProbes probes_;
  AuditPolicy policy_;
  const std::vector<std::uint32_t> all_{0, 1, 2};
};

TEST_F(AuditTest, HardenedFleetHasNoFindings) {
  const AuditReport report = audit();
  EXPECT_THAT(rules(report), IsEmpty());
  EXPECT_FALSE(report.has_errors());
  EXPECT_THAT(text(report), HasSubstr("3 devices audited, 0 unreachable; nothing found"));
  EXPECT_THAT(text(report), HasSubstr("--advisories"));
  EXPECT_EQ(connector_.tries.size(), 3U);  // only our own login
  for (const auto& [name, machine] : connector_.machines) EXPECT_EQ(machine->sessions(), 0);
}

TEST_F(AuditTest, EqualFindingsAreOneRowWithTheFixCommand) {
  for (const char* name : {"train01", "train02"}) connector_.machines[name]->settings.ipmi_over_lan = true;
  connector_.machines["train03"]->settings.ntp = std::vector<std::string>{};
  const AuditReport report = audit();
  EXPECT_THAT(rules(report), ElementsAre("OB025", "OB043"));  // errors first
  EXPECT_TRUE(report.has_errors());
  EXPECT_THAT(text(report), HasSubstr("weft oob settings pod.yaml 'train[01-02]' --ipmi off"));
  EXPECT_THAT(text(report, OutputFormat::json), HasSubstr("\"rule\": \"OB025\""));
}

TEST_F(AuditTest, UnreachableDevicesAreNamedAndDoNotAffectOthers) {
  connector_.machines.erase("train02");
  connector_.logins.erase({"train03", "weft"});
  const AuditReport report = audit();
  EXPECT_THAT(rules(report), ElementsAre("OB047", "OB048"));
  EXPECT_FALSE(report.has_errors());
  EXPECT_EQ(report.unreached.size(), 2U);
  EXPECT_THAT(text(report), HasSubstr("2 unreachable"));
}

TEST_F(AuditTest, SharedPasswordsAreCountedNotShown) {
  for (const char* name : {"train01", "train03"}) {
    connector_.logins[{name, "weft"}] = "one for two";
    ASSERT_TRUE(credentials_.put(name, {"weft", Secret("one for two"), std::nullopt}).ok());
  }
  const AuditReport report = audit();
  ASSERT_THAT(rules(report), ElementsAre("OB024"));
  EXPECT_THAT(report.findings[0].targets, ElementsAre(0, 2));
  EXPECT_EQ(report.findings[0].finding.what, "1 password stored for 2 BMCs");
  EXPECT_THAT(text(report, OutputFormat::json), Not(HasSubstr("one for two")));
}

TEST_F(AuditTest, OneMachineBehindTwoAddressesIsReported) {
  connector_.machines["train03"]->identity.uuid = "UUID-train01";  // BMCs differ in upper and lower case
  AuditReport report = audit();
  ASSERT_THAT(rules(report), ElementsAre("OB050"));
  EXPECT_THAT(report.findings[0].targets, ElementsAre(0, 2));
  connector_.machines["train03"]->identity.uuid = "00000000-0000-0000-0000-000000000000";
  connector_.machines["train01"]->identity.uuid = "00000000-0000-0000-0000-000000000000";
  for (const char* name : {"train01", "train02"}) connector_.machines[name]->identity.serial = "To Be Filled By O.E.M.";
  EXPECT_THAT(rules(audit()), IsEmpty());
}

TEST_F(AuditTest, DeviceThatDiffersFromItsPoolIsReported) {
  connector_.machines["train02"]->identity.model = "SYS-221H";
  const AuditReport report = audit();
  ASSERT_THAT(rules(report), ElementsAre("OB051"));
  EXPECT_THAT(report.findings[0].finding.what, HasSubstr("is Supermicro SYS-221H, but 2 of 3"));
}

TEST_F(AuditTest, FactoryLoginsAreTriedOnlyWhenAsked) {
  connector_.logins[{"train02", "ADMIN"}] = "ADMIN";
  EXPECT_THAT(rules(audit()), IsEmpty());
  EXPECT_THAT(journal_.read().value_or({}), IsEmpty());
  const AuditReport report = audit(true);
  ASSERT_THAT(rules(report), ElementsAre("OB023"));
  EXPECT_THAT(report.findings[0].targets, ElementsAre(1));
  for (const char* name : {"train01", "train02", "train03"}) EXPECT_LE(foreign_tries(name), kMaxDefaultTries);
  const std::vector<JournalEntry> entries = journal_.read().value_or({});
  ASSERT_GE(entries.size(), 4U);
  EXPECT_EQ(entries.front().phase, Phase::begin);
  EXPECT_EQ(entries.back().phase, Phase::end);
  for (const JournalEntry& entry : entries)
    EXPECT_EQ(write_json_line(entry.detail).find("\"password"), std::string::npos);
  for (const auto& [name, machine] : connector_.machines) EXPECT_EQ(machine->sessions(), 0);
}

TEST_F(AuditTest, UnknownVendorGetsTwoAttemptsWithAPause) {
  for (const auto& [name, machine] : connector_.machines) machine->identity.manufacturer = "Nobody Ltd";
  EXPECT_THAT(rules(audit(true)), IsEmpty());
  EXPECT_EQ(foreign_tries("train01"), 2U);
  EXPECT_EQ(clock_.now(), milliseconds(9'000));  // one pause of three seconds each
}

TEST_F(AuditTest, OwnRefusedLoginCountsAsAnAttempt) {
  for (const char* name : {"train01", "train02", "train03"}) connector_.logins.erase({name, "weft"});
  EXPECT_THAT(rules(audit(true)), ElementsAre("OB048"));
  EXPECT_EQ(foreign_tries("train01"), 1U);
}

TEST_F(AuditTest, RemainingAttemptUsesTheKnownAccount) {
  ASSERT_TRUE(credentials_.put("train01", {"admin", Secret("rotated"), std::nullopt}).ok());
  connector_.logins[{"train01", "admin"}] = "admin";  // back from repair, with factory settings
  const AuditReport report = audit(true);
  EXPECT_THAT(rules(report), ElementsAre("OB023", "OB048"));
}

TEST_F(AuditTest, BusyOrDeadBmcGetsNoMoreAttempts) {
  connector_.machines.erase("train02");
  connector_.busy = true;
  (void)audit(true);
  EXPECT_EQ(foreign_tries("train01"), 1U);  // busy: stopped after the first attempt
  EXPECT_EQ(foreign_tries("train02"), 0U);
}

TEST_F(AuditTest, FactoryLoginInTheStoreIsFoundWithoutAttempts) {
  connector_.logins[{"train01", "root"}] = "calvin";
  ASSERT_TRUE(credentials_.put("train01", {"root", Secret("calvin"), std::nullopt}).ok());
  const AuditReport report = audit();
  ASSERT_THAT(rules(report), ElementsAre("OB023"));
  EXPECT_THAT(text(report), Not(HasSubstr("calvin")));
  (void)audit(true);
  const auto dialled = std::count_if(connector_.tries.begin(), connector_.tries.end(),
                                     [](const NamedConnector::Try& one) { return one.device == "train01"; });
  EXPECT_EQ(dialled, 1);
}

TEST_F(AuditTest, NetworkProbesProduceFindings) {
  probes_.ipmi = [](const Endpoint& endpoint) -> Result<IpmiProbe> {
    if (endpoint.device != "train03") return IpmiProbe{};
    return IpmiProbe{true, false, {0, 3, 17}};
  };
  int looks = 0;
  probes_.tls = [&](const Endpoint&) -> Result<TlsFacts> {
    ++looks;
    return TlsFacts{{"is self-signed"}, "TLSv1.2", {}};
  };
  connector_.logins.erase({"train02", "weft"});  // refused because of its certificate
  const AuditReport report = audit();
  EXPECT_THAT(rules(report), ElementsAre("OB025", "OB026", "OB027", "OB041"));
  EXPECT_EQ(report.unreached.size(), 1U);
  EXPECT_EQ(looks, 1);  // a verified session has proven its certificate
}

TEST_F(AuditTest, CertificateIsProbedIfTlsIsNotVerified) {
  std::vector<Target> targets = inventory_.targets();
  targets[0].endpoint.tls.verify = false;
  inventory_ = Inventory(std::move(targets), {});
  probes_.tls = [](const Endpoint&) -> Result<TlsFacts> { return TlsFacts{{"is self-signed"}, "TLSv1.2", {}}; };
  EXPECT_THAT(rules(audit()), ElementsAre("OB028", "OB041"));
}

TEST_F(AuditTest, BmcWithOnlyInvalidResponsesIsUnreached) {
  connector_.machines["train01"]->before_call = [](const std::string& call) -> std::optional<Error> {
    if (call != "dial") return Error{ErrorCode::invalid_input, "sent an invalid response: not JSON", {}};
    return std::nullopt;
  };
  const AuditReport report = audit();
  EXPECT_THAT(rules(report), ElementsAre("OB047"));
  EXPECT_EQ(report.unreached.size(), 1U);
}

TEST_F(AuditTest, NetworkIsNotProbedBehindAProxy) {
  std::vector<Target> targets = inventory_.targets();
  for (Target& target : targets) target.endpoint.proxy = "socks5h://127.0.0.1:1080";
  inventory_ = Inventory(std::move(targets), {});
  probes_.ipmi = [](const Endpoint&) -> Result<IpmiProbe> { return IpmiProbe{true, true, {0}}; };
  EXPECT_THAT(rules(audit()), IsEmpty());
}

TEST_F(AuditTest, UnreportedFactsAreOnlyNoted) {
  connector_.machines["train01"]->before_call = [](const std::string& call) -> std::optional<Error> {
    if (call == "settings") return Error{ErrorCode::invalid_input, "rubbish", {}};
    return std::nullopt;
  };
  const AuditReport report = audit();
  EXPECT_THAT(rules(report), ElementsAre("OB052"));
  EXPECT_FALSE(report.has_errors());
}

TEST_F(AuditTest, OutputIsDeterministic) {
  for (const auto& [name, machine] : connector_.machines) machine->settings.http = name != "train02";
  connector_.machines["train02"]->settings.ipmi_over_lan = true;
  EXPECT_EQ(text(audit(), OutputFormat::json), text(audit(), OutputFormat::json));
}

// ---- policy from the cluster file ----

TEST(AuditPolicyTest, ComesFromTheClusterFile) {
  const std::unique_ptr<model::Loaded> loaded = model::load_cluster(source_dir() + "/examples/pod16.yaml", {});
  ASSERT_NE(loaded->cluster, nullptr);
  const AuditPolicy policy = policy_of(*loaded->cluster);
  EXPECT_THAT(policy.syslog, ElementsAre("10.128.0.10"));
  EXPECT_THAT(policy.suites, ElementsAre(17));
  EXPECT_EQ(policy.jump_hosts.size(), 2U);
  EXPECT_TRUE(policy.jump_only);
}

TEST(AuditIdentity, ReportedModelIsComparedWithTheCatalog) {
  const std::unique_ptr<model::Loaded> loaded =
      model::load_cluster_text("c.yaml",
                               "weft: 1\nname: c\nprofile: converged\npools:\n"
                               "  - {name: train, role: training, server: dgx-h100, count: 4}\n");
  ASSERT_NE(loaded->cluster, nullptr);
  Target target = fake_target("train001");
  target.device = loaded->cluster->find_device("train1");
  for (const char* name : {"train001", "train01", "train1"}) {
    if (loaded->cluster->find_device(name) != model::kNone<model::DeviceId>)
      target.device = loaded->cluster->find_device(name);
  }
  ASSERT_NE(target.device, model::kNone<model::DeviceId>);
  const auto mismatch = [&](const char* maker, const char* model) {
    return model_mismatch(*loaded->cluster, target, {maker, model, "", "", "", ""});
  };
  EXPECT_EQ(mismatch("NVIDIA", "DGXH100"), "");
  EXPECT_EQ(mismatch("NVIDIA Corporation", "DGX H100"), "");
  EXPECT_EQ(mismatch("", ""), "");
  EXPECT_THAT(mismatch("NVIDIA", "DGXA100 920-23687-2530-000"), HasSubstr("but the design has NVIDIA"));
  EXPECT_THAT(mismatch("Dell Inc.", "PowerEdge XE9680"),
              HasSubstr("is Dell Inc. PowerEdge XE9680, but the design has"));
}

TEST(AuditIdentity, InventoryNamesLocationAndFeeds) {
  const std::unique_ptr<model::Loaded> loaded = model::load_cluster(source_dir() + "/examples/pod16.yaml", {});
  ASSERT_NE(loaded->cluster, nullptr);
  Diagnostics diagnostics;
  const std::optional<Inventory> inventory = make_inventory(*loaded->cluster, diagnostics);
  ASSERT_TRUE(inventory.has_value());
  const std::uint32_t first = inventory->find("train001").value_or(0);
  const std::string text = write(inventory_document(*inventory, {first}), {});
  EXPECT_THAT(text, testing::ContainsRegex("train001 +10\\.[0-9.]+ +redfish +server +train +[^ ]+ +1, 2, 3 +hgx-h100"));
  bool trouble = true;
  (void)probed_document(*inventory, *loaded->cluster, {first}, {{first, {"A", "B", "C", "D", "1", ""}}}, {}, trouble);
  EXPECT_FALSE(trouble);  // a generic model has no manufacturer
}

}  // namespace
}  // namespace weft::oob
