// Memory over time: a step curve, filled.
import type { Row } from "../layout.ts";
import { size } from "../time_text.ts";
import { textWidth } from "./labels.ts";
import type { Palette } from "./palette.ts";
import type { Scale } from "./scale.ts";

export function drawMemory(
  context: CanvasRenderingContext2D,
  palette: Palette,
  scale: Scale,
  row: Row,
  curve: readonly [number, number][],
): void {
  const most = curve.reduce((peak, [, bytes]) => Math.max(peak, bytes), 0);
  if (most === 0) return;
  const bottom = row.y + row.height;
  const height = (bytes: number) => (bytes / most) * (row.height - 4);
  context.fillStyle = palette.classes.call;
  curve.forEach(([time, bytes], i) => {
    const left = scale.clampedX(time);
    const right = scale.clampedX(curve[i + 1]?.[0] ?? scale.to);
    if (right > left) context.fillRect(left, bottom - height(bytes), right - left, height(bytes));
  });
  const text = `peak ${size(most)}`;
  context.fillStyle = palette.plate;
  context.fillRect(scale.left + 4, row.y + 6, textWidth(context, text) + 8, 16);
  context.fillStyle = palette.text;
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.fillText(text, scale.left + 8, row.y + 14.5);
}
