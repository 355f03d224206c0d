// Puts a page together: policy, style, data, script. It shows src/report/html the order of the parts and how the policy is made.
import { createHash } from "node:crypto";
import { ELEMENTS } from "../src/format.ts";
import type { Report } from "../src/page/report.ts";
import type { PageData } from "./from_chrome.ts";

export interface Program {
  script: string;
  style: string;
}

export function policyOf({ script, style }: Program): string {
  const hash = (text: string) =>
    `'sha256-${createHash("sha256").update(text, "utf8").digest("base64")}'`;
  return [
    "default-src 'none'",
    `script-src ${hash(script)}`,
    `style-src ${hash(style)}`,
    "img-src data: blob:",
    "worker-src blob:",
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types turnpike",
  ].join("; ");
}

/** JSON that cannot end its script element, whatever the texts hold. */
export function jsonForScript(value: unknown): string {
  return JSON.stringify(value).replace(
    /[<>\u2028\u2029]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}

export function pageOf(data: PageData, report: Report, program: Program): string {
  const { contents, blocks } = data;
  const json = (id: string, value: unknown) =>
    `<script type="application/json" id="${id}">${jsonForScript(value)}</script>\n`;
  return [
    '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
    `<meta http-equiv="Content-Security-Policy" content="${escapeHtml(policyOf(program))}">\n`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="color-scheme" content="light dark">\n',
    `<title>${escapeHtml(contents.headline)}</title>\n<style>${program.style}</style>\n</head>\n<body>\n`,
    `<main id="${ELEMENTS.static}" class="document"><h1>${escapeHtml(contents.headline)}</h1><p>${escapeHtml(contents.details)}</p></main>\n`,
    `<div id="${ELEMENTS.app}"></div>\n`,
    json(ELEMENTS.report, report),
    json(ELEMENTS.contents, contents),
    ...blocks.map(
      (text, id) =>
        `<script type="application/octet-stream" id="${ELEMENTS.block}${id}">${text}</script>\n`,
    ),
    `<script>${program.script}</script>\n</body>\n</html>\n`,
  ].join("");
}
