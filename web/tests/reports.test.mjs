// Pages of `measure`, `inspect` and `speedup`: made by the real verbs, opened in a real browser.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { coldstart, launch, open, rewriteReport, scratch, violations } from "./pages.mjs";

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser?.close());

/** Opens a page in light and dark; `look` sees the first. */
async function opens(file, look) {
  for (const colorScheme of ["light", "dark"]) {
    const { page, complaints } = await open(browser, file, { colorScheme });
    assert.deepEqual(await violations(page), [], colorScheme);
    if (colorScheme === "light") await look(page);
    for (const width of [1280, 400]) {
      await page.setViewportSize({ width, height: 800 });
      assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width, `${width} wide`);
    }
    assert.deepEqual(complaints, []);
    await page.close();
  }
}

/** What a verb printed that exits with 1. */
function answeredNo(...words) {
  try {
    coldstart(...words);
  } catch (error) {
    assert.equal(error.status, 1, error.stderr);
    return error.stdout;
  }
  return assert.fail("it exits with 0");
}

test("a measurement: a dot for every run, the gate's limit as a line with its label", async () => {
  const file = join(scratch, "measure.html");
  const words = ["measure", "--no-history", "--state", "hot", "--runs", "6", "--compare", "sh -c true", "--json", "--html", file, "--", "true"];
  const result = JSON.parse(coldstart(...words));
  await opens(file, async (page) => {
    // Each counted run and each warm-up can be reached and tells its own figures.
    const text = await page.locator("#coldstart").innerText();
    assert.match(text, /sh -c true/);
    assert.match(text, /median/i);
    const dots = await page.locator("svg .report-target").count();
    assert.ok(dots >= result.samples.filter((sample) => sample.state === "hot").length, `${dots} dots`);
  });
});

test("runs that fail: they stand beside the axis, and no figure is said to be missing that cannot be", async () => {
  const file = join(scratch, "fails.html");
  // C fails at once, far below the times of the others.
  const words = ["measure", "--no-history", "--state", "hot", "--runs", "3", "--compare", "false", "--json", "--html", file, "--", "sleep", "0.05"];
  const result = JSON.parse(answeredNo(...words));
  assert.ok(result.samples.some(({ used }) => used.use === "failed"));
  await opens(file, async (page) => {
    const text = await page.locator("#coldstart").innerText();
    assert.match(text, /no run counts \(\+\d+ left out\)/);
    assert.doesNotMatch(text, /not recorded (read|faults)|median not recorded/);
    const order = page.getByRole("group", { name: /Runs in their order/ });
    assert.match(await order.innerHTML(), />failed</);
    await order.focus();
    await order.press("End");
    const last = result.samples[result.samples.length - 1];
    assert.match(await page.locator("#order .report-readout").innerText(), new RegExp(`^Run ${last.number}, `));
  });
});

