// Bundles src/ into the two files that crates/view embeds: `npm run build`, or into the folder given as the first argument.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";

import { build } from "esbuild";

const folder = process.argv[2] ?? "../crates/view/assets";

const result = await build({
  entryPoints: { viewer: "src/main.tsx" },
  bundle: true,
  minify: true,
  format: "iife",
  target: ["chrome100", "firefox113", "safari16.4"],
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  charset: "ascii",
  outdir: folder,
  metafile: true,
  write: false,
  logLevel: "warning",
});

mkdirSync(folder, { recursive: true });
for (const file of result.outputFiles) {
  const notice = file.path.endsWith(".js") ? licences(result.metafile) : "";
  writeFileSync(join(folder, basename(file.path)), file.text + notice);
}

/** Licences of the libraries that are bundled: they ask for being kept with every copy. */
function licences(metafile) {
  const inputs = Object.keys(metafile.inputs).flatMap((path) => path.match(/node_modules\/((?:@[^/]+\/)?[^/]+)\//)?.[1] ?? []);
  const packages = [...new Set(inputs)].sort();
  const texts = packages.map((name) => {
    const home = join("node_modules", name);
    const file = readdirSync(home).find((entry) => /^licen[cs]e/i.test(entry));
    if (file === undefined) throw new Error(`${name} has no file with its licence`);
    const text = readFileSync(join(home, file), "utf8").replaceAll("©", "(c)").replaceAll("*/", "* /").trim();
    return `${name} ${JSON.parse(readFileSync(join(home, "package.json"), "utf8")).version}\n\n${text}`;
  });
  const notice = texts.join("\n\n---\n\n");
  if (/[^\x00-\x7f]/.test(notice)) throw new Error("a licence has characters outside ASCII");
  return `/*! This file holds:\n\n${notice}\n*/\n`;
}
