// Waits have one colour: their patterns tell them apart, and the legend says which is which.
import { expect, test } from "vitest";
import { patternOf } from "../../src/draw/patterns.ts";
import { CLASSES, type ClassName } from "../../src/format.ts";
import { ENTRIES } from "../../src/views/legend.tsx";

const IDLE = (Object.keys(CLASSES) as ClassName[]).filter((name) => name.startsWith("idle_"));

test("each cause of idle time has a pattern of its own", () => {
  const patterns = IDLE.map((name) => patternOf(CLASSES[name]));
  expect(IDLE.length).toBeGreaterThanOrEqual(6);
  expect(patterns).not.toContain(null);
  expect(new Set(patterns).size).toBe(IDLE.length);
});

test("the legend has an entry for each of these patterns, with a swatch of its own", () => {
  const entries = ENTRIES.filter(([, , classes]) => classes.some((name) => IDLE.includes(name)));
  expect(new Set(entries.map(([style]) => style)).size).toBe(IDLE.length);
  for (const [, words, classes] of entries) {
    expect(new Set(classes.map((name) => patternOf(CLASSES[name]))).size, words).toBe(1);
  }
});
