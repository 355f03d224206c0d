// What a look at the pages found: texts cut off, colours that nothing explains, rows out of sight.
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CLASSES, type ClassName, NO_LINK } from "../../src/format.ts";
import type { Finding, Report } from "../../src/page/report.ts";
import type { PageData } from "../../tools/from_chrome.ts";
import { pageOf } from "../../tools/write_page.ts";
import { type PlainLane, program, trainingLoop, written } from "./page_file.ts";
import { launchChromium, open, ready } from "./written.ts";

const LONG_EVIDENCE = "kernels start after their launch, and none waits in line; ".repeat(12);

let browser: Browser;
beforeAll(async () => {
  browser = await launchChromium();
});
afterAll(() => browser?.close());

async function shown(
  { data, report }: { data: PageData; report: Report },
  options = {},
): Promise<Page> {
  const { page } = await open(browser, written(pageOf(data, report, program)), options);
  await ready(page);
  return page;
}

const PHONE = { viewport: { width: 390, height: 844 } };

/** The training loop with another finding, as the rules write them. */
function loopWith(change: Partial<Finding>) {
  const { data, report } = trainingLoop();
  return { data, report: { ...report, findings: [{ ...report.findings[0]!, ...change }] } };
}

/** The training loop with a lane of device work, an event for each class. */
function loopOf(classes: ClassName[]) {
  const events = classes.map((name, i) => ({
    start: 6e7 + i * 1e5,
    duration: 5e4,
    name: 0,
    class: CLASSES[name],
    link: NO_LINK,
  }));
  const lane: PlainLane = {
    entry: { kind: "copy_device", title: "memset, copies inside", group: 0, device: 0, names: [3] },
    events,
  };
  return trainingLoop("train.py", [lane]);
}

test("on a phone, a finding and its saving are neither cut off nor in a box that scrolls", async () => {
  const page = await shown(
    loopWith({ evidence: LONG_EVIDENCE, saving_step_low_ns: 265e3, saving_step_high_ns: 104e4 }),
    PHONE,
  );
  const findings = page.locator(".findings");
  expect(await findings.evaluate((e) => e.scrollHeight - e.clientHeight)).toBeLessThanOrEqual(0);
  const rightOf = (name: string) =>
    page.locator(name).evaluateAll((all) => all.map((e) => e.getBoundingClientRect().right));
  const [card] = await rightOf(".card");
  const parts = await rightOf(".saving .whole");
  expect(parts.length).toBe(3);
  for (const right of parts) expect(right).toBeLessThanOrEqual(card! - 8);
  await page.close();
});

for (const width of [390, 800, 1280])
  test(`no part of a step's bar cuts its words short on ${width} pixels`, async () => {
    const page = await shown(trainingLoop(), { viewport: { width, height: 800 } });
    const cut = await page
      .locator(".part span")
      .evaluateAll((all) =>
        all.filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.textContent),
      );
    expect(cut).toEqual([]);
    const words = await page.locator(".bar-of-step").innerText();
    for (const part of [
      "GPU computes",
      "only copies",
      "idle: next batch",
      "idle: other work on the CPU",
    ])
      expect(words).toContain(part);
    await page.close();
  });

test("a window that becomes narrow moves the words of its bar below it", async () => {
  const page = await shown(trainingLoop(), { viewport: { width: 1700, height: 800 } });
  const inside = page.locator(".part span");
  const before = await inside.count();
  await page.setViewportSize({ width: 390, height: 844 });
  await page.waitForTimeout(200);
  expect(await inside.count()).toBeLessThan(before);
  await page.close();
});

test("another way stands below the fix, with what it saves if that is known", async () => {
  const alternatives = [
    {
      advice: "Use tp.to(x).",
      saving_step_low_ns: 200e3,
      saving_step_high_ns: 400e3,
      saving_step_expected_ns: 360e3,
    },
    {
      advice: "Wait less.",
      saving_step_low_ns: null,
      saving_step_high_ns: null,
      saving_step_expected_ns: null,
    },
  ];
  const page = await shown(loopWith({ alternatives }));
  // Spaces between figures and units do not break.
  const card = (await page.locator(".card").first().innerText()).replaceAll(/\s/g, " ");
  // 800 us are 13.3 %.
  expect(card).toContain("Or: Use tp.to(x). Saves 360 us a step (6 %; 200 us to 400 us).");
  expect(card).toContain("Or: Wait less.");
  await page.close();
});

test("the fix and its buttons are seen without scrolling, however long the evidence is", async () => {
  const page = await shown(
    loopWith({ evidence: LONG_EVIDENCE, saving_reason: "the loader stays as it is" }),
  );
  const box = (await page.locator(".findings").boundingBox())!;
  const buttons = (await page.locator(".buttons").first().boundingBox())!;
  // The lowest pixels fade out.
  expect(buttons.y + buttons.height).toBeLessThan(box.y + box.height - 24);
  expect(await page.locator(".card").first().innerText()).toContain("Why: kernels start");
  await page.close();
});

test("a single finding that is too long for its box fades out at its edge", async () => {
  const page = await shown(loopWith({ evidence: LONG_EVIDENCE }));
  const mask = await page.locator(".findings").evaluate((e) => getComputedStyle(e).maskImage);
  expect(mask).toContain("linear-gradient");
  await page.close();
});

