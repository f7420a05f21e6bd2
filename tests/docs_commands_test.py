#!/usr/bin/env python3
"""Tests of tests/docs_commands.py: what it extracts from a document, runs, compares and refuses."""

import os
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True  # the source tree stays as it is
import docs_commands  # noqa: E402  (the line above comes first)

# Stands for weft: `help` lists two commands, `say` prints its arguments, `fail` ends with 3, `serve` waits to be stopped.
FAKE_WEFT = """#!/bin/sh
case $1 in
  help)
    if [ $# -gt 1 ]; then echo "      --loud  shout"; exit 0; fi
    printf 'Usage: weft\\n\\nTalk:\\n  say           Print words\\n\\nOther:\\n  catalog list  List items\\n\\nOptions of every command:\\n  -q  be quiet\\n' ;;
  say) shift; printf '%s\\n' "$@" ;;
  fail) echo failed >&2; exit 3 ;;
  serve) trap 'echo stopped > stopped; exit 0' TERM; echo "ready on port 12345"; while :; do sleep 0.05; done ;;
esac
"""


class Extract(unittest.TestCase):
    def test_reads_commands_and_shown_output(self):
        blocks = docs_commands.read_blocks(
            "text\n```console\n$ weft say a \\\n    b\na\nb\n$ weft say c # why\n```\n```sh\n# first\nweft say d\n\nls\n```\n")
        self.assertEqual([block.language for block in blocks], ["console", "sh"])
        first, second = blocks[0].commands
        self.assertEqual((first.text, first.line, first.shown, first.shown_line), ("weft say a \\\n    b", 3, ["a", "b"], 5))
        self.assertEqual((second.text, second.shown), ("weft say c # why", []))
        self.assertEqual([command.text for command in blocks[1].commands], ["weft say d", "ls"])

    def test_reads_directives(self):
        blocks = docs_commands.read_blocks(
            "<!-- exit 1: weft check -->\n<!-- exit 3: weft check b -->\n<!-- data: traces/a/b.csv as c.csv -->\n"
            "```sh\nweft check a\nweft check b\nweft show\n```\n<!-- not run: needs root -->\n```sh\nmake\n```\n"
            "<!-- file: d/e.yaml -->\n```yaml\nweft: 1\n```\n")
        self.assertEqual([blocks[0].expected_exit(command.text) for command in blocks[0].commands], [1, 3, 0])
        self.assertEqual(blocks[0].data, [("traces/a/b.csv", "c.csv")])
        self.assertEqual(blocks[1].not_run, "needs root")
        self.assertEqual((blocks[2].file, blocks[2].content), ("d/e.yaml", ["weft: 1"]))

    def test_knows_background_commands(self):
        for text, expected in [("a &", True), ("a & # why", True), ("a && b", False), ("a '&' b", False), ("a &&", False)]:
            with self.subTest(text):
                self.assertEqual(docs_commands.Command(1, text).background, expected)

    def test_refuses_what_would_not_be_run(self):
        for text, message in [
                ("```\nweft say a\n```\n", "1: a block without a language"),
                ("```text\nweft say a\n```\n", "2: a command in a block of `text`"),
                ("```yaml\na: b\n$ weft say a\n```\n", "3: a command in a block of `yaml`"),
                ("Do:\n\n    weft say a\n", "3: a command in an indented block"),
                ("```sh\nweft say a\n", "1: a block without an end"),
                ("```console\na\n$ weft say a\n```\n", "2: output without a command"),
                ("<!-- not run: why -->\n\n```sh\nweft say a\n```\n", "1: no block directly after `not run`"),
                ("<!-- not run -->\n```sh\nweft say a\n```\n", "1: `not run` must be followed by"),
                ("<!-- exit one -->\n```sh\nweft say a\n```\n", "1: write `<!-- exit N -->`"),
                ("<!-- exit 1: weft lay -->\n```sh\nweft say a\n```\n", "2: no command begins with `weft lay`"),
                ("<!-- exit 1 -->\n```text\na\n```\n", "2: a block of `text` has no commands"),
                ("<!-- file: a -->\n```sh\nweft say a\n```\n", "2: a block of commands cannot be a file"),
        ]:
            with self.subTest(text), self.assertRaises(docs_commands.DocumentError) as raised:
                docs_commands.read_blocks(text)
            self.assertIn(message, str(raised.exception))

    def test_finds_commands_in_prose(self):
        text = "A `weft say a` and `weft\nb`.\n```sh\n`weft c`\n```\n`weft catalog\nlist --loud`, `other`\n"
        self.assertEqual(docs_commands.read_inline(text), [(1, ["say", "a"]), (6, ["catalog", "list", "--loud"])])


