// Names as an attacker would choose them, from a trace file through the writer into the page: they stay text.
import { readFileSync } from "node:fs";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fileOf, launchChromium, open, pageOf, ready } from "./written.ts";

const NAMES: [string, string][] = [
  ["the end of the script", "</script><script>window.__pwned=1</script>"],
  ["a script in a comment", "<!--<script>"],
  ["the end in capitals and with a space", "</SCRIPT ><img src=x onerror=window.__pwned=1>"],
  ["the end of other elements", "</title></style></code></main><svg onload=window.__pwned=1>"],
  ["an attribute", '" onmouseover="window.__pwned=1" x=\''],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it must not become a template
  ["templates", "${window.__pwned=1}{{window.__pwned=1}}]]>"],
  ["the page's own parts", 'tp-report" id="tp-toc'],
  ["line separators", "a\u2028b\u2029c"],
  ["a change of direction", "a\u202egnp.exe\u2066b"],
  ["NUL and control characters", "a\u0000b\u001b]0;title\u0007\u007f"],
  ["a lone surrogate", "a\\ud800b"],
  ["properties of objects", "__proto__"],
  ["a constructor", "constructor"],
  ["addresses", "javascript:window.__pwned=1//data:text/html,<script>window.__pwned=1</script>"],
  ["a formula", "=cmd|' /C calc'!A0"],
  ["entities", "&lt;script&gt;&amp;&#60;script>"],
  ["a hundred thousand letters", `<b>${"x".repeat(1e5)}`],
];

/** A trace of torch.profiler in which every name is the given one: files, functions, kernels, ranges, the GPU's. */
function traceOf(name: string, kernel = name): string {
  const events: unknown[] = [];
  const host = (cat: string, title: string, ts: number, dur: number, args = {}) =>
    events.push({ ph: "X", cat, name: title, pid: 100, tid: 100, ts, dur, args });
  const device = (cat: string, title: string, ts: number, dur: number, args = {}) =>
    events.push({
      ph: "X",
      cat,
      name: title,
      pid: 0,
      tid: 7,
      ts,
      dur,
      args: { device: 0, context: 1, stream: 7, ...args },
    });
  for (let step = 0; step < 6; step++) {
    const at = 1000 + step * 10_000;
    const id = step * 10;
    host("user_annotation", `ProfilerStep#${step}`, at, 9900);
    host("user_annotation", name, at + 10, 9000);
    host("python_function", `${name}.py(42): ${name}`, at + 20, 8000, {
      "Python id": id + 1,
      "Python parent id": null,
    });
    host("cpu_op", name, at + 30, 7000, { "External id": id + 2 });
    host("cuda_runtime", "cudaLaunchKernel", at + 40, 10, { correlation: id + 3 });
    device("kernel", kernel, at + 100, 4000, { correlation: id + 3 });
    host("cuda_runtime", "cudaMemcpyAsync", at + 60, 5000, { correlation: id + 4 });
    device("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", at + 4200, 50, {
      correlation: id + 4,
      bytes: 4096,
    });
  }
  const trace = {
    schemaVersion: 1,
    deviceProperties: [{ id: 0, name, totalGlobalMem: 8e10 }],
    distributedInfo: { backend: name, rank: 0, world_size: 1 },
    traceEvents: events,
  };
  // A lone surrogate is one only as an escape.
  return JSON.stringify(trace).replaceAll("\\\\ud800", "\\ud800");
}

let browser: Browser;
let known: Set<string>;
beforeAll(async () => {
  browser = await launchChromium();
  const page = await opened("train");
  known = await markupOf(page.page);
  await page.page.close();
});
afterAll(() => browser?.close());

async function opened(name: string, kernel = name) {
  const file = pageOf(fileOf(traceOf(name, kernel), "json"));
  const result = await open(browser, `file://${file}`);
  await ready(result.page);
  return { ...result, file };
}

/** Until the page shows what a click changed. */
async function drawn(page: Page) {
  const frame = () => new Promise<void>((done) => requestAnimationFrame(() => setTimeout(done, 0)));
  for (let frames = 0; frames < 2; frames++) await page.evaluate(frame);
}

/** Uses the page, and gives every element with its attributes' names, over all views. */
async function markupOf(page: Page): Promise<Set<string>> {
  await page.locator(".surface").press("n");
  for (const key of ["]", "[", ".", "Enter"]) await page.locator(".surface").press(key);
  await page.getByRole("searchbox").fill("<img src=x onerror=window.__pwned=1>");
  const found = new Set<string>();
  for (const tab of await page.locator('[role="tab"]').all()) {
    await tab.click();
    await drawn(page);
    const here = await page.evaluate(() =>
      [...document.querySelectorAll("*")].flatMap((element) => [
        element.tagName,
        ...element.getAttributeNames().map((attribute) => `${element.tagName} ${attribute}`),
      ]),
    );
    for (const one of here) found.add(one);
  }
  return found;
}

describe.each(NAMES)("%s", (_, name) => {
  test("adds no element, no attribute and no script, and the page works", async () => {
    const { page, complaints, file } = await opened(name);
    expect([...(await markupOf(page))].filter((one) => !known.has(one))).toEqual([]);
    expect(await page.evaluate(() => (window as { __pwned?: number }).__pwned)).toBeUndefined();
    const shown = await page.evaluate(() => document.body.textContent!);
    // Characters that change the direction or the terminal are shown as escapes, as the text report shows them.
    const hidden = ["\u202e", "\u2066", "\u0000", "\u001b"].filter((one) => shown.includes(one));
    expect(hidden).toEqual([]);
    expect(complaints).toEqual([]);
    await page.close();

    const bare = await open(browser, `file://${file}`, { javaScriptEnabled: false });
    expect(await bare.page.locator("#tp-static h1").count()).toBe(1);
    expect(await bare.page.locator("img, iframe, object, embed, base, form, link").count()).toBe(0);
    expect(bare.complaints).toEqual([]);
    expect(readFileSync(file, "utf8").match(/<script>/g)).toHaveLength(1);
    await bare.page.close();
  });
});

test("a kernel with a name of a million letters is shown", async () => {
  const { page, complaints } = await opened("train", `<b>${"x".repeat(1e6)}`);
  expect([...(await markupOf(page))].filter((one) => !known.has(one))).toEqual([]);
  expect(complaints).toEqual([]);
  await page.close();
});

test("the name is in the page: the trace was read", async () => {
  const { page } = await opened("<b>bold");
  const words = await page.evaluate(() => document.getElementById("tp-toc")?.textContent ?? "");
  expect(words === "" ? await page.evaluate(() => document.body.textContent) : words).toContain(
    "b>bold",
  );
  await page.close();
});
