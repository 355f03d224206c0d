// The strip above the timeline: the whole run, a bar for each step as high as it is long, idle time below, and the window.
import type { Lane } from "../model/lane.ts";
import { type EventRef, type Run, stepsAmong } from "../model/run.ts";
import { duration } from "../time_text.ts";
import { columnHeights } from "./density.ts";
import { fitting } from "./labels.ts";
import type { Palette } from "./palette.ts";
import { Scale } from "./scale.ts";

export const STRIP_HEIGHT = 40;

export function drawStrip(
  context: CanvasRenderingContext2D,
  run: Run,
  palette: Palette,
  scale: Scale,
  window: readonly [number, number],
  hits: readonly EventRef[],
): void {
  context.fillStyle = palette.text;
  context.textBaseline = "middle";
  context.textAlign = "left";
  const length = duration(run.contents.span_ns);
  const what = run.isComparison ? "before, after" : "whole run";
  const heading = fitting(context, [`${what}, ${length}`, what, length], scale.left - 18, true);
  if (heading) context.fillText(heading, 10, STRIP_HEIGHT / 2);
  context.save();
  context.beginPath();
  context.rect(scale.left, 0, scale.width, STRIP_HEIGHT);
  context.clip();
  context.fillStyle = palette.rowBackground;
  context.fillRect(scale.left, 0, scale.width, STRIP_HEIGHT);
  run.sides.forEach(({ lanes }, i) => {
    const height = STRIP_HEIGHT / run.sides.length;
    const strip: Strip = { context, run, palette, scale, height, bottom: (i + 1) * height };
    drawSteps(strip, stepsAmong(lanes));
    drawIdle(
      strip,
      lanes.find(({ entry }) => entry.kind === "state" && entry.fix === undefined),
    );
  });
  context.fillStyle = palette.text;
  for (const { lane, i } of hits) context.fillRect(Math.round(scale.x(lane.start[i]!)), 0, 1, 6);
  const [left, right] = window.map((time) => scale.x(time)) as [number, number];
  context.fillStyle = palette.shade;
  context.fillRect(scale.left, 0, left - scale.left, STRIP_HEIGHT);
  context.fillRect(right, 0, scale.left + scale.width - right, STRIP_HEIGHT);
  context.strokeStyle = palette.selection;
  context.lineWidth = 1.5;
  context.strokeRect(left, 0.75, Math.max(4, right - left), STRIP_HEIGHT - 1.5);
  context.restore();
}

/** Where one run is drawn. */
interface Strip {
  context: CanvasRenderingContext2D;
  run: Run;
  palette: Palette;
  scale: Scale;
  height: number;
  bottom: number;
}

function drawSteps(
  { context, palette, scale, height: room, bottom }: Strip,
  steps: Lane | undefined,
): void {
  if (!steps) return;
  let longest = 0;
  for (let i = 0; i < steps.count; i++) longest = Math.max(longest, steps.duration(i));
  context.fillStyle = palette.classes.step;
  // Of steps that begin in one column, the longest: a long run has more steps than the browser can draw in a frame.
  let drawnUntil = Number.NEGATIVE_INFINITY;
  let drawnHeight = 0;
  for (let i = 0; i < steps.count; i++) {
    const height = Math.max(2, ((room - 4) * steps.duration(i)) / longest);
    const left = scale.x(steps.start[i]!);
    const right = Math.max(left + 1, scale.x(steps.end(i)) - 1);
    if (right <= drawnUntil && height <= drawnHeight) continue;
    context.fillRect(left, bottom - height, right - left, height);
    drawnUntil = Math.ceil(right);
    drawnHeight = height;
  }
}

function drawIdle(
  { context, run, palette, scale, height: room, bottom }: Strip,
  lane: Lane | undefined,
): void {
  if (!lane?.waitingBefore) return;
  const pyramid = run.pyramid(lane);
  const whole = new Scale(scale.from, scale.to, 0, scale.width);
  context.fillStyle = palette.waiting;
  let before = pyramid.busyUntil(whole.from, lane.waitingBefore);
  for (let x = 0; x < whole.width; x++) {
    const until = pyramid.busyUntil(whole.time(x + 1), lane.waitingBefore);
    const share = (until - before) / whole.nsPerPixel;
    const [height] = columnHeights(share, share, room);
    before = until;
    if (height > 0) context.fillRect(scale.left + x, bottom - height, 1, height);
  }
}
