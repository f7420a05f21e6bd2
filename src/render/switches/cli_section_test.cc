#include "render/switches/cli_section.h"

#include <gtest/gtest.h>

namespace weft::render {
namespace {

TEST(CliSection, IndentsAndSeparates) {
  CliWriter out(kEosStyle);
  out.comment("what it is\nand of whom");
  {
    const auto router = out.section({"router", "bgp", 65001});
    out.line({"router-id", Ipv4{0x0A000001U}});
    const auto vrf = out.section({"vrf", "red"});
    out.line({"network", Ipv4Prefix{Ipv4{0x0A000000U}, 8}});
  }
  { const auto vlan = out.section({"vlan", 7}); }
  EXPECT_EQ(out.take(),
            "! what it is\n! and of whom\nrouter bgp 65001\n   router-id 10.0.0.1\n   !\n   vrf red\n"
            "      network 10.0.0.0/8\n!\nvlan 7\n");
  EXPECT_TRUE(out.refused().empty());
}

TEST(CliSection, NexusHasBlankLinesBetweenSections) {
  CliWriter out(kNxosStyle);
  out.line({"hostname", "leaf1"});
  out.separate();
  out.separate();
  {
    const auto port = out.section({"interface", "Ethernet1/1"});
    const auto group = out.section({"hsrp", 1});
    out.line({"preempt"});
  }
  EXPECT_EQ(out.take(), "hostname leaf1\n\ninterface Ethernet1/1\n  hsrp 1\n    preempt\n");
}

// Text that would end a line, start another, trigger help or start a comment is rejected.
TEST(CliSection, RejectsTextThatIsNotOneWord) {
  for (const char* bad :
       {"", " ", "a b", "a\nb", "a\rb", "a\tb", "\x1b[2J", "?", "a?", "!x", "#x", "caf\xc3\xa9", "\"x", "x\x7f"}) {
    CliWriter out(kNxosStyle);
    out.line({"logging", "server", bad});
    EXPECT_EQ(out.take(), "") << bad;
    ASSERT_EQ(out.refused().size(), 1U) << bad;
    EXPECT_EQ(out.refused().front().find('\n'), std::string::npos);
  }
  CliWriter out(kNxosStyle);
  out.line({"logging", "server", "10.0.0.1#x"});  // a '#' in the middle does not start a comment
  EXPECT_EQ(out.take(), "logging server 10.0.0.1#x\n");
}

TEST(CliSection, LinesOfARejectedSectionAreOmitted) {
  CliWriter out(kNxosStyle);
  {
    const auto port = out.section({"interface", "a\nb"});
    out.line({"no", "shutdown"});
    out.comment("not here");
    const auto inner = out.section({"hsrp", 1});
    out.line({"preempt"});
  }
  out.line({"end"});
  EXPECT_EQ(out.take(), "end\n");
  EXPECT_EQ(out.refused().size(), 1U);
}

TEST(CliSection, RestOfALineStaysOnIt) {
  CliWriter out(kNxosStyle);
  out.line({"description", CliToken::rest("  to rack 7\nno shutdown? \x1b caf\xc3\xa9 ")});
  EXPECT_EQ(out.take(), "description to rack 7.no shutdown. . caf..\n");
  EXPECT_EQ(CliToken::rest(std::string(500, 'x')).text().size(), 80U);
  EXPECT_EQ(CliToken::rest("").text(), "-");  // a description without text would be an error
  out.comment("vault:x\rreload\nerase");
  EXPECT_EQ(out.take(), "! vault:x.reload\n! erase\n");
}

TEST(CliSection, FoldsNumbers) {
  EXPECT_EQ(cli_ranges({}), "");
  EXPECT_EQ(cli_ranges({7}), "7");
  EXPECT_EQ(cli_ranges({4, 1, 2, 3, 9, 3, 11, 12}), "1-4,9,11-12");
}

}  // namespace
}  // namespace weft::render
