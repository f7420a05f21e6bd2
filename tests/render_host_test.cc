// Files rendered for hosts, checked with the programs that read them on hosts: netplan, udev, python, bash, and weft's
// own checker.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "base/json.h"
#include "base/test_places.h"
#include "base/test_prerequisites.h"
#include "lab.h"
#include "rendered.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using testing_lab::Lab;
using testing_rendered::load_example;
using testing_rendered::Rendering;

std::unique_ptr<Rendering> hosts_of(const std::string& example, const testing_rendered::Edits& edits = {}) {
  auto rendering = load_example(example, edits);
  if (rendering != nullptr) rendering->render("host");
  return rendering;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// The first server of each pool, with the path of its netplan file.
std::map<std::string, std::string> samples(const Rendering& rendering) {
  std::map<std::string, std::string> out;
  for (const render::PoolPlan& pool : rendering.plan->pools()) {
    const std::string& name = rendering.cluster().name_of(pool.group->first);
    out[name] = "host/" + pool.name() + "/" + name + "/netplan/60-weft.yaml";
  }
  return out;
}

// Output of netplan for one server, all files together.
std::string generated(Lab& lab, const std::string& name, const std::string& text) {
  const fs::path root = lab.folder() / name;
  fs::create_directories(root / "etc/netplan");
  EXPECT_TRUE(write_file((root / "etc/netplan/60-weft.yaml").string(), text).ok());
  fs::permissions(root / "etc/netplan/60-weft.yaml", fs::perms(0600));
  const auto outcome = lab.run({"netplan", "generate", "--root-dir", root.string()}, 20, true);
  EXPECT_EQ(outcome.code, 0) << name << ": " << outcome.out << "\n" << text;
  std::string all;
  if (!fs::exists(root / "run/systemd/network")) return all;
  std::set<fs::path> files;
  for (const auto& entry : fs::directory_iterator(root / "run/systemd/network")) files.insert(entry.path());
  for (const fs::path& file : files) all += "## " + file.filename().string() + "\n" + Lab::contents(file);
  return all;
}

TEST(RenderHost, NetplanTakesTheServersOfEveryPool) {
  WEFT_NEEDS_PROGRAM("netplan");
  Lab lab("netplan");
  for (const char* example : {"pod16.yaml", "superpod-h100-4su.yaml"}) {
    const auto rendering = hosts_of(example);
    ASSERT_NE(rendering, nullptr);
    ASSERT_FALSE(samples(*rendering).empty());
    for (const auto& [name, path] : samples(*rendering)) {
      const std::string made = generated(lab, name, rendering->sink.content(path));
      // Every address of the design that belongs to the operating system, with its prefix, and nothing else.
      const model::DeviceId id = rendering->cluster().find_device(name);
      std::set<std::string> wanted;
      for (const model::PortId port_id : rendering->cluster().ports_of(id)) {
        const model::Port& port = rendering->cluster().port(port_id);
        if (port.address == Ipv4{} || (port.fabric == model::FabricKind::oob && port.rail == 0)) continue;
        const model::Subnet& subnet = rendering->cluster().subnet(port.subnet);
        wanted.insert("Address=" + to_text(port.address) + "/" + std::to_string(subnet.prefix.length));
      }
      std::set<std::string> found;
      for (const std::string& line : lines_of(made)) {
        if (line.starts_with("Address=")) found.insert(line);
      }
      EXPECT_FALSE(wanted.empty()) << name;
      EXPECT_EQ(found, wanted) << name;
    }
  }
}

// One default route, on the frontend; no route of a rail leads outside the rail.
TEST(RenderHost, OnlyTheFrontendLeadsOut) {
  WEFT_NEEDS_PROGRAM("netplan");
  Lab lab("routes");
  const auto rendering = hosts_of("pod16.yaml");
  ASSERT_NE(rendering, nullptr);
  const std::string made =
      generated(lab, "train001", rendering->sink.content("host/train/train001/netplan/60-weft.yaml"));
  std::string file;
  int defaults = 0;
  std::map<std::string, std::set<std::string>> destinations;
  for (const std::string& line : lines_of(made)) {
    if (line.starts_with("## ")) file = line;
    if (line == "Destination=0.0.0.0/0") {
      ++defaults;
      EXPECT_NE(file.find("bond-fe.network"), std::string::npos) << file;
    } else if (line.starts_with("Destination=")) {
      destinations[file].insert(line.substr(12));
    }
  }
  EXPECT_EQ(defaults, 1) << made;
  // 10.60.0.0/16 is the first rail of the example, of which the unit's part is 10.60.0.0/26.
  const auto rail = destinations.find("## 10-netplan-be1.network");
  ASSERT_NE(rail, destinations.end()) << made;
  EXPECT_EQ(rail->second, (std::set<std::string>{"10.60.0.0/16", "10.60.0.0/26"}));
  EXPECT_NE(made.find("MTUBytes=9000"), std::string::npos);
  EXPECT_NE(made.find("Mode=802.3ad"), std::string::npos) << "the bond speaks LACP";
  EXPECT_NE(made.find("From=10.60.0.2"), std::string::npos) << "a rail answers for itself";
}

// InfiniBand: IPoIB cannot carry more than the link's 4096 bytes minus its header.
TEST(RenderHost, IpOverInfinibandFitsTheLink) {
  WEFT_NEEDS_PROGRAM("netplan");
  Lab lab("ipoib");
  const auto rendering = hosts_of("superpod-h100-4su.yaml");
  ASSERT_NE(rendering, nullptr);
  const std::string made = generated(lab, "dgx001", rendering->sink.content("host/dgx/dgx001/netplan/60-weft.yaml"));
  EXPECT_NE(made.find("[IPoIB]\nMode=datagram"), std::string::npos) << made;
  EXPECT_NE(made.find("MTUBytes=4092"), std::string::npos);
  EXPECT_EQ(made.find("MTUBytes=4096"), std::string::npos);
}

TEST(RenderHost, KernelKnowsItsSettings) {
  WEFT_NEEDS(fs::exists("/proc/sys/net/ipv4/ip_forward"), "/proc/sys");
  const auto rendering = hosts_of("pod16.yaml");
  ASSERT_NE(rendering, nullptr);
  const std::regex setting(R"((-?)([a-z][a-z0-9_.-]*) = (.+))");
  int seen = 0;
  for (const render::PoolPlan& pool : rendering->plan->pools()) {
    for (const std::string& line :
         lines_of(rendering->sink.content("host/" + pool.name() + "/sysctl.d/90-weft.conf"))) {
      if (line.empty() || line.front() == '#') continue;
      std::smatch parts;
      ASSERT_TRUE(std::regex_match(line, parts, setting)) << line;
      if (parts[1] == "-") continue;  // of a port that this machine does not have
      std::string path = parts[2];
      for (char& c : path) c = c == '.' ? '/' : c;
      // Some do not exist in a container's network namespace.
      if (path.starts_with("net/core/") || path.starts_with("kernel/") || path.find("/neigh/") != std::string::npos)
        continue;
      EXPECT_TRUE(fs::exists("/proc/sys/" + path)) << path;
      ++seen;
    }
  }
  EXPECT_GT(seen, 50);
}

TEST(RenderHost, ScriptsAreWellFormed) {
  for (const char* program : {"bash", "python3", "shellcheck"}) WEFT_NEEDS_PROGRAM(program);
  Lab lab("scripts");
  for (const char* example : {"pod16.yaml", "superpod-h100-4su.yaml"}) {
    int scripts = 0;
    const auto rendering = hosts_of(example);
    ASSERT_NE(rendering, nullptr);
    for (const auto& [path, file] : rendering->sink.files) {
      if (!file.content.starts_with("#!")) continue;
      EXPECT_EQ(file.mode, "0755") << path;
      lab.put("script", file.content);
      const bool python = file.content.starts_with("#!/usr/bin/python3");
      const auto outcome = python ? lab.run({"python3", "-m", "py_compile", "script"}, 20, true)
                                  : lab.run({"bash", "-n", "script"}, 20, true);
      EXPECT_EQ(outcome.code, 0) << path << ": " << outcome.out;
      ++scripts;
      if (!python) {
        const auto lint = lab.run({"shellcheck", "--severity=warning", "script"}, 20, true);
        EXPECT_EQ(lint.code, 0) << path << ": " << lint.out;
      }
    }
    EXPECT_GE(scripts, 2) << example;
  }
}

// A host as its kernel presents it: ports with arbitrary names, each with an address and a PCI function.
class FakeHost {
 public:
  explicit FakeHost(fs::path root) : root_(std::move(root)) {}
  void port(const std::string& name, const std::string& address, const std::string& pci, bool infiniband = false) {
    const fs::path net = root_ / "class/net" / name;
    const fs::path device = root_ / "devices" / pci;
    fs::create_directories(net);
    fs::create_directories(device);
    (void)write_file((net / "address").string(), address + "\n");
    (void)write_file((net / "type").string(), infiniband ? "32\n" : "1\n");
    fs::create_directory_symlink(device, net / "device");
  }
  void rdma(const std::string& name, const std::string& pci) const {
    fs::create_directories(root_ / "class/infiniband" / name);
    fs::create_directory_symlink(root_ / "devices" / pci, root_ / "class/infiniband" / name / "device");
  }
  void function(const std::string& port, const std::string& pci, int number) const {
    fs::create_directories(root_ / "devices" / pci);
    fs::create_directory_symlink(root_ / "devices" / port, root_ / "devices" / pci / "physfn");
    fs::create_directory_symlink(root_ / "devices" / pci,
                                 root_ / "devices" / port / ("virtfn" + std::to_string(number)));
  }

 private:
  fs::path root_;
};

// LLDP as reported by a host of pod16 (examples/running): ports by their kernel names, cabled as designed.
TEST(RenderHost, PortsAreNamedAfterTheirCables) {
  WEFT_NEEDS_PROGRAM("python3");
  Lab lab("naming");
  const auto rendering = hosts_of("pod16.yaml");
  ASSERT_NE(rendering, nullptr);
  FakeHost host(lab.folder() / "sys");
  const std::vector<std::pair<std::string, std::string>> cabled = {
      {"enp26s0np0", "be1"},    {"enp60s0np0", "be2"},     {"enp77s0np0", "be3"},   {"enp94s0np0", "be4"},
      {"enp156s0np0", "be5"},   {"enp188s0np0", "be6"},    {"enp204s0np0", "be7"},  {"enp220s0np0", "be8"},
      {"enp41s0f0np0", "sto1"}, {"enp170s0f0np0", "sto2"}, {"enp55s0f0np0", "fe1"}, {"enp55s0f1np1", "fe2"}};
  for (std::size_t i = 0; i < cabled.size(); ++i) {
    host.port(cabled[i].first, "02:00:00:00:00:" + std::to_string(10 + i), "0000:" + std::to_string(10 + i) + ":00.0");
  }
  auto lldp = read_file(testing_rendered::source_path("examples/running/train001.lldp.json"));
  ASSERT_TRUE(lldp.ok());
  // The frontend of this example runs Cumulus Linux; the recorded host was connected to another OS.
  std::string text = *lldp;
  for (std::size_t at = 0; (at = text.find("Ethernet1/1\"", at)) != std::string::npos;) text.replace(at, 12, "swp1\"");
  // The description, which would be enough by itself, is removed: the switch's port name must suffice.
  for (std::size_t at = 0; (at = text.find("\"train001 ", at)) != std::string::npos;) text.replace(at, 10, "\"to ");
  lab.put("lldp.json", text);
  lab.put("name-nics", rendering->sink.content("host/common/name-nics"));
  lab.put("wiring.tsv", rendering->sink.content("host/train/wiring.tsv"));
  const std::vector<std::string> command = {
      "python3",   "name-nics", "--host",   "train001", "--wiring",  "wiring.tsv", "--rules",
      "net.rules", "--known",   "nics.tsv", "--lldp",   "lldp.json", "--sys",      (lab.folder() / "sys").string()};
  const auto outcome = lab.run(command, 20, true);
  EXPECT_EQ(outcome.code, 0) << outcome.out;
  const std::string rules = Lab::contents(lab.folder() / "net.rules");
  for (std::size_t i = 0; i < cabled.size(); ++i) {
    const std::string wanted =
        "ATTR{address}==\"02:00:00:00:00:" + std::to_string(10 + i) + "\", NAME=\"" + cabled[i].second + "\"";
    EXPECT_NE(rules.find(wanted), std::string::npos) << wanted << "\n" << rules;
  }
  // A silent leaf changes no name; a host with another host's cabling is rejected.
  lab.put("lldp.json", "{\"lldp\": {}}");
  EXPECT_EQ(lab.run(command).code, 0);
  EXPECT_EQ(Lab::contents(lab.folder() / "net.rules"), rules);
  auto wrong = command;
  wrong[3] = "train999";
  EXPECT_EQ(lab.run(wrong).code, 2);

  // RDMA devices are named after their ports, virtual functions with their number.
  host.rdma("mlx5_0", "0000:10:00.0");
  host.function("0000:11:00.0", "0000:11:00.4", 3);
  host.rdma("mlx5_17", "0000:11:00.4");
  lab.put("rdma-name", rendering->sink.content("host/common/rdma-name"));
  lab.variable("WEFT_SYS", (lab.folder() / "sys").string());
  lab.variable("WEFT_NICS", (lab.folder() / "nics.tsv").string());
  EXPECT_EQ(lab.run({"sh", "rdma-name", "mlx5_0"}).out, "mlx5_be1\n");
  EXPECT_EQ(lab.run({"sh", "rdma-name", "mlx5_17"}).out, "mlx5_be2v3\n");
  EXPECT_NE(lab.run({"sh", "rdma-name", "mlx5_99"}).code, 0);
}

// Two ports cabled to one port of the design: ambiguous, so no name is chosen.
TEST(RenderHost, TwoPortsWithTheSameNeighborAreRejected) {
  WEFT_NEEDS_PROGRAM("python3");
  Lab lab("twice");
  const auto rendering = hosts_of("pod16.yaml");
  ASSERT_NE(rendering, nullptr);
  FakeHost host(lab.folder() / "sys");
  host.port("eth0", "02:00:00:00:00:01", "0000:01:00.0");
  host.port("eth1", "02:00:00:00:00:02", "0000:02:00.0");
  const std::string entry =
      R"({"chassis": {"be-train-u001-leaf1": {"id": {"type": "mac", "value": "1c:34:da:77:00:01"}}}, )"
      R"("port": {"id": {"type": "local", "value": "etp1a"}, "descr": "train001 be1"}})";
  lab.put("lldp.json", R"({"lldp": {"interface": [{"eth0": )" + entry + R"(}, {"eth1": )" + entry + "}]}}");
  lab.put("name-nics", rendering->sink.content("host/common/name-nics"));
  lab.put("wiring.tsv", rendering->sink.content("host/train/wiring.tsv"));
  const auto outcome =
      lab.run({"python3", "name-nics", "--host", "train001", "--wiring", "wiring.tsv", "--rules", "net.rules",
               "--known", "nics.tsv", "--lldp", "lldp.json", "--sys", (lab.folder() / "sys").string()},
              20, true);
  EXPECT_EQ(outcome.code, 2) << outcome.out;
  EXPECT_FALSE(fs::exists(lab.folder() / "net.rules"));
}

// ibnetdiscover's format as in its manual page: a switch's block lists its ports with the GUIDs behind them.
TEST(RenderHost, InfinibandPortsAreNamedByGuid) {
  WEFT_NEEDS_PROGRAM("python3");
  Lab lab("guids");
  const auto rendering = hosts_of("superpod-h100-4su.yaml");
  ASSERT_NE(rendering, nullptr);
  FakeHost host(lab.folder() / "sys");
  std::string topology;
  std::string expected;
  // dgx002 is behind port 2 of each leaf of its unit: the second half of the first cage (QM9700, 64 ports in 32 cages).
  for (int rail = 1; rail <= 8; ++rail) {
    const std::string digit = std::to_string(rail);
    host.port("ibp" + digit + "s0", "00:00:10:49:fe:80:00:00:00:00:00:00:b8:3f:d2:03:00:00:00:0" + digit,
              "0000:0" + digit + ":00.0", true);
    topology += "switchguid=0xfc6a1c030000000" + digit + "(fc6a1c030000000" + digit +
                ")\nSwitch\t65 \"S-fc6a1c030000000" + digit + "\"\t\t# \"be-dgx-u001-leaf" + digit +
                "\" enhanced port 0 lid 1 lmc 0\n[1]\t\"H-1\"[1](1) \t\t# \"dgx001 mlx5_0\" lid 8 "
                "4xNDR\n[2]\t\"H-b83fd203000000a" +
                digit + "\"[1](b83fd2030000000" + digit + ") \t\t# \"dgx002 mlx5_0\" lid 9 4xNDR\n\n";
    expected = "ATTR{address}==\"*b8:3f:d2:03:00:00:00:0" + digit + "\", NAME=\"be" + digit + "\"";
  }
  lab.put("ib.txt", topology);
  lab.put("lldp.json", "{\"lldp\": {}}");
  lab.put("name-nics", rendering->sink.content("host/common/name-nics"));
  lab.put("wiring.tsv", rendering->sink.content("host/dgx/wiring.tsv"));
  const auto outcome = lab.run(
      {"python3", "name-nics", "--host", "dgx002", "--wiring", "wiring.tsv", "--rules", "net.rules", "--known",
       "nics.tsv", "--lldp", "lldp.json", "--ibnetdiscover", "ib.txt", "--sys", (lab.folder() / "sys").string()},
      20, true);
  EXPECT_EQ(outcome.code, 1) << "storage and frontend ports were not given: " << outcome.out;
  const std::string rules = Lab::contents(lab.folder() / "net.rules");
  EXPECT_NE(rules.find(expected), std::string::npos) << expected << "\n" << rules;
  EXPECT_EQ(std::count(rules.begin(), rules.end(), '\n'), 9) << rules;
}

TEST(RenderHost, UdevAcceptsTheRules) {
  Lab lab("udev");
  const auto rendering = hosts_of("pod16.yaml");
  ASSERT_NE(rendering, nullptr);
  const std::regex pair(R"re([A-Z]+(\{[A-Za-z0-9_/]+\})?(==|!=|=|\+=)"[^"]*")re");
  int rules = 0;
  for (const auto& [path, file] : rendering->sink.files) {
    if (!path.ends_with(".rules")) continue;
    for (const std::string& line : lines_of(file.content)) {
      if (line.empty() || line.front() == '#') continue;
      ++rules;
      std::string rest = line;
      for (std::smatch part; std::regex_search(rest, part, pair, std::regex_constants::match_continuous);) {
        rest = part.suffix();
        if (rest.starts_with(", ")) rest.erase(0, 2);
      }
      EXPECT_EQ(rest, "") << path << ": " << line;
    }
    lab.put(fs::path(path).filename().string(), file.content);
  }
  EXPECT_GE(rules, 3);
  if (lab.run({"udevadm", "verify", "--help"}).code != 0) return;  // systemd 254 and later
  const auto outcome = lab.run({"udevadm", "verify", "71-weft-rdma.rules", "72-weft-nvme.rules"}, 20, true);
  EXPECT_EQ(outcome.code, 0) << outcome.out;
}

// User-chosen names are escaped: a syslog target with a line break and a quote.
TEST(RenderHost, HostileTextIsEscaped) {
  const auto rendering =
      hosts_of("pod16.yaml", {{"syslog: 10.128.0.10", "syslog: \"10.0.0.1\\\", \\\"x\\\": \\\"\\nrm -rf /\""}});
  ASSERT_NE(rendering, nullptr);
  Sources sources;
  Diagnostics diagnostics;
  const FileId file = sources.add("bmc.json", rendering->sink.content("host/train/bmc-policy.json"));
  const auto root = parse_json(sources, file, diagnostics);
  ASSERT_TRUE(root.has_value()) << render_all(diagnostics, sources, false);
  const YamlNode* requests = root->find("requests");
  ASSERT_NE(requests, nullptr);
  EXPECT_EQ(requests->items.back().find("body")->find("Destination")->scalar,
            "syslog://10.0.0.1\", \"x\": \"\nrm -rf /:514");
}

TEST(RenderHost, CheckFindsNothingNew) {
  Lab lab("check");
  for (const char* example : {"pod16", "superpod-h100-4su", "nexus8", "pod32"}) {
    const auto rendering = hosts_of(std::string(example) + ".yaml");
    ASSERT_NE(rendering, nullptr);
    const fs::path tree = lab.folder() / example;
    rendering->write_to(tree);
    const std::string file = testing_rendered::source_path("examples/" + std::string(example) + ".yaml");
    const auto outcome = lab.run({weft_binary(), "check", file, "--config", tree.string()}, 60, true);
    EXPECT_EQ(outcome.code, 0) << outcome.out;
    EXPECT_NE(outcome.out.find("no findings"), std::string::npos) << outcome.out;
  }
}

}  // namespace
}  // namespace weft
