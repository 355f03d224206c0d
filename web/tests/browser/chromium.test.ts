// The page in Chromium, from file://, without a network.
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CLASSES, type LaneKind, NO_LINK } from "../../src/format.ts";
import { KEYS } from "../../src/keys.ts";
import { ALL_COLUMNS } from "../../tools/encode.ts";
import { eventsOf } from "../../tools/enlarge.ts";
import { pageOf } from "../../tools/write_page.ts";
import {
  encode,
  IDLE_FROM_NS,
  IDLE_NS,
  program,
  STEP_NS,
  trainingLoop,
  written,
  writtenLoop,
} from "./page_file.ts";
import { launchChromium, type Opened, open as openWith, violationsOf } from "./written.ts";

let browser: Browser;
beforeAll(async () => {
  browser = await launchChromium();
});
afterAll(() => browser?.close());

function open(address: string, options: Parameters<Browser["newPage"]>[0] = {}): Promise<Opened> {
  return openWith(browser, address, { viewport: { width: 1440, height: 900 }, ...options });
}

async function openLoop(hash = "", options = {}): Promise<Opened> {
  const opened = await open(writtenLoop() + hash, options);
  await opened.page.waitForSelector("canvas");
  await settled(opened.page);
  return opened;
}

/** Waits until the canvas shows the state. */
async function settled(page: Page): Promise<void> {
  await page.evaluate(
    () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
  );
}

async function press(page: Page, key: string): Promise<void> {
  await page.keyboard.press(key);
  await settled(page);
}

function hash(page: Page): Promise<URLSearchParams> {
  return page.evaluate(() => location.hash.slice(1)).then((text) => new URLSearchParams(text));
}

async function hashAfter(page: Page): Promise<URLSearchParams> {
  await page.waitForTimeout(450);
  return hash(page);
}

test("it opens from file:// without a request, a message or a violation", async () => {
  const { page, complaints } = await openLoop();
  expect(await page.textContent("h1")).toContain("train.py:42");
  expect(await page.locator("#tp-static").count()).toBe(0);
  for (const tab of await page.locator('[role="tab"]').all()) await tab.click();
  await page.waitForTimeout(400);
  expect(complaints).toEqual([]);
  await page.close();
});

test("without script the verdict is there", async () => {
  const { page } = await open(writtenLoop(), { javaScriptEnabled: false });
  expect(await page.textContent("#tp-static h1")).toContain("train.py:42");
  await page.close();
});

test("it works where workers are refused", async () => {
  const { data, report } = trainingLoop();
  const html = pageOf(data, report, program).replace(
    "worker-src blob:",
    "worker-src &#39;none&#39;",
  );
  const { page } = await open(written(html));
  await page.waitForSelector("canvas");
  expect(await page.textContent(".tabs")).toContain("GPU 0 in kernels");
  await page.close();
});

test("it works in a sandboxed frame, without storage", async () => {
  const { data, report } = trainingLoop();
  const inner = pageOf(data, report, program).replaceAll("&", "&amp;").replaceAll('"', "&quot;");
  const { page, complaints } = await open(
    written(
      `<!doctype html><iframe sandbox="allow-scripts" width="1200" height="800" srcdoc="${inner}"></iframe>`,
    ),
  );
  const frame = page.frameLocator("iframe");
  await frame.locator("canvas").waitFor();
  await frame.locator(".surface").press("n");
  await page.waitForTimeout(500);
  expect(await frame.locator('[aria-live="polite"]').last().textContent()).toContain("GPU idle");
  expect(complaints).toEqual([]);
  await page.close();
});

test("every key of the help does something or finds nothing to do, without an error", async () => {
  const { page, complaints } = await openLoop();
  for (const key of KEYS) {
    await page.locator(".surface").focus();
    const modifiers = `${key.alt ? "Alt+" : ""}${key.shift && key.shown !== "?" ? "Shift+" : ""}`;
    for (const code of key.codes) await press(page, key.shown === "?" ? "?" : modifiers + code);
  }
  await page.waitForTimeout(400);
  expect(complaints).toEqual([]);
  await page.close();
});

