// The pictures of the documentation show what the page shows today; and at both densities, in both themes, waiting is
// orange and kernels are blue.
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { opened, pathOf, SCREENSHOTS, type Screenshot, taken } from "../../tools/screenshots.ts";
import { diffPageOf, launchChromium, pageOf, ROOT } from "./written.ts";

const MAX_BYTES = 200_000;
/** Fonts and versions of Chromium move edges of letters; a moved row changes more. */
const MOST_CHANGED = 0.02;

let browser: Browser;
/** The page of one run, and the one that compares two. */
let pages: { one: string; two: string };
let blank: Page;
beforeAll(async () => {
  browser = await launchChromium();
  const compared = SCREENSHOTS.find(({ after }) => after)!;
  pages = {
    one: pageOf(SCREENSHOTS[0]!.recording),
    two: diffPageOf(compared.recording, compared.after!),
  };
  blank = await browser.newPage();
});
afterAll(() => browser?.close());

/** The share of pixels that differ visibly; 1 where the sizes differ. */
function changedShare(one: Buffer, other: Buffer): Promise<number> {
  const pictures = [one, other].map((data) => `data:image/webp;base64,${data.toString("base64")}`);
  return blank.evaluate(async (addresses) => {
    const [a, b] = await Promise.all(
      addresses.map(async (address) => {
        const image = new Image();
        image.src = address;
        await image.decode();
        const canvas = new OffscreenCanvas(image.width, image.height);
        const context = canvas.getContext("2d")!;
        context.drawImage(image, 0, 0);
        return context.getImageData(0, 0, image.width, image.height);
      }),
    );
    if (a!.width !== b!.width || a!.height !== b!.height) return 1;
    let changed = 0;
    for (let i = 0; i < a!.data.length; i += 4) {
      const difference = [0, 1, 2].map((k) => Math.abs(a!.data[i + k]! - b!.data[i + k]!));
      if (Math.max(...difference) > 48) changed++;
    }
    return changed / (a!.data.length / 4);
  }, pictures);
}

/** The shares of the waiting colour and of the kernels' in a picture. */
function coloursOf(picture: Buffer): Promise<{ orange: number; blue: number }> {
  return blank.evaluate(
    async (address) => {
      const image = new Image();
      image.src = address;
      await image.decode();
      const canvas = new OffscreenCanvas(image.width, image.height);
      const context = canvas.getContext("2d")!;
      context.drawImage(image, 0, 0);
      const { data } = context.getImageData(0, 0, image.width, image.height);
      const found = { orange: 0, blue: 0 };
      for (let i = 0; i < data.length; i += 4) {
        const [r, g, b] = [data[i]!, data[i + 1]!, data[i + 2]!];
        if (r > 150 && r - b > 90 && r > 1.4 * g) found.orange++;
        if (b > 150 && b - r > 60 && b > 1.2 * g) found.blue++;
      }
      return {
        orange: found.orange / (data.length / 4),
        blue: found.blue / (data.length / 4),
      };
    },
    `data:image/webp;base64,${picture.toString("base64")}`,
  );
}

async function shot(screenshot: Screenshot, options = {}): Promise<Buffer> {
  const page = await opened(browser, screenshot, pages[screenshot.after ? "two" : "one"], options);
  const picture = await taken(page, screenshot);
  await page.close();
  return picture;
}

test("all pictures are of one recording, or of it and one other", () => {
  expect(SCREENSHOTS.filter(({ after }) => after).length).toBe(1);
  expect(new Set(SCREENSHOTS.map(({ recording }) => recording)).size).toBe(1);
});

test.each(SCREENSHOTS)(
  "$name is what the page shows: else run scripts/docs --update",
  async (screenshot) => {
    const path = join(ROOT, pathOf(screenshot));
    expect(existsSync(path)).toBe(true);
    expect(statSync(path).size).toBeLessThanOrEqual(MAX_BYTES);
    const changed = await changedShare(readFileSync(path), await shot(screenshot));
    expect(changed).toBeLessThanOrEqual(MOST_CHANGED);
  },
);

test("a moved row, and a picture of another size, are noticed", async () => {
  const [first, , details, view] = SCREENSHOTS as [Screenshot, Screenshot, Screenshot, Screenshot];
  const lower = await shot({ ...view, height: details.height });
  expect(await changedShare(await shot(details), lower)).toBeGreaterThan(MOST_CHANGED);
  expect(await changedShare(await shot(details), await shot({ ...first, height: 300 }))).toBe(1);
});

describe.each(["light", "dark"] as const)("%s", (colorScheme) => {
  test.each([1, 2])(
    "waiting is orange and kernels are blue (ratio %i)",
    async (deviceScaleFactor) => {
      const [first] = SCREENSHOTS as [Screenshot];
      const { orange, blue } = await coloursOf(
        await shot(first, { colorScheme, deviceScaleFactor }),
      );
      // The strip of the run alone is orange over 4 % of the picture; kernels have 14 % of the bar and their row.
      expect(orange).toBeGreaterThan(0.03);
      expect(orange).toBeLessThan(0.1);
      expect(blue).toBeGreaterThan(0.004);
      expect(blue).toBeLessThan(0.03);
    },
  );
});
