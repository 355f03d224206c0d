"""The mutants of a Python source, found in its syntax tree, and how they are written into it."""

import ast
import itertools

from .mutant import Mutant, named, with_all

COMPARED = {
    ast.Lt: ("<", ("<=", ">=")), ast.LtE: ("<=", ("<", ">")), ast.Gt: (">", (">=", "<=")), ast.GtE: (">=", (">", "<")),
    ast.Eq: ("==", ("!=",)), ast.NotEq: ("!=", ("==",)), ast.Is: ("is", ("is not",)), ast.IsNot: ("is not", ("is",)),
    ast.In: ("in", ("not in",)), ast.NotIn: ("not in", ("in",)),
}  # fmt: skip
CALCULATED = {
    ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*"), ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"), ast.Pow: ("**", "*"), ast.BitOr: ("|", "&"), ast.BitAnd: ("&", "|"),
    ast.LShift: ("<<", ">>"), ast.RShift: (">>", "<<"),
}  # fmt: skip


class Finder(ast.NodeVisitor):
    def __init__(self, path, text):
        self.path, self.text = path, text
        self.starts = [0]
        for line in text.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.found = []
        self.is_in_function = False

    def span(self, node):
        return self.starts[node.lineno - 1] + node.col_offset, self.starts[node.end_lineno - 1] + node.end_col_offset

    def source(self, start, end):
        return self.text[start:end].decode()

    def of(self, node):
        return self.source(*self.span(node))

    def add(self, node, operator, mutated, form="value"):
        start, end = self.span(node)
        if b"#" in self.text[start:end] or b'"""' in self.text[start:end]:
            return  # neither a comment nor a string of many lines can be repeated on one line
        if form == "statement" and line_before(self.text, start).strip():
            return  # not alone on its line
        original = self.source(start, end)
        if mutated != original:
            self.found.append(Mutant(self.path, node.lineno, start, end, operator, original, mutated, form))

    def between(self, left, right, operator):
        """Where an operator stands between two operands."""
        start, end = self.span(left)[1], self.span(right)[0]
        at = self.source(start, end).find(operator)
        return start + at if at >= 0 else None

    def swap(self, node, left, right, operator, others):
        at = self.between(left, right, operator)
        if at is None:
            return
        start, end = self.span(node)
        for other in others:
            self.add(
                node, f"{operator} to {other}", self.source(start, at) + other + self.source(at + len(operator), end)
            )

    # Expressions

    def visit_Compare(self, node):
        operands = [node.left, *node.comparators]
        for index, operator in enumerate(node.ops):
            word, others = COMPARED[type(operator)]
            self.swap(node, operands[index], operands[index + 1], word, others)
        self.generic_visit(node)

    def visit_BinOp(self, node):
        is_text = any(
            isinstance(side, (ast.JoinedStr, ast.Constant)) and not is_number(side) for side in (node.left, node.right)
        )
        if type(node.op) in CALCULATED and not is_text:
            word, other = CALCULATED[type(node.op)]
            self.swap(node, node.left, node.right, word, (other,))
        self.generic_visit(node)

    def visit_BoolOp(self, node):
        word, other = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in itertools.pairwise(node.values):
            self.swap(node, left, right, word, (other,))
        self.generic_visit(node)

    def visit_UnaryOp(self, node):
        if isinstance(node.op, ast.Not):
            self.add(node, "not dropped", f"bool({self.of(node.operand)})")
        elif isinstance(node.op, ast.USub):
            self.add(node, "minus dropped", f"+{self.of(node.operand)}")
        self.generic_visit(node)

    def visit_Constant(self, node):
        if isinstance(node.value, bool):
            self.add(node, "bool flipped", str(not node.value))
        elif isinstance(node.value, int):
            self.add(node, "number + 1", str(node.value + 1))
        elif isinstance(node.value, float):
            self.add(node, "number + 1", str(node.value + 1))

    def visit_Call(self, node):
        if isinstance(node.func, ast.Name) and node.func.id in ("min", "max", "any", "all"):
            other = {"min": "max", "max": "min", "any": "all", "all": "any"}[node.func.id]
            self.add(node, f"{node.func.id} to {other}", other + self.of(node)[3:])
        self.generic_visit(node)

    def visit_IfExp(self, node):
        self.condition(node.test)
        self.generic_visit(node)

    def condition(self, test):
        is_negated = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
        is_swapped = isinstance(test, ast.Compare) and len(test.ops) == 1
        if not (is_negated or is_swapped or isinstance(test, (ast.Constant, ast.NamedExpr))):
            self.add(test, "condition negated", f"(not ({self.of(test)}))")

    # Statements

    def visit_If(self, node):
        self.condition(node.test)
        self.generic_visit(node)

    def visit_While(self, node):
        self.condition(node.test)
        self.generic_visit(node)

    def visit_Return(self, node):
        if node.value is not None and not (isinstance(node.value, ast.Constant) and node.value.value is None):
            self.add(node.value, "None returned", "None")
        self.generic_visit(node)

    def visit_Expr(self, node):
        if isinstance(node.value, ast.Constant):
            return  # a docstring
        if isinstance(node.value, ast.Call):
            self.add(node.value, "statement left out", "None")
        self.generic_visit(node)

    def visit_Assign(self, node):
        targets = [target for target in node.targets if not isinstance(target, ast.Name)]
        if targets and self.is_in_function:  # a local name that is not assigned is an error, and noticed as one
            self.add(node, "statement left out", "pass", "statement")
        self.generic_visit(node)

    def visit_AugAssign(self, node):
        if type(node.op) in CALCULATED:
            word, other = CALCULATED[type(node.op)]
            at = self.between(node.target, node.value, word + "=")
            if at is not None:
                start, end = self.span(node)
                mutated = self.source(start, at) + other + "=" + self.source(at + len(word) + 1, end)
                self.add(node, f"{word}= to {other}=", mutated, "statement")
        self.generic_visit(node)

    def visit_Break(self, node):
        self.add(node, "break to continue", "continue", "statement")

    def visit_Continue(self, node):
        self.add(node, "continue to break", "break", "statement")

    # What is left as it is

    def function(self, node):
        outer, self.is_in_function = self.is_in_function, True
        for part in (
            *node.args.defaults,
            *(value for value in node.args.kw_defaults if value),
            *getattr(node, "decorator_list", []),
        ):
            self.visit(part)
        for part in node.body if isinstance(node.body, list) else [node.body]:
            self.visit(part)
        self.is_in_function = outer

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = function

    def visit_AnnAssign(self, node):
        if node.value is not None:
            self.visit(node.value)

    def visit_JoinedStr(self, node):
        """Inside of an f-string no brackets can be put before Python 3.12."""

    def visit_Assert(self, node):
        """For who reads it."""

    def visit_match_case(self, node):
        for part in (node.guard, *node.body):
            if part is not None:
                self.visit(part)


