"""Sizes: function and file length, line width, complexity, contract comments. Exits 1 with file:line.

The allow-list is empty and stays so: at a limit a file is split by noun, a function by step.
"""
import pathlib
import re
import sys

FUNCTION_MAX, C_MAX, H_MAX, WIDTH_MAX = 100, 800, 300, 100
COMPLEXITY_MAX = 25
DOC_MIN_PERCENT = 90
BRANCH = re.compile(r"\b(if|for|while|case)\b|&&|\|\||\?")


def sources():
    for root in ("src", "controller", "tests"):
        yield from sorted(pathlib.Path(root).rglob("*.[ch]"))


def functions(lines):
    """Yields (first line, length, body) of each function: a body opens on a line that starts in column 0."""
    start = None
    for n, line in enumerate(lines, 1):
        if re.match(r"[A-Za-z_].*\)\s*\{$", line) or (re.match(r"\s+.*\)\s*\{$", line) and start is None
                                                      and n > 1 and re.match(r"[a-z_].*[(,]$", lines[n - 2])):
            start = n
        elif line == "}" and start:
            yield start, n - start + 1, lines[start - 1:n]
            start = None


def file_faults(path):
    lines = path.read_text().splitlines()
    limit = H_MAX if path.suffix == ".h" else C_MAX
    if len(lines) > limit:
        yield f"{path}:1: {len(lines)} lines, at most {limit}"
    for n, line in enumerate(lines, 1):
        if len(line) > WIDTH_MAX:
            yield f"{path}:{n}: {len(line)} columns, at most {WIDTH_MAX}"
    for start, length, body in functions(lines):
        if length > FUNCTION_MAX:
            yield f"{path}:{start}: function of {length} lines, at most {FUNCTION_MAX}"
        text = "\n".join(re.sub(r'"(\\.|[^"\\])*"|/\*.*?\*/', "", line) for line in body)
        complexity = 1 + len(BRANCH.findall(text))
        if complexity > COMPLEXITY_MAX and path.parts[0] != "tests":
            yield f"{path}:{start}: complexity {complexity}, at most {COMPLEXITY_MAX}"


def documented(path):
    """Counts prototypes, and those with a comment above, in one header."""
    text = path.read_text()
    total = good = 0
    for m in re.finditer(r"^(?!static|typedef|struct \w+ \{|enum|#|\}| |/|\*)[a-z][\w \*]*?\**\w+\([^;{]*\)[^;{]*;",
                         text, re.M):
        total += 1
        good += bool(re.search(r"\*/\s*$", text[:m.start()]))
    return total, good


def main():
    faults, total, good = [], 0, 0
    for path in sources():
        faults += file_faults(path)
        if path.suffix == ".h" and path.parts[0] != "tests":
            t, g = documented(path)
            total, good = total + t, good + g
    if total and good * 100 < total * DOC_MIN_PERCENT:
        faults.append(f"{good} of {total} prototypes have a contract comment, at least {DOC_MIN_PERCENT} %")
    print("\n".join(faults) or f"sizes: clean; {good} of {total} prototypes documented")
    return bool(faults)


sys.exit(main())