describe("keys", () => {
  test("N, [ and ] lead from gap to cause and back", async () => {
    const { page } = await openLoop();
    await page.locator(".surface").focus();
    const said = () => page.locator(".timeline [aria-live]").textContent();
    await press(page, "n");
    expect(await said()).toBe("GPU idle: synchronisations, 1.00 milliseconds, train.py:42, step 9");
    await press(page, "n");
    expect(await said()).toContain("step 10");
    await press(page, "[");
    expect(await said()).toBe("CPU waits, 3.50 milliseconds, train.py:42, step 10");
    await press(page, "]");
    expect(await said()).toContain("step 10");
    await press(page, "Escape");
    expect(await said()).toBe("");
    await page.close();
  });

  test("W, D, 0 and Z move the window, and the address follows", async () => {
    const { page } = await openLoop();
    await page.locator(".surface").focus();
    const window = async () => (await hashAfter(page)).get("t")!.split(",").map(Number);
    await press(page, "w");
    const [from, to] = await window();
    expect(to! - from!).toBeCloseTo((2.5 * STEP_NS) / 1e6 / 1.35, 3);
    await press(page, "d");
    expect((await window())[0]).toBeGreaterThan(from!);
    await press(page, "0");
    expect(await window()).toEqual([0, 120]);
    await press(page, "z");
    expect((await window())[0]).toBeGreaterThan(from!);
    await page.close();
  });

  test("V shows the prediction below the recording", async () => {
    const { page } = await openLoop();
    const height = () => page.evaluate(() => document.querySelector("canvas")!.clientHeight);
    const before = await height();
    await page.locator(".surface").focus();
    await press(page, "v");
    await settled(page);
    expect(await height()).toBeGreaterThan(before);
    await page.close();
  });
});

test("records that were lost are cross-hatched, found by search and told in words", async () => {
  const { data, report } = trainingLoop();
  // Step 10 without its kernels: one stretch stands for them, as the writer has it.
  const [from, to] = [10 * STEP_NS, 11 * STEP_NS];
  const events = await Promise.all(
    data.contents.lanes.map((lane) => eventsOf({ ...lane, columns: ALL_COLUMNS }, data)),
  );
  const words = "at least 120 kernels not recorded";
  const strings = [...data.contents.strings, words];
  const lanes = data.contents.lanes.map(({ blocks: _, columns: __, ...lane }, l) => {
    if (lane.kind !== "stream") return { entry: lane, events: events[l]! };
    const kept = events[l]!.filter(({ start }) => start < from || start >= to);
    const lost = { start: from, duration: to - from - 1, class: CLASSES.lost, name: 1 };
    return {
      entry: { ...lane, names: [...lane.names!, strings.length - 1] },
      events: [...kept, lost].sort((a, b) => a.start - b.start),
    };
  });
  const { entries, blocks } = encode(lanes);
  const contents = { ...data.contents, strings, lanes: entries };
  const { page } = await open(written(pageOf({ contents, blocks }, report, program)));
  await page.waitForSelector("canvas");
  await settled(page);
  await page.locator('input[type="search"]').fill("kind:lost");
  expect(await page.locator("search").textContent()).toContain("1 hit");
  await page.keyboard.press("Enter");
  await settled(page);
  expect(await page.locator(".timeline [aria-live]").textContent()).toBe(
    `not recorded, ${words}, 6.00 milliseconds, step 10`,
  );
  expect(await page.textContent(".legend")).toContain("not recorded: records were lost");
  const grey = await page.evaluate(() => {
    const canvas = document.querySelector("canvas")!;
    // The stream's row: below steps, thread and state.
    const y = 64 + 8 + 24 + 8 + 32 + 8 + 32 + 8 + 4;
    const { data } = canvas.getContext("2d")!.getImageData(600, y, 60, 5);
    let count = 0;
    for (let i = 0; i < data.length; i += 4)
      if (data[i] === data[i + 1] && data[i] === data[i + 2] && data[i]! < 200) count++;
    return count / (data.length / 4);
  });
  expect(grey).toBeGreaterThan(0.1);
  expect(grey).toBeLessThan(0.8);
  await page.locator(".surface").focus();
  await press(page, "t");
  await page.waitForTimeout(300);
  expect(await page.textContent("#tab-panel")).toContain(words);
  await page.close();
});

