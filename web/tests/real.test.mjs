// Pages of real traces in a real browser: they open, and the panels do what their help says.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { coldstart, launch, openView, pageOf, scratch, settled, trace, violations } from "./pages.mjs";

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser?.close());

/** What the map is of, how many dots of each kind it says it has, and how many events the table of pages lists. */
async function shown(page) {
  return page.evaluate(() => {
    const map = document.querySelector("#map [role=application]");
    const number = (text) => Number(text?.replace(/\D/g, "") ?? NaN);
    const dots = [...document.querySelectorAll("#map [role=group] button")].map((button) => [
      button.textContent.replace(/[\d\s\u202f]+$/, ""),
      number(button.textContent.match(/[\d\s\u202f]+$/)?.[0]),
    ]);
    return {
      map: map?.getAttribute("aria-label") ?? "",
      time: document.querySelector(".bar output")?.textContent ?? "",
      dots: Object.fromEntries(dots),
      rows: number(document.querySelector("#pages [role=status]")?.textContent),
    };
  });
}

function answer(file, question) {
  const [, row] = coldstart("trace", "sql", "--csv", file, question).trim().split("\n");
  return row.split(",");
}

for (const name of ["clang", "libreoffice", "firefox"]) {
  test(`${name}: the page opens and says what the trace says`, async () => {
    const { page, complaints } = await openView(browser, pageOf(name));
    const seen = await shown(page);
    // The object with most events, and their kinds, by another way through the same trace.
    const path = seen.map.match(/^Map of (.*?): /)[1];
    const [most] = answer(trace(name), "SELECT path FROM touches GROUP BY path ORDER BY count(*) DESC LIMIT 1");
    assert.equal(path, most);
    const kinds = "sum(major), sum(NOT major AND access = 'execute'), sum(NOT major AND access = 'write')";
    const expected = answer(trace(name), `SELECT ${kinds} FROM touches WHERE path = '${path}'`).map(Number);
    assert.deepEqual([seen.dots["waited for the disk"] ?? 0, seen.dots["executed"], seen.dots["written"]], expected);
    assert.deepEqual(complaints, []);
    await page.close();
  });

  test(`${name}: no rule of accessibility is broken, in light and dark`, async () => {
    for (const colorScheme of ["light", "dark"]) {
      const { page } = await openView(browser, pageOf(name), { colorScheme });
      assert.deepEqual(await violations(page), [], colorScheme);
      await page.close();
    }
  });
}

test("a page that a browser has saved as it stands opens again", async () => {
  const first = await openView(browser, pageOf("clang"));
  const saved = join(scratch, "saved.html");
  writeFileSync(saved, await first.page.content());
  const { page, complaints } = await openView(browser, saved);
  assert.deepEqual(await settled(() => shown(page)), await settled(() => shown(first.page)));
  assert.equal(await page.locator("#map").count(), 1);
  assert.deepEqual(complaints, []);
  await page.close();
  await first.page.close();
});

test("keys zoom, pan, go back to all, and step through events", async () => {
  const { page, complaints } = await openView(browser, pageOf("libreoffice"));
  const all = await shown(page);
  await page.locator("#map [role=application]").focus();
  for (const key of ["+", "+", "+"]) await page.keyboard.press(key);
  const near = await settled(() => shown(page), (now) => now.time !== all.time && now.rows < all.rows);
  assert.ok(near.rows < all.rows, `${near.rows} of ${all.rows} events are in view`);
  await page.keyboard.press("ArrowRight");
  await page.waitForFunction((time) => document.querySelector(".bar output").textContent !== time, near.time);
  await page.keyboard.press("0");
  assert.deepEqual(await settled(() => shown(page), (now) => now.time === all.time && now.rows === all.rows), all);
  await page.keyboard.press("]");
  const said = page.locator("#map [role=status]").last();
  await page.waitForFunction(() => [...document.querySelectorAll("#map [role=status]")].some((status) => /page/.test(status.textContent)));
  const first = await said.textContent();
  await page.keyboard.press("]");
  await page.waitForFunction((text) => [...document.querySelectorAll("#map [role=status]")].at(-1).textContent !== text, first);
  assert.deepEqual(complaints, []);
  await page.close();
});