def is_number(constant):
    return isinstance(constant, ast.Constant) and isinstance(constant.value, (int, float))


def mutants(root, path):
    text = (root / path).read_bytes()
    finder = Finder(path, text)
    for statement in ast.parse(text).body:
        if isinstance(statement, ast.If) and "TYPE_CHECKING" in ast.dump(statement.test):
            continue  # never run
        finder.visit(statement)
    return named(finder.found, text)


def flat(text):
    """On one line, so that the lines below keep their numbers: inside of brackets a line may end anywhere."""
    return b" ".join(text.encode().split(b"\n"))


def line_before(text, start):
    """What stands on the line before an offset."""
    return text[text.rfind(b"\n", 0, start) + 1 : start]


def file_with(text, numbered, path):
    """The text of a file with its mutants."""

    def write(pairs, original):
        if pairs[0][1].form == "statement":
            return statement(pairs, original, line_before(text, pairs[0][1].start))
        written = original
        for number, mutant in pairs:
            written = b"((%s) if turnpike_mutant_is(%d) else (%s))" % (flat(mutant.mutated), number, written)
        return written

    written = with_all(text, numbered, write)
    # Behind the docstring and what is imported from __future__, which must come first.
    at = first_offset(written)
    return written[:at] + b"from turnpike_mutant import turnpike_mutant_is\n" + written[at:]


def statement(pairs, original, indent):
    """An `if` of several lines, the original in its last branch: a statement cannot stand inside of an expression."""
    parts = []
    for number, mutant in pairs:
        parts.append(b"%s turnpike_mutant_is(%d): %s\n" % (b"elif" if parts else b"if", number, flat(mutant.mutated)))
    return indent.join([*parts, b"else: " + original])


def first_offset(text):
    for node in ast.parse(text).body:
        is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not is_docstring and not (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
            lines = text.splitlines(keepends=True)
            first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))])
            return sum(len(line) for line in lines[: first - 1])
    return len(text)
