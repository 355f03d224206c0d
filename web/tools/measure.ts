// How long a page takes in Chromium: to its first frame, and a frame at each kind of zoom.
import { pathToFileURL } from "node:url";
import type { Browser, Page } from "playwright-core";

export const ZOOMS = ["near", "middle", "zoomed_out", "all_levels"] as const;
export type Zoom = (typeof ZOOMS)[number];

/** Of one opening of the page, in ms. */
export interface Round {
  first_frame: number;
  /** Of the frames of each zoom: what 95 % of them do not exceed. */
  frame_95: Record<Zoom, number>;
  heap_bytes: number;
}

const pans = Array.from({ length: 30 }, (_, i) => (i % 6 < 3 ? "d" : "a"));

export async function measured(browser: Browser, file: string): Promise<Round> {
  const page = await browser.newPage({ viewport: { width: 1900, height: 900 } });
  await page.goto(pathToFileURL(file).href);
  await page.waitForFunction(
    () => performance.getEntriesByName("turnpike-frame").length > 0,
    undefined,
    { timeout: 120_000 },
  );
  const first = await page.evaluate(() => {
    const { startTime, duration } = performance.getEntriesByName("turnpike-frame")[0]!;
    return startTime + duration;
  });
  await page.focus(".surface");
  const near = await framesOf(page, pans);
  await page.keyboard.press("0");
  const zoomedOut = await framesOf(
    page,
    pans.map((_, i) => (i % 2 ? "s" : "w")),
  );
  for (let i = 0; i < 8; i++) await page.keyboard.press("w");
  const middle = await framesOf(page, pans);
  await page.keyboard.press("0");
  const allLevels = await framesOf(
    page,
    Array.from({ length: 40 }, () => "w"),
  );
  const heap = await page.evaluate(
    () => (performance as unknown as { memory: { usedJSHeapSize: number } }).memory.usedJSHeapSize,
  );
  await page.close();
  const frames = { near, middle, zoomed_out: zoomedOut, all_levels: allLevels };
  return { first_frame: first, frame_95: frames, heap_bytes: heap };
}

async function framesOf(page: Page, keys: readonly string[]): Promise<number> {
  await page.evaluate(() => performance.clearMeasures());
  for (const key of keys) {
    await page.keyboard.press(key);
    await page.evaluate(
      () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
    );
  }
  const all = await page.evaluate(() =>
    performance.getEntriesByName("turnpike-frame").map((entry) => entry.duration),
  );
  all.sort((a, b) => a - b);
  return all[Math.floor(all.length * 0.95)] ?? 0;
}