class Compare(unittest.TestCase):
    PRINTED = ["a 1", "", "b 2", "c 3", "d 4"]

    def check(self, shown, expected, printed=None):
        with self.subTest(shown=shown):
            self.assertEqual(docs_commands.output_matches(shown, printed or self.PRINTED), expected)

    def test_whole_output(self):
        self.check(["a 1", "", "b 2", "c 3", "d 4"], True)
        self.check(["a 1", "", "b 2", "c 3", "d 4", ""], True)
        self.check(["a 1", "", "b 2", "c 3"], False)
        self.check(["a 1", "", "b 2", "c 3", "d 4", "e 5"], False)
        self.check(["a 1", "b 2", "c 3", "d 4"], False)
        self.check(["a 1", "", "b 2", "c 3", "d  4"], False)

    def test_missing_output(self):
        self.assertFalse(docs_commands.output_matches(["a"], []))
        self.assertFalse(docs_commands.output_matches(["...", "a"], []))
        self.assertTrue(docs_commands.output_matches(["..."], []))

    def test_omitted_lines(self):
        self.check(["...", "d 4"], True)
        self.check(["a 1", "..."], True)
        self.check(["...", "b 2", "c 3", "..."], True)
        self.check(["a 1", "...", "c 3", "...", "d 4"], True)
        self.check(["...", "b 2", "d 4"], False)
        self.check(["...", "c 3"], False)
        self.check(["b 2", "..."], False)
        self.check(["...", "c 3", "...", "b 2", "..."], False)
        self.check(["a 1", "...", "a 1", "..."], False)

    def test_omitted_text(self):
        self.check(["...", "c ...", "..."], True)
        self.check(["...", "... 4"], True)
        self.check(["...", "d ... 5"], False)
        self.check(["(...) x", "y"], True, ["(a.b*) x", "y"])
        self.check(["a.c"], False, ["abc"])

    def test_what_differs_from_run_to_run(self):
        self.check(["Operation:  0123456789abcdef", "Time taken:  6.264 s", "on port 80123"], True,
                   ["Operation:  fedcba9876543210", "Time taken:  16.1 s", "on port 4242"])
        self.check(["Operation:  0123456789abcdef"], False, ["Operation:  none"])

    def test_updates_what_is_shown(self):
        update = docs_commands.updated_output
        self.assertEqual(update(["old"], self.PRINTED), self.PRINTED)
        self.assertEqual(update(["...", "b 1", "c 3", "..."], self.PRINTED), ["...", "b 2", "c 3", "..."])
        self.assertEqual(update(["a ...", "...", "d 5"], self.PRINTED), ["a ...", "...", "d 4"])
        self.assertEqual(update(["time 12 s, because ...", "..."], ["time 13 s, because it is", "b"]),
                         ["time 13 s, because ...", "..."])
        for shown in (["...", "b 1", "..."], ["x", "...", "c 9", "...", "d"]):
            self.assertTrue(docs_commands.output_matches(update(shown, self.PRINTED), self.PRINTED), shown)


