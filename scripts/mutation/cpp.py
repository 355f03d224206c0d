"""The mutants of a C++ source, found in clang's syntax tree, and how they are written into it."""

import re

from .mutant import Mutant, named, with_all

SWAPPED = {
    "<": ("<=", ">="), "<=": ("<", ">"), ">": (">=", "<="), ">=": (">", "<"),
    "==": ("!=",), "!=": ("==",), "&&": ("||",), "||": ("&&",),
    "+": ("-",), "-": ("+",), "*": ("/",), "/": ("*",), "%": ("*",),
    "&": ("|",), "|": ("&",), "^": ("|",), "<<": (">>",), ">>": ("<<",),
    "+=": ("-=",), "-=": ("+=",), "*=": ("/=",), "/=": ("*=",),
    "|=": ("&=",), "&=": ("|=",), "<<=": (">>=",), ">>=": ("<<=",),
}  # fmt: skip
INTEGER = re.compile(r"(0[xX][0-9a-fA-F']+|0[bB][01']+|[0-9][0-9']*)([uUlLzZ]*)")
BETWEEN = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
LONGEST = 2000  # characters of a mutated span: no error message and no mutant of this size is worth reading


class Finder:
    """Walks the tree of one file. `ci` is clang.cindex, which need not be there for the rest of the package."""

    def __init__(self, ci, path, text):
        self.ci, self.path, self.text = ci, path, text
        self.kind = ci.CursorKind
        self.found = []
        self.is_in_constexpr = False
        self.skipped = {
            self.kind.STATIC_ASSERT, self.kind.ENUM_DECL, self.kind.CXX_UNARY_EXPR, self.kind.TYPE_REF,
            self.kind.TEMPLATE_REF, self.kind.NAMESPACE_REF, self.kind.ANNOTATE_ATTR, self.kind.ALIGNED_ATTR,
            self.kind.TYPE_ALIAS_DECL, self.kind.TEMPLATE_NON_TYPE_PARAMETER, self.kind.TEMPLATE_TYPE_PARAMETER,
            self.kind.CONCEPT_DECL, self.kind.REQUIRES_EXPR,
        }  # fmt: skip

    # Spans and their text

    def span(self, cursor):
        return cursor.extent.start.offset, cursor.extent.end.offset

    def source(self, start, end):
        return self.text[start:end].decode(errors="replace")

    def of(self, cursor):
        return self.source(*self.span(cursor))

    def add(self, cursor, operator, mutated, form="value"):
        start, end = self.span(cursor)
        original = self.source(start, end)
        if end - start > LONGEST or mutated == original or "#" in BETWEEN.sub("", original).replace("'#'", ""):
            return
        self.found.append(
            Mutant(
                self.path, cursor.extent.start.line, start, end, operator, original, mutated, form, self.is_in_constexpr
            )
        )

    # What a node may be

    def is_bool(self, cursor):
        return cursor.type.get_canonical().kind == self.ci.TypeKind.BOOL

    def is_arithmetic(self, cursor):
        kind = cursor.type.get_canonical().kind
        return self.ci.TypeKind.BOOL.value <= kind.value <= self.ci.TypeKind.LONGDOUBLE.value

    def is_mutable_value(self, cursor):
        """Whether the values of a type are plain: numbers, enumerations, pointers."""
        kind = cursor.type.get_canonical().kind
        return self.is_arithmetic(cursor) or kind in (self.ci.TypeKind.ENUM, self.ci.TypeKind.POINTER)

    def operator_between(self, left, right):
        """The operator between two operands, with where it stands. None inside of macros."""
        start, end = self.span(left)[1], self.span(right)[0]
        between = BETWEEN.sub(lambda found: " " * len(found.group()), self.source(start, end))
        found = between.strip()
        if found not in SWAPPED:
            return None
        at = start + len(between[: between.index(found)].encode())
        return found, at

    def is_constant(self, variable):
        """Whether a variable is settled when the program is compiled: there nothing can be chosen when it runs."""
        words = {token.spelling for token in variable.get_tokens()}
        if words & {"constexpr", "constinit"}:
            return True
        changing = (self.kind.DECL_REF_EXPR, self.kind.CALL_EXPR, self.kind.MEMBER_REF_EXPR)
        return variable.type.is_const_qualified() and not any(
            node.kind in changing for node in variable.walk_preorder()
        )

    # The mutants of a node

    def swap(self, cursor):
        operands = list(cursor.get_children())
        if len(operands) != 2:
            return
        found = self.operator_between(*operands)
        if not found:
            return
        operator, at = found
        if operator in ("<<", ">>") and not self.is_arithmetic(operands[0]):
            return  # a stream
        if operator in ("+", "+=") and not self.is_mutable_value(operands[0]):
            return  # strings are joined
        start, end = self.span(cursor)
        for other in SWAPPED[operator]:
            mutated = self.source(start, at) + other + self.source(at + len(operator), end)
            self.add(cursor, f"{operator} to {other}", mutated)

    def integer(self, cursor, parent):
        text = self.of(cursor)
        found = INTEGER.fullmatch(text)
        if not found or self.is_template_argument(cursor, parent):
            return
        digits = found.group(1).replace("'", "")
        octal = len(digits) > 1 and digits.isdigit() and digits[0] == "0"
        value = int(digits, 8 if octal else 0)
        self.add(cursor, "number + 1", f"{value + 1}{found.group(2)}")

    def is_template_argument(self, cursor, parent):
        start, end = self.span(cursor)
        before, after = self.source(max(0, start - 80), start).rstrip(), self.source(end, end + 80).lstrip()
        if parent.kind in (self.kind.DECL_REF_EXPR, self.kind.MEMBER_REF_EXPR, self.kind.OVERLOADED_DECL_REF):
            return True
        if parent.kind in (self.kind.VAR_DECL, self.kind.FIELD_DECL, self.kind.PARM_DECL):
            name = parent.location.offset
            if start < name or before.endswith("["):
                return True
        is_operand = parent.kind in (self.kind.BINARY_OPERATOR, self.kind.UNARY_OPERATOR)
        return not is_operand and (before.endswith("<") or after.startswith(">"))

    def condition(self, cursor):
        if self.span(cursor)[0] == self.span(cursor)[1]:
            return
        text = self.of(cursor)
        if not cursor.kind.is_expression() or text in ("true", "false") or self.has_swap(cursor):
            return
        self.add(cursor, "condition negated", f"!({text})", "truth")

    def has_swap(self, cursor):
        """Whether the whole of it is a comparison or a `!`: these are negated already."""
        if cursor.kind == self.kind.UNARY_OPERATOR:
            return self.of(cursor).startswith("!")
        if cursor.kind not in (self.kind.BINARY_OPERATOR, self.kind.CALL_EXPR):
            return False
        operands = list(cursor.get_children())
        found = self.operator_between(*operands) if len(operands) == 2 else None
        return bool(found) and found[0] in ("<", "<=", ">", ">=", "==", "!=")

    def unary(self, cursor):
        text = self.of(cursor)
        if text.startswith("!"):
            self.add(cursor, "! dropped", text[1:], "truth")
        elif text.startswith("++") or text.startswith("--"):
            self.add(
                cursor,
                f"{text[:2]} to {'--' if text[0] == '+' else '++'}",
                ("--" if text[0] == "+" else "++") + text[2:],
            )
        elif text.endswith("++") or text.endswith("--"):
            self.add(
                cursor,
                f"{text[-2:]} to {'--' if text[-1] == '+' else '++'}",
                text[:-2] + ("--" if text[-1] == "+" else "++"),
            )
        elif text.startswith("-") and self.is_arithmetic(cursor):
            self.add(cursor, "minus dropped", "+" + text[1:])

    def call(self, cursor):
        text = self.of(cursor)
        for name, other in (("std::min", "std::max"), ("std::max", "std::min")):
            if text.startswith(name) and text[len(name) : len(name) + 1] in ("(", "<"):
                self.add(cursor, f"{name} to {other}", other + text[len(name) :])

    def statement(self, cursor):
        """A statement that is a call or an assignment can be left out."""
        kind = self.bare(cursor).kind
        text = self.of(cursor)
        is_assignment = kind == self.kind.COMPOUND_ASSIGNMENT_OPERATOR
        if kind in (self.kind.BINARY_OPERATOR, self.kind.CALL_EXPR):
            operands = list(cursor.get_children())
            is_assignment = (
                is_assignment or kind == self.kind.CALL_EXPR or (len(operands) == 2 and self.is_assignment(operands))
            )
        if kind == self.kind.UNARY_OPERATOR:
            is_assignment = text.startswith(("++", "--")) or text.endswith(("++", "--"))
        if kind == self.kind.CXX_DELETE_EXPR or is_assignment:
            if not self.source(self.span(cursor)[1], self.span(cursor)[1] + 20).lstrip().startswith(";"):
                return
            self.add(cursor, "statement left out", "", "effect")

    def is_assignment(self, operands):
        between = self.source(self.span(operands[0])[1], self.span(operands[1])[0])
        return BETWEEN.sub("", between).strip() == "="

    def bare(self, cursor):
        """Without the nodes that clang puts around an expression and that no text stands for."""
        while cursor.kind == self.kind.UNEXPOSED_EXPR:
            children = list(cursor.get_children())
            if len(children) != 1 or self.span(children[0]) != self.span(cursor):
                break
            cursor = children[0]
        return cursor

    # The walk

    def visit(self, cursor, parent):
        kind = cursor.kind
        if kind in self.skipped or (kind.is_attribute()):
            return
        if kind == self.kind.VAR_DECL and self.is_constant(cursor):
            return
        start, end = self.span(cursor)
        children = list(cursor.get_children())
        if end > start or kind == self.kind.TRANSLATION_UNIT:
            self.at(cursor, parent, kind, children)
        outer = self.is_in_constexpr
        if kind in (self.kind.FUNCTION_DECL, self.kind.CXX_METHOD, self.kind.FUNCTION_TEMPLATE, self.kind.CONSTRUCTOR):
            self.is_in_constexpr = "constexpr" in self.source(start, end).partition("{")[0]
        for child in children:
            if kind == self.kind.CASE_STMT and child == children[0]:
                continue
            self.visit(child, cursor)
        self.is_in_constexpr = outer

    def at(self, cursor, parent, kind, children):
        if kind in (self.kind.BINARY_OPERATOR, self.kind.COMPOUND_ASSIGNMENT_OPERATOR):
            self.swap(cursor)
        elif kind == self.kind.CALL_EXPR:
            operands = [child for child in children if self.span(child)[1] > self.span(child)[0]]
            if cursor.spelling.startswith("operator") or len(operands) == 3:
                self.overloaded(cursor, operands)
            self.call(cursor)
        elif kind == self.kind.UNARY_OPERATOR:
            self.unary(cursor)
        elif kind == self.kind.INTEGER_LITERAL:
            self.integer(cursor, parent)
        elif kind == self.kind.CXX_BOOL_LITERAL_EXPR and self.of(cursor) in ("true", "false"):
            if not self.is_template_argument(cursor, parent):
                self.add(cursor, "bool flipped", "false" if self.of(cursor) == "true" else "true")
        elif kind == self.kind.RETURN_STMT and children and self.is_bool(children[0]):
            self.condition(self.bare(children[0]))
        if kind in (self.kind.IF_STMT, self.kind.WHILE_STMT, self.kind.FOR_STMT, self.kind.DO_STMT):
            self.statement_conditions(cursor, kind, children)
        if kind == self.kind.CONDITIONAL_OPERATOR and children:
            self.condition(self.bare(children[0]))
        if kind == self.kind.COMPOUND_STMT:
            for child in children:
                self.statement(child)

    def overloaded(self, cursor, operands):
        """An operator of a class, of which clang names the operands and the operator as children."""
        if len(operands) == 3:
            operands = sorted(operands, key=lambda one: self.span(one)[0])
            operands = [operands[0], operands[2]]
        if len(operands) != 2:
            return
        found = self.operator_between(*operands)
        if found and found[0] in ("<", "<=", ">", ">=", "==", "!="):
            operator, at = found
            start, end = self.span(cursor)
            for other in SWAPPED[operator]:
                self.add(
                    cursor,
                    f"{operator} to {other}",
                    self.source(start, at) + other + self.source(at + len(operator), end),
                )

    def statement_conditions(self, cursor, kind, children):
        start, _ = self.span(cursor)
        if self.source(start, start + 14).startswith("if constexpr"):
            return
        for child in children:
            if not child.kind.is_expression():
                if kind == self.kind.FOR_STMT or child.kind.is_declaration() or child.kind == self.kind.DECL_STMT:
                    continue
            after = self.source(self.span(child)[1], self.span(child)[1] + 40).lstrip()
            if kind != self.kind.FOR_STMT and child.kind.is_expression() and after.startswith(")"):
                self.condition(self.bare(child))
            elif after.startswith(";"):
                self.statement(child)


