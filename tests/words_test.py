#!/usr/bin/env python3
"""Each rule of tests/words.py is broken once in a small tree, and found; what must pass, passes."""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import words  # noqa: E402  (from this folder)

RULES = "\\bnobody\\b\tname who\n\\bone leaf a rail\\b\tper\n[spelling]\ncolour\tcolor\n"


class Tree(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name)
        self.write("tests/words.txt", RULES)
        self.write("src/a/a.cc", 'int f();  // fine\nconst char* text = "fine";\n')

    def tearDown(self):
        self.folder.cleanup()

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def run_words(self):
        out, errors = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
            code = words.main([str(self.root)])
        return code, out.getvalue(), errors.getvalue()

    def expect(self, code, *parts):
        got, out, errors = self.run_words()
        self.assertEqual(got, code, out + errors)
        for part in parts:
            self.assertIn(part, out + errors)

    def test_what_a_pattern_needs_is_in_what_it_matches(self):
        for pattern, text in [(r"\bword\b", "Word"), (r"\b(term|terms)\b", "two TERMS"), (r"\bmakes? no sense\b", "make no sense"),
                              (r"\bstand(s|ing)? in (for|the place)\b", "stand in for"), (r"\(row [A-I][0-9]+\)", "(row H3)"),
                              (r"\b(GPUs|ports) a (rail|rack)\b", "8 GPUs a rack"), (r"\b(kilo|centi)?metres?\b", "metre"),
                              (r"(utilis|optimis)(e|ed)", "Utilised")]:
            self.assertRegex(text.lower(), f"(?i){pattern}")
            self.assertTrue(any(part in text.lower() for part in words.needed(pattern)), (pattern, words.needed(pattern)))

    def test_clean_tree_passes(self):
        self.expect(0, "0 problems")

    def test_literal_is_found_with_its_line(self):
        self.write("src/a/b.cc", '\nvoid g() { say("refused: nobody asked"); }\n')
        self.expect(1, "src/a/b.cc:2: \"nobody\": name who")

    def test_phrase_across_joined_literals_is_found(self):
        self.write("src/a/b.cc", 'const char* t = "one leaf "\n    "a rail";\n')
        self.expect(1, "one leaf a rail")

    def test_raw_string_is_read(self):
        self.write("src/a/b.cc", 'const char* t = R"x(\nnobody\n)x";\n')
        self.expect(1, "nobody")

    def test_comments_includes_names_and_tests_may_have_it(self):
        self.write("src/a/b.cc", '#include "a/nobody.h"\n// "nobody"\n/* "nobody" */ int nobody = \'"\';\n')
        self.write("src/a/b_test.cc", 'const char* t = "nobody";\n')
        self.expect(0)

    def test_allowed_line_passes(self):
        self.write("src/a/b.cc", 'const char* t = "nobody";  // the user of NFS (words: allow)\n')
        self.expect(0)

    def test_documents_and_assets_are_read(self):
        for name in ("docs/a.md", "README.md", "assets/render/a.yml"):
            with self.subTest(name):
                self.write(name, "text\nnobody\n")
                self.expect(1, f"{name}:2:")
                self.write(name, "text\n")

    def test_spelling_holds_everywhere(self):
        for name in ("src/a/b_test.cc", "tests/x.py", "cmake/X.cmake", "bench/b.cc"):
            with self.subTest(name):
                self.write(name, "# colour\n")
                self.expect(1, f"{name}:1: \"colour\"")
                self.write(name, "\n")

    def test_case_is_ignored(self):
        self.write("docs/a.md", "Nobody\n")
        self.expect(1)

    def test_bad_rules_are_an_error(self):
        for text in ("nobody\n[spelling]\na\tb\n", "(\tb\n[spelling]\na\tb\n", "", "a\tb\n"):
            with self.subTest(text):
                self.write("tests/words.txt", text)
                self.expect(2)

    def test_missing_rules_are_an_error(self):
        (self.root / "tests/words.txt").unlink()
        self.expect(2)


if __name__ == "__main__":
    unittest.main()
