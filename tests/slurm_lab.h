// The rendered Slurm configuration in real daemons on one machine. The files are used unchanged, except for
// site-specific settings: paths, ports, users, cgroups. Each of those is listed here, so that a test fails if a file is
// changed in any other way.
#pragma once

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/host_range.h"
#include "lab.h"
#include "ports.h"
#include "rendered.h"

namespace weft::testing_slurm {

using testing_lab::Lab;
using testing_lab::Outcome;
using testing_lab::Words;

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

// Settings by key: the replacement line, "" to remove them. A repeated key is dropped.
using Overrides = std::map<std::string, std::string>;

inline std::string overlaid(const std::string& text, const Overrides& overrides, std::set<std::string>* unused) {
  std::string out;
  std::set<std::string> seen;
  for (const std::string& line : lines_of(text)) {
    const std::string key = line.substr(0, line.find_first_of("= "));
    const auto found = overrides.find(key);
    if (found == overrides.end()) {
      out += line + "\n";
    } else if (seen.insert(key).second && !found->second.empty()) {
      out += found->second + "\n";
    }
  }
  if (unused != nullptr) {
    for (const auto& [key, line] : overrides) {
      if (seen.count(key) == 0) unused->insert(key);
    }
  }
  return out;
}

// A node's line with paths of the test appended.
inline std::string with_places(const std::string& conf, const std::string& state, int first_port) {
  std::string out;
  int port = first_port;
  for (std::string line : lines_of(conf)) {
    if (line.starts_with("NodeName=")) {
      const std::string hosts = line.substr(9, line.find(' ') - 9);
      const auto names = expand_hosts(hosts);
      const int count = static_cast<int>(names.value_or(std::vector<std::string>()).size());
      line = replaced(line, "State=UNKNOWN", "State=" + state);
      line += " NodeAddr=127.0.0.1";
      if (state == "UNKNOWN") {
        line += " NodeHostname=localhost Port=";
        line += count == 1 ? std::to_string(port)
                           : "[" + std::to_string(port) + "-" + std::to_string(port + count - 1) + "]";
        port += count;
      } else {
        line += " Port=" + std::to_string(first_port);
      }
    }
    out += line + "\n";
  }
  return out;
}

class SlurmLab {
 public:
  explicit SlurmLab(const std::string& name) : lab(name), base_(testing_lab::find_ports(testing_lab::kPortsPerBlock)) {
    for (const char* folder : {"state", "run", "log", "spool", "dev", "bin", "sys", "jobs"})
      std::filesystem::create_directories(lab.folder() / folder);
    lab.variable("SLURM_CONF", file("slurm/slurm.conf"));
    lab.variable("PATH", file("bin") + ":/usr/sbin:/usr/bin:/sbin:/bin");
  }

  [[nodiscard]] std::string file(const std::string& name) const { return (lab.folder() / name).string(); }
  [[nodiscard]] int port(int n) const { return base_ + n; }
  static constexpr int kController = 0;
  static constexpr int kDatabaseDaemon = 1;
  static constexpr int kDatabase = 2;
  static constexpr int kNodes = 3;

  static constexpr const char* kPrograms[] = {"slurmctld", "slurmd", "munged", "sinfo", "scontrol"};

