// The strip above the timeline: the whole run, a bar for each step as high as it is long, idle time below, and the window.
import type { EventRef, Run } from "../model/run.ts";
import { duration } from "../time_text.ts";
import { columnHeights } from "./density.ts";
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
  context.fillText(`whole run, ${duration(run.contents.span_ns)}`, 10, STRIP_HEIGHT / 2);
  context.save();
  context.beginPath();
  context.rect(scale.left, 0, scale.width, STRIP_HEIGHT);
  context.clip();
  context.fillStyle = palette.rowBackground;
  context.fillRect(scale.left, 0, scale.width, STRIP_HEIGHT);
  drawSteps(context, run, palette, scale);
  drawIdle(context, run, palette, scale);
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

function drawSteps(
  context: CanvasRenderingContext2D,
  run: Run,
  palette: Palette,
  scale: Scale,
): void {
  const { steps } = run;
  if (!steps) return;
  let longest = 0;
  for (let i = 0; i < steps.count; i++) longest = Math.max(longest, steps.duration(i));
  context.fillStyle = palette.classes.step;
  for (let i = 0; i < steps.count; i++) {
    const height = Math.max(2, ((STRIP_HEIGHT - 4) * steps.duration(i)) / longest);
    const left = scale.x(steps.start[i]!);
    const width = Math.max(1, scale.x(steps.end(i)) - left - 1);
    context.fillRect(left, STRIP_HEIGHT - height, width, height);
  }
}

function drawIdle(
  context: CanvasRenderingContext2D,
  run: Run,
  palette: Palette,
  scale: Scale,
): void {
  const lane = run.lanesOf("state").find(({ entry }) => entry.fix === undefined);
  if (!lane?.waitingBefore) return;
  const pyramid = run.pyramid(lane);
  const whole = new Scale(scale.from, scale.to, 0, scale.width);
  context.fillStyle = palette.waiting;
  let before = pyramid.busyUntil(whole.from, lane.waitingBefore);
  for (let x = 0; x < whole.width; x++) {
    const until = pyramid.busyUntil(whole.time(x + 1), lane.waitingBefore);
    const [height] = columnHeights(
      (until - before) / whole.nsPerPixel,
      (until - before) / whole.nsPerPixel,
      STRIP_HEIGHT,
    );
    before = until;
    if (height > 0) context.fillRect(scale.left + x, STRIP_HEIGHT - height, 1, height);
  }
}
