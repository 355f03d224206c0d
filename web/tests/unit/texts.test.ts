// Times, names, colours: what stands on the page.
import { expect, test } from "vitest";
import { columnHeights } from "../../src/draw/density.ts";
import { contrast, paletteFor, pixelOf } from "../../src/draw/palette.ts";
import { CLASSES, type ClassName, isWaiting } from "../../src/format.ts";
import { eventName, shortName, visible } from "../../src/short_name.ts";
import {
  duration,
  moment,
  percent,
  size,
  spokenDuration,
  tickDistance,
  wholeFigures,
} from "../../src/time_text.ts";
import { escapeHtml, jsonForScript } from "../../tools/write_page.ts";

test.each([
  [0, "0\u00a0ns"],
  [999, "999\u00a0ns"],
  [1000, "1.00\u00a0us"],
  [612345, "612\u00a0us"],
  [999600, "1.00\u00a0ms"],
  [2490000, "2.49\u00a0ms"],
  [99960000, "100\u00a0ms"],
  [7476000000, "7.48\u00a0s"],
  [-295000, "-295\u00a0us"],
])("%i ns is %s", (ns, text) => {
  expect(duration(ns)).toBe(text);
});

test("sizes, shares, ticks and spoken times", () => {
  expect(size(4096)).toBe("4.10\u00a0kB");
  expect(size(16777216)).toBe("16.8\u00a0MB");
  expect(size(3)).toBe("3\u00a0B");
  expect(percent(0)).toBe("0\u00a0%");
  expect(percent(0.13)).toBe("<1\u00a0%");
  expect(percent(0.97)).toBe("<1\u00a0%");
  expect(percent(99.7)).toBe("99\u00a0%");
  expect(percent(100)).toBe("100\u00a0%");
  expect(percent(15.6)).toBe("16\u00a0%");
  expect(spokenDuration(665000)).toBe("665 microseconds");
  expect(spokenDuration(2e9)).toBe("2.00 seconds");
  expect(moment(196e6, 2e6)).toBe("196\u00a0ms");
  expect(moment(196.25e6, 5e4)).toBe("196.25\u00a0ms");
  expect(moment(7e9, 1e9)).toBe("7\u00a0s");
  expect(moment(1234, 10)).toBe("1.23\u00a0us");
  expect([1, 3, 7, 12, 2000].map(tickDistance)).toEqual([1, 5, 10, 20, 2000]);
});

test("a figure stays with its unit", () => {
  expect(wholeFigures("saves 15.9 ms (<1 %), 3 MB at 7.7 GB/s")).toBe(
    "saves 15.9\u00a0ms (<1\u00a0%), 3\u00a0MB at 7.7\u00a0GB/s",
  );
  const others = "12 steps, 3 msgs, 4 bytes, ms 5 s_t, v2 of 3";
  expect(wholeFigures(others)).toBe(others);
});

test.each([
  ["void at::native::vectorized_gather_kernel<16, long>(char*, char*)", "vectorized_gather_kernel"],
  ["void (anonymous namespace)::elementwise_kernel<a<b>, c>(int)", "elementwise_kernel"],
  ["ampere_sgemm_128x64_nn", "ampere_sgemm_128x64_nn"],
  ["", "?"],
  ["<<<", "?"],
  ["((((", "?"],
])("%j is shortened to %s", (name, short) => {
  expect(shortName(name) || "?").toBe(short === "?" ? shortName(name) : short);
  expect(shortName(name)).not.toBe("");
});

test("only kernels are shortened", () => {
  expect(eventName("step 21", CLASSES.step)).toBe("step 21");
  expect(eventName("void a::b<1>()", CLASSES.kernel)).toBe("b");
});

test("a name of a megabyte and control characters are harmless", () => {
  expect(shortName(`void f<${"x".repeat(1e6)}>()`).length).toBeLessThan(5000);
  expect(visible("a\u202eb\u0000c\ud800d\n")).toBe("a\\u202eb\\u0000c\\ud800d\\u000a");
  expect(visible("é 漢字 🎉 train.py")).toBe("é 漢字 🎉 train.py");
});

test("texts of the recording cannot leave their element", () => {
  const hostile = "</script><!--<script>alert(1)</script>]]>\u2028'\"&";
  const json = jsonForScript({ hostile });
  expect(json).not.toMatch(/[<>\u2028]/);
  expect(JSON.parse(json)).toEqual({ hostile });
  expect(escapeHtml(hostile)).not.toMatch(/[<>'"]|&(?!#)/);
});

const LIGHT_SHAPES: ClassName[] = ["step", "range", "python"];

test.each([false, true])("contrasts: 4.5:1 for text, 3:1 for shapes (dark: %s)", (isDark) => {
  const palette = paletteFor(isDark);
  for (const background of [palette.background, palette.rowBackground, palette.stateBackground])
    expect(contrast(palette.text, background)).toBeGreaterThan(4.5);
  expect(contrast(palette.mutedText, palette.background)).toBeGreaterThan(4.5);
  for (const name of Object.keys(palette.classes) as ClassName[]) {
    const colour = palette.classes[name];
    // Steps, ranges and Python carry their text in the colour of texts; they are areas to read on.
    if (LIGHT_SHAPES.includes(name)) expect(contrast(palette.text, colour)).toBeGreaterThan(4.5);
    else
      expect([name, contrast(colour, palette.background)]).toEqual([
        name,
        expect.toSatisfy((c: number) => c >= 3),
      ]);
  }
});

test.each([false, true])("orange is for waiting only (dark: %s)", (isDark) => {
  const palette = paletteFor(isDark);
  for (const [name, number] of Object.entries(CLASSES))
    expect(palette.classes[name as ClassName] === palette.waiting).toBe(isWaiting(number));
});

test("pixels hold red, green, blue, opaque from the lowest byte on", () => {
  expect([...new Uint8Array(Uint32Array.of(pixelOf("#0a64ff")).buffer)]).toEqual([
    10, 100, 255, 255,
  ]);
});

test("a column is as high as its share", () => {
  expect(columnHeights(0.5, 0, 40)).toEqual([0, 20]);
  expect(columnHeights(0.5, 0.25, 40)).toEqual([10, 20]);
  expect(columnHeights(0.5, 0.5, 40)).toEqual([20, 20]);
  expect(columnHeights(1, 0.999, 40)).toEqual([40, 40]);
  expect(columnHeights(0.001, 0, 40)).toEqual([0, 3]);
  expect(columnHeights(0, 0, 40)).toEqual([0, 0]);
  expect(columnHeights(1.0000001, 1.0000001, 40)).toEqual([40, 40]);
});
