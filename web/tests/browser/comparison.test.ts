// The page of two runs, as `turnpike diff --html` writes it.
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { diffPageOf, launchChromium, type Opened, open, ready, violationsOf } from "./written.ts";

let browser: Browser;
let address: string;
beforeAll(async () => {
  browser = await launchChromium();
  const file = diffPageOf("examples/train-before-h100.tpk", "examples/train-after-h100.tpk");
  address = `file://${file}`;
});
afterAll(() => browser?.close());

async function opened(hash = "", options = {}): Promise<Opened> {
  const result = await open(browser, address + hash, options);
  await ready(result.page);
  return result;
}

interface Step {
  start: string;
  name: string;
}

/** The steps that the table of the view lists. */
async function stepsInView(page: Page): Promise<Step[]> {
  await page.locator("#tab-view").click();
  await page.waitForTimeout(300);
  return page.locator("#tab-panel tbody tr").evaluateAll((rows) =>
    rows
      .map((row) => [...row.children].map((cell) => cell.textContent!))
      .filter(([, , what]) => what === "step")
      .map(([start, , , name]) => ({ start: start!, name: name! })),
  );
}

const chosen = (page: Page) => page.locator(".timeline [aria-live]").textContent();

/** The names of the two steps that begin together. */
async function alignedSteps(page: Page): Promise<string[]> {
  const starts = new Map<string, string[]>();
  for (const { start, name } of await stepsInView(page))
    starts.set(start, [...(starts.get(start) ?? []), name]);
  return [...starts.values()].filter((names) => names.length === 2).flat();
}

test("J and K go through the steps of both runs, which stay aligned", async () => {
  const { page, complaints } = await opened();
  const surface = page.locator(".surface");
  const [first, second] = await alignedSteps(page);
  const numbers = [first, second].map((name) => Number(name!.replace("step ", "")));
  const names = (further: number) => numbers.map((number) => `step ${number + further}`);
  for (const [key, further] of [
    ["j", 1],
    ["j", 2],
    ["k", 1],
    ["k", 0],
    ["k", -1],
  ] as const) {
    await surface.press(key);
    expect(await chosen(page)).toContain(names(further)[0]);
    expect(await alignedSteps(page), `${key} to ${further}`).toEqual(names(further));
  }
  // The link keeps how they are aligned.
  await page.waitForTimeout(450);
  const hash = new URL(page.url()).hash;
  expect(hash).toContain("shift=");
  expect(complaints).toEqual([]);
  await page.close();

  const again = await opened(hash);
  expect(await alignedSteps(again.page)).toEqual(names(-1));
  await again.page.close();
});

test("N and the sums count each run for itself, and no key complains", async () => {
  const { page, complaints } = await opened();
  const surface = page.locator(".surface");
  await surface.press("n");
  expect(await chosen(page)).toContain("GPU idle");
  for (const key of ["Shift+J", "0", "z", "f", "r", "m", "[", "]", "v", "x", "Shift+X", "?"])
    await surface.press(key);
  await page.locator("#tab-details").click();
  await page.waitForTimeout(200);
  for (const side of ["before", "after"])
    expect(await page.getByRole("region", { name: `Sums ${side} the change` }).count()).toBe(1);
  expect(complaints).toEqual([]);
  await page.close();
});

test.each(["light", "dark"] as const)("axe finds nothing, %s", async (colorScheme) => {
  const { page } = await opened("", { colorScheme });
  for (const tab of await page.locator('[role="tab"]').all()) {
    await tab.click();
    expect(await violationsOf(page)).toEqual([]);
  }
  await page.close();
});
