// What lies over the rows: curves from a wait to the gap it caused, arrows of the selected event, its outline, the selected
// stretch and marks.
import { isWaiting } from "../format.ts";
import type { Layout, Row } from "../layout.ts";
import { causeOf, effectsOf } from "../model/links.ts";
import type { EventRef, Run } from "../model/run.ts";
import { duration } from "../time_text.ts";
import { textWidth } from "./labels.ts";
import type { Palette } from "./palette.ts";
import type { Scale } from "./scale.ts";

const LEAST_GAP_WITH_CURVE = 10;
const MOST_ARROWS = 200;

export interface MarkPainter {
  context: CanvasRenderingContext2D;
  run: Run;
  palette: Palette;
  scale: Scale;
  layout: Layout;
}

function rowOf(layout: Layout, event: EventRef): Row | undefined {
  return layout.rows.find((row) => row.lane === event.lane);
}

/** From the end of the host call that waited to the gap that the GPU had because of it. */
export function drawCauses(painter: MarkPainter): void {
  const { run, scale, layout, palette, context } = painter;
  context.strokeStyle = palette.waiting;
  context.lineWidth = 1.5;
  for (const row of layout.rows) {
    const { lane } = row;
    if (lane?.entry.kind !== "state" || lane.entry.fix !== undefined) continue;
    const from = lane.firstEndingAfter(scale.from);
    const to = lane.firstStartingAt(scale.to);
    run.pyramid(lane).forLong(from, to, scale.nsPerPixel * LEAST_GAP_WITH_CURVE, (i) => {
      const cause = isWaiting(lane.eventClass[i]!) ? causeOf(run, { lane, i }) : undefined;
      const causeRow = cause && rowOf(layout, cause);
      if (!cause || !causeRow || causeRow.y > row.y) return;
      // A host that waited all through the gap went on after it: the curve leads down where the gap ended.
      const x1 = scale.clampedX(Math.min(cause.lane.end(cause.i), lane.end(i)));
      // The gap may have begun while the host still waited: then the curve meets it where the host went on.
      const left = scale.clampedX(lane.start[i]!) + 5;
      const x2 = Math.min(scale.clampedX(lane.end(i)), Math.max(left, x1));
      curve(context, x1, causeRow.y + causeRow.height, x2, row.y);
    });
  }
}

function curve(
  context: CanvasRenderingContext2D,
  x1: number,
  y1: number,
  x2: number,
  y2: number,
): void {
  const bend = (y2 - y1) * 0.6;
  context.beginPath();
  context.moveTo(x1, y1);
  context.bezierCurveTo(x1, y1 + bend, x2, y2 - bend, x2, y2);
  context.stroke();
}

/** The selected event's outline, and arrows from its cause and to its effects. */
export function drawSelected(painter: MarkPainter, event: EventRef): void {
  const { run, scale, layout, palette, context } = painter;
  const row = rowOf(layout, event);
  if (!row) return;
  const left = scale.clampedX(event.lane.start[event.i]!);
  const right = Math.max(left + 3, scale.clampedX(event.lane.end(event.i)));
  context.strokeStyle = palette.selection;
  context.lineWidth = 2;
  context.strokeRect(left - 1, row.y - 2, right - left + 2, row.height + 4);
  const cause = causeOf(run, event);
  if (cause) drawArrow(painter, cause, event);
  for (const effect of effectsOf(run, event, MOST_ARROWS)) drawArrow(painter, event, effect);
}

function drawArrow(painter: MarkPainter, from: EventRef, to: EventRef): void {
  const { scale, layout, palette, context } = painter;
  const [a, b] = [rowOf(layout, from), rowOf(layout, to)];
  if (!a || !b) return;
  const isDown = b.y > a.y;
  const x1 = scale.clampedX((from.lane.start[from.i]! + from.lane.end(from.i)) / 2);
  const x2 = scale.clampedX(to.lane.start[to.i]!);
  const [y1, y2] = isDown ? [a.y + a.height, b.y] : [a.y, b.y + b.height];
  context.strokeStyle = context.fillStyle = palette.selection;
  context.lineWidth = 1.25;
  curve(context, x1, y1, x2, y2);
  const tip = isDown ? -6 : 6;
  context.beginPath();
  context.moveTo(x2, y2);
  context.lineTo(x2 - 3.5, y2 + tip);
  context.lineTo(x2 + 3.5, y2 + tip);
  context.fill();
}

export function drawSpan(painter: MarkPainter, [from, to]: readonly [number, number]): void {
  const { scale, layout, palette, context } = painter;
  const [left, right] = [scale.clampedX(from), scale.clampedX(to)];
  context.fillStyle = palette.shade;
  context.fillRect(left, 0, right - left, layout.height);
  context.fillStyle = palette.selection;
  context.fillRect(left, 0, 1, layout.height);
  context.fillRect(right - 1, 0, 1, layout.height);
  const text = duration(to - from);
  const width = textWidth(context, text);
  context.fillStyle = palette.plate;
  context.fillRect((left + right - width) / 2 - 4, 0, width + 8, 16);
  context.fillStyle = palette.text;
  context.textBaseline = "middle";
  context.fillText(text, (left + right - width) / 2, 8);
}

export function drawMark(painter: MarkPainter, time: number, number: number): void {
  const { scale, layout, palette, context } = painter;
  const x = scale.x(time);
  if (x < scale.left || x > scale.left + scale.width) return;
  context.fillStyle = palette.mutedText;
  context.fillRect(x, 0, 1, layout.height);
  context.fillText(`mark ${number}`, x + 4, layout.height - 8);
}