test("dragging on the timeline zooms the map, the wheel with Ctrl zooms at the pointer, and a plain wheel scrolls the page", async () => {
  const { page, complaints } = await openView(browser, pageOf("libreoffice"));
  const all = await shown(page);
  const lanes = await page.locator("#timeline [role=application]").boundingBox();
  const y = lanes.y + lanes.height / 2;
  await page.mouse.move(lanes.x + lanes.width * 0.3, y);
  await page.mouse.down();
  await page.mouse.move(lanes.x + lanes.width * 0.5, y, { steps: 5 });
  await page.mouse.up();
  const dragged = await settled(() => shown(page), (now) => now.time !== all.time && now.rows < all.rows);
  assert.ok(dragged.rows < all.rows);
  const map = page.locator("#map [role=application]");
  await map.scrollIntoViewIfNeeded();
  const box = await map.boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.keyboard.down("Control");
  await page.mouse.wheel(0, -300);
  await page.keyboard.up("Control");
  const zoomed = await settled(() => shown(page), (now) => now.time !== dragged.time);
  assert.notEqual(zoomed.time, dragged.time);
  const scrolled = await page.evaluate(() => scrollY);
  await page.mouse.wheel(0, 200);
  await page.waitForFunction((before) => scrollY !== before, scrolled);
  assert.equal((await shown(page)).time, zoomed.time);
  assert.deepEqual(complaints, []);
  await page.close();
});

test("a box may be dragged out of the map, and pointing at it goes on telling", async () => {
  const { page, complaints } = await openView(browser, pageOf("clang"));
  const all = await shown(page);
  const map = page.locator("#map [role=application]");
  await map.scrollIntoViewIfNeeded();
  const box = await map.boundingBox();
  await page.mouse.move(box.x + box.width * 0.3, box.y + box.height * 0.5);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.6, box.y + box.height * 0.8, { steps: 5 });
  await page.mouse.move(box.x + box.width * 0.6, box.y + box.height + 30, { steps: 5 });
  await page.mouse.up();
  const near = await settled(() => shown(page), (now) => now.time !== all.time);
  assert.notEqual(near.time, all.time);
  await page.mouse.move(box.x + box.width * 0.5, box.y + box.height * 0.4, { steps: 3 });
  await page.locator("#map .map-tip").waitFor();
  assert.deepEqual(complaints, []);
  await page.close();
});

test("a button let go outside the timeline was let go", async () => {
  const { page, complaints } = await openView(browser, pageOf("clang"));
  const lanes = await page.locator("#timeline [role=application]").boundingBox();
  const x = lanes.x + lanes.width / 2;
  await page.mouse.move(x, lanes.y + 3);
  await page.mouse.down();
  await page.mouse.move(x + 1, lanes.y - 40, { steps: 5 });
  await page.mouse.up();
  await page.mouse.move(x - 60, lanes.y + 10, { steps: 5 });
  await page.locator("#timeline .tip").waitFor();
  assert.equal(await page.locator("#timeline .dragged").count(), 0);
  assert.deepEqual(complaints, []);
  await page.close();
});

test("below a pointer at rest the map tells of the object that is there now", async () => {
  const { page, complaints } = await openView(browser, pageOf("clang"));
  const map = page.locator("#map [role=application]");
  await map.scrollIntoViewIfNeeded();
  const box = await map.boundingBox();
  const ring = page.locator("#map .map-ring");
  for (let step = 0; step < 400 && (await ring.count()) === 0; step += 1) {
    await page.mouse.move(box.x + box.width * (0.15 + 0.7 * ((step * 37) % 400) / 400), box.y + box.height * (0.2 + 0.6 * (step % 20) / 20));
    await page.waitForFunction(() => document.querySelector("#map .map-tip") !== null);
  }
  assert.equal(await ring.count(), 1);
  const tip = page.locator("#map .map-tip");
  const before = await tip.innerText();
  // By keyboard, and without scrolling: the pointer stays where it is, and nothing moves below it.
  await page.locator("#map .of-files input").evaluate((field) => field.focus({ preventScroll: true }));
  await page.keyboard.type("libz3");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => /libz3/.test(document.querySelector("#map [role=application]").getAttribute("aria-label")));
  assert.notEqual(await settled(() => tip.innerText(), (text) => text !== before), before);
  assert.deepEqual(complaints, []);
  await page.close();
});

