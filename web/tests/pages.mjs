// What tests of whole pages stand on: real traces, pages made of them by the real coldstart, and Chromium to open them in.

import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { isDeepStrictEqual } from "node:util";

import { chromium } from "playwright-core";

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "../..");
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** A folder for what the tests make. */
export const scratch = mkdtempSync(join(tmpdir(), "coldstart-pages-"));
process.on("exit", () => rmSync(scratch, { recursive: true, force: true }));

/** Runs coldstart and returns what it printed. */
export function coldstart(...words) {
  return run("coldstart", "COLDSTART", words);
}

/** The same of the program that makes surveys. */
export function surveyor(...words) {
  return run("coldstart-survey", "COLDSTART_SURVEY", words);
}

function run(name, variable, words) {
  const binary = process.env[variable] ?? join(root, "target/debug", name);
  if (!existsSync(binary)) throw new Error(`${binary} is not there: cargo build, or set ${variable}`);
  return execFileSync(binary, words, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], maxBuffer: 1 << 28 });
}

/** Changes the result that stands in a page; the changed page is written to `to`. */
export function rewriteReport(file, change, to = file) {
  const [before, data, behind] = readFileSync(file, "utf8").split(/(?<=id="coldstart-page">)(.*?)(?=<\/script>)/s);
  const head = JSON.parse(data);
  change(head.report);
  writeFileSync(to, `${before}${JSON.stringify(head).replaceAll("<", "\\u003c")}${behind}`);
}

/** A real trace of fixtures/traces, unpacked. */
export function trace(name) {
  const unpacked = join(scratch, `${name}.coldtrace`);
  if (!existsSync(unpacked)) {
    const packed = join(root, "fixtures/traces", `${name}.coldtrace.xz`);
    writeFileSync(unpacked, execFileSync("xz", ["--decompress", "--stdout", packed], { maxBuffer: 1 << 28 }));
  }
  return unpacked;
}

/** The page of one trace or two, by their fixtures' names. */
export function pageOf(...names) {
  const output = join(scratch, `${names.join("-")}.html`);
  if (!existsSync(output)) coldstart("view", ...names.map(trace), "-o", output);
  return output;
}

/** What a machine that stands still now and then may need, in milliseconds. */
const PATIENCE = 180_000;

/** Starts Chromium; the caller closes it. */
export function launch() {
  const quiet = ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
  // The sandbox needs another user than root.
  const sandbox = process.getuid() === 0 ? ["--no-sandbox"] : [];
  return chromium.launch({ executablePath: "/usr/bin/chromium", args: [...quiet, ...sandbox], timeout: PATIENCE });
}

/** Opens a file as a reader would, and keeps account of what must not happen: messages, errors, requests. */
export async function open(browser, file, options = {}, shown = "#coldstart main") {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, ...options });
  page.setDefaultTimeout(PATIENCE);
  const complaints = [];
  page.on("console", (message) => complaints.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => complaints.push(`uncaught: ${error.message}`));
  page.on("dialog", (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("request", (request) => {
    if (!/^(file|data|blob):/.test(request.url())) complaints.push(`request: ${request.url()}`);
  });
  await page.goto(pathToFileURL(file).href);
  await page.waitForSelector(shown);
  return { page, complaints };
}

/** Opens a page of traces as soon as its last panel stands. */
export function openView(browser, file, options = {}) {
  return open(browser, file, options, "#missing");
}

/** What is seen once it is as wanted and has come to rest; what is seen at last, where it never is. Slow machines take their time. */
export async function settled(look, wanted = () => true) {
  const end = Date.now() + PATIENCE;
  for (let before = await look(); ; ) {
    await delay(250);
    const now = await look();
    if ((isDeepStrictEqual(now, before) && wanted(now)) || Date.now() > end) return now;
    before = now;
  }
}

/** Rules of accessibility that a page breaks, each with the first places. */
export async function violations(page) {
  await page.evaluate(axe);
  const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  return found.violations.map((rule) => `${rule.id}: ${rule.help}: ${rule.nodes.slice(0, 3).map((node) => node.target.join(" ")).join(" | ")}`);
}
