#include "serve/submit/submission.h"

#include <fmt/format.h>

#include <array>

#include "base/text.h"
#include "base/utf8.h"
#include "serve/submit/draft.h"

namespace weft::serve {
namespace {

constexpr std::array<std::string_view, 3> kFormats = {"weft job file", "sbatch script", "Kubernetes manifest"};

// A key of the top level: "apiVersion: v1", or in JSON "apiVersion": "v1".
bool is_manifest_line(std::string_view line) {
  return line.starts_with("apiVersion:") || line.starts_with("kind:") || line.starts_with("\"apiVersion\":") ||
         line.starts_with("\"kind\":");
}

bool is_json_manifest(std::string_view text) {
  const std::string_view body = trim(text);
  return body.starts_with("{") && contains(body, "\"apiVersion\"");
}

// What no format allows: a NUL byte, or more text than the format's limit.
bool check_text(const SubmitContext& context, SubmissionFormat format) {
  const std::string_view text = context.sources.text(context.file);
  const std::size_t limit = format == SubmissionFormat::sbatch ? kMaxScriptBytes : kMaxManifestBytes;
  const SourceLocation start = place_at(context.file, 1, 1);
  if (text.size() > limit) {
    context.error(start,
                  fmt::format("the file has {} bytes; a {} has at most {}", text.size(), to_text(format), limit));
    return false;
  }
  std::uint32_t number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    if (const std::size_t nul = line.find('\0'); nul != std::string_view::npos) {
      context.error(place_at(context.file, number, nul + 1), "the file contains a NUL byte");
      return false;
    }
  }
  return true;
}

// An image that the submitter asks for is never ignored.
void set_image(JobDraft& draft, const SubmitContext& context) {
  const std::string& image = context.submitter.image;
  if (image.empty()) return;
  if (context.submitter.containers == ContainerRuntime::none)
    context.error(draft.place, fmt::format("the image {} cannot be used: the engine runs programs on the host",
                                           in_backticks(image)));
  draft.spec.image = image;
}

std::optional<JobDraft> read_draft(const SubmitContext& context, SubmissionFormat format) {
  switch (format) {
    case SubmissionFormat::sbatch:
      return read_sbatch_job(context);
    case SubmissionFormat::manifest:
      return read_manifest(context);
    case SubmissionFormat::weft:
      break;
  }
  return read_weft_job(context);
}

}  // namespace

std::string_view to_text(SubmissionFormat format) { return kFormats[static_cast<std::size_t>(format)]; }

SubmissionFormat detect_submission(std::string_view text) {
  if (text.starts_with("#!")) return SubmissionFormat::sbatch;
  bool manifest = is_json_manifest(text);
  for (const std::string_view line : split(text, '\n')) {
    if (line.starts_with("#SBATCH")) return SubmissionFormat::sbatch;
    manifest = manifest || is_manifest_line(line);
  }
  return manifest ? SubmissionFormat::manifest : SubmissionFormat::weft;
}

std::optional<control::JobSpec> read_submission(const Sources& sources, FileId file, const model::Cluster& cluster,
                                                const sched::Machine& machine, const Submitter& submitter,
                                                Diagnostics& diagnostics) {
  const SubmitContext context{sources, file, cluster, machine, submitter, diagnostics, diagnostics.error_count()};
  const SubmissionFormat format = detect_submission(sources.text(file));
  if (!check_text(context, format)) return std::nullopt;
  if (!is_absolute_path(submitter.directory)) {
    context.error(place_at(file, 1, 1), fmt::format("the submitter's directory {} is not an absolute path",
                                                    in_backticks(submitter.directory)));
    return std::nullopt;
  }
  std::optional<JobDraft> draft = read_draft(context, format);
  if (!draft) {
    CHECK(context.failed(), "a file without a job has an error");
    return std::nullopt;
  }
  set_image(*draft, context);
  std::optional<control::JobSpec> spec = finish_draft(std::move(*draft), context);
  if (context.failed()) return std::nullopt;
  return spec;
}

}  // namespace weft::serve
