// The screenshots of the documentation: pages of committed recordings, as Chromium shows them.
// take_screenshots.ts writes them; tests/browser/screenshots.test.ts compares them with what the page shows.
import { pathToFileURL } from "node:url";
import type { Browser, Page } from "playwright-core";

export interface Screenshot {
  /** Of the file: page_NAME.webp. */
  name: string;
  recording: string;
  /** The recording after a change: the page compares the two. */
  after?: string;
  width: number;
  height: number;
  /** The element at the picture's upper edge; without it, the page's upper edge. */
  from?: string;
  /** What a user does first; without it, the document without script is shown. */
  show?: (page: Page) => Promise<void>;
}

const BEFORE = "examples/train-before-h100.tpk";

async function keys(page: Page, ...pressed: string[]): Promise<void> {
  for (const key of pressed) await page.locator(".surface").press(key);
}

/** A tab alone, as high as the picture. */
function tab(name: string, height: number, ...pressed: string[]): Screenshot {
  return {
    name,
    recording: BEFORE,
    width: 1280,
    height,
    from: '[role="tablist"]',
    show: async (page) => {
      await keys(page, ...pressed);
      await page.locator(`#tab-${name}`).click();
    },
  };
}

/** The whole page with a finding's fix, as high as the picture. */
async function withTheFix(page: Page): Promise<void> {
  await page.getByRole("button", { name: "with the fix" }).first().click();
}

export const SCREENSHOTS: Screenshot[] = [
  { name: "first", recording: BEFORE, width: 1280, height: 900, show: async () => {} },
  { name: "fix", recording: BEFORE, width: 1280, height: 1020, show: withTheFix },
  tab("details", 400, "n"),
  tab("view", 420),
  tab("transfers", 410),
  tab("waits", 240),
  tab("source", 210),
  tab("run", 300),
  tab("help", 500),
  {
    name: "comparison",
    recording: BEFORE,
    after: "examples/train-after-h100.tpk",
    width: 1280,
    height: 1000,
    show: async () => {},
  },
  { name: "document", recording: BEFORE, width: 1280, height: 1040 },
];

/** What writes its page into a file, from the repository's root. */
export function commandFor({ recording, after }: Screenshot, file: string): string[] {
  const runs = after ? ["diff", recording, after] : ["report", recording];
  return [...runs, "--html", file];
}

/** Opens the page as a screenshot shows it. `file`: the page of its recording. */
export async function opened(
  browser: Browser,
  { width, height, show, from }: Screenshot,
  file: string,
  options: { colorScheme?: "light" | "dark"; deviceScaleFactor?: number } = {},
): Promise<Page> {
  const page = await browser.newPage({
    viewport: { width, height: from ? 900 : height },
    colorScheme: "light",
    reducedMotion: "reduce",
    javaScriptEnabled: show !== undefined,
    ...options,
  });
  await page.goto(pathToFileURL(file).href);
  if (show) {
    await page.waitForFunction(
      () => performance.getEntriesByName("turnpike-ready").length > 0,
      null,
      { timeout: 30_000 },
    );
    await show(page);
    // Until the canvas shows the state.
    await page.evaluate(
      () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
    );
  }
  return page;
}

/** The picture, as it is committed. */
export async function taken(page: Page, { width, height, from }: Screenshot): Promise<Buffer> {
  const y = from ? await page.locator(from).evaluate((e) => e.getBoundingClientRect().top) : 0;
  const scrolled = from ? await page.evaluate(() => scrollY) : 0;
  const session = await page.context().newCDPSession(page);
  const capture = () =>
    session.send("Page.captureScreenshot", {
      format: "webp",
      quality: 90,
      captureBeyondViewport: true,
      clip: { x: 0, y: Math.floor(y + scrolled), width, height, scale: 1 },
    });
  // On a busy machine Chromium may have no frame yet, and says that it cannot: then once more, a second later.
  const { data } = await capture().catch(async (error) => {
    if (!String(error).includes("Unable to capture screenshot")) throw error;
    await page.waitForTimeout(1000);
    return capture();
  });
  return Buffer.from(data, "base64");
}

/** Of its file, from the repository's root. */
export function pathOf({ name }: Screenshot): string {
  return `docs/pictures/page_${name}.webp`;
}
