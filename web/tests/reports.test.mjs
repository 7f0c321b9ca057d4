// Pages of `measure`, `inspect` and `speedup`: made by the real verbs, opened in a real browser.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { coldstart, launch, open, scratch, violations } from "./pages.mjs";

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
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 1280);
    assert.deepEqual(complaints, []);
    await page.close();
  }
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