def is_in(cursor, path):
    place = cursor.location.file
    return place is not None and place.name == path


def is_ours(root, error):
    place = error.location.file
    return error.severity > error.Error or place is None or place.name.startswith(str(root))


def mutants(ci, root, path, arguments):
    """The mutants of root/path, which the compiler would be given `arguments` for."""
    whole = str(root / path)
    text = (root / path).read_bytes()
    options = ci.TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD  # tells where macros are used
    unit = ci.Index.create().parse(whole, args=arguments, options=options)
    # Errors in the compiler's own headers, which may be those of another clang, are about intrinsics and do no harm.
    errors = [error for error in unit.diagnostics if error.severity >= ci.Diagnostic.Error and is_ours(root, error)]
    if errors:
        raise SystemExit(f"mutate: clang cannot read {path}: {errors[0]}")
    finder = Finder(ci, path, text)
    macros = []
    for cursor in unit.cursor.get_children():
        if not is_in(cursor, whole):
            continue
        if cursor.kind == ci.CursorKind.MACRO_INSTANTIATION:
            macros.append(finder.span(cursor))
        elif not cursor.kind.is_preprocessing():
            finder.visit(cursor, unit.cursor)
    return named(outside(macros, finder.found), text)


def outside(macros, mutants):
    """Without those of which a macro makes something else: all of them seem to stand where it is used."""
    return [one for one in mutants if not any(start <= one.start and one.end <= end for start, end in macros)]


