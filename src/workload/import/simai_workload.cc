#include "workload/import/simai_workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "netsim/readers/line_reader.h"

namespace weft::workload {
namespace {

using netsim::LineReader;
using netsim::Word;

constexpr std::int64_t kMaxNanoseconds = 1'000'000'000'000'000;  // 11 days in one kernel
constexpr std::int64_t kMaxPassBytes = 1'000'000'000'000'000;    // 1 PB in one collective
constexpr std::int64_t kMaxRecomputed = 4 * kMaxSimaiRows;
constexpr std::array<std::string_view, 4> kPolicies = {"HYBRID_TRANSFORMER_FWD_IN_BCKWD", "HYBRID_TRANSFORMER", "DATA",
                                                       "MICRO"};

enum class Policy : std::uint8_t { transformer, data, micro };
enum class Range : std::uint8_t { model, data, expert, data_expert };  // the ranks of a collective

struct Pass {
  std::int64_t time_ps = 0;
  bool communicates = false;
  netsim::Collective collective = netsim::Collective::all_reduce;
  Range range = Range::model;
  std::int64_t bytes = 0;
};

struct Row {
  std::string_view name;
  Pass forward;
  Pass input;
  Pass weight;
  std::int64_t update_ps = 0;
};

struct Header {
  Policy policy = Policy::transformer;
  std::int64_t tensor = 1;
  std::int64_t expert = 1;
  std::int64_t stages = 1;
  std::int64_t chunks = 1;
  std::int64_t micro_batches = 1;
  std::int64_t gpus = 0;
  std::int64_t message = 0;
  std::vector<std::int64_t> checkpoints;  // rows whose input is kept
  std::vector<std::int64_t> initiates;    // rows before whose backward pass all rows since the last one are recomputed
};

class Reader {
 public:
  Reader(const Sources& sources, FileId file, const SimaiOptions& options, Diagnostics& diagnostics)
      : lines_(sources, file, diagnostics, '\0'), options_(options) {}

  bool read() {
    if (!lines_.next_line()) {
      if (!lines_.failed()) lines_.error({{}, 1, 1}, "the file has no workload");
      return false;
    }
    read_header();
    if (lines_.failed() || !check_header() || !read_rows()) return false;
    return check_checkpoints();
  }

  [[nodiscard]] const Header& header() const { return header_; }
  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }
  void fail(std::string message) { lines_.error(first_, std::move(message)); }

 private:
  void read_header() {
    first_ = lines_.word();
    const auto* const policy = std::find(kPolicies.begin(), kPolicies.end(), first_.text);
    if (policy == kPolicies.end()) {
      lines_.expected("a parallelism", first_, fmt::format("expected one of {}", fmt::join(kPolicies, ", ")));
      return;
    }
    header_.policy = first_.text == "DATA"    ? Policy::data
                     : first_.text == "MICRO" ? Policy::micro
                                              : Policy::transformer;
    for (Word key = lines_.word(); !key.text.empty() && !lines_.failed(); key = lines_.word()) read_key(key);
  }

  void read_key(const Word& key) {
    std::string_view name = key.text;
    if (name.ends_with(':')) name.remove_suffix(1);
    const auto number = [&](std::int64_t& value, std::int64_t least, std::int64_t most) {
      // AICB uses floating-point division: "25165824.0".
      const Word word = lines_.word();
      const auto read = lines_.decimal(word, fmt::format("`{}`", name), 0, most);
      if (read && *read < least) lines_.error(word, fmt::format("`{}` must be at least {}", name, least));
      value = read.value_or(value);
    };
    if (name == "model_parallel_NPU_group") return number(header_.tensor, 1, kMaxSimaiGpus);
    if (name == "ep" || name == "expert_parallel_npu_group") return number(header_.expert, 1, kMaxSimaiGpus);
    if (name == "pp") return number(header_.stages, 1, kMaxSimaiGpus);
    if (name == "vpp") return number(header_.chunks, 1, 1'000'000);
    if (name == "ga") return number(header_.micro_batches, 1, 100'000'000);
    if (name == "all_gpus") return number(header_.gpus, 1, kMaxSimaiGpus);
    if (name == "pp_comm") return number(header_.message, 0, kMaxPassBytes);
    if (name == "checkpoints") return read_list(header_.checkpoints);
    if (name == "checkpoint_initiates") return read_list(header_.initiates);
    lines_.error(key, fmt::format("unknown key {}", netsim::quoted(key.text)));
  }

