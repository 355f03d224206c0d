// Patterns say without colour what a rectangle is: hatched is waiting, counter-hatched is copied twice (pageable), and so on.
// They are in CSS pixels, so that they look alike on every screen.
import { className } from "../format.ts";

export type PatternName =
  | "hatch"
  | "thin_hatch"
  | "stripes"
  | "dots"
  | "sparse"
  | "counter_hatch"
  | "cross"
  | "bars"
  | "grid"
  | "thin_stripes"
  | "thin_bars"
  | "thin_counter_hatch";

/** The pattern of a class; null where it is drawn solid. */
export function patternOf(eventClass: number): PatternName | null {
  switch (className(eventClass)) {
    case "blocked":
    case "idle_copy":
      return "hatch";
    case "idle_sync":
      return "stripes";
    case "idle_allocation":
      return "grid";
    case "idle_rank":
      return "bars";
    case "idle_other_device":
      return "thin_bars";
    case "idle_between_kernels":
      return "thin_stripes";
    case "idle_unrecorded":
      return "thin_counter_hatch";
    case "idle_launch":
      return "thin_hatch";
    case "idle_input":
    case "managed":
      return "dots";
    case "idle_unknown":
    case "unknown_memory":
      return "sparse";
    case "pageable":
      return "counter_hatch";
    case "lost":
    case "left_out":
      return "cross";
    default:
      return null;
  }
}

const TILE = 8;
const cache = new Map<string, CanvasPattern>();

export function pattern(
  context: CanvasRenderingContext2D,
  name: PatternName,
  colour: string,
  dpr: number,
): CanvasPattern {
  const key = `${name} ${colour} ${dpr}`;
  let result = cache.get(key);
  if (!result) {
    const tile = document.createElement("canvas");
    tile.width = tile.height = Math.round(TILE * dpr);
    const c = tile.getContext("2d")!;
    c.scale(tile.width / TILE, tile.width / TILE);
    c.strokeStyle = c.fillStyle = colour;
    drawTile(c, name);
    result = context.createPattern(tile, "repeat")!;
    result.setTransform(new DOMMatrix().scale(TILE / tile.width));
    cache.set(key, result);
  }
  return result;
}

function drawTile(c: CanvasRenderingContext2D, name: PatternName): void {
  switch (name) {
    case "hatch":
      lines(c, 2.6, 1);
      return;
    case "thin_hatch":
      lines(c, 1.1, 1);
      return;
    case "counter_hatch":
      lines(c, 2, -1);
      return;
    case "cross":
      lines(c, 1, 1);
      lines(c, 1, -1);
      return;
    case "stripes":
      c.fillRect(0, 1, TILE, 2);
      c.fillRect(0, 5, TILE, 2);
      return;
    case "bars":
      c.fillRect(1, 0, 2, TILE);
      c.fillRect(5, 0, 2, TILE);
      return;
    case "grid":
      c.fillRect(0, 1, TILE, 1.2);
      c.fillRect(1, 0, 1.2, TILE);
      return;
    case "thin_stripes":
      c.fillRect(0, 3, TILE, 1);
      return;
    case "thin_bars":
      c.fillRect(3, 0, 1, TILE);
      return;
    case "thin_counter_hatch":
      lines(c, 1.1, -1);
      return;
    case "dots":
      for (const [x, y] of [
        [2, 2],
        [6, 6],
      ] as const)
        c.fillRect(x - 1, y - 1, 2, 2);
      return;
    case "sparse":
      c.fillRect(3, 3, 1.5, 1.5);
      return;
  }
}

/** Diagonals through the tile and its corners, so that tiles join. */
function lines(c: CanvasRenderingContext2D, width: number, direction: 1 | -1): void {
  c.lineWidth = width;
  c.beginPath();
  for (const shift of [-TILE, 0, TILE]) {
    const [from, to] = direction === 1 ? [TILE + 2, -2] : [-2, TILE + 2];
    c.moveTo(shift - 2, from);
    c.lineTo(shift + TILE + 2, to);
  }
  c.stroke();
}