FLAT = re.compile(rb"//[^\n]*\n|\n")


def one_line(text):
    """On one line, so that the lines below keep their numbers."""
    return FLAT.sub(b" ", text.encode() + b"\n").strip()


def write(pairs, original):
    """What stands for a span: see mutant.with_all."""
    first = pairs[0][1]
    if all(mutant.form == "truth" for _, mutant in pairs):
        written = b"bool(" + original + b")"
    elif first.form == "effect" and len(pairs) == 1:
        return b"(turnpike_mutant_is(%d) ? void() : void(%s))" % (pairs[0][0], original)
    else:
        written = b"(" + original + b")"
    effects = [number for number, mutant in pairs if mutant.form == "effect"]
    for number, mutant in pairs:
        if mutant.form == "effect":
            continue
        mutated = one_line(mutant.mutated)
        cast = b"bool" if mutant.form == "truth" else b""
        written = b"(turnpike_mutant_is(%d) ? %s(%s) : %s)" % (number, cast, mutated, written)
    for number in effects:
        written = b"(turnpike_mutant_is(%d) ? void() : void(%s))" % (number, written)
    return written


def file_with(text, numbered, path):
    """The text of a file with its mutants, its lines under their own numbers."""
    prefix = b'#include "turnpike_mutant.h"\n'
    if path.endswith(".h"):
        prefix += b"#pragma GCC system_header\n"  # no warnings in those who include it
    return prefix + b"#line 1\n" + with_all(text, numbered, write)