test("a finding without a line begins with a capital letter", async () => {
  const page = await shown(loopWith({ site: "", title: "the CPU cannot launch work" }));
  expect(await page.locator(".card h2").first().innerText()).toMatch(/The CPU cannot launch work$/);
  await page.close();
});

test("a saving longer than the median step is one of the average step", async () => {
  const savings = async (expected_ns: number) => {
    const range = { saving_step_low_ns: 0, saving_step_high_ns: 8e6 };
    const page = await shown(loopWith({ ...range, saving_step_expected_ns: expected_ns }));
    const words = await page.locator(".saving").innerText();
    await page.close();
    return words.replaceAll("\u00a0", " ");
  };
  expect(await savings(7e6)).toMatch(/^saves 7\.00 ms a step on average \(\d+ %; up to 8\.00 ms\)/);
  expect(await savings(2e6)).not.toContain("average");
});

test("the legend names every colour of work on a device", async () => {
  const page = await shown(loopOf(["collective", "device_copy", "peer", "memset", "copy_call"]));
  const legend = await page.locator(".legend").innerText();
  for (const words of [
    "collective",
    "copy inside the GPU",
    "copy to another GPU",
    "memset",
    "call for a copy",
  ])
    expect(legend).toContain(words);
  const looks = await page.locator(".legend .swatch").evaluateAll((all) =>
    all.map((e) => {
      const { backgroundColor, backgroundImage } = getComputedStyle(e);
      return `${backgroundColor} ${backgroundImage}`;
    }),
  );
  expect(new Set(looks).size).toBe(looks.length);
  expect(looks).not.toContain("rgba(0, 0, 0, 0) none");
  await page.close();
});

test("the sums by line leave out what is nothing, and align their figures", async () => {
  const page = await shown(loopOf(["memset"]));
  const table = page.locator("#tab-panel table");
  expect(await table.innerText()).toContain("ms");
  expect(await table.innerText()).not.toMatch(/\b0\sns/);
  const align = await table
    .locator("td")
    .first()
    .evaluate((e) => getComputedStyle(e).textAlign);
  expect(align).toBe("right");
  await page.close();
});

test("paper has what is folded, and no advice on how to click", async () => {
  const { data, report } = trainingLoop();
  const [first] = report.findings;
  const folded = { ...first!, superseded_by: "other", advice: "Keep it in a list." };
  const page = await shown({ data, report: { ...report, findings: [first!, folded] } });
  const advice = page.getByText("Keep it in a list.");
  const hint = page.getByText("Click an event");
  expect(await advice.isVisible()).toBe(false);
  expect(await hint.isVisible()).toBe(true);
  await page.emulateMedia({ media: "print" });
  expect(await advice.isVisible()).toBe(true);
  expect(await hint.isVisible()).toBe(false);
  await page.close();
});

test("one event in view is one event", async () => {
  const page = await shown(trainingLoop());
  await page.goto(`${page.url().split("#")[0]}#t=5.6,5.7&tab=view`);
  await page.reload();
  await ready(page);
  const count = await page.locator("#tab-panel tbody tr").count();
  const words = await page.locator("#tab-panel p").innerText();
  expect(words).toBe(count === 1 ? "1 event is in view." : `${count} events are in view.`);
  await page.close();
});

test("on a phone, the names in a table are not broken into single letters", async () => {
  const page = await shown(trainingLoop(), PHONE);
  await page.locator("#tab-view").click();
  const name = page.locator("#tab-panel td button").first();
  const cell = await name.evaluate((e) => e.closest("td")!.getBoundingClientRect().width);
  expect(cell).toBeGreaterThan(100);
  await page.close();
});

test("rows below the edge of the timeline are counted, until they are scrolled into view", async () => {
  const lanes = Array.from({ length: 30 }, (_, i): PlainLane => {
    const event = { start: 6e7, duration: 5e6, name: 0, class: CLASSES.call, link: NO_LINK };
    const entry = { kind: "host" as const, title: `worker ${i}`, group: 0, names: [0] };
    return { entry, events: [event] };
  });
  const page = await shown(trainingLoop("train.py", lanes));
  const more = page.locator(".more-rows");
  expect(await more.innerText()).toMatch(/^\d+ more rows below/);
  await page.locator(".surface canvas").hover();
  await page.mouse.wheel(0, 5000);
  await page.waitForTimeout(200);
  expect(await more.count()).toBe(0);
  await page.close();

  const short = await shown(trainingLoop());
  expect(await short.locator(".more-rows").count()).toBe(0);
  await short.close();
});

test("on a phone, the heading of the strip ends before the strip", async () => {
  const page = await shown(trainingLoop(), PHONE);
  const colours = await page.evaluate(() => {
    const canvas = document.querySelector("canvas")!;
    const { data } = canvas.getContext("2d")!.getImageData(102, 0, 8, 40);
    const pixels = new Uint32Array(data.buffer);
    return new Set(pixels).size;
  });
  expect(colours).toBe(1);
  await page.close();
});

test("of a memset, only the memory that it writes is named", async () => {
  const { data, report } = trainingLoop();
  const site = { ...report.sites[0]!, direction: "memset", src_kind: null, dst_kind: "device" };
  const page = await shown({ data, report: { ...report, sites: [site] } });
  await page.locator("#tab-transfers").click();
  expect(await page.locator("#tab-panel table").innerText()).not.toContain("?");
  await page.close();
});