  void read_list(std::vector<std::int64_t>& list) {
    const auto count = lines_.integer("the number of rows", 0, kMaxSimaiRows);
    for (std::int64_t i = 0; count && i < *count && !lines_.failed(); ++i) {
      if (const auto row = lines_.integer("a row", 0, kMaxSimaiRows)) list.push_back(*row);
    }
    std::sort(list.begin(), list.end());
  }

  bool check_header() {
    if (header_.gpus == 0) header_.gpus = options_.gpus;
    if (header_.gpus == 0) {
      fail("the file has no `all_gpus:`; set the number of GPUs");
      return false;
    }
    // Microbenchmarks and plain data parallelism use all ranks.
    if (header_.policy != Policy::transformer) header_.tensor = 1;
    const auto model = static_cast<Uint128>(header_.tensor) * static_cast<Uint128>(header_.stages);
    if (static_cast<Uint128>(header_.gpus) % model != 0) {
      fail(fmt::format("{} GPUs are not a multiple of tensor {} x pipeline {}", header_.gpus, header_.tensor,
                       header_.stages));
      return false;
    }
    const std::int64_t data = header_.gpus / static_cast<std::int64_t>(model);
    if (data % header_.expert != 0) {
      fail(fmt::format("{} data-parallel ranks are not a multiple of the expert group size {}", data, header_.expert));
      return false;
    }
    return true;
  }

  bool read_rows() {
    if (!lines_.next_line()) {
      lines_.error(lines_.line_end(), "the number of layers is missing");
      return false;
    }
    const Word count_word = lines_.peek();
    const auto count = lines_.integer("the number of layers", 1, kMaxSimaiRows);
    if (!count || !lines_.ends_here()) return false;
    while (static_cast<std::int64_t>(rows_.size()) < *count && lines_.next_line()) read_row();
    if (lines_.failed()) return false;
    if (static_cast<std::int64_t>(rows_.size()) < *count) {
      lines_.error(count_word, fmt::format("the file announces {} layers but has {}", *count, rows_.size()));
      return false;
    }
    if (lines_.next_line()) {
      lines_.warning(lines_.peek(), fmt::format("ignored: the file announces only {} layers", *count));
    }
    return true;
  }

  void read_row() {
    Row row;
    row.name = lines_.word().text;
    lines_.integer("the dependency (unused)", -1, kMaxSimaiRows);
    read_pass("forward", Range::model, row.forward);
    read_pass("input-gradient", Range::model, row.input);
    read_pass("weight-gradient", Range::data, row.weight);
    row.update_ps = lines_.decimal(lines_.word(), "the update time in ns", 3, kMaxNanoseconds * 1000).value_or(0);
    lines_.ends_here();
    rows_.push_back(row);
  }

  void read_pass(std::string_view which, Range plain, Pass& pass) {
    const auto time = lines_.decimal(lines_.word(), fmt::format("the {} time in ns", which), 3, kMaxNanoseconds * 1000);
    const Word kind = lines_.word();
    const auto bytes = lines_.decimal(lines_.word(), fmt::format("the {} bytes", which), 0, kMaxPassBytes);
    pass.time_ps = time.value_or(0);
    pass.bytes = bytes.value_or(0);
    if (!read_collective(kind.text, plain, pass)) {
      lines_.expected(fmt::format("the {} communication", which), kind,
                      "expected NONE, ALLREDUCE, ALLGATHER, REDUCESCATTER, ALLTOALL or BROADCAST, optionally with the "
                      "suffix _EP or _DP_EP");
    }
  }

