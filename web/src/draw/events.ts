// Events that are wide enough to be rectangles, with pattern and text.
import { className, isWaiting } from "../format.ts";
import type { Row } from "../layout.ts";
import type { Lane } from "../model/lane.ts";
import type { Run } from "../model/run.ts";
import { fitting, labelsOf, textWidth } from "./labels.ts";
import { colourOf, type Palette } from "./palette.ts";
import { pattern, patternOf } from "./patterns.ts";
import type { Scale } from "./scale.ts";

/** Events of this width in pixels become rectangles; narrower ones are columns of the density image. */
export const LEAST_RECTANGLE = 3;
/** A single copy of a microsecond must be seen: where there are few of them, each gets this width. */
const LEAST_COPY = 2;
const PIXELS_FOR_A_COPY = 6;
/** A hatch on less than this would look like noise. */
const LEAST_PATTERN = 6;
const SUB_ROW_TEXT_HEIGHT = 13;

export interface EventPainter {
  context: CanvasRenderingContext2D;
  run: Run;
  palette: Palette;
  scale: Scale;
  dpr: number;
  /** Events of other sites are drawn paler. */
  site: number | null;
}

/** Whether every event of the lane in the window is drawn as a rectangle, however short. */
export function isSparse(lane: Lane, scale: Scale): boolean {
  if (!lane.isOfCopies) return false;
  const count = lane.firstStartingAt(scale.to) - lane.firstEndingAfter(scale.from);
  return count * PIXELS_FOR_A_COPY < scale.width;
}

export function drawEvents(painter: EventPainter, row: Row, lane: Lane): void {
  const { run, scale, context } = painter;
  const from = lane.firstEndingAfter(scale.from);
  const to = lane.firstStartingAt(scale.to);
  let freeFrom = scale.left;
  const sparse = isSparse(lane, scale);
  run.pyramid(lane).forLong(from, to, sparse ? 0 : scale.nsPerPixel * LEAST_RECTANGLE, (i) => {
    const left = Math.max(scale.left, scale.x(lane.start[i]!));
    const end = Math.min(scale.left + scale.width, scale.x(lane.end(i)));
    const right = sparse ? Math.max(end, left + LEAST_COPY) : end;
    if (right <= left) return undefined;
    context.globalAlpha = isPale(painter, lane, i) ? 0.4 : 1;
    drawRectangle(painter, row, lane, i, left, right);
    freeFrom = drawLabel(painter, row, lane, i, left, right, freeFrom);
    return undefined;
  });
  context.globalAlpha = 1;
}

function isPale(painter: EventPainter, lane: Lane, i: number): boolean {
  if (lane.entry.fix !== undefined) return true;
  return painter.site !== null && lane.site.length > 0 && lane.site[i] !== painter.site + 1;
}

function drawRectangle(
  painter: EventPainter,
  row: Row,
  lane: Lane,
  i: number,
  left: number,
  right: number,
): void {
  const { context, palette, dpr } = painter;
  const eventClass = lane.eventClass[i]!;
  const colour = colourOf(palette, eventClass);
  const name = patternOf(eventClass);
  const width = right - left;
  if (name && width >= LEAST_PATTERN) {
    context.fillStyle = lane.entry.kind === "state" ? palette.background : palette.rowBackground;
    context.fillRect(left, row.y, width, row.height);
    context.fillStyle = pattern(context, name, colour, dpr);
    context.fillRect(left, row.y, width, row.height);
    context.strokeStyle = colour;
    context.lineWidth = 1;
    context.strokeRect(left + 0.5, row.y + 0.5, width - 1, row.height - 1);
  } else {
    context.fillStyle = colour;
    context.fillRect(left, row.y, width, row.height);
    if (width > 4) drawSeparator(painter, row, right);
  }
  if (lane.showsExposure) drawExposure(painter, row, lane, i, left, right);
}

