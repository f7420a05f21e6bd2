#!/usr/bin/env python3
"""Tests tests/layers.py on small trees: each rule is broken once, and must be reported."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).parent / "layers.py"
LIST = """\
weft_module(base)
weft_module(net base)
  weft_submodule(net low)
  weft_submodule(net high low)
weft_module(app ALL)
"""
FILES = {
    "base/result.h": "",
    "net/low/link.h": '#include "base/result.h"\n',
    "net/high/route.cc": '#include "net/low/link.h"\n',
    "net/high/route_test.cc": '#include "net/low/link.h"\n',
    "app/run.cc": '#include "net/high/route.h"\n',
    "net/high/route.h": "",
}


def check(files, modules=LIST):
    """The exit code and the output for a tree with these files of src/."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "cmake").mkdir()
        (root / "cmake" / "Modules.cmake").write_text(modules)
        for name, text in files.items():
            path = root / "src" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        done = subprocess.run([sys.executable, SCRIPT, root], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout


class LayersTest(unittest.TestCase):
    def passes(self, files, modules=LIST):
        code, output = check(files, modules)
        self.assertEqual(code, 0, output)
        return output

    def fails(self, expected, files, modules=LIST):
        code, output = check(files, modules)
        self.assertEqual(code, 1, output)
        self.assertIn(expected, output)

    def test_a_tree_that_keeps_the_rules(self):
        self.assertIn("6 files in 3 modules and 2 sub-modules, 0 problems", self.passes(FILES))

    def test_a_module_above(self):
        self.fails('base may not include "app/run.h"', FILES | {"base/x.cc": '#include "app/run.h"\n', "app/run.h": ""})

    def test_a_sub_module_above(self):
        self.fails('src/net/low/x.cc:2: net/low may not include "net/high/route.h"',
                   FILES | {"net/low/x.cc": '\n#include "net/high/route.h"\n'})

    def test_tests_keep_to_the_sub_modules(self):
        self.fails('net/low may not include "net/high/route.h"',
                   FILES | {"net/low/x_test.cc": '  #  include "net/high/route.h"\n'})

    def test_a_folder_that_is_not_listed(self):
        self.fails("src/net/deep: a sub-module that is not listed", FILES | {"net/deep/x.cc": ""})
        self.fails("src/other: a module that is not listed", FILES | {"other/x.cc": ""})

    def test_a_listed_folder_that_does_not_exist(self):
        self.fails("there is no src/net/extra", FILES, LIST + "weft_submodule(net extra)\n")
        self.fails("there is no src/extra", FILES, LIST + "weft_module(extra)\n")

    def test_a_folder_in_a_sub_module(self):
        self.fails("a sub-module has no folders of its own", FILES | {"net/low/deep/x.cc": ""})

    def test_a_file_outside_the_sub_modules(self):
        self.fails("src/net/x.cc: a file outside the sub-modules of net", FILES | {"net/x.cc": ""})
        self.passes(FILES | {"net/main.cc": ""})

    def test_a_cycle_cannot_be_declared(self):
        self.fails("net/low may not depend on net/high, which is not listed before it", FILES,
                   LIST.replace("(net low)", "(net low high)"))
        self.fails("base may not depend on net, which is not listed before it", FILES,
                   LIST.replace("(base)", "(base net)"))

    def test_a_folder_with_too_many_files(self):
        many = {f"net/low/f{number}.cc": "" for number in range(59)}
        self.passes(FILES | many | {"net/low/f_test.cc": ""})
        self.fails("src/net/low: 61 files", FILES | many | {"net/low/more.cc": ""})

    def test_a_file_that_is_too_long(self):
        self.fails("1001 lines", FILES | {"base/x.cc": "\n" * 1001})

    def test_an_include_of_nothing(self):
        self.fails("there is no src/base/none.h", FILES | {"base/x.cc": '#include "base/none.h"\n'})
        self.fails("does not name a module", FILES | {"base/x.cc": '#include "none.h"\n'})

    def test_a_cycle_of_headers(self):
        ring = {"base/a.h": '#include "base/b.h"\n', "base/b.h": '#include "base/c.h"\n',
                "base/c.h": '#include "base/a.h"\n', "base/a.cc": '#include "base/a.h"\n'}
        self.fails("src/base/a.h: includes itself: base/a.h -> base/b.h -> base/c.h -> base/a.h", FILES | ring)
        self.fails("src/base/a.h: includes itself: base/a.h -> base/a.h", FILES | {"base/a.h": ring["base/c.h"]})
        self.passes(FILES | ring | {"base/c.h": ""})
        # Both below one is no cycle.
        self.passes(FILES | ring | {"base/b.h": '#include "base/c.h"\n', "base/c.h": "",
                                    "base/a.h": '#include "base/b.h"\n#include "base/c.h"\n'})

    def test_two_types_of_one_name(self):
        text = "namespace weft {\nstruct Same {\n};\n}  // namespace weft\n"
        self.fails("weft::Same is also defined", FILES | {"base/a.cc": text, "base/b.cc": text})

    def test_an_empty_list(self):
        self.fails("no modules found", FILES, "")


if __name__ == "__main__":
    unittest.main()