  static bool read_collective(std::string_view text, Range plain, Pass& pass) {
    using netsim::Collective;
    if (text == "NONE") return true;
    pass.range = plain;
    if (text.ends_with("_DP_EP")) {
      pass.range = Range::data_expert;
      text.remove_suffix(6);
    } else if (text.ends_with("_EP")) {
      pass.range = Range::expert;
      text.remove_suffix(3);
    }
    constexpr std::array<std::pair<std::string_view, Collective>, 5> kNames = {
        {{"ALLREDUCE", Collective::all_reduce},
         {"ALLGATHER", Collective::all_gather},
         {"REDUCESCATTER", Collective::reduce_scatter},
         {"ALLTOALL", Collective::all_to_all},
         {"BROADCAST", Collective::broadcast}}};
    for (const auto& [name, collective] : kNames) {
      if (text != name) continue;
      pass.collective = collective;
      pass.communicates = pass.bytes > 0;
      return true;
    }
    return false;
  }

  bool check_checkpoints() {
    for (const std::int64_t row : header_.initiates) {
      const bool known = row < static_cast<std::int64_t>(rows_.size());
      if (known && !header_.checkpoints.empty() && header_.checkpoints.front() <= row) continue;
      fail(fmt::format("recomputation begins at row {}, which {}", row,
                       known ? "has no checkpoint before it" : "does not exist"));
      return false;
    }
    return true;
  }

  LineReader lines_;
  const SimaiOptions& options_;
  Header header_;
  std::vector<Row> rows_;
  Word first_;
};

class Builder {
 public:
  Builder(const Header& header, const std::vector<Row>& rows, const SimaiOptions& options, SimaiWorkload& workload)
      : header_(header), rows_(rows), graph_(workload.graph) {
    const auto data = static_cast<std::uint32_t>(header.gpus / (header.tensor * header.stages));
    const auto tensor = static_cast<std::uint32_t>(header.tensor);
    const auto expert = static_cast<std::uint32_t>(header.expert);
    workload.gpus = static_cast<std::uint32_t>(header.gpus);
    workload.tensor = tensor;
    workload.expert = expert;
    workload.data = data;
    workload.rows = rows.size();
    workload.pipeline = {static_cast<std::uint32_t>(header.stages), static_cast<std::uint32_t>(header.chunks),
                         static_cast<std::uint32_t>(header.micro_batches), Bytes(header.message), tensor * data};
    all_ = graph_.add_class("all ranks", workload.gpus);
    // Tensor ranks are adjacent, then experts, then data, then stages: the group order of Megatron-LM and SimAI.
    // Indexed by Range.
    groups_ = {add_group("tensor", tensor, 1, options), add_group("data", data, tensor, options),
               add_group("expert", expert, tensor, options),
               add_group("expert data", data / expert, tensor * expert, options)};
  }

  void build() {
    if (header_.policy == Policy::micro) {
      for (const Row& row : rows_) weight_gradient(row);
      return;
    }
    for (const Row& row : rows_) pass(row, row.forward, "forward");
    for (std::size_t i = rows_.size(); i-- > 0;) {
      const Row& row = rows_[i];
      recompute(static_cast<std::int64_t>(i));
      if (header_.policy == Policy::data) weight_gradient(row);
      pass(row, row.input, "input gradient");
      if (header_.policy != Policy::data) weight_gradient(row);
    }
    for (const auto& [row, after] : updates_) {
      const OpId update = compute(row->name, "update", row->update_ps);
      if (after) graph_.depend(update, *after);
    }
  }

 private:
  GroupId add_group(std::string name, std::uint32_t ranks, std::uint32_t stride, const SimaiOptions& options) {
    const std::uint32_t near = std::clamp(options.node_gpus / stride, 1U, ranks);
    return graph_.add_group({std::move(name), ranks, near, stride});
  }

  OpId compute(std::string_view name, std::string_view phase, std::int64_t time_ps) {
    Op op;
    op.name = graph_.intern(fmt::format("{} {}", name, phase));
    op.duration = SimTime(time_ps);
    op.stream = kSimaiCompute;
    return graph_.add(all_, op);
  }

