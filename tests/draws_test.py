#!/usr/bin/env python3
"""Tests of tests/draws.py: which draws it reports, and which it leaves alone."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

from draws import problems_of

UNORDERED = [
    "f(random.next(), random.next());",
    "edges.emplace_back(random.below(count), static_cast<int>(random.below(count)));",
    "insert(set, NodeId{static_cast<std::uint32_t>(random_.below(4))}, random_.below(2));",
    "text = format(a, random.between(4, 20), random.chance(0.5) ? \"row\" : \"central\");",
    "g(store ? random.between(1, 16) : 0, infra ? random.below(2) : 0);",
    "auto x = random.below(3) + random.below(4);",
    "h(random, random.chance(0.3));",
]
ORDERED = [
    "items.push_back({random.between(0, 12), 1, random.between(0, 3)});",
    "items.push_back({{random.between(0, 12), 1}, -1, random.chance(0.5)});",
    "auto x = random.chance(0.5) ? random.below(2) : random.below(3);",
    "if (random.chance(0.5) && random.chance(0.5)) go();",
    "auto x = random.next() >> random.below(64);",
    "if (random.chance(0.3)) {\n  f(random.below(2));\n}\nout += a + pick(random, b);",
    "const int a = random.below(2);\nf(a, random.below(3));",
    "for (auto n = random.below(5); n > 0; --n) f(random.below(2));",
    "f(random.split(\"a\"), random.split(\"b\"));",
    "// f(random.next(), random.next())\nf(\"random.next(), random.next()\");",
]


class Draws(unittest.TestCase):
    def test_reports_draws_without_an_order(self):
        for text in UNORDERED:
            with self.subTest(text):
                self.assertTrue(list(problems_of(text)))

    def test_leaves_ordered_draws_alone(self):
        for text in ORDERED:
            with self.subTest(text):
                self.assertEqual(list(problems_of(text)), [])

    def test_an_empty_folder_is_an_error(self):
        with tempfile.TemporaryDirectory() as folder:
            script = pathlib.Path(__file__).parent / "draws.py"
            done = subprocess.run([sys.executable, str(script), folder], capture_output=True, text=True, check=False)
            self.assertNotEqual(done.returncode, 0)


if __name__ == "__main__":
    unittest.main()
