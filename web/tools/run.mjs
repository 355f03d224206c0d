// Runs a tool that is written in TypeScript: node tools/run.mjs tools/NAME.ts ARGUMENTS...
import { mkdtempSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const [tool, ...rest] = process.argv.slice(2);
const folder = mkdtempSync(join(root, "node_modules", ".tool-"));
try {
  const outfile = join(folder, "tool.mjs");
  await build({
    entryPoints: [tool],
    bundle: true,
    platform: "node",
    format: "esm",
    packages: "external",
    outfile,
  });
  process.argv = [process.argv[0], tool, ...rest];
  await import(pathToFileURL(outfile).href);
} finally {
  rmSync(folder, { recursive: true });
}
