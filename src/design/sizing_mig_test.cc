#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "design/sizing.h"
#include "model/load.h"

namespace weft::design {
namespace {

using Wanted = std::vector<std::pair<std::string, std::int64_t>>;

class Mig : public testing::Test {
 protected:
  static void SetUpTestSuite() { loaded_ = model::load_catalog({}).release(); }
  static void TearDownTestSuite() {
    delete loaded_;
    loaded_ = nullptr;
  }
  static const model::GpuModel& gpu(std::string_view id) {
    const model::GpuModel* found = loaded_->catalog->gpu(id);
    EXPECT_NE(found, nullptr) << id;
    return *found;
  }
  static std::int64_t most(const model::GpuModel& model, const std::string& profile) {
    std::int64_t count = 0;
    while (place_mig(model, {{profile, count + 1}}).fits) ++count;
    return count;
  }

  static model::Loaded* loaded_;
};
model::Loaded* Mig::loaded_ = nullptr;

// NVIDIA MIG User Guide, "H100 MIG Profiles" (H100 80GB): instances available.
TEST_F(Mig, HomogeneousMaximaOfH100MatchThePublishedOnes) {
  const model::GpuModel& h100 = gpu("h100-sxm");
  EXPECT_EQ(most(h100, "1g.10gb"), 7);
  EXPECT_EQ(most(h100, "1g.20gb"), 4);
  EXPECT_EQ(most(h100, "2g.20gb"), 3);
  EXPECT_EQ(most(h100, "3g.40gb"), 2);
  EXPECT_EQ(most(h100, "4g.40gb"), 1);
  EXPECT_EQ(most(h100, "7g.80gb"), 1);
}

// Configurations that mig-parted ships.
TEST_F(Mig, KnownMixesFit) {
  const model::GpuModel& h100 = gpu("h100-sxm");
  EXPECT_TRUE(place_mig(h100, {{"2g.20gb", 3}, {"1g.10gb", 1}}).fits);
  EXPECT_TRUE(place_mig(h100, {{"1g.10gb", 2}, {"2g.20gb", 1}, {"3g.40gb", 1}}).fits);  // all-balanced
  EXPECT_TRUE(place_mig(h100, {{"4g.40gb", 1}, {"3g.40gb", 1}}).fits);
  EXPECT_TRUE(place_mig(h100, {}).fits);
}

TEST_F(Mig, RejectsMixesThatDoNotFitWithTheReason) {
  const model::GpuModel& h100 = gpu("h100-sxm");
  EXPECT_THAT(place_mig(h100, {{"1g.10gb", 8}}).why_not, testing::HasSubstr("compute slices"));
  EXPECT_THAT(place_mig(h100, {{"3g.40gb", 2}, {"1g.10gb", 1}}).why_not, testing::HasSubstr("memory slices"));
  // Seven compute and seven memory slices, but 4g.40gb can start only at slice 0, and so does one of the 3g.40gb.
  EXPECT_FALSE(place_mig(h100, {{"4g.40gb", 2}}).fits);
  EXPECT_THAT(place_mig(h100, {{"1g.10g", 1}}).why_not, testing::HasSubstr("did you mean `1g.10gb`"));
  EXPECT_FALSE(place_mig(h100, {{"1g.10gb", -1}}).fits);
  EXPECT_FALSE(place_mig(h100, {{"1g.10gb", INT64_MAX}}).fits);
  EXPECT_THAT(place_mig(gpu("mi300x"), {{"1g.10gb", 1}}).why_not, testing::HasSubstr("time-slicing"));
}

TEST_F(Mig, PlacesInstancesWithoutOverlapAtLegalStarts) {
  const model::GpuModel& h100 = gpu("h100-sxm");
  const MigPlacement placement = place_mig(h100, {{"1g.10gb", 2}, {"2g.20gb", 1}, {"3g.40gb", 1}});
  ASSERT_TRUE(placement.fits);
  ASSERT_EQ(placement.placed.size(), 4U);
  std::vector<bool> used(8);
  for (const auto& [name, start] : placement.placed) {
    for (const model::MigProfile& profile : *h100.mig) {
      if (*profile.name != name) continue;
      EXPECT_THAT(*profile.starts, testing::Contains(start));
      for (std::int64_t i = 0; i < *profile.memory_slices; ++i) {
        const auto slice = static_cast<std::size_t>(start + i);
        EXPECT_FALSE(used.at(slice)) << name << " at " << start;
        used.at(slice) = true;
      }
    }
  }
}

// The same rules by brute force.
bool fits_by_trying_everything(const model::GpuModel& model, const std::vector<const model::MigProfile*>& instances) {
  std::int64_t compute = 0;
  for (const model::MigProfile* profile : instances) compute += *profile->compute;
  if (compute > 7) return false;
  std::vector<bool> used(8);
  const std::function<bool(std::size_t)> place = [&](std::size_t next) {
    if (next == instances.size()) return true;
    for (const std::int64_t start : *instances[next]->starts) {
      bool free = start + *instances[next]->memory_slices <= 8;
      for (std::int64_t i = 0; free && i < *instances[next]->memory_slices; ++i) {
        free = !used[static_cast<std::size_t>(start + i)];
      }
      if (!free) continue;
      const auto set = [&](bool value) {
        for (std::int64_t i = 0; i < *instances[next]->memory_slices; ++i)
          used[static_cast<std::size_t>(start + i)] = value;
      };
      set(true);
      const bool found = place(next + 1);
      set(false);
      if (found) return true;
    }
    return false;
  };
  (void)model;
  return place(0);
}

TEST_F(Mig, SearchAgreesWithBruteForce) {
  const model::GpuModel& h100 = gpu("h100-sxm");
  const std::vector<model::MigProfile>& profiles = *h100.mig;
  int fitting = 0;
  // Every multiset of at most 7 instances.
  const std::function<void(std::size_t, std::vector<const model::MigProfile*>&)> visit =
      [&](std::size_t next, std::vector<const model::MigProfile*>& chosen) {
        if (next == profiles.size()) {
          Wanted wanted;
          for (const model::MigProfile* profile : chosen) wanted.emplace_back(*profile->name, 1);
          const bool expected = fits_by_trying_everything(h100, chosen);
          EXPECT_EQ(place_mig(h100, wanted).fits, expected) << testing::PrintToString(wanted);
          fitting += expected ? 1 : 0;
          return;
        }
        const std::size_t before = chosen.size();
        for (;;) {
          visit(next + 1, chosen);
          if (chosen.size() == 7) break;
          chosen.push_back(&profiles[next]);
        }
        chosen.resize(before);
      };
  std::vector<const model::MigProfile*> chosen;
  visit(0, chosen);
  EXPECT_GT(fitting, 12);
}

const TableSection* find_table(const Document& document, std::string_view key) {
  for (const auto& section : document.sections) {
    const auto* table = std::get_if<TableSection>(&section);
    if (table != nullptr && table->key == key) return table;
  }
  return nullptr;
}

constexpr const char* kServing = R"(
weft: 1
name: serving
pools:
  - {name: infer, role: inference, server: hgx-h100, count: 4, mig: {2g.20gb: 3, 1g.10gb: 1}}
  - {name: whole, role: inference, server: hgx-h100, count: 2}
  - {name: amd, role: inference, server: mi300x-platform, count: 2, time_slices: 4}
)";

TEST(MigView, CountsInstancesAndNamesResources) {
  const auto loaded = model::load_cluster_text("test.yaml", kServing);
  ASSERT_NE(loaded->cluster, nullptr) << render_all(loaded->diagnostics, loaded->sources, false);
  const Document view = mig_view(*loaded->cluster);
  const TableSection* pools = find_table(view, "pools");
  ASSERT_NE(pools, nullptr);
  ASSERT_EQ(pools->rows.size(), 4U);
  EXPECT_EQ(std::get<std::string>(pools->rows[0][3].value), "nvidia.com/mig-2g.20gb");
  EXPECT_EQ(std::get<std::int64_t>(pools->rows[0][5].value), 24);  // 3 x 8 GPUs
  EXPECT_EQ(std::get<std::int64_t>(pools->rows[0][6].value), 96);  // on 4 nodes
  EXPECT_EQ(std::get<std::string>(pools->rows[1][3].value), "nvidia.com/mig-1g.10gb");
  EXPECT_EQ(std::get<std::int64_t>(pools->rows[3][4].value), 4);
  EXPECT_THAT(view.notes, testing::Contains(testing::HasSubstr("leaves 0 of 7 compute slices and 10GB of 80GB")));
  EXPECT_THAT(view.notes, testing::Contains(testing::AllOf(testing::HasSubstr("whole: inference on whole GPUs"),
                                                           testing::HasSubstr("7 isolated replicas"))));
  EXPECT_THAT(view.notes, testing::Contains(testing::HasSubstr("amd: Instinct MI300X has no MIG")));
}

TEST(MigView, ListsEveryMaximalMixOnce) {
  const auto loaded = model::load_cluster_text("test.yaml", kServing);
  ASSERT_NE(loaded->cluster, nullptr);
  const Document view = mig_view(*loaded->cluster);
  const TableSection* mixes = find_table(view, "mixes_h100-sxm");
  ASSERT_NE(mixes, nullptr);
  std::vector<std::string> names;
  for (const auto& row : mixes->rows) names.push_back(std::get<std::string>(row[0].value));
  // NVIDIA MIG User Guide, figure "MIG profiles": the combinations without 1g.20gb that use the whole GPU.
  for (const char* published :
       {"1g.10gb x7", "2g.20gb x3", "3g.40gb x2", "7g.80gb x1", "4g.40gb x1, 3g.40gb x1",
        "4g.40gb x1, 2g.20gb x1, 1g.10gb x1", "4g.40gb x1, 1g.10gb x3", "3g.40gb x1, 2g.20gb x2",
        "3g.40gb x1, 2g.20gb x1, 1g.10gb x2", "3g.40gb x1, 1g.10gb x4", "2g.20gb x3, 1g.10gb x1",
        "2g.20gb x2, 1g.10gb x3", "2g.20gb x1, 1g.10gb x5"}) {
    EXPECT_EQ(std::count(names.begin(), names.end(), published), 1) << published;
  }
}

}  // namespace
}  // namespace weft::design