test("a file of hundreds of gigabytes is on the map, and has no heat strip", async () => {
  const sparse = join(scratch, "sparse.coldtrace");
  copyFileSync(trace("clang"), sparse);
  execFileSync("sqlite3", [sparse, "UPDATE file SET size = 300000000000 WHERE path LIKE '%/stdint.h'"]);
  const file = join(scratch, "sparse.html");
  coldstart("view", sparse, "-o", file);
  const { page, complaints } = await openView(browser, file);
  const chooser = page.getByRole("combobox", { name: "File", exact: true });
  await chooser.fill("stdint.h");
  await chooser.press("Enter");
  await page.waitForFunction(() => /stdint\.h/.test(document.querySelector("#map [role=application]").getAttribute("aria-label")));
  await page.waitForFunction(() => /more than can be drawn/.test(document.getElementById("heat").innerText));
  assert.equal(await page.locator("#heat canvas").count(), 0);
  assert.deepEqual(complaints, []);
  await page.close();
});

test("on narrow pages lists and boxes stay inside", async () => {
  for (const width of [320, 400, 1280]) {
    const { page, complaints } = await openView(browser, pageOf("clang"), { viewport: { width, height: 800 } });
    for (const kind of ["of-files", "of-places"]) {
      await page.locator(`#map .${kind} input`).click();
      await page.keyboard.type("l");
      const list = page.locator(`#map .${kind} ul`);
      await list.waitFor();
      const { x, width: wide } = await list.boundingBox();
      assert.ok(x >= 0 && x + wide <= width, `${kind}: ${x} to ${x + wide} of ${width}`);
      await page.keyboard.press("Escape");
    }
    const map = page.locator("#map [role=application]");
    await map.evaluate((chart) => chart.scrollIntoView({ block: "center" }));
    const box = await map.boundingBox();
    for (let x = 90; x < box.width - 20; x += 12) {
      await page.mouse.move(box.x + x, box.y + 150);
      await page.locator("#map .map-tip").waitFor();
      assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width, `pointing at ${x} makes the page wider than ${width}`);
    }
    assert.deepEqual(complaints, []);
    await page.close();
  }
});

test("two traces without known caches are not held against one another in what came from the disk", async () => {
  const file = join(scratch, "unknown.html");
  const copies = ["clang", "libreoffice"].map((name) => {
    const copy = join(scratch, `${name}-unknown.coldtrace`);
    copyFileSync(trace(name), copy);
    execFileSync("sqlite3", [copy, "UPDATE run SET state = 'as-is'"]);
    return copy;
  });
  coldstart("view", ...copies, "-o", file);
  const { page, complaints } = await openView(browser, file);
  const row = page.locator("#figures [role=row], #figures tr").filter({ hasText: /from the disk/ }).first();
  assert.match(await row.innerText(), /not comparable/);
  const list = page.locator("#comparison .change-list").filter({ hasText: "Bytes from disk, by file" });
  await list.waitFor();
  assert.match(await list.innerText(), /Not comparable: both began with the caches as they were/);
  assert.equal(await list.locator(".change-bar").count(), 0, "values of both, and no change");
  assert.deepEqual(complaints, []);
  await page.close();
});

test("reasons why figures are not comparable leave room for their names, on wide pages and narrow ones", async () => {
  const file = join(scratch, "states.html");
  const copy = join(scratch, "clang-evicted.coldtrace");
  copyFileSync(trace("clang"), copy);
  execFileSync("sqlite3", [copy, "UPDATE run SET state = 'files-evicted'"]);
  coldstart("view", copy, trace("libreoffice"), "-o", file);
  for (const width of [1280, 400]) {
    const { page, complaints } = await openView(browser, file, { viewport: { width, height: 800 } });
    const row = page.locator("#figures tr").filter({ hasText: "until it was ready" });
    assert.match(await row.innerText(), /not comparable: A began/);
    const name = await row.locator("th").boundingBox();
    assert.ok(name.width >= 60, `${name.width} of ${width} pixels for a name`);
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width, `a page wider than ${width} pixels`);
    assert.deepEqual(complaints, []);
    await page.close();
  }
});

