// For everyone: written pages by axe, and by the keyboard alone.
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { launchChromium, open, pageOf, ready, violationsOf } from "./written.ts";

let browser: Browser;
beforeAll(async () => {
  browser = await launchChromium();
});
afterAll(() => browser?.close());

describe("axe", () => {
  test.each([
    ["examples/train-before-h100.tpk", "light"],
    ["examples/train-before-h100.tpk", "dark"],
    ["tests/golden/field/hf_trainer.tpk", "light"],
    ["tests/golden/whatif/peer_copy.tpk", "dark"],
  ] as const)("finds nothing on any view of %s, %s", async (recording, colorScheme) => {
    const { page } = await open(browser, `file://${pageOf(recording)}`, { colorScheme });
    await ready(page);
    for (const tab of await page.locator('[role="tab"]').all()) {
      await tab.click();
      expect(await violationsOf(page), (await tab.textContent())!).toEqual([]);
    }
    await page.locator(".surface").press("n");
    await page.locator(".surface").press("v");
    await page.locator('[role="tab"]').first().click();
    expect(await violationsOf(page), "with an event and the fix").toEqual([]);
    await page.close();
  });

  test.each(["light", "dark"] as const)(
    "finds nothing in the document, %s",
    async (colorScheme) => {
      // Axe needs script: the document is what stands there when the program cannot read its data.
      const file = pageOf("examples/train-before-h100.tpk");
      const { page } = await open(browser, `file://${file}`, {
        colorScheme,
        javaScriptEnabled: false,
      });
      const main = await page.evaluate(() => document.documentElement.outerHTML);
      await page.close();
      const bare = await browser.newPage({ colorScheme });
      await bare.setContent(main.replaceAll(/<script.*?<\/script>|<meta http-equiv[^>]*>/gs, ""));
      expect(await bare.locator("#tp-static article").count()).toBe(3);
      expect(await violationsOf(bare)).toEqual([]);
      await bare.close();
    },
  );
});

/** What has the focus, in words. */
function focused(page: Page): Promise<string> {
  return page.evaluate(() => {
    const { tagName, id, className, textContent } = document.activeElement!;
    return `${tagName} ${id} ${className} ${textContent!.slice(0, 80)}`;
  });
}

test("the Tab key reaches every control, leaves each, and shows where it is", async () => {
  const { page } = await open(browser, `file://${pageOf("examples/train-before-h100.tpk")}`);
  await ready(page);
  // Controls are told apart by their places among all elements.
  const controls = await page.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>("*")].flatMap((element, place) => {
      const isControl = element.matches('button, input, summary, a[href], [tabindex="0"]');
      return isControl && element.checkVisibility() && element.tabIndex >= 0 ? [place] : [];
    }),
  );
  expect(controls.length).toBeGreaterThan(12);
  const reached = new Set<number>();
  for (let i = 0; i < 200; i++) {
    await page.keyboard.press("Tab");
    const { place, outline } = await page.evaluate(() => ({
      place: [...document.querySelectorAll("*")].indexOf(document.activeElement!),
      outline: getComputedStyle(document.activeElement!).outlineStyle,
    }));
    if (reached.has(place) || (await focused(page)).startsWith("BODY")) break;
    expect(outline, await focused(page)).not.toBe("none");
    reached.add(place);
  }
  expect(controls.filter((control) => !reached.has(control))).toEqual([]);
  await page.close();
});

test("by the keyboard alone: from the finding to the timeline, its line, the tables and back", async () => {
  const { page, complaints } = await open(
    browser,
    `file://${pageOf("examples/train-before-h100.tpk")}`,
  );
  await ready(page);
  const tabTo = async (what: RegExp) => {
    for (let i = 0; i < 100; i++) {
      await page.keyboard.press("Tab");
      if (what.test(await focused(page))) return;
    }
    throw new Error(`the Tab key does not reach ${what}`);
  };
  const hash = () => page.evaluate(() => location.hash);
  await tabTo(/show in the timeline/);
  await page.keyboard.press("Enter");
  await expect.poll(hash).toContain("sel=finding:0");
  await tabTo(/surface/);
  await page.keyboard.press("n");
  await expect
    .poll(() => page.locator(".timeline [aria-live]").textContent())
    .toMatch(/^GPU idle.*step \d+$/);
  await page.keyboard.press("Enter");
  await tabTo(/^BUTTON tab-/);
  await page.keyboard.press("ArrowRight");
  const second = await focused(page);
  expect(second).toMatch(/^BUTTON tab-/);
  expect(await page.locator('[role="tab"][aria-selected="true"]').textContent()).toBe(
    await page.evaluate(() => document.activeElement!.textContent),
  );
  expect(complaints).toEqual([]);
  await page.close();
});
