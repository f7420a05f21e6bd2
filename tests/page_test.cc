// The timeline page in a real browser: its script runs without console messages, hostile names stay text, the buttons
// and the pointer work. Needs Debian's chromium.
#include "workload/life/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/test_prerequisites.h"
#include "lab.h"
#include "workload/result/life_sample.h"

namespace weft {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing_lab::Lab;
using testing_lab::Outcome;

// The document after its scripts ran, and the browser's standard error.
Outcome browse(Lab& lab, const std::string& file, const std::string& size = "1280,2000") {
  const std::string folder = lab.folder().string();
  lab.variable("HOME", folder);
  return lab.run(
      {"chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
       "--user-data-dir=" + folder + "/profile", "--allow-file-access-from-files", "--window-size=" + size,
       "--virtual-time-budget=3000", "--enable-logging=stderr", "--dump-dom", "file://" + folder + "/" + file},
      90, true);
}

TEST(Page, ScriptDrawsTheTimelineWithoutConsoleMessages) {
  WEFT_NEEDS_PROGRAM("chromium");
  Lab lab("page");
  lab.put("life.html", workload::life_page(workload::sample::life(2, 40)));
  const Outcome outcome = browse(lab, "life.html");
  ASSERT_EQ(outcome.code, 0) << outcome.out;
  EXPECT_THAT(outcome.out, HasSubstr("data-weft=\"ready\""));
  // Per server: 2 x 40 + 1 spans forward and as many backward, an optimizer, 2 x 40 on NVLink, 8 on the NIC.
  EXPECT_THAT(outcome.out, HasSubstr("data-spans=\"502\""));
  EXPECT_THAT(outcome.out, Not(HasSubstr("CONSOLE")));
}

TEST(Page, ThinnedTimelineOnANarrowScreen) {
  WEFT_NEEDS_PROGRAM("chromium");
  Lab lab("page");
  lab.put("life.html", workload::life_page(workload::sample::life(8, 4000)));
  const Outcome outcome = browse(lab, "life.html", "400,900");
  ASSERT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("data-weft=\"ready\""));
  EXPECT_THAT(outcome.out, Not(HasSubstr("CONSOLE")));
}

TEST(Page, HostileNamesRunNothing) {
  WEFT_NEEDS_PROGRAM("chromium");
  const std::string evil =
      "</script></title></style></svg><script>document.documentElement.dataset.taken=1</script>"
      "<img src=x onerror=\"document.documentElement.dataset.taken=2\">\" onload=\"alert(1)\" '";
  workload::LifeResult life = workload::sample::life();
  life.cluster = life.job = life.model = life.layout = life.verdict.bound_by = life.verdict.because = evil;
  for (workload::LifeState& state : life.states) {
    state.name = evil;
    for (workload::LifeEvent& event : state.events) event.what = event.protocol = event.detail = evil;
  }
  for (std::string& name : life.timeline.names) name = evil;
  for (workload::TimelineTrack& track : life.timeline.tracks) track.process = track.thread = evil;
  life.assumptions = {evil};
  Lab lab("page");
  lab.put("life.html", workload::life_page(life));
  const Outcome outcome = browse(lab, "life.html");
  ASSERT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("data-weft=\"ready\""));
  EXPECT_THAT(outcome.out, Not(HasSubstr("data-taken")));
  EXPECT_THAT(outcome.out, Not(HasSubstr("CONSOLE")));
}

// Even if markup were injected into the page, its content security policy would not let it run.
TEST(Page, PolicyBlocksForeignScripts) {
  WEFT_NEEDS_PROGRAM("chromium");
  Lab lab("page");
  std::string page = workload::life_page(workload::sample::life());
  page.insert(page.find("</main>"), "<script>document.documentElement.dataset.taken=1</script>");
  lab.put("life.html", page);
  const Outcome outcome = browse(lab, "life.html");
  ASSERT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("data-weft=\"ready\""));
  EXPECT_THAT(outcome.out, Not(HasSubstr("data-taken")));
  EXPECT_THAT(outcome.out, HasSubstr("CONSOLE"));  // the browser reports that it blocked it
}

TEST(Page, ButtonsZoomAndThePointerShowsWhatIsUnderIt) {
  WEFT_NEEDS_PROGRAM("chromium");
  Lab lab("page");
  lab.put("life.html", workload::life_page(workload::sample::life(1, 4)));
  lab.put("frame.html",
          R"(<!DOCTYPE html><iframe id="f" src="life.html" width="1200" height="900"></iframe><p id="tip"></p>
<script>
document.getElementById('f').onload = () => {
  const inner = document.getElementById('f').contentDocument, out = document.documentElement.dataset;
  const press = (what) => inner.querySelector('[data-do=' + what + ']').click();
  const view = () => inner.documentElement.dataset.view;
  press('in'); out.in = view();
  press('left'); out.left = view();
  press('all'); out.all = view();
  // 24 pixels of axis and 20 of the server's name above; a fifth from the left, where the forward pass is.
  const canvas = inner.querySelector('canvas'), box = canvas.getBoundingClientRect();
  canvas.dispatchEvent(new PointerEvent('pointermove',
      {clientX: box.left + 0.3 * box.width, clientY: box.top + 24 + 20 + 7}));
  document.getElementById('tip').textContent = inner.getElementById('tip').textContent;
};
</script>)");
  const Outcome outcome = browse(lab, "frame.html");
  ASSERT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("data-in=\"372500000-1117500000\""));  // the middle half of 1.49 s
  EXPECT_THAT(outcome.out, HasSubstr("data-left=\"186250000-931250000\""));
  EXPECT_THAT(outcome.out, HasSubstr("data-all=\"0-1490000000\""));
  EXPECT_THAT(outcome.out, HasSubstr("<p id=\"tip\">forward\n466 ms from 0 ns</p>"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("CONSOLE")));
}

}  // namespace
}  // namespace weft
