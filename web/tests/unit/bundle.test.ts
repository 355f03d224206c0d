// The committed bundle is what the sources make, byte for byte, and within its size.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

test("the bundle is reproducible and small enough", () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, ["build.mjs", "--check"], {
    cwd: ROOT,
    encoding: "utf8",
  });
  expect(stderr).toBe("");
  expect(stdout).toMatch(/dist\/report\.js: \d+ bytes/);
  expect(status).toBe(0);
});

test("the bundle has no sink for HTML and asks for nothing", () => {
  const script = readFileSync(`${ROOT}dist/report.js`, "utf8");
  // Preact knows the property `dangerouslySetInnerHTML`; the page never sets it, and Trusted Types would refuse.
  for (const sink of [
    "fetch(",
    "XMLHttpRequest",
    "WebSocket",
    "eval(",
    "new Function",
    "document.write",
    "insertAdjacentHTML",
  ])
    expect([sink, script.includes(sink)]).toEqual([sink, false]);
});
