// Measures the candidates by turns, in Chromium without GPU, and prints a table: `npm ci && npm run measure [-- RUNS [RECORD.json]]`.
// One thing to know: WebGL is there even without GPU, drawn by SwiftShader on the processor, if this build of Chromium brings it.

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { cpus, release, totalmem } from "node:os";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { chromium } from "playwright-core";

const runs = Number(process.argv[2] ?? 5);
const recordPath = process.argv[3];
const NAMES = (process.env.ONLY ?? "uplot-points,uplot-raster,echarts-large,regl-scatterplot").split(",");
const COUNTS = [100_000, 1_000_000];
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
  "--disable-frame-rate-limit", "--disable-gpu-vsync"];

async function bundle(contents) {
  const result = await build({ stdin: { contents, resolveDir: import.meta.dirname }, bundle: true, minify: true, format: "iife", write: false, logLevel: "error" });
  return result.outputFiles[0].text;
}

/** What each library adds to a page, minified, with what is used of it. */
async function sizes() {
  const sources = {
    "uplot-points": `import uPlot from "uplot"; window.uPlot = uPlot;`,
    "uplot-raster": `import uPlot from "uplot"; window.uPlot = uPlot;`,
    "echarts-large": `import * as echarts from "echarts/core"; import { ScatterChart } from "echarts/charts"; import { GridComponent, DataZoomComponent, TooltipComponent } from "echarts/components"; import { CanvasRenderer } from "echarts/renderers"; echarts.use([ScatterChart, GridComponent, DataZoomComponent, TooltipComponent, CanvasRenderer]); window.echarts = echarts;`,
    "regl-scatterplot": `import create from "regl-scatterplot"; window.create = create;`,
  };
  const found = {};
  for (const [name, source] of Object.entries(sources)) {
    const text = await bundle(source);
    found[name] = { bytes: text.length, gzip: gzipSync(text).length };
  }
  return found;
}

async function once(script, name, count) {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: FLAGS });
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    await page.setContent("<!doctype html><body style='margin:0'></body>");
    await page.addScriptTag({ content: script });
    const ended = page.evaluate(([which, dots, frames]) => window.measure(which, dots, frames), [name, count, count > 500_000 ? 4 : 15]);
    const late = new Promise((_, refuse) => setTimeout(() => refuse(new Error("not done within two minutes")), 120_000).unref());
    return await Promise.race([ended, late]);
  } catch (error) {
    return { error: String(error).split("\n")[0] };
  } finally {
    await browser.close();
  }
}

/** Whether a browser as readers have it, but without GPU, can do WebGL. */
async function webglByDefault() {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: FLAGS });
  const page = await browser.newPage();
  const able = await page.evaluate(() => document.createElement("canvas").getContext("webgl") !== null);
  await browser.close();
  return able;
}

const median = (values) => [...values].sort((one, other) => one - other)[values.length >> 1];
const begun = new Date();
const loadBefore = Number(readFileSync("/proc/loadavg", "utf8").split(" ")[0]);
const script = await bundle(`import "./candidates.js";`);
const samples = [];
for (let run = 0; run < runs; run += 1) {
  for (const count of COUNTS) {
    for (const name of NAMES) {
      const sample = { run, name, count, ...(await once(script, name, count)) };
      samples.push(sample);
      console.error(JSON.stringify(sample));
    }
  }
}
const size = await sizes();
const webgl = await webglByDefault();

console.log("| drawn by | dots | first picture | a frame: 10 % shown | 50 % | all | bytes (gzip) |\n|---|---|---|---|---|---|---|");
for (const count of COUNTS) {
  for (const name of NAMES) {
    const own = samples.filter((sample) => sample.name === name && sample.count === count && !sample.error);
    const words = own.length === 0
      ? ["-", "-", "-", "-"]
      : [median(own.map((sample) => sample.first)), ...["10%", "50%", "100%"].map((width) => median(own.map((sample) => sample.pan[width])))].map((value) => `${value.toFixed(value < 10 ? 1 : 0)} ms`);
    console.log(`| ${name} | ${count} | ${words.join(" | ")} | ${size[name].bytes} (${size[name].gzip}) |`);
  }
}
console.log(`\nWebGL in a browser without GPU and without flags: ${webgl ? "yes" : "no"}`);
if (recordPath) {
  const record = {
    schema: "coldstart-bench.charts/1", day: begun.toISOString().slice(0, 10), begun: begun.toISOString(), seconds: (Date.now() - begun.getTime()) / 1000, runs,
    machine: { processor: cpus()[0].model, processor_count: cpus().length, memory: totalmem(), kernel: release(), browser: execFileSync(process.env.CHROMIUM ?? "/usr/bin/chromium", ["--version"], { stdio: ["ignore", "pipe", "ignore"] }).toString().trim() },
    load_before: loadBefore, flags: FLAGS, webgl_without_flags: webgl, sizes: size, samples,
  };
  writeFileSync(recordPath, `${JSON.stringify(record)}\n`);
}
