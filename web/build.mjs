// Builds dist/report.js and dist/report.css, the same bytes from the same sources everywhere. With --check it compares them with
// the committed files instead of writing them.
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = dirname(fileURLToPath(import.meta.url));
const MOST_SCRIPT_BYTES = 120_000;
const MOST_STYLE_BYTES = 25_000;

const common = {
  absWorkingDir: root,
  bundle: true,
  minify: true,
  write: false,
  format: "iife",
  target: "es2023",
  charset: "utf8",
  legalComments: "eof",
  jsx: "automatic",
  jsxImportSource: "preact",
};

/** The worker's program becomes a text in the page's: the page is one file. */
const workerAsText = {
  name: "worker-as-text",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^worker:codec$/ }, () => ({ path: "codec", namespace: "worker" }));
    onLoad({ filter: /.*/, namespace: "worker" }, async () => {
      const result = await build({ ...common, entryPoints: ["src/codec/worker.ts"] });
      return { contents: result.outputFiles[0].text, loader: "text" };
    });
  },
};

/** Preact's licence wants its notice in every copy. */
function notice() {
  const licence = readFileSync(join(root, "node_modules", "preact", "LICENSE"), "utf8").trim();
  return `/*! This program contains Preact.\n\n${licence} */`;
}

async function outputs() {
  const script = await build({
    ...common,
    entryPoints: ["src/main.tsx"],
    plugins: [workerAsText],
    footer: { js: notice() },
  });
  const style = await build({ ...common, entryPoints: ["src/style.css"] });
  return [
    ["report.js", scriptText(script.outputFiles[0].text), MOST_SCRIPT_BYTES],
    ["report.css", style.outputFiles[0].text.trimEnd(), MOST_STYLE_BYTES],
  ];
}

/** Inside an HTML page a script ends at the first `</script`, and `<!--` changes how it is read. */
function scriptText(text) {
  if (/<\/script|<!--/i.test(text))
    throw new Error("The script contains text that would end its element");
  return text.trimEnd();
}

const isCheck = process.argv.includes("--check");
let isFine = true;
for (const [name, text, most] of await outputs()) {
  const bytes = Buffer.byteLength(text);
  const file = join(root, "dist", name);
  if (isCheck) {
    if (readFileSync(file, "utf8") !== text) {
      console.error(
        `dist/${name} is not what the sources make; run \`npm run build\` and commit it`,
      );
      isFine = false;
    }
  } else {
    writeFileSync(file, text);
  }
  console.log(`dist/${name}: ${bytes} bytes of at most ${most}`);
  if (bytes > most) isFine = false;
}
process.exitCode = isFine ? 0 : 1;
