#include "serve/submit/submission.h"

#include "base/text.h"
#include "serve/submit/submission_test_help.h"

namespace weft::serve {
namespace {

TEST(Submission, DetectsTheFormatByContent) {
  EXPECT_EQ(detect_submission("#!/bin/bash\n"), SubmissionFormat::sbatch);
  EXPECT_EQ(detect_submission("# a comment\n#SBATCH -N 4\n"), SubmissionFormat::sbatch);
  EXPECT_EQ(detect_submission("# job\napiVersion: batch/v1\nkind: Job\n"), SubmissionFormat::manifest);
  EXPECT_EQ(detect_submission("---\nkind: Job\napiVersion: batch/v1\n"), SubmissionFormat::manifest);
  EXPECT_EQ(detect_submission("{\"apiVersion\": \"batch/v1\", \"kind\": \"Job\"}"), SubmissionFormat::manifest);
  EXPECT_EQ(detect_submission("job: 1\nname: a\n"), SubmissionFormat::weft);
  EXPECT_EQ(detect_submission("job: 1\nenvironment:\n  kind: x\n"), SubmissionFormat::weft);
  EXPECT_EQ(detect_submission(""), SubmissionFormat::weft);
}

TEST(Submission, RefusesFilesThatAreTooLarge) {
  const Submitted script = submit("#!/bin/bash\n" + std::string(kMaxScriptBytes, '#'));
  EXPECT_TRUE(contains(script.messages, "a sbatch script has at most 122880")) << script.messages;
  const Submitted manifest = submit("kind: Job\n# " + std::string(kMaxManifestBytes, 'x'));
  EXPECT_TRUE(contains(manifest.messages, "has at most 1048576")) << manifest.messages;
}

TEST(Submission, RefusesNulBytesWithTheirPlace) {
  expect_refused({"script", std::string("#!/bin/bash\necho a\0b\n", 21), "2:7", "NUL byte"});
  expect_refused({"weft", std::string("job: 1\nname: a\0\n", 16), "2:8", "NUL byte"});
  expect_refused({"manifest", std::string("kind: Job\napiVersion: \0\n", 24), "2:13", "NUL byte"});
}

TEST(Submission, RefusesAnEmptyFile) {
  EXPECT_FALSE(submit("").spec.has_value());
  EXPECT_FALSE(submit("\n\n").spec.has_value());
  EXPECT_FALSE(submit("---\n---\n").spec.has_value());
}

TEST(Submission, NeedsTheDirectoryOfTheSubmitter) {
  Sources sources;
  Diagnostics diagnostics;
  const FileId file = sources.add("a", "#!/bin/sh\ntrue\n");
  EXPECT_FALSE(read_submission(sources, file, *pod16().loaded->cluster, *pod16().machine, {}, diagnostics).has_value());
  EXPECT_TRUE(diagnostics.has_errors());
}

TEST(Submission, ErrorsOfOtherFilesDoNotCount) {
  Sources sources;
  Diagnostics diagnostics;
  diagnostics.error({}, "of another file");
  const FileId file = sources.add("a", "#!/bin/sh\n#SBATCH -N 1 --gpus-per-node=1\ntrue\n");
  const Submitter submitter{1, 1, "ada", "/home/ada", {}};
  EXPECT_TRUE(
      read_submission(sources, file, *pod16().loaded->cluster, *pod16().machine, submitter, diagnostics).has_value());
}

}  // namespace
}  // namespace weft::serve
