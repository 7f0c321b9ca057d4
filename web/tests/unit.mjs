// Runs the tests of pure functions: each tests/*.test.ts is bundled by esbuild, since Node 20 reads no TypeScript, and then run by
// `node --test`. `node tests/unit.mjs [NAME ...]` runs those whose file name has one of the words in it.

import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const words = process.argv.slice(2);
const files = readdirSync(here).filter((name) => name.endsWith(".test.ts") && (words.length === 0 || words.some((word) => name.includes(word))));
if (files.length === 0) throw new Error(`no tests/*.test.ts has ${words.join(" or ")} in its name`);
const folder = mkdtempSync(join(tmpdir(), "coldstart-unit-"));
try {
  await build({
    entryPoints: files.map((name) => join(here, name)),
    bundle: true,
    format: "esm",
    platform: "node",
    jsx: "automatic",
    jsxImportSource: "preact",
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    sourcemap: "inline",
    logLevel: "warning",
  });
  // Inside another `node --test` this one would run nothing.
  const { NODE_TEST_CONTEXT: _, ...environment } = process.env;
  const { status } = spawnSync(process.execPath, ["--enable-source-maps", "--test", ...files.map((name) => join(folder, name.replace(/\.ts$/, ".mjs")))], { stdio: "inherit", env: environment });
  process.exitCode = status ?? 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
