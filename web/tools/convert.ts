// A page from a recording, by way of the installed command `turnpike`:
//   node tools/run.mjs tools/convert.ts RUN.tpk PAGE.html [--turnpike COMMAND] [--source FROM=TO]...
// --source says where files that the recording calls FROM... lie now, as TO...
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import type { Report } from "../src/page/report.ts";
import { fromChrome } from "./from_chrome.ts";
import { excerptsOf } from "./source_excerpts.ts";
import { pageOf } from "./write_page.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    turnpike: { type: "string", default: "turnpike" },
    source: { type: "string", multiple: true },
  },
});
const [run, file] = positionals as [string, string];
const output = (...args: string[]) =>
  JSON.parse(execFileSync(values.turnpike, args, { encoding: "utf8", maxBuffer: 2 ** 29 }));
const report: Report = output("report", run, "--json");
const data = fromChrome(output("export", run, "--to", "chrome", "-o", "-"), report);
if (values.source) {
  data.contents.source = excerptsOf(report, values.source);
  if (data.contents.source.length > 0) delete data.contents.no_source;
}
const program = {
  script: readFileSync("dist/report.js", "utf8"),
  style: readFileSync("dist/report.css", "utf8"),
};
const page = pageOf(data, report, program);
writeFileSync(file, page);
const events = data.contents.lanes
  .flatMap((lane) => lane.blocks)
  .reduce((sum, block) => sum + block.count, 0);
const bytes = data.blocks.reduce((sum, text) => sum + text.length, 0);
console.log(
  `${file}: ${page.length} bytes, ${events} events, ${(bytes / events).toFixed(2)} bytes an event`,
);
