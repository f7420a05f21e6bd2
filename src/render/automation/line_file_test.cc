#include "render/core/line_file.h"

#include <gtest/gtest.h>

#include "render/automation/ansible_inventory.h"
#include "render/automation/terraform_parts.h"

namespace weft::render {
namespace {

TEST(LineFile, WordsCannotEndTheirLine) {
  EXPECT_EQ(config_word("sto1"), "sto1");
  EXPECT_EQ(config_word("a b\nc#d;e\"f"), "a_b_c_d_e_f");
  EXPECT_EQ(config_word(""), "_");
  EXPECT_EQ(config_word("[::1]:514"), "[::1]:514");
}

TEST(AnsibleInventory, HostsAreFoldedIntoAnsibleRanges) {
  const Value keys = ansible_host_keys({"n001", "n002", "n003", "n007", "x"});
  std::vector<std::string> names;
  for (const Value::Entry& entry : keys.entries()) names.push_back(entry.key);
  EXPECT_EQ(names, (std::vector<std::string>{"n[001:003]", "n007", "x"}));
  EXPECT_TRUE(ansible_host_keys({}).empty());
  EXPECT_EQ(ansible_group_name("rack_", "row 1/r-2"), "rack_row_1_r_2");
}

TEST(Terraform, UserTextStartsNoExpression) {
  EXPECT_EQ(terraform_text("a${b}%{c}$d%"), "a$${b}%%{c}$d%");
  EXPECT_EQ(terraform_name("pool-", "a b.c"), "pool-a_b_c");
}

}  // namespace
}  // namespace weft::render
