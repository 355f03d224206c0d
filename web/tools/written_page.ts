// A page as the writer made it, taken apart: what it holds, and the same with other data or the program of this tree.
import { ELEMENTS } from "../src/format.ts";
import { type Contents, checkContents } from "../src/page/contents.ts";
import type { Report } from "../src/page/report.ts";
import type { PageData } from "./from_chrome.ts";

export function readPage(html: string): { data: PageData; report: Report } {
  const part = (id: string) => html.split(`id="${id}">`)[1]!.split("</script>")[0]!;
  const contents: Contents = checkContents(JSON.parse(part(ELEMENTS.contents)));
  const blocks: string[] = [];
  const opening = new RegExp(`id="${ELEMENTS.block}(\\d+)">`, "g");
  for (const found of html.matchAll(opening)) {
    const start = found.index + found[0].length;
    blocks[Number(found[1])] = html.slice(start, html.indexOf("<", start));
  }
  return { data: { contents, blocks }, report: JSON.parse(part(ELEMENTS.report)) };
}