test("what one of two traces did not record is not said to differ", async () => {
  const file = join(scratch, "phases.html");
  const bare = join(scratch, "clang-phases.coldtrace");
  copyFileSync(trace("clang"), bare);
  execFileSync("sqlite3", [bare, "UPDATE run SET layers = 'phases', pages = 'none'; DELETE FROM event; DELETE FROM moment; DELETE FROM lookup; UPDATE meta SET value = 0 WHERE name <> 'coldstart'"]);
  for (const [traces, with_, without] of [[[bare, trace("clang")], "B", "A"], [[trace("clang"), bare], "A", "B"]]) {
    coldstart("view", ...traces, "-o", file);
    const { page, complaints } = await openView(browser, `${file}`);
    const [path, touches] = answer(trace("clang"), "SELECT path, count(*) FROM touches GROUP BY path ORDER BY count(*) DESC LIMIT 1");
    assert.match((await page.locator("#map [role=application]").getAttribute("aria-label")), new RegExp(`^Map of ${path}: `));
    const about = (await page.locator("#map .about").innerText()).replace(/\u202f/g, "");
    assert.ok(about.includes(`${with_} ${touches} first touches`) && about.includes(`${without} touches of pages were not recorded`), about);
    assert.match(await page.locator("#map .dot-legend").innerText(), new RegExp(`executed\\s*[AB –\\d\u202f,]*${without} –`));
    assert.match(await page.locator("#heat .about").innerText(), new RegExp(`Of ${with_} alone: what was touched was not recorded of ${without}`));
    const difference = page.locator("#map").getByRole("combobox", { name: "Show", exact: true }).locator("option[value=difference]");
    assert.equal(await difference.evaluate((option) => option.disabled), true);
    assert.deepEqual(complaints, []);
    await page.close();
  }
});

test("processes are counted as the figures count them, though each program that one executes has a lane", async () => {
  const { page, complaints } = await openView(browser, pageOf("libreoffice"));
  const [processes, images] = answer(trace("libreoffice"), "SELECT count(DISTINCT number), count(*) FROM process");
  assert.notEqual(processes, images);
  assert.match(await page.locator("#timeline .about").innerText(), new RegExp(`phases of ${processes} process.*has a lane for each`));
  assert.equal(await page.locator(".bar").getByRole("combobox", { name: "Process" }).locator("option").first().innerText(), `all ${processes}`);
  const row = page.locator("#figures tr").filter({ has: page.locator("th", { hasText: /^processes$/ }) });
  assert.equal(await row.locator("td").innerText(), processes);
  assert.deepEqual(complaints, []);
  await page.close();
});

test("pointing at a dot tells the page, its section and who did it", async () => {
  const { page, complaints } = await openView(browser, pageOf("clang"));
  const map = page.locator("#map [role=application]");
  await map.scrollIntoViewIfNeeded();
  const box = await map.boundingBox();
  // Somewhere in a grid as fine as dots are large there is one.
  let told = "";
  for (let step = 0; step < 400 && !/section|\.text|\.rela|\.data/.test(told); step += 1) {
    await page.mouse.move(box.x + box.width * (0.1 + 0.8 * ((step * 37) % 400) / 400), box.y + box.height * (0.2 + 0.7 * (step % 20) / 20));
    told = await page.evaluate(() => document.querySelector("#map [role=tooltip], #map .map-tip")?.textContent ?? "");
  }
  assert.match(told, /page/i);
  assert.match(told, /\.\w+/);
  assert.deepEqual(complaints, []);
  await page.close();
});

/** Searches the table of files and chooses the first that is found. Before the search is done, rows move under the pointer. */
async function chooseFound(page, word, shown = word) {
  await page.getByLabel("Search files", { exact: true }).fill(word);
  const first = page.locator("#files [role=row][aria-rowindex='2']").filter({ hasText: shown });
  await first.waitFor();
  await first.click();
}

test("another object is chosen by its name and from the table of files", async () => {
  const { page, complaints } = await openView(browser, pageOf("libreoffice"));
  const chooser = page.getByRole("combobox", { name: "File", exact: true });
  await chooser.fill("libswlo");
  await chooser.press("ArrowDown");
  await chooser.press("Enter");
  await page.waitForFunction(() => /libswlo\.so/.test(document.querySelector("#map [role=application]").getAttribute("aria-label")));
  await chooseFound(page, "libcrypto");
  await page.waitForFunction(() => /libcrypto/.test(document.querySelector("#map [role=application]").getAttribute("aria-label")));
  assert.deepEqual(complaints, []);
  await page.close();
});

