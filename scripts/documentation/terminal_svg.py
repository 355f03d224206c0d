"""Terminal output as an SVG: text, with the colours that the program asked for. The same text makes the same file."""

import re
import xml.sax.saxutils

SIZE, ADVANCE, LINE, MARGIN, BAR = 14, 8.43, 20, 18, 34
BACKGROUND, FOREGROUND, FRAME = "#161b22", "#d7dde5", "#3d444d"
STYLES = {
    "1": ' font-weight="bold" fill="#ffffff"',
    "2": ' fill="#8b949e"',
    "33": ' fill="#e3b341"',
    "36": ' fill="#56d4dd"',
}
FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', 'Liberation Mono', monospace"


def runs_of(line, style):
    """The line in pieces of one style each: (column, text, style). Returns them and the style it ends with."""
    pieces, column = [], 0
    for part in re.split(r"(\x1b\[\d*m)", line):
        if code := re.fullmatch(r"\x1b\[(\d*)m", part):
            style = None if code[1] in ("", "0") else code[1]
            if style is not None and style not in STYLES:
                raise ValueError(f"the terminal's style {style} has no colour here")
        elif part:
            pieces.append((column, part, style))
            column += len(part)
    return pieces, style


def text_element(column, text, style, y):
    stripped = text.strip(" ")
    if not stripped:
        return ""
    column += len(text) - len(text.lstrip(" "))
    # The length is given, so that every font has the same columns; spaces that do not collapse.
    escaped = xml.sax.saxutils.escape(stripped).replace(" ", "\u00a0")
    return (
        f'<text x="{MARGIN + column * ADVANCE:.1f}" y="{y}" textLength="{len(stripped) * ADVANCE:.1f}" '
        f'lengthAdjust="spacingAndGlyphs"{STYLES.get(style, "")}>{escaped}</text>\n'
    )


def draw(command, lines, columns):
    """The picture of a command and its output. `lines` may hold escape sequences for styles."""
    width = round(2 * MARGIN + columns * ADVANCE)
    height = BAR + LINE * (len(lines) + 2) + MARGIN
    body, style = [], None
    for row, line in enumerate([f"\x1b[2m$\x1b[0m {command}", "", *lines]):
        pieces, style = runs_of(line, style)
        body += [text_element(*piece, BAR + LINE * row + SIZE + 4) for piece in pieces]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img">\n<title>{xml.sax.saxutils.escape(command)}</title>\n'
        f'<rect x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8" fill="{BACKGROUND}" '
        f'stroke="{FRAME}"/>\n'
        + "".join(f'<circle cx="{MARGIN + 6 + 18 * dot}" cy="17" r="5" fill="{FRAME}"/>\n' for dot in range(3))
        + f'<g font-family="{FONT}" font-size="{SIZE}" fill="{FOREGROUND}">\n'
        + "".join(body)
        + "</g>\n</svg>\n"
    )