class Run(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        weft = self.folder / "weft"
        weft.write_text(FAKE_WEFT, encoding="utf-8")
        weft.chmod(0o755)
        (self.folder / "data").mkdir()
        self.runner = docs_commands.Runner(weft, self.folder / "data")

    def run_document(self, text, update=False):
        self.document = self.folder / "page.md"
        self.document.write_text(text, encoding="utf-8")
        return self.runner.run(self.document, update)

    def problems(self, text):
        return "\n".join(self.run_document(text)[0])

    def test_counts_what_is_run_compared_and_not_run(self):
        problems, counts, missing = self.run_document(
            "See `weft say`.\n```console\n$ weft say a b\na\nb\n$ weft say c\n```\n"
            "<!-- not run: needs root -->\n```sh\nsudo weft say a\nweft say b\n```\n"
            "<!-- data: no/such/file.csv -->\n```sh\nweft say file.csv\n```\n")
        self.assertEqual(problems, [])
        self.assertEqual(counts, {"run": 2, "compared": 1, "not run": 2, "skipped": 1, "named": 1})
        self.assertEqual(missing, ["no/such/file.csv"])

    def test_reports_a_mismatch(self):
        problems = self.problems("```console\n$ weft say a b\na\nc\n```\n")
        self.assertIn("page.md:2: weft say a b", problems)
        self.assertIn("-c\n+b", problems)

    def test_reports_missing_output(self):
        self.assertIn("-something", self.problems("```console\n$ weft say > /dev/null\nsomething\n```\n"))

    def test_reports_exit_codes(self):
        self.assertIn("page.md:2: weft fail\nexit code 3, not 0\nfailed", self.problems("```sh\nweft fail\n```\n"))
        self.assertEqual(self.problems("<!-- exit 3 -->\n```console\n$ weft fail\nfailed\n```\n"), "")
        self.assertIn("exit code 0, not 3", self.problems("<!-- exit 3 -->\n```sh\nweft say a\n```\n"))
        self.assertIn("exit code 3, not 0", self.problems("```sh\nweft fail | cat\n```\n"))

    def test_stops_a_block_at_the_first_failure(self):
        problems, counts, _ = self.run_document("```sh\nweft fail\nweft say a > made\n```\n```sh\ntest ! -e made\n```\n")
        self.assertEqual((len(problems), counts["run"]), (1, 2))

    def test_reports_an_unmarked_command(self):
        self.assertIn("page.md:2: a command in a block of `text`", self.problems("```text\nweft say a\n```\n"))

    def test_reports_a_syntax_error(self):
        self.assertIn("exit code none", self.problems("```sh\nweft say 'a\n```\n"))

    def test_reports_unknown_commands_and_options_in_prose(self):
        self.assertIn("page.md:1: there is no command `weft sing`", self.problems("`weft sing`\n"))
        self.assertIn("`weft say` has no option --lou", self.problems("`weft say --lou`\n"))
        self.assertIn("there is no command `weft catalog show`", self.problems("`weft catalog show`\n"))
        self.assertEqual(self.problems("`weft say --loud a`, `weft catalog`, `weft catalog list`\n"), "")

    def test_blocks_share_a_folder_with_files_and_examples(self):
        self.assertEqual(self.problems(
            "<!-- file: in/a.yaml -->\n```yaml\nweft: 1\n```\n```console\n$ cat in/a.yaml > b\n```\n"
            "```console\n$ cat b\nweft: 1\n$ test -e examples/pod16.yaml\n```\n"), "")
        self.assertFalse(os.path.exists("b"))

    def test_links_data(self):
        (self.folder / "data" / "traces").mkdir()
        (self.folder / "data" / "traces" / "a.csv").write_text("name\n", encoding="utf-8")
        self.assertEqual(self.problems("<!-- data: traces/a.csv as b.csv -->\n```console\n$ cat b.csv\nname\n```\n"), "")

    def test_background_commands_are_ready_and_are_stopped(self):
        problems = self.problems(
            "```console\n$ weft serve &\nready on port 80808\n$ weft say next\nnext\n```\n```sh\ntest -e stopped\n```\n")
        self.assertEqual(problems, "")

    def test_background_commands_must_start(self):
        self.assertIn("weft nothing &\nexit code none, not 0", self.problems("```sh\nweft nothing &\nweft say a\n```\n"))

    def test_updates_the_document(self):
        self.run_document("a\n```console\n$ weft say 1 2\nold\n\n$ weft say 3\n3\n$ weft say 4 5\n...\n6\n```\nb\n", update=True)
        self.assertEqual(self.document.read_text(encoding="utf-8"),
                         "a\n```console\n$ weft say 1 2\n1\n2\n\n$ weft say 3\n3\n$ weft say 4 5\n...\n5\n```\nb\n")
        self.assertEqual(self.runner.run(self.document)[0], [])


if __name__ == "__main__":
    unittest.main()