test("from the finding to the timeline, to the source and back", async () => {
  const { page } = await openLoop();
  await page.getByRole("button", { name: "show in the timeline" }).click();
  expect((await hashAfter(page)).get("sel")).toBe("finding:0");
  await page.locator(".surface").focus();
  await press(page, ".");
  expect(await page.locator(".timeline [aria-live]").textContent()).toContain("train.py:42");
  await press(page, "Enter");
  expect(await page.locator("#tab-panel .chosen code").textContent()).toContain("loss.item()");
  await page.close();
});

test("a link restores window, selection, tab and search", async () => {
  const { page } = await openLoop("#t=12,24&sel=site:0&tab=transfers&q=gemm&fix=0");
  expect(await page.inputValue('input[type="search"]')).toBe("gemm");
  expect(await page.getAttribute("#tab-transfers", "aria-selected")).toBe("true");
  expect(await page.locator("tr.chosen").count()).toBe(1);
  expect(await page.getAttribute("canvas", "aria-label")).toContain(
    "Timeline of 12.0 milliseconds, beginning 12.0 milliseconds",
  );
  await page.close();
});

test("search counts hits and walks through them", async () => {
  const { page } = await openLoop();
  await page.locator(".surface").focus();
  await press(page, "/");
  await page.keyboard.type("kind:pageable");
  expect(await page.locator("search").textContent()).toContain("20 hits");
  await press(page, "Enter");
  await press(page, "Enter");
  expect((await hashAfter(page)).get("sel")).toMatch(/^event:\d+$/);
  expect(await page.locator(".timeline [aria-live]").textContent()).toContain("pageable");
  await page.close();
});

test("dragging selects a stretch, whose sums are exact", async () => {
  const { page } = await openLoop(`#span=${(10 * STEP_NS) / 1e6},${(11 * STEP_NS) / 1e6}`);
  const sums = page.getByRole("region", { name: "Sums" });
  expect(await sums.textContent()).toContain("In the selected 6.00\u00a0ms");
  expect(await sums.textContent()).toContain("GPU idle: synchronisations1.00\u00a0ms (17\u00a0%)");
  const box = (await page.locator("canvas").boundingBox())!;
  await page.mouse.move(box.x + 400, box.y + 200);
  await page.mouse.down();
  await page.mouse.move(box.x + 600, box.y + 200, { steps: 4 });
  await page.mouse.up();
  const [from, to] = (await hashAfter(page)).get("span")!.split(",").map(Number);
  const nsPerPixel = (2.5 * STEP_NS) / (1440 - 15 - 210 - 12);
  expect((to! - from!) * 1e6).toBeGreaterThan(190 * nsPerPixel);
  expect((to! - from!) * 1e6).toBeLessThan(215 * nsPerPixel);
  await page.close();
});

describe.each(["light", "dark"] as const)("pixels, %s", (colorScheme) => {
  test.each([1, 2])(
    "the gap is orange and hatched, the kernels are not (ratio %i)",
    async (deviceScaleFactor) => {
      const { page } = await openLoop("", { colorScheme, deviceScaleFactor });
      const start = 10 * STEP_NS + IDLE_FROM_NS + 2000;
      const [gap, busy] = await page.evaluate(
        ([gapStart, gapNs, windowFrom, windowNs]) => {
          const canvas = document.querySelector("canvas")!;
          const ratio = canvas.width / canvas.clientWidth;
          const x = (time: number) =>
            210 + ((time - windowFrom!) / windowNs!) * (canvas.clientWidth - 222);
          // The row "what it waits for" is the third one: its upper edge, where no text stands.
          const y = 64 + 8 + 24 + 8 + 32 + 8 + 4;
          const context = canvas.getContext("2d")!;
          const shareOfOrange = (from: number, to: number) => {
            const [left, right] = [Math.ceil(x(from)) + 3, Math.floor(x(to)) - 3];
            const { data } = context.getImageData(
              left * ratio,
              y * ratio,
              (right - left) * ratio,
              5 * ratio,
            );
            let orange = 0;
            for (let i = 0; i < data.length; i += 4)
              if (data[i]! > 150 && data[i]! - data[i + 2]! > 100 && data[i]! > 1.4 * data[i + 1]!)
                orange++;
            return orange / (data.length / 4);
          };
          return [
            shareOfOrange(gapStart!, gapStart! + gapNs!),
            shareOfOrange(gapStart! - 2e6, gapStart! - 1e6),
          ];
        },
        [start, IDLE_NS, 9.5 * STEP_NS, 2.5 * STEP_NS],
      );
      expect(gap).toBeGreaterThan(0.25);
      expect(gap).toBeLessThan(0.75);
      expect(busy).toBe(0);
      await page.close();
    },
  );
});

