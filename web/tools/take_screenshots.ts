// Writes the screenshots of the documentation; scripts/docs --update runs it:
//
//   node tools/run.mjs tools/take_screenshots.ts ROOT TURNPIKE     CHROMIUM names another executable
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { commandFor, opened, pathOf, SCREENSHOTS, taken } from "./screenshots.ts";

const [root, turnpike] = process.argv.slice(2) as [string, string];
const folder = mkdtempSync(join(tmpdir(), "turnpike-pictures-"));
const file = join(folder, "page.html");
// Without what this machine knows of its link.
const env = { ...process.env, XDG_CACHE_HOME: folder };
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox"],
});
for (const screenshot of SCREENSHOTS) {
  execFileSync(turnpike, commandFor(screenshot, file), { cwd: root, env, stdio: "pipe" });
  const page = await opened(browser, screenshot, file);
  const picture = await taken(page, screenshot);
  writeFileSync(join(root, pathOf(screenshot)), picture);
  console.log(`${pathOf(screenshot)}: ${picture.length} bytes`);
  await page.close();
}
await browser.close();
rmSync(folder, { recursive: true });
const known = new Set(SCREENSHOTS.map(pathOf));
for (const name of readdirSync(join(root, "docs/pictures")))
  if (name.endsWith(".webp") && !known.has(`docs/pictures/${name}`))
    rmSync(join(root, "docs/pictures", name));