/** A line between neighbours that touch. */
function drawSeparator({ context, palette }: EventPainter, row: Row, right: number): void {
  context.fillStyle = palette.background;
  context.globalAlpha *= 0.55;
  context.fillRect(right - 1, row.y, 1, row.height);
  context.globalAlpha = Math.min(1, context.globalAlpha / 0.55);
}

/** Of a copy, the part under kernels is pale; the exposed part has a dark upper edge. */
function drawExposure(
  painter: EventPainter,
  row: Row,
  lane: Lane,
  i: number,
  left: number,
  right: number,
): void {
  const { context, palette, run, scale } = painter;
  const exposed = lane.exposed![i]!;
  const length = lane.duration(i);
  // Only a copy that is exposed in part needs the kernels beside it.
  const streams =
    exposed > 0 && exposed < length
      ? run
          .lanesOf("stream")
          .filter(({ entry }) => entry.device === lane.entry.device && entry.fix === undefined)
          .map((stream) => run.pyramid(stream))
      : [];
  for (let x = left; x < right; x += 1) {
    const width = Math.min(1, right - x);
    const [from, to] = [scale.time(x), scale.time(x + width)];
    const isCovered =
      exposed === 0 ||
      (exposed < length &&
        streams.some((s) => s.busyUntil(to) - s.busyUntil(from) > 0.5 * (to - from)));
    if (isCovered) {
      context.globalAlpha *= 0.65;
      context.fillStyle = palette.rowBackground;
      context.fillRect(x, row.y + 1, width, row.height - 2);
      context.globalAlpha = Math.min(1, context.globalAlpha / 0.65);
    } else {
      context.fillStyle = palette.text;
      context.fillRect(x, row.y, width, 2.5);
    }
  }
}

/** Returns up to where the row is now full of text. */
function drawLabel(
  painter: EventPainter,
  row: Row,
  lane: Lane,
  i: number,
  left: number,
  right: number,
  freeFrom: number,
): number {
  if (row.height < SUB_ROW_TEXT_HEIGHT || right - left < 10) return right;
  const { context, run, palette, scale } = painter;
  const isWait = isWaiting(lane.eventClass[i]!);
  const labels = labelsOf(run, { lane, i });
  const middle = row.y + row.height / 2;
  context.textBaseline = "middle";
  context.textAlign = "left";
  const text = fitting(context, labels, right - left - (isWait ? 16 : 8), !isWait);
  if (text !== null) {
    const width = textWidth(context, text);
    if (patternOf(lane.eventClass[i]!)) {
      const x = left + (right - left - width) / 2;
      plate(painter, x - 3, middle, width + 6);
      context.fillStyle = palette.text;
      context.fillText(text, x, middle + 0.5);
    } else {
      context.fillStyle = textColourOn(painter, lane, i);
      context.fillText(text, left + 5, middle + 0.5);
    }
    return right;
  }
  // A gap too narrow for its text gets it on its left, where the GPU was busy and the row is empty.
  if (lane.entry.kind !== "state" || !isWait) return right;
  const outside = fitting(context, labels.slice(0, 2), left - freeFrom - 10, false);
  if (outside === null || left - scale.left < 20) return right;
  const width = textWidth(context, outside);
  plate(painter, left - width - 8, middle, width + 6);
  context.fillStyle = palette.text;
  context.fillText(outside, left - width - 5, middle + 0.5);
  return right;
}

function plate({ context, palette }: EventPainter, x: number, middle: number, width: number): void {
  context.fillStyle = palette.plate;
  context.fillRect(x, middle - 8, width, 16);
}

const DARK_TEXT = "#111418";
const LIGHT_TEXT = "#ffffff";

function textColourOn({ palette }: EventPainter, lane: Lane, i: number): string {
  const kind = className(lane.eventClass[i]!);
  if (kind === "step" || kind === "range" || kind === "python") return palette.text;
  return palette.background === "#ffffff" ? LIGHT_TEXT : DARK_TEXT;
}
