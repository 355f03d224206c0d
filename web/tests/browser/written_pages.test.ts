// Pages as `turnpike report --html` writes them, in both browsers: of recordings of this repository, without a network.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import puppeteer from "puppeteer-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { decode } from "../../src/codec/decode.ts";
import { type ClassName, className, ELEMENTS, isLack } from "../../src/format.ts";
import { checkContents } from "../../src/page/contents.ts";
import {
  FIREFOX,
  fileOf,
  launchChromium,
  open,
  pageOf,
  ROOT,
  ready,
  recordingsIn,
  turnpike,
} from "./written.ts";

const recordings = [
  ...recordingsIn(join(ROOT, "examples")),
  ...recordingsIn(join(ROOT, "tests/golden")),
];

let browser: Browser;
beforeAll(async () => {
  browser = await launchChromium();
});
afterAll(() => browser?.close());

const CAUSES: Record<string, ClassName> = {
  copies_only: "copies_only",
  copy: "idle_copy",
  sync: "idle_sync",
  input: "idle_input",
  launch: "idle_launch",
  rank: "idle_rank",
  unknown: "idle_unknown",
  allocation: "idle_allocation",
  between_kernels: "idle_between_kernels",
  other_device: "idle_other_device",
  unrecorded: "idle_unrecorded",
};

interface Totals {
  copies: number;
  bytes: number;
  steps: number;
  idle: Partial<Record<ClassName, number>>;
}

/** What the page's events add up to, read as the page reads them. */
async function totalsOf(html: string): Promise<Totals> {
  const part = (id: string) => html.split(`id="${id}">`)[1]!.split("</script>")[0]!;
  const contents = checkContents(JSON.parse(part(ELEMENTS.contents)));
  const totals: Totals = { copies: 0, bytes: 0, steps: 0, idle: {} };
  for (const { kind, title, columns, blocks, fix } of contents.lanes) {
    if (fix !== undefined) continue;
    for (const header of blocks) {
      const text = part(`${ELEMENTS.block}${header.id}`);
      const block = await decode({ text, lane: title, columns, header });
      if (kind === "steps") totals.steps += header.count;
      for (let i = 0; i < header.count; i++) {
        // Of what was lost, the report knows nothing.
        if (isLack(block.class![i]!)) continue;
        if (kind.startsWith("copy_")) totals.copies++;
        totals.bytes += block.bytes?.[i] ?? 0;
        if (kind !== "state") continue;
        const cause = className(block.class![i]!);
        totals.idle[cause] = (totals.idle[cause] ?? 0) + block.duration[i]!;
      }
    }
  }
  return totals;
}

/** The same from `report --json`. */
function totalsOfReport(report: {
  steps: { count: number } | null;
  totals: Record<string, { count: number; bytes: number }>;
  idle: { cause: string; time_ns: number }[];
}): Totals {
  const totals: Totals = { copies: 0, bytes: 0, steps: report.steps?.count ?? 0, idle: {} };
  for (const total of Object.values(report.totals)) {
    totals.copies += total.count;
    totals.bytes += total.bytes;
  }
  for (const { cause, time_ns: ns } of report.idle) {
    const name = CAUSES[cause]!;
    totals.idle[name] = (totals.idle[name] ?? 0) + ns;
  }
  return totals;
}

describe.each(recordings)("a page", (recording) => {
  const name = recording.slice(ROOT.length);
  let file: string;
  beforeAll(() => {
    file = pageOf(recording);
  });

  test(`${name} opens without a complaint, and without script shows its document`, async () => {
    const { page, complaints } = await open(browser, `file://${file}`);
    await ready(page);
    expect(complaints).toEqual([]);
    expect(await page.locator("canvas").count()).toBe(1);
    const headline = await page.locator("h1").textContent();
    await page.close();

    const bare = await open(browser, `file://${file}`, { javaScriptEnabled: false });
    expect(await bare.page.locator("#tp-static h1").textContent()).toBe(headline);
    expect(await bare.page.locator("#tp-static table").count()).toBeGreaterThan(1);
    expect(await bare.page.locator("[style]").count()).toBe(0);
    expect(bare.complaints).toEqual([]);
    await bare.page.close();
  });

  test(`${name} adds up to what the report says`, async () => {
    const html = readFileSync(file, "utf8");
    const report = JSON.parse(turnpike("report", recording, "--json"));
    const inPage = html.split(`id="${ELEMENTS.report}">`)[1]!.split("</script>")[0]!;
    expect(JSON.parse(inPage)).toEqual(report);
    const shown = await totalsOf(html);
    const told = totalsOfReport(report);
    expect({ ...shown, steps: 0 }).toEqual({ ...told, steps: 0 });
    // The end of the last step is not always known.
    expect([told.steps, told.steps - 1]).toContain(shown.steps);
  });
});

/** A torch.profiler file of one upload and a kernel: no step is found in it. */
const WITHOUT_STEPS = {
  schemaVersion: 1,
  deviceProperties: [{ id: 0, name: "NVIDIA H100 80GB HBM3", totalGlobalMem: 85899345920 }],
  traceEvents: [
    event("cuda_runtime", "cudaMemcpyAsync", 1000, 500, { correlation: 7, cbid: 41 }),
    event("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 1050, 400, {
      correlation: 7,
      stream: 7,
      device: 0,
      bytes: 1048576,
    }),
    event("cuda_runtime", "cudaLaunchKernel", 1510, 5, { correlation: 8, cbid: 211 }),
    event("kernel", "scale", 1520, 100, { correlation: 8, stream: 7, device: 0 }),
  ],
};

function event(cat: string, name: string, ts: number, dur: number, args: object) {
  return { ph: "X", cat, name, pid: 1, tid: 1, ts, dur, args };
}

test("a run without steps has no figure of a step", async () => {
  const file = pageOf(fileOf(JSON.stringify(WITHOUT_STEPS), "json"));
  const { page, complaints } = await open(browser, `file://${file}`);
  await ready(page);
  const saving = await page.locator(".saving").first().innerText();
  expect(saving).toMatch(/^saves 449\sus \(72\s%; 409\sus to 489\sus\)$/);
  expect(await page.locator("body").innerText()).not.toContain("a step");
  expect(await page.getByRole("img", { name: /^The run: / }).count()).toBe(1);
  expect(complaints).toEqual([]);
  await page.close();
});

test("a written page opens in Firefox without a message", async () => {
  const firefox = await puppeteer.launch({
    browser: "firefox",
    executablePath: FIREFOX,
    headless: true,
  });
  const page = await firefox.newPage();
  const complaints: string[] = [];
  page.on("console", (message) => complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(String(error)));
  await page.goto(`file://${pageOf("examples/train-before-h100.tpk")}`);
  await page.waitForSelector("canvas", { timeout: 30_000 });
  expect(complaints).toEqual([]);
  await firefox.close();
});