test("Python is a pale bar below its thread, and a wait for another rank has bars of its own", async () => {
  const [from, ns] = [10.25 * STEP_NS, STEP_NS];
  const event = { start: from, duration: ns, name: 0, link: NO_LINK };
  const lane = (kind: LaneKind, title: string, eventClass: number) => ({
    entry: { kind, title, group: 0, names: [4], ...(kind === "state" ? { device: 1 } : {}) },
    events: [{ ...event, class: eventClass }],
  });
  const { data, report } = trainingLoop("train.py", [
    lane("python", "main train.py", CLASSES.python),
    lane("state", "GPU 1: what it waits for", CLASSES.idle_rank),
  ]);
  const { page, complaints } = await open(written(pageOf(data, report, program)));
  await page.waitForSelector("canvas");
  await settled(page);
  expect(complaints).toEqual([]);
  const rows = await page.evaluate(
    ([time, windowFrom, windowNs]) => {
      const canvas = document.querySelector("canvas")!;
      const left = 210 + ((time! - windowFrom!) / windowNs!) * (canvas.clientWidth - 222);
      const context = canvas.getContext("2d")!;
      // Upper edges: strip and axis, steps, host, its Python; then GPU 0 with a stream and copies, and GPU 1.
      const python = 64 + 8 + 24 + 8 + 32 + 2;
      const rank = python + 14 + 8 + 32 + 8 + 36 + 8 + 20 + 8;
      const pixels = (y: number) => [...context.getImageData(left + 8, y, 64, 1).data];
      return [pixels(python + 1), pixels(rank + 4), pixels(rank + 7)];
    },
    [from, 9.5 * STEP_NS, 2.5 * STEP_NS],
  );
  const isOrange = (pixel: number[]) => pixel[0]! > 150 && pixel[0]! - pixel[2]! > 60;
  const shown = rows.map((row) =>
    Array.from({ length: 64 }, (_, i) => isOrange(row.slice(4 * i, 4 * i + 4))),
  );
  const [python, upper, lower] = shown as [boolean[], boolean[], boolean[]];
  expect(rows[0]!.slice(0, 3)).toEqual([0xd3, 0xda, 0xd2]);
  expect(python).not.toContain(true);
  expect(upper.filter(Boolean).length).toBeGreaterThan(20);
  expect(upper.filter(Boolean).length).toBeLessThan(44);
  // A hatch would have moved.
  expect(lower).toEqual(upper);
  for (const words of ["line of Python, from samples", "GPU waits for another rank"])
    expect(await page.locator(".legend li", { hasText: words }).count()).toBe(1);
  expect(await page.textContent('[aria-label="Sums"]')).toContain("of it, waits for another rank");
  await page.locator("#tab-view").click();
  const table = await page.locator("#panel-view, [role=tabpanel]").first().textContent();
  for (const words of ["line of Python, from samples", "waits for another rank, in a collective"])
    expect(table).toContain(words);
  await page.close();
});