  // Site-specific changes needed by every test.
  [[nodiscard]] Overrides site() const {
    const std::string d = lab.folder().string();
    return {{"SlurmctldHost", "SlurmctldHost=localhost(127.0.0.1)"},
            {"SlurmctldPort", "SlurmctldPort=" + std::to_string(port(kController))},
            {"SlurmdPort", ""},
            {"SlurmUser", "SlurmUser=root"},
            {"StateSaveLocation", "StateSaveLocation=" + d + "/state"},
            {"SlurmdSpoolDir", "SlurmdSpoolDir=" + d + "/spool/%n"},
            {"SlurmctldPidFile", "SlurmctldPidFile=" + d + "/run/slurmctld.pid"},
            {"SlurmdPidFile", "SlurmdPidFile=" + d + "/run/slurmd-%n.pid"},
            {"SlurmctldLogFile", "SlurmctldLogFile=" + d + "/log/slurmctld.log"},
            {"SlurmdLogFile", "SlurmdLogFile=" + d + "/log/slurmd-%n.log"},
            {"AuthType", "AuthType=auth/munge\nAuthInfo=socket=" + d + "/run/munge.socket"},
            {"AuthAltParameters", "AuthAltParameters=jwt_key=" + d + "/keys/etc/slurm/jwt_hs256.key"},
            // The test machine has no cgroups to delegate.
            {"ProctrackType", "ProctrackType=proctrack/linuxproc"},
            {"TaskPlugin", "TaskPlugin=task/none"},
            {"JobAcctGatherType", "JobAcctGatherType=jobacct_gather/none"},
            {"JobContainerType", ""},
            {"HealthCheckProgram", ""},
            {"HealthCheckInterval", ""},
            {"HealthCheckNodeState", ""},
            {"KillWait", "KillWait=2"},
            {"PropagateResourceLimitsExcept", "PropagateResourceLimits=NONE"},
            {"Prolog", "Prolog=" + d + "/slurm/prolog.d/*"},
            {"Epilog", "Epilog=" + d + "/slurm/epilog.d/*"},
            {"TaskProlog", "TaskProlog=" + d + "/slurm/task-prolog"}};
  }

  // The rendered tree, with /etc/slurm below the lab's folder in scripts. cgroup.conf is omitted: see site().
  void install(const render::MemorySink& sink) {
    const std::string d = lab.folder().string();
    for (const auto& [path, rendered] : sink.files) {
      const std::string name = path.substr(path.find('/') + 1);
      if (name == "cgroup.conf" || name == "job_container.conf") continue;
      std::string text = rendered.content;
      if (rendered.mode == "0755" && !name.ends_with(".sbatch")) {
        text = replaced(text, "/etc/slurm/", d + "/slurm/");
        text = replaced(text, "PATH=/usr/sbin", "PATH=" + d + "/bin:/usr/sbin");
        text = replaced(text, "WEFT_SYS:-/sys", "WEFT_SYS:-" + d + "/sys");
        text = replaced(text, "WEFT_SCRATCH_ROOT:-/scratch/jobs", "WEFT_SCRATCH_ROOT:-" + d + "/jobs");
      }
      if (name == "gres.conf") text = replaced(text, "File=/dev/", "File=" + d + "/dev/");
      put("slurm/" + name, text, rendered.mode == "0755" ? 0755 : 0644);
    }
  }

  void put(const std::string& name, const std::string& text, mode_t mode = 0644) {
    std::filesystem::create_directories((lab.folder() / name).parent_path());
    lab.put(name, text);
    ::chmod(file(name).c_str(), mode);
  }

  // GPUs are clones of /dev/null; false if none can be created.
  bool make_gpus(int count) {
    for (int i = 0; i < count; ++i) {
      if (::mknod(file("dev/nvidia" + std::to_string(i)).c_str(), S_IFCHR | 0666, makedev(1, 3)) != 0) return false;
    }
    return true;
  }

  bool start_munge(const std::string& key) {
    lab.start({"munged", "-F", "--force", "--key-file=" + key, "--socket=" + file("run/munge.socket"),
               "--pid-file=" + file("run/munged.pid"), "--log-file=" + file("log/munged.log"),
               "--seed-file=" + file("run/munged.seed"), "--num-threads=2"});
    return Lab::wait(5, [&] { return std::filesystem::exists(file("run/munge.socket")); });
  }

  bool start_controller() {
    controller = lab.start({"slurmctld", "-D", "-c", "-f", file("slurm/slurm.conf")});
    return Lab::wait(10, [&] { return lab.run({"scontrol", "ping"}, 5).out.find("is UP") != std::string::npos; });
  }

  Outcome run(const Words& words, int seconds = 15) { return lab.run(words, seconds, true); }
  [[nodiscard]] std::string log(const std::string& name) const { return Lab::contents(lab.folder() / "log" / name); }

  Lab lab;
  pid_t controller = 0;

 private:
  int base_;
};

// "Key=Value" words of one line of scontrol -o.
inline std::string value_of(const std::string& line, const std::string& key) {
  const std::size_t at = (" " + line).find(" " + key + "=");
  if (at == std::string::npos) return "(none)";
  const std::size_t start = at + key.size() + 1;
  return line.substr(start, line.find_first_of(" \n", start) - start);
}

}  // namespace weft::testing_slurm