test("two traces are laid over one another, and what differs is told in numbers and words", async () => {
  const { page, complaints } = await openView(browser, pageOf("libreoffice", "libreoffice-prefetched"));
  assert.deepEqual(await violations(page), []);
  await page.locator("#comparison").waitFor();
  const modes = page.locator("#map").getByRole("combobox").filter({ has: page.locator("option[value=difference]") });
  for (const mode of ["first", "second", "difference"]) {
    await modes.selectOption(mode);
    await settled(() => page.locator("#map").innerText());
    assert.deepEqual(await violations(page), [], mode);
  }
  assert.match(await page.locator("#map").innerText(), /only in A/i);
  const major = page.locator("#figures [role=row], #figures tr").filter({ hasText: /waited for the disk/ }).first();
  const [before, after] = [trace("libreoffice"), trace("libreoffice-prefetched")].map((file) => answer(file, "SELECT sum(major) FROM touches")[0]);
  const text = (await major.innerText()).replace(/[\u202f ](?=\d{3})/g, "");
  assert.ok(text.includes(before) && text.includes(after), `${text}: ${before} and ${after}`);
  assert.deepEqual(complaints, []);
  await page.close();
});

test("files that only B has are put on the map, and say so", async () => {
  const { page, complaints } = await openView(browser, pageOf("libreoffice", "libreoffice-prefetched"));
  const chooser = page.getByRole("combobox", { name: "File", exact: true });
  await chooser.fill("coldstart-run");
  const option = page.getByRole("option", { name: /only in B: .* first touches/ }).first();
  await option.click();
  const map = page.locator("#map [role=application]");
  await page.waitForFunction(() => /coldstart-run/.test(document.querySelector("#map [role=application]").getAttribute("aria-label")));
  assert.match(await page.locator("#map").innerText(), /A has nothing of this file: the map shows B alone/);
  const [touches] = answer(trace("libreoffice-prefetched"), "SELECT count(*) FROM touches WHERE path LIKE '%/coldstart-run'");
  assert.match(await page.locator("#map .about").innerText(), new RegExp(`: ${touches} first touches`));
  // And from the table of files, too.
  await chooser.fill("libmergedlo");
  await chooser.press("Enter");
  await chooseFound(page, "lo.prefetch", /lo\.prefetch.*only in B/);
  await page.waitForFunction(() => /lo\.prefetch/.test(document.querySelector("#map [role=application]").getAttribute("aria-label")));
  assert.deepEqual(await violations(page), []);
  assert.ok(await map.isVisible());
  assert.deepEqual(complaints, []);
  await page.close();
});

test("a process of either trace is shown with its like in the other", async () => {
  const { page, complaints } = await openView(browser, pageOf("libreoffice", "libreoffice-prefetched"));
  const all = await shown(page);
  const choice = page.locator(".bar").getByRole("combobox", { name: "Process" });
  const names = await choice.locator("option").allInnerTexts();
  assert.ok(names.some((name) => name.startsWith("A: ")) && names.some((name) => name.startsWith("B: ")));
  await choice.selectOption({ label: names.find((name) => name.startsWith("B: oosplash")) });
  const one = await settled(() => shown(page), (now) => now.rows < all.rows);
  assert.ok(one.rows < all.rows, `${one.rows} of ${all.rows} events are in view`);
  assert.deepEqual(complaints, []);
  await page.close();
});

test("symbols, pages and sections can be gone to, and Backspace leads back", async () => {
  const { page, complaints } = await openView(browser, pageOf("clang"));
  const chooser = page.getByRole("combobox", { name: "File", exact: true });
  await chooser.fill("libc.so");
  await chooser.press("Enter");
  await page.waitForFunction(() => /libc\.so/.test(document.querySelector("#map [role=application]").getAttribute("aria-label")));
  const all = await settled(() => shown(page));
  const field = page.getByRole("combobox", { name: "Go to", exact: true });
  const said = page.locator("#map-status");
  await field.fill(".text");
  await page.getByRole("option", { name: /^section/ }).first().click();
  await page.waitForFunction(() => /^section \.text/.test(document.getElementById("map-status").textContent));
  const section = await settled(() => shown(page), (now) => now.rows < all.rows);
  assert.ok(section.rows > 0 && section.rows < all.rows, `${section.rows} of ${all.rows}`);
  await field.fill("page 3");
  await field.press("Enter");
  assert.match(await settled(() => said.textContent(), (text) => text.startsWith("page 3")), /^page 3, .*offset 0x3000/);
  const one = await settled(() => shown(page), (now) => now.rows < section.rows);
  assert.ok(one.rows < section.rows, `${one.rows} of ${section.rows}`);
  assert.deepEqual(await violations(page), []);
  await page.locator("#map [role=application]").focus();
  await page.keyboard.press("Backspace");
  assert.equal((await settled(() => shown(page), (now) => now.rows === section.rows)).rows, section.rows);
  await page.getByRole("button", { name: "Back", exact: true }).click();
  assert.equal((await settled(() => shown(page), (now) => now.rows === all.rows)).rows, all.rows);
  // In a field it deletes a letter.
  await field.fill("abc");
  await field.press("Backspace");
  assert.equal(await field.inputValue(), "ab");
  assert.deepEqual(complaints, []);
  await page.close();
});

