// What a notebook shows of a report, in frames as VS Code, Colab and JupyterLab make them: without script, light and dark.
// Neither of them is here; these are the attributes that each sets, and its background.
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import type { Browser, Locator } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fileOf, launchChromium, open, ROOT } from "./written.ts";

const RECORDING = join(ROOT, "examples/train-before-h100.tpk");
const PROGRAM = `
import sys, turnpike
sys.stdout.reconfigure(encoding="utf-8")
sys.stdout.write(turnpike.report(sys.argv[1])._repr_html_())
`;
const PLACES = [
  { place: "VS Code, dark", html: "", body: 'class="vscode-dark"', background: "#1f1f1f" },
  {
    place: "VS Code, high contrast",
    html: "",
    body: 'class="vscode-high-contrast"',
    background: "#000000",
  },
  { place: "VS Code, light", html: "", body: 'class="vscode-light"', background: "#ffffff" },
  { place: "Colab, dark", html: 'theme="dark"', body: "", background: "#383838" },
  { place: "Colab, light", html: "", body: "", background: "#ffffff" },
  {
    place: "JupyterLab before 4.3, dark",
    html: "",
    body: 'data-jp-theme-light="false"',
    background: "#111111",
  },
];

let browser: Browser;
let overview: string;
beforeAll(async () => {
  browser = await launchChromium();
  // scripts/bootstrap installs the package, and scripts/test puts its Python first on the path.
  overview = execFileSync(process.env.PYTHON ?? "python", ["-c", PROGRAM, RECORDING], {
    encoding: "utf8",
  });
});
afterAll(() => browser?.close());

/** A cell's output: the fragment in a frame in which no script may run. */
function cell({ html, body, background }: (typeof PLACES)[number]): string {
  const style = `<style>body{margin:0;background:${background};color:#808080}</style>`;
  const inner = `<!doctype html><html lang="en" ${html}><head><meta charset="utf-8"><title>cell</title>${style}</head><body ${body}>${overview}</body></html>`;
  const escaped = inner.replaceAll("&", "&amp;").replaceAll('"', "&quot;");
  const frame = `<iframe sandbox="" width="900" height="1400" srcdoc="${escaped}"></iframe>`;
  return `file://${fileOf(`<!doctype html><meta charset="utf-8"><title>notebook</title>${frame}`)}`;
}

interface Text {
  words: string;
  contrast: number;
}

/** Every visible text, with its contrast to the background. */
function textsIn(fragment: Locator): Promise<Text[]> {
  return fragment.evaluate((root) => {
    const channels = (colour: string) => (colour.match(/[\d.]+/g) ?? []).map(Number);
    const luminance = (colour: string) => {
      const [r, g, b] = channels(colour)
        .slice(0, 3)
        .map((value) => value / 255)
        .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
      return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
    };
    const behind = (element: Element | null): string => {
      if (!element) return "rgb(255, 255, 255)";
      const colour = getComputedStyle(element).backgroundColor;
      return channels(colour)[3] === 0 ? behind(element.parentElement) : colour;
    };
    const texts: Text[] = [];
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const element = node.parentElement!;
      const words = node.textContent!.trim();
      if (words === "" || !element.checkVisibility() || element.closest("style, svg, .sr"))
        continue;
      const [a, b] = [getComputedStyle(element).color, behind(element)].map(luminance);
      texts.push({ words, contrast: (Math.max(a!, b!) + 0.05) / (Math.min(a!, b!) + 0.05) });
    }
    return texts;
  });
}

describe.each(PLACES)("in $place", (place) => {
  test("the overview is whole and readable, without script", async () => {
    const { page, complaints } = await open(browser, cell(place));
    const fragment = page.frameLocator("iframe").locator(".turnpike-overview");
    const texts = await textsIn(fragment);
    expect(texts.map(({ words }) => words)).toContain(
      "Your GPU is idle 72\u00a0% of each step. The largest saving is one line: train_before.py:63",
    );
    expect(texts.length).toBeGreaterThan(30);
    expect(texts.filter(({ contrast }) => contrast < 4.5)).toEqual([]);
    const isDark = !place.place.includes("light");
    const background = await fragment.evaluate((e) => getComputedStyle(e).backgroundColor);
    expect(background).toBe(isDark ? "rgb(20, 23, 27)" : "rgb(255, 255, 255)");
    // Nothing asks for a wider cell, and the bar of a step has its colours.
    expect(await fragment.evaluate((e) => e.scrollWidth <= e.clientWidth)).toBe(true);
    const bar = fragment.locator("svg.bar rect").first();
    expect((await bar.boundingBox())!.width).toBeGreaterThan(50);
    // A summary opens without script.
    await fragment.locator("summary").last().click();
    await fragment.getByRole("heading", { name: "Transfers by line" }).waitFor();
    // The browser says that what this test evaluates is no script of the frame.
    expect(complaints.filter((one) => !one.includes("allow-scripts"))).toEqual([]);
    await page.close();
  });
});
