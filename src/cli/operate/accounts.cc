// weft accounts: the tenants, quotas and priorities of a cluster file in Slurm's accounting database. `plan` shows what
// would change, `apply` executes exactly a plan that was shown.
#include "render/slurm/accounts.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "base/human_format.h"
#include "base/text.h"
#include "cli/framework/context.h"
#include "cli/framework/slurm_input.h"
#include "world/slurm/account_plan.h"
#include "world/slurm/sacctmgr.h"

namespace weft::cli {
namespace {

using world::AccountPlan;
using world::AccountsRequest;
using world::AccountStep;

constexpr std::size_t kMaxUsersFile = std::size_t{16} << 20U;

bool is_user_name(std::string_view name) {
  return !name.empty() && name.front() != '-' && std::all_of(name.begin(), name.end(), [](char c) {
    return is_letter_or_digit(c) || c == '.' || c == '_' || c == '-' || c == '@';
  });
}

// Lines "account user"; comments begin with #.
Status read_users(const std::string& path, AccountsRequest& request) {
  const Result<std::string> text = read_file(path, kMaxUsersFile);
  if (!text.ok()) return text.error();
  std::size_t number = 0;
  for (const std::string_view line : split_lines(*text)) {
    ++number;
    const std::vector<std::string_view> words = split_at_spaces(line.substr(0, line.find('#')));
    if (words.empty()) continue;
    const std::string where = fmt::format("{}:{}", path, number);
    if (words.size() != 2 || !is_user_name(words[1]))
      return Error{ErrorCode::invalid_input, "must be the name of an account and of a user", where};
    const std::string account = to_lower(words[0]);
    const bool known = std::any_of(request.accounts.begin(), request.accounts.end(),
                                   [&](const world::AccountRecord& each) { return each.name == account; });
    if (!known)
      return Error{ErrorCode::invalid_input, fmt::format("the cluster file has no tenant `{}`", words[0]), where};
    request.users.emplace_back(account, std::string(words[1]));
  }
  return {};
}

AccountsRequest make_request(const render::SlurmAccountsSpec& spec) {
  AccountsRequest request;
  request.cluster = spec.cluster;
  for (const render::SlurmQosSpec& each : spec.qos) {
    world::QosRecord qos;
    qos.name = each.name;
    qos.priority = each.priority;
    qos.grace_seconds = spec.grace_seconds;
    qos.preempt_mode = "requeue";
    qos.preempts = {each.preempts.begin(), each.preempts.end()};
    qos.flags = {"DenyOnLimit"};
    request.qos.push_back(std::move(qos));
  }
  for (const render::SlurmAccountSpec& each : spec.accounts) {
    world::AccountRecord account;
    account.name = to_lower(each.name);  // as slurmdbd stores it
    account.qos = {each.qos.begin(), each.qos.end()};
    account.default_qos = each.default_qos;
    account.limits = {each.limits.begin(), each.limits.end()};
    request.accounts.push_back(std::move(account));
  }
  return request;
}

struct AccountsCall {
  AccountsRequest request;
  world::RunSacctmgr run;
  AccountPlan plan;
  bool prune = false;
};

// Reads the files and the database; the exit code if that fails.
std::optional<Exit> prepare(Context& context, AccountsCall& call) {
  const std::unique_ptr<model::Loaded> loaded = context.open_cluster(context.arguments().word(0));
  if (!context.report(*loaded)) return Exit::usage;
  const render::RenderPlan names(*loaded->cluster);
  const render::RenderOptions options;
  call.request = make_request(render::slurm_accounts_of({*loaded->cluster, names, options, {}}));
  if (call.request.accounts.empty())
    return context.failed(
        {ErrorCode::invalid_input, "has no `tenants`: there are no accounts to plan", context.arguments().word(0)});
  const std::string users = context.arguments().value("users");
  if (!users.empty()) {
    if (const Status read = read_users(users, call.request); !read.ok()) return context.failed(read.error());
  }
  call.run = world::make_sacctmgr(slurm_cli_options(context));
  call.prune = context.arguments().has("prune");
  const Result<world::AccountsState> state = world::read_accounts(call.run, call.request.cluster);
  if (!state.ok()) return context.failed(state.error());
  call.plan = world::plan_accounts(call.request, *state, call.prune);
  return std::nullopt;
}

TableSection steps_table(const AccountPlan& plan, std::size_t done, bool applied) {
  TableSection table{"steps",
                     "Plan",
                     {{"action", "Action"},
                      {"kind", "Kind"},
                      {"name", "Name"},
                      {"setting", "Setting"},
                      {"before", "Now"},
                      {"after", "Planned"},
                      {"state", "State"}},
                     {}};
  std::size_t executed = 0;
  for (const AccountStep& step : plan.steps) {
    std::string state = applied ? "not done" : "";
    if (!step.blocked.empty())
      state = "blocked: " + step.blocked;
    else if (executed++ < done)
      state = "done";
    std::vector<world::AccountSetting> settings = step.settings;
    if (settings.empty()) settings.emplace_back();
    for (const world::AccountSetting& setting : settings) {
      table.rows.push_back({std::string(to_text(step.action)), step.kind, step.name, setting.name, setting.before,
                            setting.after, state});
    }
  }
  return table;
}

Document plan_document(const AccountsCall& call, std::size_t done, bool applied) {
  const AccountPlan& plan = call.plan;
  const auto blocked = static_cast<std::uint64_t>(std::count_if(
      plan.steps.begin(), plan.steps.end(), [](const AccountStep& step) { return !step.blocked.empty(); }));
  Document document;
  document.kind = "accounts_plan";
  FactsSection facts{"accounts",
                     "Accounts",
                     {{"cluster", "Slurm cluster", call.request.cluster},
                      {"plan", "Plan", plan.id()},
                      {"changes", "Changes", static_cast<std::uint64_t>(plan.steps.size())},
                      {"blocked", "Blocked", blocked}}};
  if (applied) facts.facts.push_back({"done", "Done", static_cast<std::uint64_t>(done)});
  document.sections.emplace_back(std::move(facts));
  if (!plan.steps.empty()) document.sections.emplace_back(steps_table(plan, done, applied));
  if (!plan.left_alone.empty()) {
    TableSection table{"left_alone", "Left alone", {{"kind", "Kind"}, {"name", "Name"}, {"why", "Why"}}, {}};
    for (const world::AccountRemark& each : plan.left_alone) table.rows.push_back({each.kind, each.name, each.text});
    document.sections.emplace_back(std::move(table));
  }
  return document;
}

Exit run_plan(Context& context) {
  AccountsCall call;
  if (const std::optional<Exit> ended = prepare(context, call)) return *ended;
  Document document = plan_document(call, 0, false);
  if (call.plan.empty()) document.notes.emplace_back("The database is as the cluster file says.");
  return context.deliver(document, call.plan.empty() ? Exit::ok : Exit::findings);
}

Exit run_apply(Context& context) {
  AccountsCall call;
  if (const std::optional<Exit> ended = prepare(context, call)) return *ended;
  const std::string wanted = context.arguments().value("plan-id");
  if (wanted.empty())
    return context.failed(
        {ErrorCode::refused, "--plan-id ID is needed: the plan that `weft accounts plan` has shown", {}});
  if (wanted != call.plan.id())
    return context.failed({ErrorCode::refused,
                           fmt::format("plan {} is out of date: the database or the files have changed since; show the "
                                       "new plan with `weft accounts plan`",
                                       wanted),
                           {}});
  const world::AccountsApplied applied = apply_accounts(call.run, call.request, call.plan, call.prune);
  const auto blocked = static_cast<std::size_t>(std::count_if(
      call.plan.steps.begin(), call.plan.steps.end(), [](const AccountStep& step) { return !step.blocked.empty(); }));
  Exit outcome = applied.done == call.plan.steps.size() ? Exit::ok : Exit::partial;
  if (!applied.status.ok()) {
    const Exit failed = context.failed(applied.status.error());
    if (applied.done == 0) outcome = failed;
  } else if (blocked > 0) {
    context.note(fmt::format("{} blocked: plan and apply again later", plural(blocked, "change")));
  }
  return context.deliver(plan_document(call, applied.done, true), outcome);
}

std::vector<Option> accounts_options() {
  return {
      {.name = "users",
       .value = "FILE",
       .help = "file of lines \"account user\": users that the accounts must have",
       .hint = Hint::file},
      {.name = "prune", .help = "remove accounts, QoS and limits that weft created and the cluster file no longer has"},
      slurm_conf_option(),
      catalog_option(),
      output_option(),
      file_option()};
}

Command plan_command() {
  Command command;
  command.name = "accounts plan";
  command.summary = "Compare Slurm's accounts, QoS and limits with a cluster file";
  command.usage = "CLUSTER [OPTIONS]";
  command.description = {
      "Each tenant of the cluster file is an account, each priority a QoS, and a quota the limit GrpTRES of its "
      "account. Reads slurmdbd with sacctmgr and changes nothing. Exit code 0: nothing to change; 1: changes are "
      "planned; 5: the database could not be read completely.",
      "Users, accounts, QoS and limits that the cluster file does not have are listed and left alone."};
  command.examples = {
      {"weft accounts plan cluster.yaml", "What would change"},
      {"weft accounts plan cluster.yaml --users users.txt --prune", "With users; remove what is unused"}};
  command.arguments = {cluster_argument()};
  command.options = accounts_options();
  command.run = run_plan;
  return command;
}

Command apply_command() {
  Command command;
  command.name = "accounts apply";
  command.summary = "Execute a plan of `weft accounts plan`";
  command.usage = "CLUSTER --plan-id ID [OPTIONS]";
  command.description = {
      "Makes the plan again and refuses (exit code 4) if it is not the one that was shown. After each change the "
      "database is read again; if it is not as planned, nothing more is changed. Exit code 0: all is done; 3: a part "
      "is done; 5: nothing is done.",
      "Run it as root, SlurmUser or an administrator of Slurm, with the options of the plan. Accounts with users or "
      "with accounts below them are never removed."};
  command.examples = {{"weft accounts apply cluster.yaml --plan-id 3f0c1a2b4d5e", "Exactly the plan that was shown"}};
  command.arguments = {cluster_argument()};
  command.options = accounts_options();
  command.options.insert(command.options.begin(),
                         {.name = "plan-id", .value = "ID", .help = "the plan, as `weft accounts plan` shows it"});
  command.run = run_apply;
  return command;
}

}  // namespace

std::vector<Command> accounts_commands() {
  std::vector<Command> commands;
  commands.push_back(plan_command());
  commands.push_back(apply_command());
  return commands;
}

}  // namespace weft::cli