test("a click on a section's name in the heat strip shows the section", async () => {
  const { page, complaints } = await openView(browser, pageOf("libreoffice"));
  await page.locator("#heat .heat-name", { hasText: ".rodata" }).click();
  await page.waitForFunction(() => /^section \.rodata/.test(document.getElementById("map-status").textContent));
  assert.deepEqual(complaints, []);
  await page.close();
});

test("in difference mode the table of pages says what became of each", async () => {
  const { page, complaints } = await openView(browser, pageOf("libreoffice", "libreoffice-prefetched"));
  await page.locator("#map").getByRole("combobox", { name: "Show" }).selectOption("difference");
  await page.waitForFunction(() => /what became of each/.test(document.querySelector("#pages .about")?.textContent ?? ""));
  const counted = await page.locator("#map .dot-legend .change").allInnerTexts();
  for (const [word, place] of [["gone: only", 0], ["new: only", 1], ["moved:", 2]]) {
    await page.getByLabel("Search pages", { exact: true }).fill(word);
    const number = counted[place].match(/([\d\s\u202f]+)pages/)[1].replace(/\D/g, "");
    await page.waitForFunction((expected) => document.querySelector("#pages [role=status]").textContent.replace(/[\s\u202f]/g, "").startsWith(`${expected}of`), number);
  }
  assert.match(await page.locator("#pages [role=row]").nth(1).innerText(), /moved: .* (later|earlier) in B/);
  await page.locator("#map [role=application]").focus();
  await page.keyboard.press("]");
  await page.waitForFunction(() => /^(gone: only in A|new: only in B|moved: .* in B|as before)\. /.test(document.getElementById("map-status").textContent));
  assert.deepEqual(await violations(page), []);
  assert.deepEqual(complaints, []);
  await page.close();
});

test("the browser's way back leads to what was shown, also to the beginning", async () => {
  const { page, complaints } = await openView(browser, pageOf("clang"));
  const all = await shown(page);
  await page.locator(".bar a", { hasText: "Map" }).click();
  await page.waitForFunction(() => location.hash === "#panel=map");
  const field = page.getByRole("combobox", { name: "Go to", exact: true });
  await field.fill(".rodata");
  await field.press("Enter");
  await page.locator("#map .map-mark").waitFor();
  await page.waitForFunction(() => location.hash.includes("y="));
  await page.goBack();
  assert.deepEqual(await settled(() => shown(page), (now) => now.rows === all.rows), all);
  assert.equal(await page.locator("#map .map-mark").count(), 0);
  assert.equal(await page.evaluate(() => location.hash), "");
  assert.deepEqual(complaints, []);
  await page.close();
});

test("the address keeps what is shown, and nonsense in it is harmless", async () => {
  const { page, complaints } = await openView(browser, pageOf("libreoffice"));
  await page.locator("#map [role=application]").focus();
  for (const key of ["+", "+", "]"]) await page.keyboard.press(key);
  const all = async () => ({ ...(await shown(page)), said: await page.locator("#map-status").textContent(), address: page.url() });
  const before = await settled(all, (now) => now.address.includes("event="));
  await page.locator(".bar a", { hasText: "Files" }).click();
  await page.waitForFunction(() => location.hash.includes("panel=files") && location.hash.includes("t="));
  await page.goto("about:blank");
  await page.goto(before.address);
  await page.waitForSelector("#missing");
  assert.deepEqual(await settled(all, (now) => now.rows === before.rows), before);
  const bare = before.address.split("#")[0];
  for (const nonsense of ["#t=9-1&file=%", "#%E0%A4%A", "#y=99999999999999-9999999999999999", "#event=a999999999", "#event=a5&y=5-6", "#t=0-1", "#panel=no", "#<img src=x onerror=alert(1)>"]) {
    await page.goto("about:blank");
    await page.goto(`${bare}${nonsense}`);
    await page.waitForSelector("#pages [role=row]");
    assert.match(await page.locator("#map .about").innerText(), /first touches/, nonsense);
  }
  assert.deepEqual(complaints, []);
  await page.close();
});
