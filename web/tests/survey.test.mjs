// The page of `survey report`: made by the real program of a real directory, then with figures that are known.

import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { launch, open, rewriteReport, scratch, settled, surveyor, violations } from "./pages.mjs";

let browser;
/** A page of a survey with one object and a file that cannot be read. */
const real = join(scratch, "survey.html");
before(async () => {
  browser = await launch();
  const tree = join(scratch, "tree");
  mkdirSync(tree);
  writeFileSync(join(tree, "cut"), "\x7fELF\x02\x01\x01");
  writeFileSync(join(tree, "module.py"), "x = 1\n");
  surveyor("survey", "/bin/ls", tree, "-o", join(scratch, "survey"));
  surveyor("survey", "report", join(scratch, "survey"), "--html", real);
});
after(() => browser?.close());

const NOTHING = { bytes: 0, read_pages: 0, private_pages: 0, seeks: 0, lookups: 0, probes: 0, weight: 0 };

/** The real page with another result. */
function pageOf(name, change) {
  const file = join(scratch, `survey-${name}.html`);
  rewriteReport(real, change, file);
  return file;
}

/** Opens a page in light and dark, wide and narrow; `look` sees the first. */
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

/** The figures at the top, by name. */
function facts(page) {
  return page.locator(".page-head dl").evaluate((list) => Object.fromEntries([...list.querySelectorAll("dt")].map((name) => [name.textContent, name.nextElementSibling.textContent])));
}

/** The names of the packages that are seen in the table, in its order. */
function seen(page) {
  return page.getByRole("grid", { name: "packages" }).evaluate((grid) => [...grid.querySelectorAll('[aria-rowindex]:not([aria-rowindex="1"])')].map((row) => row.firstElementChild.textContent));
}

test("a survey: totals, fixes and problems of the real program", async () => {
  const result = JSON.parse(surveyor("survey", "report", join(scratch, "survey"), "--json"));
  assert.deepEqual([result.totals.objects, result.totals.programs, result.problems.length], [1, 1, 1]);
  await opens(real, async (page) => {
    const top = await facts(page);
    assert.deepEqual([top.Objects, top.Programs, top.Initialisers], ["1", "1", String(result.totals.initialisers)]);
    const fixes = page.locator("#fixes tbody tr");
    assert.equal(await fixes.count(), result.fixes.length);
    assert.match(await page.locator("#problems").innerText(), /cut/);
    assert.match(await page.getByRole("list", { name: "Warnings" }).innerText(), /1 file could not be read/);
    assert.match(await page.locator("#modules").innerText(), /python\s+1/);
  });
});

