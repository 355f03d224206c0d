// A page of a million events opens and moves within its budgets. bench/html.py measures the same with pages of the writer,
// also of ten million events; this notices when it gets slower. The best of three counts: other programs run here, too.
import { readFileSync } from "node:fs";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { enlarged } from "../../tools/enlarge.ts";
import type { PageData } from "../../tools/from_chrome.ts";
import { measured, type Round, ZOOMS } from "../../tools/measure.ts";
import { pageOf as assembled } from "../../tools/write_page.ts";
import { readPage } from "../../tools/written_page.ts";
import { program } from "./page_file.ts";
import { fileOf, launchChromium, pageOf } from "./written.ts";

const EVENTS = 1_000_000;
const BYTES_AN_EVENT = 5.6;
const FIRST_FRAME_MS = 1500;
const FRAME_MS = 16;
/** What the page keeps of an event, and what reading it leaves behind before it is collected. */
const HEAP_BYTES_AN_EVENT = 100;

let browser: Browser;
let data: PageData;
const rounds: Round[] = [];
beforeAll(async () => {
  browser = await launchChromium();
  const page = readPage(readFileSync(pageOf("examples/train-before-h100.tpk"), "utf8"));
  const { report } = page;
  data = page.data;
  const many = await enlarged(data, report, EVENTS);
  const file = fileOf(assembled(many, { ...report, span_ns: many.contents.span_ns }, program));
  for (let k = 0; k < 3; k++) rounds.push(await measured(browser, file));
});
afterAll(() => browser?.close());

const best = (value: (round: Round) => number) => Math.min(...rounds.map(value));

test("an event takes few bytes in the page and in memory", () => {
  const count = data.contents.lanes
    .flatMap((lane) => lane.blocks)
    .reduce((sum, block) => sum + block.count, 0);
  const bytes = data.blocks.reduce((sum, text) => sum + text.length, 0);
  expect(bytes / count).toBeLessThan(BYTES_AN_EVENT);
  expect(best((round) => round.heap_bytes) / EVENTS).toBeLessThan(HEAP_BYTES_AN_EVENT);
});

test("the first frame is there soon", () => {
  expect(best((round) => round.first_frame)).toBeLessThan(FIRST_FRAME_MS);
});

test.each(ZOOMS)("95 of 100 frames take little time: %s", (zoom) => {
  expect(best((round) => round.frame_95[zoom])).toBeLessThan(FRAME_MS);
});
