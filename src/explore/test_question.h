// A small question for tests of the search: an 8-billion-parameter model on few servers.
#pragma once

#include <string>

#include "explore/question.h"
#include "model/load.h"

namespace weft::explore {

inline Question small_question(const std::string& goal = "train llama-3.1-8b on 300B tokens in 12 days") {
  Question question;
  question.goal = *parse_goal(goal);
  question.job =
      Value::map({{"job", 1}, {"name", "small"}, {"training", Value::map({{"model", question.goal.model}})}});
  question.catalog = model::load_catalog({})->catalog;
  question.gpus = {"h100-sxm"};
  question.networks = {model::NetworkKind::ethernet};
  question.faults = twin::default_faults();
  question.fault_scale = 20;
  question.seeds = {1, 2};
  return question;
}

}  // namespace weft::explore
