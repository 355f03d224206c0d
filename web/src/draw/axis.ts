// The axis of the window and the grid under the rows.
import { moment, tickDistance } from "../time_text.ts";
import { textWidth } from "./labels.ts";
import type { Palette } from "./palette.ts";
import type { Scale } from "./scale.ts";

const LEAST_TICK = 90;

/** Ticks are whole multiples of their distance, counted from the run's start. */
export function ticksOf(scale: Scale): { distance: number; times: number[] } {
  const distance = tickDistance(scale.nsPerPixel * LEAST_TICK);
  const times: number[] = [];
  for (let time = Math.ceil(scale.from / distance) * distance; time <= scale.to; time += distance)
    times.push(time);
  return { distance, times };
}

export function drawAxis(
  context: CanvasRenderingContext2D,
  palette: Palette,
  scale: Scale,
  y: number,
): void {
  const { distance, times } = ticksOf(scale);
  context.fillStyle = palette.mutedText;
  context.textBaseline = "middle";
  context.textAlign = "left";
  for (const time of times) {
    const text = moment(time, distance);
    const width = textWidth(context, text);
    const x = scale.x(time);
    if (x - width / 2 >= scale.left && x + width / 2 <= scale.left + scale.width)
      context.fillText(text, x - width / 2, y);
  }
}

export function drawGrid(
  context: CanvasRenderingContext2D,
  palette: Palette,
  scale: Scale,
  top: number,
  bottom: number,
): void {
  context.fillStyle = palette.grid;
  for (const time of ticksOf(scale).times)
    context.fillRect(Math.round(scale.x(time)), top, 1, bottom - top);
}
