// The same page in the places where people open it: frames, Jenkins, printers, notebooks, without script.
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser, Page } from "playwright-core";
import puppeteer from "puppeteer-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FIREFOX, fileOf, launchChromium, open, pageOf, ready } from "./written.ts";

const RECORDING = "examples/train-before-h100.tpk";
/** What Jenkins sends with every file of a build, by default. */
const JENKINS = "sandbox; default-src 'none'; img-src 'self'; style-src 'self';";
const HEADLINE =
  "Your GPU is idle 72\u00a0% of each step. The largest saving is one line: train_before.py:63";

let browser: Browser;
let file: string;
let html: string;
beforeAll(async () => {
  browser = await launchChromium();
  file = pageOf(RECORDING);
  html = readFileSync(file, "utf8");
});
afterAll(() => browser?.close());

/** The document without script: everything that it is there for. */
async function expectDocument(main: Page | import("playwright-core").FrameLocator): Promise<void> {
  expect(await main.locator("#tp-static h1").textContent()).toBe(HEADLINE);
  expect(await main.locator("#tp-static article").count()).toBe(3);
  for (const title of ["Transfers by line", "Synchronisations by line", "The run", "A median step"])
    expect(await main.getByRole("heading", { name: title, exact: true }).count(), title).toBe(1);
  expect(await main.locator("#tp-static table.picture rect").count()).toBeGreaterThan(50);
}

function framed(sandbox: string): string {
  const inner = html.replaceAll("&", "&amp;").replaceAll('"', "&quot;");
  const frame = `<iframe sandbox="${sandbox}" width="1200" height="800" srcdoc="${inner}"></iframe>`;
  return `file://${fileOf(`<!doctype html><meta charset="utf-8">${frame}`)}`;
}

test("in a sandboxed frame with script it is the whole page", async () => {
  const { page, complaints } = await open(browser, framed("allow-scripts"));
  const frame = page.frameLocator("iframe");
  await frame.locator("canvas").waitFor();
  await frame.locator(".surface").press("n");
  await expect
    .poll(() => frame.locator(".timeline [aria-live]").textContent())
    .toContain("GPU idle");
  expect(complaints).toEqual([]);
  await page.close();
});

test("in a sandboxed frame without script it is the document", async () => {
  const { page, complaints } = await open(browser, framed(""));
  await expectDocument(page.frameLocator("iframe"));
  // The browser says once that the frame's script did not run.
  expect(complaints.filter((one) => !one.includes("allow-scripts"))).toEqual([]);
  await page.close();
});

test("in a sandboxed frame of Firefox it is the whole page", async () => {
  const firefox = await puppeteer.launch({
    browser: "firefox",
    executablePath: FIREFOX,
    headless: true,
  });
  const page = await firefox.newPage();
  await page.goto(framed("allow-scripts"));
  const frame = await (await page.waitForSelector("iframe"))!.contentFrame();
  await frame.waitForSelector("canvas", { timeout: 30_000 });
  expect(await frame.$eval("h1", (heading) => heading.textContent)).toBe(HEADLINE);
  await firefox.close();
});

describe("under Jenkins' policy", () => {
  let server: Server;
  let address: string;
  const asked: string[] = [];
  beforeAll(async () => {
    server = createServer((request, response) => {
      asked.push(request.url!);
      response.setHeader("Content-Security-Policy", JENKINS);
      response.setHeader("Content-Type", "text/html; charset=utf-8");
      response.end(html);
    }).listen(0, "127.0.0.1");
    await new Promise((done) => server.once("listening", done));
    address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/report.html`;
  });
  afterAll(() => server?.close());

  test("it is the document, without style and readable", async () => {
    const { page } = await open(browser, address);
    await expectDocument(page);
    expect(asked.filter((path) => path !== "/favicon.ico")).toEqual(["/report.html"]);
    // Bars keep their colours and places, which are attributes.
    const bar = page.locator("svg.bar rect").first();
    expect((await bar.boundingBox())!.width).toBeGreaterThan(100);
    expect(await bar.evaluate((part) => getComputedStyle(part).fill)).toBe("rgb(68, 112, 179)");
    const waits = page.locator('#tp-static table.picture rect[fill="url(#tp-wait)"]');
    expect(await waits.count()).toBeGreaterThan(5);
    await page.close();
  });
});

test("without script it is the document, and asks for nothing", async () => {
  const { page, complaints } = await open(browser, `file://${file}`, { javaScriptEnabled: false });
  await expectDocument(page);
  expect(complaints).toEqual([]);
  await page.close();
});

/** A page of A4 with margins of 1 cm, in CSS pixels. */
const A4 = { width: 718, height: 1047 };

/** Texts and pictures that paper would cut off: nothing scrolls there. */
function cutOff(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const found: string[] = [];
    for (const element of document.querySelectorAll<HTMLElement>("body *")) {
      const style = getComputedStyle(element);
      if (style.display === "none" || element.closest(".sr, svg, details:not([open])")) continue;
      const isClipped =
        style.overflowX !== "visible" || style.overflowY !== "visible"
          ? element.scrollWidth > element.clientWidth + 1 ||
            element.scrollHeight > element.clientHeight + 1
          : false;
      const isOutside =
        element.getBoundingClientRect().right > document.documentElement.clientWidth + 1;
      // What does not fit into the bar stands in words below it, or is in its label.
      if ((isClipped || isOutside) && !element.closest(".bar"))
        found.push(`${element.tagName}.${element.className}: ${element.textContent!.slice(0, 60)}`);
    }
    return found;
  });
}

describe.each(["script", "no script"])("on paper, %s", (script) => {
  test.each([RECORDING, "tests/golden/field/hf_trainer.tpk"])(
    "%s is whole and black on white",
    async (recording) => {
      const { page } = await open(browser, `file://${pageOf(recording)}`, {
        javaScriptEnabled: script === "script",
        viewport: A4,
        colorScheme: "dark",
      });
      if (script === "script") {
        await ready(page);
        await page.getByRole("button", { name: "light" }).click();
        await page.getByRole("button", { name: "dark" }).click();
      }
      await page.emulateMedia({ media: "print", colorScheme: "light" });
      expect(await cutOff(page)).toEqual([]);
      const text = await page.evaluate(() => getComputedStyle(document.body).color);
      expect(text).toBe("rgb(26, 29, 33)");
      expect(await page.locator(".toolbar:visible, [role=tablist]:visible").count()).toBe(0);
      if (script === "script") {
        const canvas = (await page.locator("canvas").boundingBox())!;
        expect(canvas.x).toBeGreaterThanOrEqual(0);
        expect(canvas.x + canvas.width).toBeLessThanOrEqual(A4.width);
      }
      expect((await page.pdf({ format: "A4" })).length).toBeGreaterThan(10_000);
      await page.close();
    },
  );
});