test("a survey: packages are ranked by their gain, and by any column", async () => {
  const gains = [["slow", 100, 7, 4], ["big", 9000, 1, 30], [null, 50, 90, 2], ["none", 0, 0, 1]];
  const file = pageOf("ranked", (report) => {
    report.packages = gains.map(([name, bytes, probes, objects]) => ({
      package: name, objects, file_bytes: 10 * objects, modules: 0, best_fix: bytes > 0 ? "pack" : null,
      saves: { ...NOTHING, bytes, probes, weight: bytes + 13312 * probes },
    }));
    report.all_packages = 1003;
    report.fixes = [{ fix: "bind", by: "verb", findings: 98, objects: 97, packages: 2, saves: { ...NOTHING, probes: 98, weight: 98 } }, { fix: "--hash-style=gnu", by: "linker", findings: 1, objects: 1, packages: 1, saves: { ...NOTHING, bytes: 1500 } }];
    Object.assign(report, { shards: 8, complete_shards: 5 });
    Object.assign(report.totals, { objects: 1234567, packed_objects: 21 });
  });
  await opens(file, async (page) => {
    const top = await facts(page);
    assert.deepEqual([top.Objects.replaceAll("\u202f", " "), top["Objects with RELR"]], ["1 234 567", "21"]);
    assert.match(await page.getByRole("list", { name: "Warnings" }).innerText(), /3 of 8 shards are not there yet/);
    assert.deepEqual(await page.locator("#fixes tbody th").allInnerTexts(), ["coldstart bind", "linker: --hash-style=gnu"]);
    assert.match(await page.locator("#packages").innerText(), /The 4 with the most to gain/);
    assert.deepEqual(await seen(page), ["objects of no package", "slow", "big", "none"]);
    const sort = (name) => page.getByRole("grid", { name: "packages" }).getByRole("button", { name, exact: true });
    const heading = (name) => page.getByRole("grid", { name: "packages" }).getByRole("columnheader", { name, exact: true });
    await sort("Bytes").click();
    assert.deepEqual(await settled(() => seen(page), ([first]) => first === "big"), ["big", "slow", "objects of no package", "none"]);
    assert.equal(await heading("Bytes").getAttribute("aria-sort"), "descending");
    await sort("Objects").click();
    await sort("Objects").click();
    assert.deepEqual(await settled(() => seen(page), ([first]) => first === "none"), ["none", "objects of no package", "slow", "big"]);
    assert.equal(await heading("Objects").getAttribute("aria-sort"), "ascending");
    await sort("Package").click();
    assert.deepEqual(await settled(() => seen(page), ([first]) => first === "big"), ["big", "none", "objects of no package", "slow"]);
    // The bars have the most bytes first, whatever the table's order.
    const bars = page.getByRole("list", { name: "Bytes saved in packages" }).locator(".name");
    assert.deepEqual(await bars.allInnerTexts(), ["big", "slow", "objects of no package"]);
  });
});

test("an empty survey says that nothing is known to be avoidable", async () => {
  const file = pageOf("empty", (report) => {
    for (const name of Object.keys(report.totals)) report.totals[name] = 0;
    Object.assign(report, { fixes: [], packages: [], all_packages: 0, modules: {}, problems: [] });
  });
  await opens(file, async (page) => {
    assert.equal((await facts(page)).Objects, "0");
    assert.match(await page.locator("#fixes").innerText(), /Nothing here costs a start more than it must/);
    assert.match(await page.locator("#packages").innerText(), /No packages\./);
    assert.deepEqual(await page.getByRole("navigation", { name: "Panels" }).getByRole("link").allInnerTexts(), ["Fixes", "Packages"]);
    assert.equal(await page.getByRole("list", { name: "Warnings" }).count(), 0);
  });
});

test("a thousand packages: only those in sight are in the page, all are found and reached", async () => {
  const file = pageOf("thousand", (report) => {
    report.packages = Array.from({ length: 1000 }, (_, place) => ({
      package: `<b>p${place}</b>`, objects: place, file_bytes: place, modules: 0, best_fix: "pack", saves: { ...NOTHING, bytes: 1000 - place, weight: 1000 - place },
    }));
    report.all_packages = 1000;
    report.problems = Array.from({ length: 100 }, (_, place) => ({ place: `pool/${"x".repeat(200)}${place}.deb`, problem: "cut\u202eoff" }));
    report.totals.problems = 5000;
  });
  await opens(file, async (page) => {
    const grid = page.getByRole("grid", { name: "packages" });
    assert.equal(await grid.getAttribute("aria-rowcount"), "1001");
    const rows = await seen(page);
    assert.ok(rows[0] === "<b>p0</b>" && rows.length < 100, `${rows.length} rows`);
    await grid.focus();
    await grid.press("End");
    assert.ok((await settled(() => seen(page), (now) => now.includes("<b>p999</b>"))).includes("<b>p999</b>"));
    await page.getByRole("searchbox", { name: "Search packages" }).fill("p517");
    assert.deepEqual(await settled(() => seen(page), (now) => now.length === 1), ["<b>p517</b>"]);
    const problems = page.locator("#problems");
    assert.match(await problems.innerText(), /The first 100; the table problems has all/);
    assert.equal(await problems.locator("tbody tr").count(), 100);
    assert.doesNotMatch(await problems.innerText(), /\u202e/);
  });
});
