#include "oob/bmc/firmware.h"

#include <algorithm>

#include "base/text.h"

namespace weft::oob {

std::string component_of(std::string_view id, std::string_view name) {
  for (const std::string_view kind : {"Installed-", "Current-", "Previous-", "Available-", "Rollback-"}) {
    const std::size_t at = id.find("__");
    if (id.starts_with(kind) && at != std::string_view::npos && at + 2 < id.size())
      return std::string(id.substr(at + 2));
  }
  const bool is_number = std::all_of(id.begin(), id.end(), is_digit);  // also if it is empty
  return std::string(is_number && !name.empty() ? name : id);
}

std::string_view to_text(ApplyTime time) {
  switch (time) {
    case ApplyTime::immediate:
      return "Immediate";
    case ApplyTime::on_reset:
      return "OnReset";
    case ApplyTime::unset:
      break;
  }
  return "";
}

std::string_view to_text(PushMethod method) {
  switch (method) {
    case PushMethod::multipart:
      return "MultipartHttpPush";
    case PushMethod::http_push:
      return "HttpPush";
    case PushMethod::simple:
      break;
  }
  return "SimpleUpdate";
}

}  // namespace weft::oob
