// Rows where events are narrower than pixels: each pixel column is as high as its share of busy time, exactly. Waiting stands at
// the bottom, so that many short waits add up to something that is seen. The columns of all rows go into one image.
import type { Pyramid } from "../model/pyramid.ts";
import type { Scale } from "./scale.ts";

/** Shorter columns would not be seen. */
const LEAST_HEIGHT = 3;

export class DensityImage {
  private image: ImageData | undefined;
  private pixels = new Uint32Array(0);
  private canvas: HTMLCanvasElement | undefined;
  private used = false;

  /** Call first in each frame. */
  begin(width: number, height: number): void {
    const [w, h] = [Math.max(1, Math.ceil(width)), Math.max(1, Math.ceil(height))];
    if (this.image?.width !== w || this.image.height !== h) {
      this.image = new ImageData(w, h);
      this.pixels = new Uint32Array(this.image.data.buffer);
      this.canvas ??= document.createElement("canvas");
      this.canvas.width = w;
      this.canvas.height = h;
    } else if (this.used) {
      this.pixels.fill(0);
    }
    this.used = false;
  }

  /** Fills the columns of one lane between the heights `top` and `top + height`. */
  addLane(
    pyramid: Pyramid,
    scale: Scale,
    top: number,
    height: number,
    pixelOfClass: Uint32Array,
    waitingPixel: number,
  ): void {
    this.used = true;
    const columns = this.image!.width;
    const { waitingBefore, before } = pyramid.lane;
    const ns = scale.nsPerPixel;
    const level = pyramid.levelFor(ns);
    let busyBefore = pyramid.busyUntil(scale.from);
    let waitedBefore = waitingBefore ? pyramid.busyUntil(scale.from, waitingBefore) : 0;
    for (let x = 0; x < columns; x++) {
      const end = scale.from + (x + 1) * ns;
      const started = pyramid.startedBy(end);
      const busyUntil = pyramid.busyWithin(end, started, before);
      const busy = busyUntil - busyBefore;
      busyBefore = busyUntil;
      if (busy <= 0) continue;
      let waited = 0;
      if (waitingBefore === before) waited = busy;
      else if (waitingBefore) {
        const waitedUntil = pyramid.busyWithin(end, started, waitingBefore);
        waited = waitedUntil - waitedBefore;
        waitedBefore = waitedUntil;
      }
      const [low, high] = columnHeights(busy / ns, waited / ns, height);
      const other = high > low ? pixelOfClass[pyramid.dominantAt(end - ns / 2, level)]! : 0;
      this.fillColumn(x, top + height, low, high, waitingPixel, other);
    }
  }

  draw(context: CanvasRenderingContext2D, x: number, y: number): void {
    if (!this.used) return;
    this.canvas!.getContext("2d")!.putImageData(this.image!, 0, 0);
    context.imageSmoothingEnabled = false;
    context.drawImage(this.canvas!, x, y);
  }

  private fillColumn(
    x: number,
    bottom: number,
    low: number,
    high: number,
    lowPixel: number,
    highPixel: number,
  ): void {
    const columns = this.image!.width;
    let at = (bottom - 1) * columns + x;
    for (let y = 0; y < low; y++, at -= columns) this.pixels[at] = lowPixel;
    for (let y = low; y < high; y++, at -= columns) this.pixels[at] = highPixel;
  }
}

/** How high the waiting part and the whole of a column are, in pixels of a row of `height`. */
export function columnHeights(
  busyShare: number,
  waitingShare: number,
  height: number,
): [number, number] {
  // The microsecond between any two kernels is no wait worth seeing, so waiting has no least height.
  const low = Math.round(Math.min(1, waitingShare) * height);
  const high =
    busyShare <= 0 ? 0 : Math.max(LEAST_HEIGHT, Math.round(Math.min(1, busyShare) * height));
  const isOnlyWaiting = busyShare - waitingShare <= busyShare * 1e-9;
  return [low, isOnlyWaiting ? low : Math.min(height, high)];
}
