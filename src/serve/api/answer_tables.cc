// The shapes of the answers, one by one.
#include <utility>

#include "serve/api/answer_shapes.h"

namespace weft::serve {
namespace {

constexpr MemberTypes kText = MemberType::text;
constexpr MemberTypes kInteger = MemberType::integer;
constexpr MemberTypes kNumber = MemberType::number;
constexpr MemberTypes kBoolean = MemberType::boolean;
constexpr MemberTypes kAbsent = MemberType::absent;
constexpr MemberTypes kTime = kText | kAbsent;
constexpr bool kOptional = true;

// In watch mode the jobs are the engine's, and their members differ.
AnswerShape jobs_shape() {
  return {"jobs",
          "jobs; in watch mode the engine's",
          {"jobs"},
          {{"jobs",
            true,
            "one per job",
            {{"job", kInteger | kText, "number of the job; in watch mode the engine's identifier"},
             {"name", kText, "name of the job"},
             {"user", kText, "owner"},
             {"tenant", kText, "tenant", kOptional},
             {"account", kText, "watch mode: account of Slurm or owner in Kubernetes", kOptional},
             {"partition", kText, "watch mode: partition of Slurm", kOptional},
             {"namespace", kText, "watch mode: namespace of Kubernetes", kOptional},
             {"state", kText, "state, such as queued, running or held"},
             {"tasks", kText, "number of tasks; \"2:8\" if fewer may start", kOptional},
             {"node_count", kInteger, "watch mode: number of nodes", kOptional},
             {"gpus", kNumber | kAbsent, "GPUs of all tasks; null of a job that has ended"},
             {"priority", kInteger, "watch mode: the engine's priority", kOptional},
             {"attempt", kInteger, "number of the attempt", kOptional},
             {"submitted", kTime, "time of submission"},
             {"since", kTime, "time since when it is in this state", kOptional},
             {"started", kTime, "watch mode: start", kOptional},
             {"nodes", kText | kAbsent, "nodes it has"},
             {"note", kText | kAbsent, "what it waits for, or what happened to it last"}}}}};
}

std::vector<MemberShape> job_members() {
  return {{"job", kInteger | kText, "number of the job; in watch mode the engine's identifier"},
          {"name", kText, "name of the job"},
          {"user", kText, "owner", kOptional},
          {"tenant", kText, "tenant", kOptional},
          {"account", kText, "watch mode: account of Slurm or owner in Kubernetes", kOptional},
          {"partition", kText, "watch mode: partition of Slurm", kOptional},
          {"namespace", kText, "watch mode: namespace of Kubernetes", kOptional},
          {"qos", kText, "watch mode: QOS of Slurm", kOptional},
          {"state", kText, "state, such as queued, running or held"},
          {"reason", kText, "what it waits for, or what happened to it last", kOptional},
          {"priority", kInteger, "watch mode: the engine's priority", kOptional},
          {"exit", kInteger, "exit status, of a job that has ended", kOptional},
          {"exit_status", kInteger, "watch mode: exit status", kOptional},
          {"tasks", kText | kInteger, "number of tasks; \"2:8\" if fewer may start", kOptional},
          {"gpus_per_task", kNumber, "GPUs of each task", kOptional},
          {"node_count", kInteger, "watch mode: number of nodes", kOptional},
          {"cpus", kInteger, "watch mode: CPUs", kOptional},
          {"gpus", kInteger, "watch mode: GPUs", kOptional},
          {"submitted", kTime, "time of submission", kOptional},
          {"first_start", kTime, "start of the first attempt", kOptional},
          {"started", kTime, "watch mode: start", kOptional},
          {"ended", kTime, "end", kOptional},
          {"ends", kTime, "watch mode: end by its time limit", kOptional},
          {"time_limit_s", kNumber | kAbsent, "time limit in seconds; null: none", kOptional},
          {"attempt", kInteger, "number of the attempt", kOptional},
          {"failures", kInteger, "failures of the application", kOptional},
          {"node_failures", kInteger, "failures of nodes", kOptional},
          {"preemptions", kInteger, "preemptions", kOptional},
          {"restarts", kInteger, "watch mode: restarts", kOptional},
          {"required_nodes", kText, "watch mode: nodes it asks for", kOptional},
          {"excluded_nodes", kText, "watch mode: nodes it excludes", kOptional},
          {"dependency", kText, "watch mode: jobs it depends on", kOptional},
          {"checkpoint_volumes", kText, "volumes with checkpoints", kOptional},
          {"checkpoint", kText | kAbsent, "last checkpoint", kOptional},
          {"checkpoint_step", kInteger, "step of the last checkpoint", kOptional},
          {"checkpoint_time", kTime, "time of the last checkpoint", kOptional},
          {"drill", kText, "last checkpoint drill", kOptional},
          {"drill_result", kText, "result of the last checkpoint drill", kOptional},
          {"nodes", kText, "nodes it has", kOptional},
          {"running_since", kTime, "time since when it runs", kOptional},
          {"restored", kText, "checkpoint that the attempt restored", kOptional},
          {"restored_step", kInteger, "step of that checkpoint", kOptional},
          {"stop", kText, "why the attempt is being stopped", kOptional},
          {"command", kText, "command, shown to those who may change the job", kOptional},
          {"directory", kText, "working directory, likewise", kOptional},
          {"output", kText, "output file, likewise", kOptional},
          {"observed", kTime, "watch mode: time of the engine's last list", kOptional}};
}

SectionShape parts_shape() {
  return {"parts",
          true,
          "the current attempt, per node",
          {{"node", kText, "node"},
           {"tasks", kText, "numbers of the tasks there"},
           {"state", kText, "state of the tasks"},
           {"exit", kInteger | kAbsent, "exit status"},
           {"text", kText, "what happened there"}},
          kOptional};
}

AnswerShape job_shape() {
  return {"job", "one job", {"job"}, {{"job", false, "the job", job_members()}, parts_shape()}};
}

std::vector<MemberShape> why_members() {
  std::vector<MemberShape> members = job_members();
  for (MemberShape& member : members) member.is_optional = member.key != "name";
  const std::vector<MemberShape> more = {
      {"asks", kText, "what it requests", kOptional},
      {"now_s", kNumber, "time of the answer, seconds since 1970", kOptional},
      {"sentence", kText, "why, in one sentence", kOptional},
      {"expected_s", kNumber | kAbsent, "expected start, seconds since 1970; null: not known", kOptional},
      {"known", kText, "how the expected start is known", kOptional},
      {"charge", kText, "how a running job is charged", kOptional},
      {"fragmentation_before", kNumber, "fragmentation of the cluster without the job, from 0 to 1", kOptional},
      {"engine_reason", kText, "watch mode: the engine's reason", kOptional},
      {"engine_text", kText, "watch mode: what the engine says beyond that", kOptional},
      {"nodes_wanted", kInteger, "watch mode: nodes asked for", kOptional},
      {"gpus_wanted", kInteger, "watch mode: GPUs asked for", kOptional},
      {"candidate_nodes", kInteger, "watch mode: nodes that it may use", kOptional},
      {"fitting_nodes", kInteger, "watch mode: those with its CPUs and GPUs free", kOptional},
      {"free_gpus", kInteger, "watch mode: GPUs that are free there", kOptional},
      {"ahead_count", kInteger | kAbsent, "watch mode: jobs ahead of it", kOptional},
      {"enough_nodes_at", kTime, "watch mode: when enough nodes are free by time limits", kOptional},
      {"engine_start", kTime, "watch mode: when the engine expects to start it", kOptional}};
  members.insert(members.end(), more.begin(), more.end());
  return members;
}

AnswerShape why_shape() {
  return {"why",
          "why a job waits and what would start it, or why it runs where it does",
          {"job-why", "job"},
          {{"job", false, "the job and the reason", why_members()},
           {"waits_on",
            true,
            "jobs that hold what it waits for",
            {{"job", kText, "name, or \"a job of another tenant\""},
             {"tenant", kText | kAbsent, "tenant"},
             {"state", kText, "running, or queued ahead"},
             {"gpus", kNumber | kAbsent, "GPUs that it holds"},
             {"until_s", kNumber | kAbsent, "end by its time limit, seconds since 1970"}},
            kOptional},
           {"changes",
            true,
            "changes that would start it sooner; each was simulated",
            {{"kind", kText, "kind of change"},
             {"what", kText, "what to change"},
             {"from", kText, "value now"},
             {"to", kText, "value that starts it sooner"},
             {"starts_s", kNumber | kAbsent, "start with the change, seconds since 1970"},
             {"note", kText, "who else is affected"},
             {"victims", kInteger | kAbsent, "jobs that are preempted for it"},
             {"planned", kBoolean, "whether the start is from a reservation"}},
            kOptional},
           {"places",
            true,
            "where it runs, and alternatives",
            {{"how", kText, "\"current\", or the alternative"},
             {"level", kText, "the smallest domain that holds it"},
             {"nodes", kInteger, "nodes"},
             {"nvlink", kInteger, "NVLink domains"},
             {"racks", kInteger, "racks"},
             {"leaves", kInteger, "leaf groups"},
             {"pods", kInteger, "pods"},
             {"rails_aligned", kBoolean, "whether equal local ranks share a rail"},
             {"fragmentation", kNumber, "fragmentation of the cluster, from 0 to 1"}},
            kOptional},
           {"ahead",
            true,
            "watch mode: jobs ahead of it",
            {{"job", kText, "the engine's identifier"},
             {"name", kText, "name"},
             {"user", kText, "owner"},
             {"priority", kInteger, "the engine's priority"},
             {"node_count", kInteger, "number of nodes"},
             {"gpus", kInteger, "GPUs"},
             {"reason", kText, "the engine's reason"}},
            kOptional},
           {"out_of_service",
            true,
            "watch mode: nodes that it may use and that are out of service",
            {{"node", kText, "node"}, {"state", kText, "state"}, {"why", kText | kAbsent, "why"}},
            kOptional}}};
}

AnswerShape nodes_shape() {
  return {"nodes",
          "nodes",
          {"nodes"},
          {{"nodes",
            true,
            "one per node",
            {{"node", kText, "name"},
             {"state", kText, "state, such as in service, draining or repair"},
             {"health", kText, "health"},
             {"model", kText | kAbsent, "model of its GPUs"},
             {"gpus", kInteger, "GPUs"},
             {"used_gpus", kNumber, "GPUs in use"},
             {"jobs", kText, "numbers of its jobs"},
             {"note", kText | kAbsent, "why it is not in service"}}}}};
}

AnswerShape node_shape() {
  return {"node",
          "one node",
          {"node"},
          {{"node",
            false,
            "the node",
            {{"node", kText, "name"},
             {"state", kText, "state, such as in service, draining or repair"},
             {"note", kText | kAbsent, "why it is not in service"},
             {"rack", kText, "rack"},
             {"pool", kText, "pool"},
             {"gpus", kInteger, "GPUs"},
             {"used_gpus", kNumber, "GPUs in use"},
             {"jobs", kText, "numbers of its jobs"},
             {"health", kText, "health"},
             {"signal", kText | kAbsent, "what the health follows from"},
             {"observed", kTime, "time of the last report"},
             {"boot", kText, "boot id"},
             {"sessions", kInteger, "repair sessions so far"},
             {"drained_by", kText, "who drained it", kOptional},
             {"drained_at", kTime, "when it was drained", kOptional},
             {"drain_reason", kText, "why it was drained", kOptional},
             {"cordon", kText, "who cordoned it in the engine", kOptional},
             {"session", kInteger, "number of the repair session", kOptional},
             {"session_step", kText, "step of the repair session", kOptional},
             {"session_cause", kText, "cause of the repair session", kOptional},
             {"session_since", kTime, "start of the step", kOptional},
             {"engine_state", kText, "watch mode: state in the engine", kOptional},
             {"proposal", kText, "watch mode: what weft would do", kOptional},
             {"proposal_stage", kText, "watch mode: stage to enable for it", kOptional},
             {"proposal_reason", kText, "watch mode: why", kOptional},
             {"proposal_since", kTime, "watch mode: since when", kOptional}}}}};
}

AnswerShape reservations_shape() {
  return {"reservations",
          "reservations for maintenance",
          {"reservations"},
          {{"reservations",
            true,
            "one per reservation",
            {{"name", kText, "name"},
             {"state", kText, "planned or active"},
             {"from", kText, "begin"},
             {"until", kText, "end"},
             {"nodes", kText, "nodes"},
             {"user", kText | kAbsent, "who made it"},
             {"reason", kText | kAbsent, "why"}}}}};
}

AnswerShape leases_shape() {
  return {"leases",
          "which engine owns which node",
          {"leases"},
          {{"leases",
            true,
            "one per node",
            {{"node", kText, "node"},
             {"owner", kText, "engine that owns it; empty: none"},
             {"state", kText, "held, or the step of a move"},
             {"since", kTime, "since when"},
             {"waits", kText, "what a move waits for"},
             {"advice", kText, "what to do"}}}}};
}

AnswerShape lease_shape() {
  return {"lease",
          "the lease of one node",
          {"lease"},
          {{"lease",
            false,
            "the lease",
            {{"node", kText, "node"},
             {"owner", kText, "engine that owns it; empty: none"},
             {"state", kText, "held, or the step of a move"},
             {"epoch", kInteger, "epoch: grows with each owner"},
             {"moves", kInteger, "moves so far"},
             {"since", kTime, "since when", kOptional},
             {"target", kText, "engine that gets it", kOptional},
             {"asked", kTime, "when the move was asked for", kOptional},
             {"preempt", kBoolean, "whether jobs of weft are stopped for it", kOptional},
             {"user", kText, "who asked for it", kOptional},
             {"reason", kText, "why", kOptional},
             {"schedule", kText, "engine that the schedule gives it to", kOptional},
             {"waits", kText, "what the move waits for", kOptional},
             {"advice", kText, "what to do", kOptional}}}}};
}

AnswerShape queue_shape() {
  return {"queue",
          "waiting jobs in order, tenants, fragmentation; in watch mode the engine's",
          {"queue"},
          {{"cluster",
            false,
            "totals of the cluster",
            {{"now_s", kNumber, "time of the answer, seconds since 1970"},
             {"nodes", kInteger, "nodes"},
             {"nodes_down", kInteger, "nodes out of service"},
             {"nodes_spare", kInteger, "spare nodes, which replace others"},
             {"running", kInteger, "running jobs"},
             {"waiting", kInteger, "waiting jobs"},
             {"used_gpus", kNumber, "GPUs in use"},
             {"up_gpus", kNumber, "GPUs of nodes in service"},
             {"down_gpus", kNumber, "GPUs of nodes out of service"},
             {"spare_gpus", kNumber, "GPUs of spare nodes"},
             {"utilisation", kNumber, "share of GPUs in use, from 0 to 1"},  // JSON key (words: allow)
             {"fragmentation", kNumber, "share of idle GPUs that no usual job can use, from 0 to 1"}},
            kOptional},
           {"fragmentation",
            true,
            "fragmentation of idle GPUs",
            {{"level", kText, "domain"}, {"share", kNumber, "share of idle GPUs, from 0 to 1"}},
            kOptional},
           {"reasons",
            true,
            "waiting jobs by reason",
            {{"reason", kText, "reason"},
             {"jobs", kInteger, "jobs"},
             {"gpus", kNumber, "GPUs that they ask for"},
             {"longest_s", kNumber, "longest wait in seconds"}},
            kOptional},
           {"tenants",
            true,
            "tenants that the caller may see",
            {{"tenant", kText, "tenant"},
             {"cohort", kText, "cohort"},
             {"quota_gpus", kNumber | kAbsent, "quota in GPUs; null: none"},
             {"used_gpus", kNumber, "GPUs in use"},
             {"borrowed_gpus", kNumber, "GPUs borrowed from the cohort"},
             {"lent_gpus", kNumber, "GPUs lent to the cohort"},
             {"running", kInteger, "running jobs"},
             {"waiting", kInteger, "waiting jobs"},
             {"waiting_gpus", kNumber, "GPUs that waiting jobs ask for"}},
            kOptional},
           {"queue",
            true,
            "waiting jobs in order",
            {{"job", kText, "name; in watch mode the engine's identifier"},
             {"tenant", kText, "tenant", kOptional},
             {"gpus", kNumber, "GPUs"},
             {"reason", kText, "reason"},
             {"expected_s", kNumber | kAbsent, "expected start, seconds since 1970; null: not known", kOptional},
             {"known", kText, "how the expected start is known", kOptional},
             {"sentence", kText, "why it waits", kOptional},
             {"waits_on", kText, "jobs that hold what it waits for", kOptional},
             {"name", kText, "watch mode: name", kOptional},
             {"user", kText, "watch mode: owner", kOptional},
             {"partition", kText, "watch mode: partition of Slurm", kOptional},
             {"namespace", kText, "watch mode: namespace of Kubernetes", kOptional},
             {"priority", kInteger, "watch mode: the engine's priority", kOptional},
             {"node_count", kInteger, "watch mode: number of nodes", kOptional},
             {"submitted", kTime, "watch mode: time of submission", kOptional},
             {"engine_start", kTime, "watch mode: when the engine expects to start it", kOptional}}},
           {"partitions",
            true,
            "watch mode: partitions of Slurm",
            {{"partition", kText, "partition"},
             {"nodes", kInteger, "nodes"},
             {"usable_nodes", kInteger, "nodes in service"},
             {"idle_nodes", kInteger, "nodes without jobs"},
             {"gpus", kInteger, "GPUs"},
             {"free_gpus", kInteger, "free GPUs"}},
            kOptional}}};
}

AnswerShape server_shape() {
  return {"server",
          "the server: cluster, journal, totals",
          {"server"},
          {{"server",
            false,
            "the server",
            {{"cluster", kText, "name of the cluster"},
             {"version", kText, "version of weft"},
             {"engine", kText, "engine"},
             {"state_directory", kText | kAbsent, "folder of the journal"},
             {"started", kTime, "start of the server"},
             {"sequence", kInteger, "records in the journal"},
             {"store", kText, "\"durable\", or what is wrong with the journal"},
             {"nodes", kInteger, "nodes"},
             {"usable_nodes", kInteger, "nodes in service"},
             {"jobs", kInteger, "jobs that have not ended"},
             {"ended_jobs", kInteger, "jobs that have ended"},
             {"sessions", kInteger, "open repair sessions"},
             {"breaker", kText, "automatic repair: on or paused"},
             {"connections", kInteger, "connections since its start"},
             {"requests", kInteger, "requests since its start"},
             {"role", kText, "with the journal in etcd: leader or follower", kOptional},
             {"leader", kText | kAbsent, "with the journal in etcd: address of the leader, if there is one", kOptional},
             {"stale", kText, "of a follower: how old its state may be", kOptional},
             {"mode", kText, "drive or watch"},
             {"enabled", kText, "watch mode: stages that are enabled", kOptional},
             {"observed", kTime, "watch mode: time of the engine's last list", kOptional},
             {"engine_problem", kText, "watch mode: why the engine does not answer", kOptional},
             {"running_jobs", kInteger, "watch mode: jobs that run", kOptional},
             {"waiting_jobs", kInteger, "watch mode: jobs that wait", kOptional}}},
           {"proposals",
            true,
            "watch mode: what weft would do",
            {{"node", kText, "node"},
             {"stage", kText, "stage to enable for it"},
             {"since", kTime, "since when"},
             {"reason", kText, "why"}},
            kOptional}}};
}

AnswerShape answer_shape() {
  return {"answer",
          "a change that was carried out and is durable; approval_needed: one that waits for a second person",
          {"answer", "approval_needed"},
          {{"answer",
            false,
            "what happened",
            {{"message", kText, "what happened, in one sentence"},
             {"job", kInteger, "number of the job", kOptional},
             {"expected_start", kTime, "when a submitted job is expected to start; null: not known", kOptional},
             {"approval", kText, "identifier of the request that waits for a second person", kOptional}}}}};
}

AnswerShape job_check_shape() {
  return {"job_check",
          "a job that would be accepted",
          {"job_check"},
          {{"job_check",
            false,
            "the job as it would be submitted",
            {{"name", kText, "name"},
             {"tenant", kText, "tenant"},
             {"tasks", kInteger, "number of tasks"},
             {"expected_start", kTime, "when it would start; null: not known"},
             {"known", kText, "how the expected start is known"}}}}};
}

AnswerShape text_shape() {
  return {"text", "output of a task, as it was written", {}, {}, AnswerShape::Form::text, "text/plain"};
}

AnswerShape events_shape() {
  return {"events",
          "server-sent events: `id` is the sequence number, `event` the kind, `data` this object",
          {},
          {{"event",
            false,
            "a record of the journal",
            {{"sequence", kInteger, "number of the record"},
             {"time", kText, "time of the record"},
             {"kind", kText, "kind, such as part_running"},
             {"job", kInteger, "number of the job", kOptional},
             {"attempt", kInteger, "number of the attempt", kOptional},
             {"node", kText, "node", kOptional},
             {"session", kInteger, "number of the repair session", kOptional},
             {"code", kText, "what came of it", kOptional},
             {"user", kText, "who asked for it", kOptional},
             {"text", kText, "one sentence"}}}},
          AnswerShape::Form::events,
          "text/event-stream"};
}

AnswerShape session_shape() {
  return {"session",
          "who is signed in",
          {"session"},
          {{"session",
            false,
            "the caller",
            {{"user", kText, "user name"},
             {"method", kText, "how the name was proven: socket, certificate, token, bearer, browser or cli"},
             {"credential", kText | kAbsent, "public part of the token, session or certificate"},
             {"groups", kText | kAbsent, "groups, comma-separated"},
             {"account", kText | kAbsent, "Unix account under which the user's jobs run"},
             {"csrf_token", kText | kAbsent, "of a browser session: value of the header X-CSRF-Token"},
             {"expires", kTime, "end of a bearer token"}}},
           {"roles",
            true,
            "roles of the caller",
            {{"role", kText, "viewer, user, tenant-admin, operator or admin"},
             {"tenant", kText | kAbsent, "tenant of the role; \"*\": every one"}}}}};
}

AnswerShape tokens_shape() {
  return {"tokens",
          "static tokens, without their secrets",
          {"tokens"},
          {{"tokens",
            true,
            "one per token",
            {{"token", kText, "public part: weft_t_ID"},
             {"name", kText, "what it is for"},
             {"user", kText, "user"},
             {"role", kText | kAbsent, "role that it is restricted to"},
             {"tenant", kText | kAbsent, "tenant that it is restricted to"},
             {"state", kText, "valid, expired or revoked"},
             {"created", kTime, "when it was created"},
             {"created_by", kText, "who created it"},
             {"expires", kTime, "when it expires"},
             {"used", kTime, "when it was last used"}}}}};
}

AnswerShape new_token_shape() {
  return {"new_token",
          "a new token; its secret is shown here and nowhere else",
          {"new_token"},
          {{"token",
            false,
            "the token",
            {{"token", kText, "public part: weft_t_ID"},
             {"secret", kText, "the whole token: weft_t_ID_SECRET"},
             {"expires", kTime, "when it expires"}}}}};
}

AnswerShape approvals_shape() {
  return {"approvals",
          "requests that wait for a second person",
          {"approvals"},
          {{"approvals",
            true,
            "one per request",
            {{"approval", kText, "identifier"},
             {"operation", kText, "operation, such as node.confirm-off"},
             {"object", kText, "object, such as a node"},
             {"user", kText, "who asks"},
             {"reason", kText, "why"},
             {"state", kText, "waiting"},
             {"asked", kTime, "when it was asked"},
             {"expires", kTime, "when it expires"},
             {"body", kText, "body of the request"}}}}};
}

AnswerShape audit_shape() {
  const MemberTypes text = kText | kAbsent;
  return {
      "audit",
      "the audit log, the newest entry first",
      {"audit"},
      {{"page", false, "the page", {{"next", kInteger | kAbsent, "parameter `before` of the next page; null: none"}}},
       {"entries",
        true,
        "one per entry",
        {{"number", kInteger, "number of the entry"},
         {"time", kText, "time"},
         {"phase", kText, "intent: before a request is carried out; outcome: after it; note"},
         {"operation", kText, "operation, such as node.drain"},
         {"object", text, "object, such as a node"},
         {"actor", text, "user"},
         {"method", text, "how the name was proven"},
         {"credential", text, "public part of the token, session or certificate"},
         {"address", text, "source address; null: the Unix socket"},
         {"status", kInteger | kAbsent, "HTTP status of an outcome"},
         {"reason", text, "reason that the user gave"},
         {"approved_by", text, "the second person"},
         {"message", text, "what was answered"},
         {"before", text, "state of the object before"},
         {"after", text, "state of the object after"},
         {"body_bytes", kInteger | kAbsent, "length of the body"},
         {"body_sha256", text, "SHA-256 of the body"},
         {"members", text, "some members of the body, as JSON"},
         {"evidence", text, "what proves the outcome, as JSON"},
         {"request", kText, "the same in the intent and the outcome of one request"},
         {"request_id", text, "value of the header X-Request-Id"},
         {"hash", kText, "hash of the entry, which the next one continues"}}}}};
}

}  // namespace

std::span<const AnswerShape> answer_shapes() {
  static const std::vector<AnswerShape> shapes = [] {
    std::vector<AnswerShape> all = {server_shape(),       jobs_shape(),      job_shape(),       why_shape(),
                                    job_check_shape(),    nodes_shape(),     node_shape(),      queue_shape(),
                                    reservations_shape(), leases_shape(),    lease_shape(),     session_shape(),
                                    tokens_shape(),       new_token_shape(), approvals_shape(), audit_shape(),
                                    answer_shape(),       text_shape(),      events_shape()};
    for (AnswerShape& shape : oob_shapes()) all.push_back(std::move(shape));
    return all;
  }();
  return shapes;
}

}  // namespace weft::serve
