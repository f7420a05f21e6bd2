#!/usr/bin/env python3
"""Finds random draws whose order C++ leaves to the compiler, such as f(random.next(), random.next()).

The arguments of a call, and the operands of most operators, are evaluated in any order: two compilers, or one on two
processors, then draw different values from the same seed. Looks at every expression of the sources in which a random
stream (an identifier `random`, `random_` or `rng`) is used twice without a sequence point between the two uses. Braced
lists, `&&`, `||`, `?:`, `<<` and `>>` are sequenced and pass.

Usage: tests/draws.py [ROOT]
"""

import pathlib
import re
import sys

FOLDERS = ["src", "tests", "bench"]
STREAM = re.compile(r"(?<![\w.>:])(?:random_?|rng_?)(?=\s*(?:\.|->|[,)]))(?!\s*(?:\.|->)\s*split)")
COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
UNSEQUENCED = re.compile(r"(?<![<>=!+\-*/%&|^])[+\-*/%^](?![+\-=>])|(?<!&)&(?!&)|(?<!\|)\|(?!\|)|[=!]=|[<>]=")
SEQUENCED = re.compile(r"[;?{}]|(?<!:):(?!:)|&&|\|\||<<|>>")


def blank(match):
    return re.sub(r"[^\n]", " ", match.group(0))


def between_at_common_level(text):
    """What stands between two uses at the level of nesting that both share, and the bracket that opens that level."""
    stack, kept = [], []
    for index, char in enumerate(text):
        if char in "([{":
            stack.append((char, len(kept)))
            kept.append(char)
        elif char in ")]}":
            if stack:  # opened and closed between the two uses: neither lies in it
                _, start = stack.pop()
                del kept[start:]
            elif char == "}" and text[index + 1:].lstrip()[:1] not in (",", ")", "."):  # the end of a block
                return ";"
            else:  # the first use was inside: all before it is at a deeper level
                kept.clear()
        else:
            kept.append(char)
    # The second use may lie in brackets that are still open; only what precedes them is at the common level.
    return "".join(kept[:stack[0][1]]) if stack else "".join(kept)


def enclosing_bracket(text, position):
    depth = 0
    for index in range(position - 1, -1, -1):
        char = text[index]
        if char in ")]}":
            depth += 1
        elif char in "([{":
            if depth == 0:
                return char, index
            depth -= 1
        elif char == ";" and depth == 0:
            return ";", index
    return "", 0


def common_bracket(text, first, second):
    """The innermost bracket that holds both positions."""
    position = second
    while True:
        bracket, at = enclosing_bracket(text, position)
        if at <= first or not bracket:
            return bracket, at
        position = at


def problems_of(text):
    clean = COMMENT_OR_STRING.sub(blank, text)
    uses = [match for match in STREAM.finditer(clean)]
    for first, second in zip(uses, uses[1:]):
        gap = clean[first.end():second.start()]
        level = between_at_common_level(gap)
        bracket, at = common_bracket(clean, first.start(), second.start())
        arguments = bracket == "(" and "," in level and ";" not in level
        if SEQUENCED.search(level) and not arguments:
            continue
        if bracket in "{;" and "," in level:  # a braced list, or a declaration of several variables
            continue
        is_control = bracket == "(" and re.search(r"\b(?:if|while|for|switch)\s*$", clean[:at])
        called_on_itself = not level.strip(" \n\t.)") and bracket != "("
        unsequenced = UNSEQUENCED.search(level) or (arguments and not is_control)
        # The object of a call and its arguments are unsequenced too, but a stream that draws for itself is one use.
        if unsequenced and not called_on_itself:
            yield clean.count("\n", 0, second.start()) + 1


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent).resolve()
    found, count = [], 0
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in (".h", ".cc"):
                continue
            text = path.read_text(encoding="utf-8")
            count += 1
            if "andom" not in text and "rng" not in text:
                continue
            lines = text.splitlines()
            for line in problems_of(text):
                found.append(f"{path.relative_to(root)}:{line}: two random draws without an order: {lines[line - 1].strip()}")
    for problem in found:
        print(problem)
    if count == 0:
        sys.exit(f"draws: no sources under {root}")
    print(f"draws: {count} files, {len(found)} problems")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
