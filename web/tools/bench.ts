// How fast a written page is in Chromium, with the program of this tree; bench/html.py writes the pages and keeps the results:
//   node tools/run.mjs tools/bench.ts PAGE.html [--rounds N] [--chromium PATH]
// Prints JSON: the number of events and lanes, and a list of rounds.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { chromium } from "playwright-core";
import { measured, type Round } from "./measure.ts";
import { pageOf } from "./write_page.ts";
import { readPage } from "./written_page.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: "string", default: "5" },
    chromium: { type: "string", default: process.env.CHROMIUM ?? "/usr/bin/chromium" },
  },
});
const { data, report } = readPage(readFileSync(positionals[0]!, "utf8"));
const program = {
  script: readFileSync("dist/report.js", "utf8"),
  style: readFileSync("dist/report.css", "utf8"),
};
const folder = mkdtempSync(join(tmpdir(), "turnpike-bench-"));
const file = join(folder, "page.html");
writeFileSync(file, pageOf(data, report, program));
const browser = await chromium.launch({ executablePath: values.chromium, args: ["--no-sandbox"] });
try {
  const rounds: Round[] = [];
  for (let k = 0; k < Number(values.rounds); k++) rounds.push(await measured(browser, file));
  const events = data.contents.lanes
    .flatMap((lane) => lane.blocks)
    .reduce((sum, block) => sum + block.count, 0);
  const { script } = program;
  console.log(
    JSON.stringify({
      events,
      lanes: data.contents.lanes.length,
      chromium: browser.version(),
      script_bytes: Buffer.byteLength(script),
      rounds,
    }),
  );
} finally {
  await browser.close();
  rmSync(folder, { recursive: true });
}