test("memsets alone have a dark upper edge, and the legend explains it", async () => {
  const { data, report } = trainingLoop();
  const event = { start: 0, duration: 4e6, name: 0, class: CLASSES.memset, link: NO_LINK };
  const { entries, blocks } = encode([
    {
      entry: { kind: "copy_device", title: "memset, copies inside", group: 0, names: [3] },
      events: [{ ...event, exposed: 4e6 }],
    },
  ]);
  const contents = { ...data.contents, lanes: entries, findings: [{}] };
  const { page } = await open(
    written(pageOf({ contents: { ...contents, window: [0, 5e6] }, blocks }, report, program)),
  );
  await page.waitForSelector("canvas");
  await settled(page);
  const [edge, below] = await page.evaluate(() => {
    const context = document.querySelector("canvas")!.getContext("2d")!;
    // Below the strip, the axis and the gap above the only row.
    const brightness = (y: number) =>
      [...context.getImageData(400, 64 + 8 + y, 1, 1).data.slice(0, 3)].reduce((a, b) => a + b);
    return [brightness(1), brightness(12)];
  });
  expect(edge).toBeLessThan(below! / 2);
  expect(await page.textContent(".legend")).toContain("a dark upper edge");
  await page.close();
});

test("without source and costs, the card of lines names no file", async () => {
  const { data, report } = trainingLoop();
  const { source: _, ...contents } = data.contents;
  const { page } = await open(
    written(pageOf({ ...data, contents }, { ...report, lines: [] }, program)),
  );
  await page.waitForSelector("canvas");
  const card = page.locator('[aria-label="Source"]');
  expect(await card.textContent()).toContain("No line is known");
  expect(await card.locator("h2").textContent()).not.toContain("train.py");
  await page.close();
});

const EMPTY = {
  steps: null,
  verdict: null,
  sites: [],
  sync_sites: [],
  lines: [],
  findings: [],
};

test("a run of which nothing was recorded says so, without an axis", async () => {
  const { data, report } = trainingLoop();
  const nothing = { lanes: [], sites: [], findings: [], strings: [], groups: [], span_ns: 0 };
  const contents = { ...data.contents, ...nothing };
  const { page, complaints } = await open(
    written(
      pageOf(
        { contents: { ...contents, window: [0, 0] }, blocks: [] },
        { ...report, ...EMPTY, span_ns: 0 },
        program,
      ),
    ),
  );
  await page.waitForSelector(".timeline");
  expect(await page.textContent(".timeline")).toContain("Nothing was recorded");
  expect(await page.locator("canvas").count()).toBe(0);
  for (const tab of await page.locator('[role="tab"]').all()) await tab.click();
  await page.getByRole("button", { name: "whole run" }).click();
  expect(complaints).toEqual([]);
  await page.close();
});

test("names from the recording stay text", async () => {
  const hostile = `</script><img src=x onerror="window.__pwned=1"><!--<script>\${x}{{x}}'"&\u202e\u0000__proto__`;
  const { page, complaints } = await open(writtenLoop(hostile));
  await page.waitForSelector("canvas");
  await page.locator(".surface").focus();
  await press(page, "n");
  for (const tab of await page.locator('[role="tab"]').all()) await tab.click();
  expect(await page.evaluate(() => (window as { __pwned?: number }).__pwned)).toBeUndefined();
  expect(await page.locator("img, iframe, object, embed, base, form").count()).toBe(0);
  expect(await page.textContent("h1")).toContain("\\u202e");
  expect(complaints).toEqual([]);
  await page.close();
});

test("a damaged page says so in a sentence, and the verdict stays", async () => {
  const { data, report } = trainingLoop();
  const blocks = data.blocks.map((text, i) => (i === 3 ? `AAAA${text.slice(4)}` : text));
  const { page } = await open(written(pageOf({ ...data, blocks }, report, program)));
  expect(await page.getByRole("alert").textContent()).toMatch(
    /^The timeline cannot be shown\. Block 3 of lane "stream 7: kernels" cannot be read: ./,
  );
  expect(await page.textContent("#tp-static h1")).toContain("train.py:42");
  await page.close();
});

