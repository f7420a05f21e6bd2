// A private MariaDB for slurmdbd in end-to-end tests. It accepts every login: never for anything but a test.
#pragma once

#include <filesystem>
#include <string>

#include "lab.h"

namespace weft::testing_lab {

// Starts it on 127.0.0.1 with its data in the lab's folder. "" when it answers, otherwise what went wrong.
// Each instance needs its own folder for temporary tables: at its start MariaDB deletes all that it finds there, those
// of other instances included.
inline std::string start_mariadb(Lab& lab, int port) {
  const std::string data = (lab.folder() / "my").string();
  const std::filesystem::path temporary = lab.folder() / "my-tmp";
  std::filesystem::create_directory(temporary);
  std::filesystem::permissions(temporary, std::filesystem::perms(0777));  // user mysql writes to it
  const Outcome installed =
      lab.run({"mariadb-install-db", "--no-defaults", "--user=mysql", "--datadir=" + data,
               "--tmpdir=" + temporary.string(), "--auth-root-authentication-method=normal", "--skip-test-db"},
              300, true);
  if (installed.code != 0) return "mariadb-install-db: " + installed.out;
  lab.start({"mariadbd", "--no-defaults", "--user=mysql", "--datadir=" + data, "--tmpdir=" + temporary.string(),
             "--socket=" + data + "/s.sock", "--pid-file=" + data + "/p.pid", "--bind-address=127.0.0.1",
             "--port=" + std::to_string(port), "--innodb-buffer-pool-size=64M", "--innodb-lock-wait-timeout=900",
             "--innodb-flush-log-at-trx-commit=0", "--skip-innodb-doublewrite", "--skip-grant-tables"});
  if (!Lab::wait(300, [&] { return std::filesystem::exists(data + "/s.sock"); })) return "mariadbd does not start";
  return "";
}

}  // namespace weft::testing_lab
