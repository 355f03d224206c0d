// The core of the page in Firefox, from file://. Playwright wants a Firefox of its own; puppeteer drives the one of Debian.
import { existsSync } from "node:fs";
import puppeteer, { type Browser } from "puppeteer-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { writtenLoop } from "./page_file.ts";

const EXECUTABLE = process.env.FIREFOX ?? "/usr/bin/firefox-esr";

let browser: Browser;
beforeAll(async () => {
  if (!existsSync(EXECUTABLE)) throw new Error(`${EXECUTABLE} is missing; set FIREFOX`);
  browser = await puppeteer.launch({
    browser: "firefox",
    executablePath: EXECUTABLE,
    headless: true,
  });
});
afterAll(() => browser?.close());

test("it opens, moves by keys and keeps its link, without a message", async () => {
  const page = await browser.newPage();
  await page.setViewport({ width: 1440, height: 900 });
  const complaints: string[] = [];
  page.on("console", (message) => complaints.push(`console: ${message.text()}`));
  page.on("pageerror", (error) =>
    complaints.push(`error: ${error instanceof Error ? error.message : error}`),
  );
  const address = writtenLoop();
  page.on("request", (request) => {
    // Firefox reports the fonts of its own controls as requests of data: addresses; nothing leaves the machine.
    const isOwn = [address, "blob:", "data:font/"].some((start) => request.url().startsWith(start));
    if (!isOwn) complaints.push(`request: ${request.url()}`);
  });
  await page.evaluateOnNewDocument(() => {
    document.addEventListener("securitypolicyviolation", (e) =>
      console.error(`policy: ${e.violatedDirective}`),
    );
  });
  await page.goto(address);
  await page.waitForSelector("canvas");
  await page.focus(".surface");
  await page.keyboard.press("n");
  await page.keyboard.press("]");
  await page.keyboard.press("[");
  await new Promise((done) => setTimeout(done, 600));
  const said = await page.$eval(".timeline [aria-live]", (element) => element.textContent);
  expect(said).toBe("CPU waits, 3.50 milliseconds, train.py:42, step 9");
  expect(await page.evaluate(() => location.hash)).toMatch(/sel=event:\d+/);
  const colours = await page.$eval("canvas", (element) => {
    const canvas = element as HTMLCanvasElement;
    const { data } = canvas.getContext("2d")!.getImageData(0, 0, canvas.width, canvas.height);
    return new Set(new Uint32Array(data.buffer)).size;
  });
  expect(colours).toBeGreaterThan(20);
  expect(complaints).toEqual([]);
});
