"""Results of `turnpike bench` as an SVG: rates over the size as curves, times of a loop as bars."""

import math
import xml.sax.saxutils

from .terminal_svg import BACKGROUND, FOREGROUND, FRAME
from .timeline_svg import FONT, GREY, WIDTH, text

# In the order of the ways in a result; a case has at most two ways by hand.
COLOURS = {"pytorch": ["#8b949e"], "best": ["#58a6ff", "#d2a8ff"], "turnpike": ["#3fb950"], "bound": [FOREGROUND]}
TOP, PLOT, LEGEND, BOTTOM = 50, 230, 20, 36
BAR, GAP, NAMES = 18, 14, 220


def ways_of(rows):
    """The ways of some rows with their role, in the order of the result."""
    return list(dict.fromkeys((row["way"], row["role"]) for row in rows))


def colours_of(ways):
    left = {role: list(colours) for role, colours in COLOURS.items()}
    return {way: left[role].pop(0) for way, role in ways}


def chosen(result, metric, **wanted):
    """The measured rows with these values; those of targets only repeat others."""
    found = [
        row
        for row in result["rows"]
        if row["target"] is None and row["metric"] == metric and all(row[key] == wanted[key] for key in wanted)
    ]
    if not found:
        raise ValueError(f"the result has no {metric} with {wanted}")
    return found


def size(count):
    """Bytes as the cases are named: 64 KiB, 4 GiB."""
    power = min(3, int(math.log2(count)) // 10)
    return f"{count >> 10 * power} {('B', 'KiB', 'MiB', 'GiB')[power]}"


def frame(title, height, body):
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'role="img">\n<title>{xml.sax.saxutils.escape(title)}</title>\n'
        f'<rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="8" fill="{BACKGROUND}" '
        f'stroke="{FRAME}"/>\n<g font-family="{FONT}" font-size="13" fill="{FOREGROUND}">\n{body}</g>\n</svg>\n'
    )


def curve_panel(title, rows, left, width, most):
    """One plot: the rate over the size, both as measured, on an axis of doublings and one of GB/s up to `most`."""
    sizes = sorted({row["size_bytes"] for row in rows})
    first, doublings = math.log2(sizes[0]), math.log2(sizes[-1] / sizes[0])

    def at(count, rate):
        x = left + (math.log2(count) - first) * width / doublings
        return f"{x:.1f},{TOP + PLOT * (1 - rate / most):.1f}"

    body = [text(left, 30, title, ' font-weight="bold"')]
    for rate in range(0, most + 1, 10):
        y = TOP + PLOT * (1 - rate / most)
        body.append(f'<path d="M{left} {y:.1f}h{width}" stroke="{FRAME}"/>\n')
        body.append(text(left - 8, f"{y + 4:.1f}", str(rate), f' text-anchor="end" fill="{GREY}"'))
    for count in sizes:
        x = at(count, 0).partition(",")[0]
        body.append(text(x, TOP + PLOT + 20, size(count), f' text-anchor="middle" font-size="11" fill="{GREY}"'))
    ways = ways_of(rows)
    for index, (way, colour) in enumerate(colours_of(ways).items()):
        own = sorted((row for row in rows if row["way"] == way), key=lambda row: row["size_bytes"])
        points = " ".join(at(row["size_bytes"], row["value"]) for row in own)
        dashes = ' stroke-dasharray="4 4"' if (way, "bound") in ways else ""
        body.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"{dashes}/>\n')
        y = TOP + PLOT + BOTTOM + LEGEND * index
        body.append(f'<path d="M{left} {y + 6}h22" stroke="{colour}" stroke-width="2"{dashes}/>\n')
        body.append(text(left + 30, y + 10, way))
    return "".join(body)


def curves(title, panels):
    """The picture of some series side by side on one scale: (title, rows) each. The rates are in GB/s."""
    highest = max(row["value"] for _, rows in panels for row in rows)
    most = 10 * math.ceil(highest / 10)
    column = (WIDTH - 20) / len(panels)
    body = "".join(
        curve_panel(f"{name}, GB/s", rows, round(50 + column * index), round(column - 80), most)
        for index, (name, rows) in enumerate(panels)
    )
    lines = max(len(ways_of(rows)) for _, rows in panels)
    return frame(title, TOP + PLOT + BOTTOM + LEGEND * lines + 10, body)


def bars(title, unit, cases):
    """The picture of some cases, one below the other on one scale: (title, rows) each, a bar for each way."""
    scale = (WIDTH - NAMES - 110) / max(row["value"] for _, rows in cases for row in rows)
    body, y = [text(18, 30, title, ' font-weight="bold"')], TOP
    for name, rows in cases:
        body.append(text(18, y + 13, name, f' fill="{GREY}"'))
        y += BAR + 4
        colours = colours_of(ways_of(rows))
        for row in rows:
            width = max(1, row["value"] * scale)
            body.append(text(NAMES - 8, y + 13, row["way"], ' text-anchor="end"'))
            body.append(
                f'<rect x="{NAMES}" y="{y}" width="{width:.1f}" height="{BAR - 2}" fill="{colours[row["way"]]}"/>\n'
            )
            body.append(text(f"{NAMES + width + 8:.1f}", y + 13, f"{row['value']:.1f} {unit}", f' fill="{GREY}"'))
            y += BAR
        y += GAP
    return frame(title, y + 6, "".join(body))