test.each([
  ["no findings and no source", { findings: [], no_source: "It was left out.", source: [] }, EMPTY],
  [
    "losses",
    { left_out: ["kernels of the first 3 s"], wait_remark: "The longest wait is no cause: 3 ms." },
    { losses: { lost: 3 }, loss_sentences: { lost: "three records" } },
  ],
] as const)("a run of %s is shown without an error", async (name, contents, report) => {
  const loop = trainingLoop();
  const data = {
    blocks: loop.data.blocks,
    contents: { ...loop.data.contents, ...contents },
  } as unknown as typeof loop.data;
  const { page, complaints } = await open(
    written(pageOf(data, { ...loop.report, ...report } as unknown as typeof loop.report, program)),
  );
  await page.waitForSelector("canvas");
  await page.locator(".surface").focus();
  for (const key of ["n", "j", "ArrowRight", "ArrowDown", ".", "]", "f", "0", "w", "/"])
    await press(page, key);
  for (const tab of await page.locator('[role="tab"]').all()) await tab.click();
  if (name === "losses") {
    expect(await page.textContent(".findings > .hint")).toBe(
      "The longest wait is no cause: 3\u00a0ms.",
    );
    expect(await page.textContent(".missing")).toBe(
      "Not everything is here: three records (3). kernels of the first 3\u00a0s",
    );
  }
  expect(complaints).toEqual([]);
  await page.close();
});

test("a run of 3,000 lanes stays usable", async () => {
  const { data, report } = trainingLoop();
  const lanes = [...data.contents.lanes];
  for (let k = 0; k < 3000; k++)
    lanes.push({
      kind: "stream",
      title: `stream ${k}`,
      group: 0,
      device: k,
      columns: ["start", "duration"],
      blocks: [],
    });
  const { page, complaints } = await open(
    written(pageOf({ ...data, contents: { ...data.contents, lanes } }, report, program)),
  );
  await page.waitForSelector("canvas");
  await page.locator(".surface").focus();
  for (const key of ["n", "w", "d", "ArrowDown"]) await press(page, key);
  expect(await page.locator("*").count()).toBeLessThan(3000);
  expect(complaints).toEqual([]);
  await page.close();
});

test("the table of the view holds what is in view, and sorts", async () => {
  const { page } = await openLoop();
  await page.locator(".surface").focus();
  await press(page, "t");
  await page.waitForTimeout(300);
  const rows = page.locator("#tab-panel tbody tr");
  // Of steps, waits, gaps and copies three each, 80 launches, and 94 kernels: 14 of step 9 and all of two steps.
  expect(await page.textContent("#tab-panel p")).toBe("186 events are in view.");
  expect(await rows.count()).toBe(186);
  await page.getByRole("button", { name: "duration" }).click();
  expect(await rows.first().textContent()).toContain("6.00\u00a0ms");
  await page.close();
});

test("the wheel zooms with Ctrl at the pointer, and the theme can be switched", async () => {
  const { page } = await openLoop();
  const box = (await page.locator("canvas").boundingBox())!;
  await page.mouse.move(box.x + 800, box.y + 200);
  await page.keyboard.down("Control");
  await page.mouse.wheel(0, -300);
  await page.keyboard.up("Control");
  const [from, to] = (await hashAfter(page)).get("t")!.split(",").map(Number);
  expect(to! - from!).toBeLessThan(10);
  const pointed = (x: number, a: number, b: number) =>
    a + ((x - 210) / (box.width - 222)) * (b - a);
  expect(pointed(800, from!, to!)).toBeCloseTo(pointed(800, 57, 72), 2);
  await page.getByRole("button", { name: "dark" }).click();
  expect(await page.evaluate(() => getComputedStyle(document.body).backgroundColor)).toBe(
    "rgb(20, 23, 27)",
  );
  await page.reload();
  await page.waitForSelector("canvas");
  expect(await page.evaluate(() => getComputedStyle(document.body).backgroundColor)).toBe(
    "rgb(20, 23, 27)",
  );
  await page.close();
});

test.each(["light", "dark"] as const)("axe finds nothing on any tab, %s", async (colorScheme) => {
  const { page } = await openLoop("", { colorScheme });
  for (const tab of await page.locator('[role="tab"]').all()) {
    await tab.click();
    expect(await violationsOf(page)).toEqual([]);
  }
  await page.close();
});
