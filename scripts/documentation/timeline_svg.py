"""A stretch of exported runs as an SVG: CUDA calls, copies and kernels, all runs on one scale."""

import dataclasses
import statistics
import xml.sax.saxutils

from .terminal_svg import BACKGROUND, FOREGROUND, FRAME, STYLES

FONT = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, 'DejaVu Sans', sans-serif"
WIDTH, LEFT, RIGHT, LANE, TITLE = 880, 150, 40, 26, 40
GREY = STYLES["2"].split('"')[1]


@dataclasses.dataclass(frozen=True)
class Lane:
    title: str
    category: str
    colour: str


LANES = (
    Lane("CUDA calls (CPU)", "cuda_api", "#8b949e"),
    Lane("copies (GPU)", "copy", "#e3b341"),
    Lane("kernels (GPU)", "kernel", "#3fb950"),
)


def merged(spans, gap):
    """Spans as (start, end), those less than `gap` apart as one."""
    found = []
    for start, end in sorted(spans):
        if found and start - found[-1][1] < gap:
            found[-1][1] = max(found[-1][1], end)
        else:
            found.append([start, end])
    return found


def spans_of(events, category, start, length):
    """When something of a category went on in a stretch of time, from its start, in its units."""
    spans = [(event["ts"] - start, event["ts"] - start + event["dur"]) for event in events if event["cat"] == category]
    return [(max(0, first), min(length, last)) for first, last in spans if last > 0 and first < length]


def middle(events):
    return statistics.median_low(event["ts"] for event in events if event["cat"] == "kernel")


def text(x, y, content, more=""):
    return f'<text x="{x}" y="{y}"{more}>{xml.sax.saxutils.escape(content)}</text>\n'


def run_rows(events, top, length_us):
    """The lanes of one run, for `length_us` from its middle on."""
    scale = (WIDTH - LEFT - RIGHT) / length_us
    start, body = middle(events), []
    for row, lane in enumerate(LANES):
        y = top + LANE * row
        body.append(text(18, y + 15, lane.title, f' fill="{GREY}"'))
        body.append(f'<rect x="{LEFT}" y="{y + 2}" width="{WIDTH - LEFT - RIGHT}" height="18" fill="#0d1117"/>\n')
        for first, last in merged(spans_of(events, lane.category, start, length_us), 0.5 / scale):
            x, width = LEFT + first * scale, max(0.4, (last - first) * scale)
            body.append(f'<rect x="{x:.1f}" y="{y + 2}" width="{width:.1f}" height="18" fill="{lane.colour}"/>\n')
    return "".join(body)


def draw(runs, length_ms):
    """The picture of some runs: (title, events of the exported file) each."""
    height = 20 + len(runs) * (TITLE + LANE * len(LANES)) + 40
    body, top = [], 10
    for title, exported in runs:
        events = [event for event in exported["traceEvents"] if event["ph"] == "X"]
        body.append(text(18, top + 26, title, ' font-weight="bold"'))
        body.append(run_rows(events, top + TITLE, length_ms * 1000))
        top += TITLE + LANE * len(LANES)
    for tick in range(0, length_ms + 1, 10):
        x = LEFT + tick * (WIDTH - LEFT - RIGHT) / length_ms
        body.append(f'<path d="M{x:.1f} {top + 4}v6" stroke="{GREY}"/>\n')
        body.append(text(f"{x:.1f}", top + 26, f"{tick} ms", f' text-anchor="middle" fill="{GREY}"'))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        'role="img">\n<title>When the CPU called CUDA and when the GPU copied and computed</title>\n'
        f'<rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="8" fill="{BACKGROUND}" '
        f'stroke="{FRAME}"/>\n<g font-family="{FONT}" font-size="13" fill="{FOREGROUND}">\n'
        + "".join(body)
        + "</g>\n</svg>\n"
    )
