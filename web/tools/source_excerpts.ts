// The source around lines that cost time, at most 200 lines a file.
import { existsSync, readFileSync } from "node:fs";
import type { SourceExcerpt } from "../src/page/contents.ts";
import type { Report } from "../src/page/report.ts";

const AROUND = 4;
const MOST = 200;

export function excerptsOf(report: Report, mappings: string[]): SourceExcerpt[] {
  const lines = new Map<string, number[]>();
  for (const { file, line } of [...report.sites, ...report.sync_sites])
    if (file && line) lines.set(file, [...(lines.get(file) ?? []), line]);
  const excerpts: SourceExcerpt[] = [];
  for (const [file, wanted] of lines) {
    const path = mappings
      .map((mapping) => mapping.split("=") as [string, string])
      .filter(([from]) => file.startsWith(from))
      .map(([from, to]) => to + file.slice(from.length))
      .find((candidate) => existsSync(candidate));
    if (!path) continue;
    const text = readFileSync(path, "utf8").split("\n");
    const first = Math.max(1, Math.min(...wanted) - AROUND);
    const last = Math.min(text.length, Math.max(...wanted) + AROUND, first + MOST - 1);
    excerpts.push({ file, first_line: first, lines: text.slice(first - 1, last) });
  }
  return excerpts;
}
