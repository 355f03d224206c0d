// Pages as `turnpike report --html` writes them, and Chromium to look at them: without a network, each complaint noted.
import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Browser, chromium, type Frame, type Page } from "playwright-core";

export const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
export const FIREFOX = process.env.FIREFOX ?? "/usr/bin/firefox-esr";
const TURNPIKE = join(process.env.TURNPIKE_BUILD ?? join(ROOT, "build/wheel"), "src/cli/turnpike");
const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const folder = mkdtempSync(join(tmpdir(), "turnpike-written-"));
let files = 0;

export function turnpike(...args: string[]): string {
  if (!existsSync(TURNPIKE))
    throw new Error(`${TURNPIKE} is missing; TURNPIKE_BUILD names the folder of a build`);
  return execFileSync(TURNPIKE, args, {
    cwd: ROOT,
    encoding: "utf8",
    maxBuffer: 2 ** 29,
    stdio: "pipe",
  });
}

/** Writes text to a file of its own and returns its path. */
export function fileOf(text: string, extension = "html"): string {
  const file = join(folder, `file${files++}.${extension}`);
  writeFileSync(file, text);
  return file;
}

/** The path of the page of a recording, which is named from the repository's root or by its whole path. */
export function pageOf(recording: string, ...options: string[]): string {
  const file = join(folder, `page${files++}.html`);
  const path = recording.startsWith("/") ? recording : join(ROOT, recording);
  turnpike("report", path, "--html", file, ...options);
  return file;
}

/** The path of the page that compares two recordings of the repository. */
export function diffPageOf(before: string, after: string): string {
  const file = join(folder, `page${files++}.html`);
  turnpike("diff", before, after, "--html", file);
  return file;
}

/** Every recording below a folder. */
export function recordingsIn(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    if (name.endsWith(".tpk")) return [path];
    return statSync(path).isDirectory() ? recordingsIn(path) : [];
  });
}

export function launchChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath: CHROMIUM,
    args: ["--no-sandbox", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"],
  });
}

export interface Opened {
  page: Page;
  /** Everything that a clean page does not do: requests, messages, errors, violations of its policy. */
  complaints: string[];
}

export async function open(
  browser: Browser,
  address: string,
  options: Parameters<Browser["newPage"]>[0] = {},
): Promise<Opened> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, ...options });
  const complaints: string[] = [];
  page.on("console", (message) => complaints.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => complaints.push(`error: ${error.message}`));
  page.on("request", (request) => {
    const url = request.url();
    if (
      url.split("#")[0] !== address.split("#")[0] &&
      !url.startsWith("blob:") &&
      url !== "about:srcdoc"
    )
      complaints.push(`request: ${url}`);
  });
  if (options?.javaScriptEnabled !== false)
    await page.addInitScript(() => {
      document.addEventListener("securitypolicyviolation", (e) =>
        console.error(`policy: ${e.violatedDirective}`),
      );
    });
  await page.goto(address);
  return { page, complaints };
}

/** Waits until the page's program has read everything and drawn. */
export async function ready(page: Page | Frame): Promise<void> {
  await page.waitForFunction(
    () => performance.getEntriesByName("turnpike-ready").length > 0,
    null,
    { timeout: 30_000 },
  );
}

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** What axe finds, a line for each element. */
export async function violationsOf(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
    };
    const result = await axe.run();
    return result.violations.flatMap(({ id, nodes }) =>
      nodes.map(({ html }) => `${id}: ${html.slice(0, 150)}`),
    );
  });
}