  OpId communicate(std::string_view name, std::string_view phase, const Pass& pass, std::uint8_t stream) {
    Op op;
    op.kind = OpKind::collective;
    op.stream = stream;
    op.collective = pass.collective;
    op.group = groups_[static_cast<std::size_t>(pass.range)];
    op.bytes = Bytes(pass.bytes);
    op.name = graph_.intern(fmt::format("{} {} {}", name, phase, netsim::to_text(pass.collective)));
    return graph_.add(all_, op);
  }

  // Compute, then communication; the next pass waits for both.
  void pass(const Row& row, const Pass& pass, std::string_view phase) {
    const OpId kernel = compute(row.name, phase, pass.time_ps);
    if (before_) graph_.depend(kernel, *before_);
    before_.reset();
    if (!pass.communicates) return;
    const OpId communication = communicate(row.name, phase, pass, kSimaiBlocking);
    graph_.depend(communication, kernel);
    before_ = communication;
  }

  void weight_gradient(const Row& row) {
    const OpId kernel = compute(row.name, "weight gradient", row.weight.time_ps);
    if (before_) graph_.depend(kernel, *before_);
    before_.reset();
    std::optional<OpId> after;
    if (row.weight.communicates) {
      after = communicate(row.name, "weight gradient", row.weight, kSimaiBackground);
      graph_.depend(*after, kernel);
      if (header_.policy == Policy::micro) before_ = after;
    }
    updates_.emplace_back(&row, after);
  }

  // Recomputes from the nearest checkpoint up to this row.
  void recompute(std::int64_t row) {
    if (!std::binary_search(header_.initiates.begin(), header_.initiates.end(), row)) return;
    const auto from = std::upper_bound(header_.checkpoints.begin(), header_.checkpoints.end(), row);
    for (std::int64_t i = *(from - 1); i < row; ++i) {
      const Row& again = rows_[static_cast<std::size_t>(i)];
      pass(again, again.forward, "recomputation");
    }
  }

  const Header& header_;
  const std::vector<Row>& rows_;
  OpGraph& graph_;
  ClassId all_{0};
  std::array<GroupId, 4> groups_{};
  std::optional<OpId> before_;  // communication that blocks the next kernel
  std::vector<std::pair<const Row*, std::optional<OpId>>> updates_;
};

// Many checkpoints close together could recompute a number of rows quadratic in the input.
bool too_much_recomputation(const Header& header) {
  std::int64_t rows = 0;
  for (const std::int64_t row : header.initiates) {
    const auto from = std::upper_bound(header.checkpoints.begin(), header.checkpoints.end(), row);
    rows = std::min(rows + row - *(from - 1), kMaxRecomputed + 1);
  }
  return rows > kMaxRecomputed;
}

}  // namespace

bool looks_like_simai(std::string_view text) {
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos) return false;
  text.remove_prefix(start);
  const std::string_view word = text.substr(0, text.find_first_of(" \t\r\n"));
  return std::find(kPolicies.begin(), kPolicies.end(), word) != kPolicies.end() || word.starts_with("HYBRID_") ||
         word == "MODEL" || word == "DISTRIBUTED_INFERENCE";
}

std::optional<SimaiWorkload> read_simai_workload(const Sources& sources, FileId file, const SimaiOptions& options,
                                                 Diagnostics& diagnostics) {
  CHECK(options.node_gpus > 0, "an NVLink domain has a GPU");
  Reader reader(sources, file, options, diagnostics);
  if (!reader.read()) return std::nullopt;
  if (too_much_recomputation(reader.header())) {
    reader.fail(fmt::format("more than {} rows would be recomputed", kMaxRecomputed));
    return std::nullopt;
  }
  SimaiWorkload workload;
  Builder builder(reader.header(), reader.rows(), options, workload);
  builder.build();
  if (const Status status = workload.graph.finish(); !status.ok()) {
    reader.fail(status.error().message);
    return std::nullopt;
  }
  return workload;
}

}  // namespace weft::workload
