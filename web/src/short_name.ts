// A kernel's C++ signature, shortened to what tells it from the others; and texts from the recording made safe to show.
import { isKernel } from "./format.ts";
import { wholeFigures } from "./time_text.ts";

/** What stands on an event: kernels have C++ signatures, everything else a name that people chose. */
export function eventName(name: string, eventClass: number): string {
  return isKernel(eventClass) ? shortName(name) : visible(name.slice(0, 4000));
}

/** `void at::native::vectorized_gather_kernel<16, long>(char*, ...)` becomes `vectorized_gather_kernel`. */
export function shortName(name: string): string {
  const plain = visible(withoutBrackets(name)).trim();
  const last = plain.split(/\s+/).at(-1) ?? plain;
  return last.split("::").filter(Boolean).at(-1) || plain || "?";
}

/** Leaves out what stands in <...> and from the first "(" of the parameters on. */
function withoutBrackets(name: string): string {
  let depth = 0;
  let out = "";
  // A name of a megabyte must not hold up the page; its end would not be shown anyway.
  for (const c of name.slice(0, 4000).replaceAll("(anonymous namespace)::", "")) {
    if (c === "<") depth++;
    else if (c === ">") depth = Math.max(0, depth - 1);
    else if (c === "(" && depth === 0 && out !== "") break;
    else if (depth === 0) out += c;
  }
  return out;
}

/** Control characters and those that change the direction of text, written as escapes. */
export function visible(text: string): string {
  return text.replace(
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones to be shown
    /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]/gu,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** A sentence of the report, safe to show. */
export function prose(text: string): string {
  return wholeFigures(visible(text));
}

/** A place as tables name it: with the line of the library, where one made the call. */
export function whereOf(site: string, librarySite: string | null | undefined): string {
  return librarySite ? `${site} > ${librarySite}` : site;
}