test("the history: rows that look alike have names of their own", async () => {
  const history = join(scratch, "history.sqlite");
  const measure = (...words) => coldstart("measure", "--history-file", history, ...words);
  for (const script of ["true; true", "true;  true"]) for (const runs of ["2", "3"]) measure("--state", "hot", "--runs", runs, "--", "sh", "-c", script);
  const file = join(scratch, "history.html");
  measure("--history", "true", "--html", file);
  await opens(file, async (page) => {
    const titles = await page.locator(".panel h2").allInnerTexts();
    assert.equal(new Set(titles).size, 2, titles.join());
    const chart = page.getByRole("group", { name: /over time/ }).first();
    await chart.focus();
    await chart.press("Home");
    assert.match(await page.locator(".report-readout").first().innerText(), /^#1, .*: mean .* 2 runs$/);
  });
});

test("a gate's page says what its rate takes for granted", async () => {
  const file = join(scratch, "gate.html");
  coldstart("measure", "--no-history", "--state", "hot", "--runs", "4", "--fail-if-slower", "10000", "--compare", "sh -c true", "--html", file, "--", "true");
  await opens(file, async (page) => {
    const gate = page.locator("#gate");
    assert.match(await gate.innerText(), /Passed: nothing is shown to be more than 10000 % slower[^]*limit 1[^]*as long as nothing but the commands differs/);
  });
});

test("an inspection: the table of objects has every file, and is searched", async () => {
  const file = join(scratch, "inspect.html");
  coldstart("inspect", "/bin/ls", "/bin/cat", "--html", file);
  await opens(file, async (page) => {
    const text = await page.locator("#coldstart").innerText();
    assert.match(text, /\/ls\b/);
    assert.match(text, /\/cat\b/);
    const objects = page.getByRole("searchbox", { name: /object/i }).first();
    await objects.fill("/cat");
    const found = page.locator("section").filter({ has: objects }).getByRole("grid").first();
    await page.waitForFunction((grid) => !/\/ls\b/.test(grid.innerText), await found.elementHandle());
    assert.match(await found.innerText(), /cat/);
  });
});

test("an inspection: a finding says what to do", async () => {
  const file = join(scratch, "finding.html");
  coldstart("inspect", "/bin/ls", "--html", file);
  const saves = { file_bytes: 1, read_pages: 0, private_pages: 0, seeks: 0, lookups: 0, probes: 0 };
  const finding = { kind: "k", what: "w", place: "p", why: "y", fixes: [{ by: "verb", text: "pack" }], saves, certainty: "counted", condition: "" };
  rewriteReport(file, (report) => (report.objects[0].findings = [finding]));
  const { page } = await open(browser, file);
  assert.match(await page.locator(".report-findings").first().innerText(), /^k: w[^]*Fix: coldstart pack\./);
  await page.close();
});

test("an inspection of a folder without objects says that there is nothing to tell of", async () => {
  const folder = mkdtempSync(join(scratch, "empty-"));
  writeFileSync(join(folder, "x"), "text");
  const file = join(scratch, "empty.html");
  coldstart("inspect", folder, "--html", file);
  await opens(file, async (page) => {
    const text = await page.locator("#coldstart").innerText();
    assert.match(text, /nothing to tell of/);
    assert.doesNotMatch(text, /No findings/);
  });
});

test("a page of a result that the viewer does not know says so", async () => {
  const file = join(scratch, "inspect.html");
  coldstart("inspect", "/bin/ls", "--html", file);
  const other = join(scratch, "newer.html");
  const text = readFileSync(file, "utf8");
  // Not in the script, which would be another then, and not be run.
  const data = text.indexOf('id="coldstart-page"');
  writeFileSync(other, text.slice(0, data) + text.slice(data).replace("coldstart.inspect/1", "coldstart.inspect/9"));
  const { page } = await open(browser, other);
  assert.match(await page.locator("main").innerText(), /coldstart\.inspect\/9/);
  await page.close();
});

test("speedup: what was tried, and the best of it", async () => {
  const directory = mkdtempSync(join(scratch, "speedup-"));
  const file = join(directory, "story.html");
  try {
    coldstart("speedup", "--fixes", "prefetch", "--runs", "2", "-o", join(directory, "a.prefetch"), "--html", file, "--", "python3", "-c", "import json");
  } catch (error) {
    // Whether it is faster is the disk's matter.
    assert.equal(error.status, 1, String(error.stderr));
  }
  await opens(file, async (page) => {
    assert.equal(await page.getByText("cannot be shown").count(), 0);
    const rows = await page.locator("#tried tbody tr").allTextContents();
    assert.ok(rows.length >= 2 && rows.every((row) => row.startsWith("prefetch, ")), rows.join(" | "));
  });
  const commands = ["coldstart trace --cold --layers pages,files -o start.coldtrace -- app", `coldstart order zip '/opt/<b>/${"long".repeat(40)}.jar' -o app.jar.ordered --trace start.coldtrace`];
  const advice = { kind: "order-zip", file: { path: "/opt/app.jar" }, commands, used_bytes: 4096, pieces: 2, saved_seconds: 0.25 };
  rewriteReport(file, (report) => {
    report.advice = [{ ...advice, why: "the start used 7 of 301 entries" }, { ...advice, why: "the program is an AppImage", saved_seconds: null }];
  });
  await opens(file, async (page) => {
    assert.deepEqual(await page.locator("#advice section code").allTextContents(), [...commands, ...commands]);
    const said = await page.locator("#advice section > p:first-child").allTextContents();
    assert.ok(/^the start used 7 of 301 entries; predicted to save 250/.test(said[0]) && said[1] === "the program is an AppImage.", said.join(" | "));
    assert.equal(await page.getByRole("link", { name: "Advice" }).count(), 1);
  });
  rewriteReport(file, (report) => {
    report.advice = [];
  });
  await opens(file, async (page) => assert.equal(await page.locator("#advice").count(), 0));
});
