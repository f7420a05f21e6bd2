// Answers to requests. Internal to the controller.
#pragma once

#include <string>
#include <utility>

#include "control/controller.h"

namespace weft::control {

inline Answer refuse(const Request& request, ErrorCode code, std::string text) {
  return {request.id, false, code, request.job, std::move(text)};
}

inline Answer accept(const Request& request, JobNumber job, std::string text) {
  return {request.id, true, ErrorCode::internal, job, std::move(text)};
}

}  // namespace weft::control
