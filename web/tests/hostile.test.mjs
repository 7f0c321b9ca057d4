// Names in traces come from anybody: they are shown, never run. Pages that were cut off say so.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { coldstart, launch, open, openView, pageOf, scratch, trace } from "./pages.mjs";

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser?.close());

const MARKUP = `</script><script>alert(1)</script><img src=x onerror=alert(2)><svg/onload=alert(3)>"'&lt;\u2028{{7*7}}\${alert(4)}`;

/** A copy of a trace in which everything that is a name has markup in it. */
function hostile(name, file) {
  const copy = join(scratch, file);
  copyFileSync(trace(name), copy);
  const text = `'${MARKUP.replaceAll("'", "''")}'`;
  const statements = [
    `UPDATE file SET path = '/x/' || ${text} || '/' || path WHERE id % 2 = 0`,
    `UPDATE file SET path = '/y/' || path || ${text} WHERE id % 2 = 1`,
    `UPDATE argument SET word = ${text} || coalesce(word, '')`,
    `UPDATE note SET sentence = ${text} || sentence`,
    `INSERT INTO note VALUES (NULL, ${text})`,
    `UPDATE process SET program = program || ${text}`,
    `UPDATE section SET name = name || ${text} WHERE id % 3 = 0`,
    `UPDATE symbol SET name = ${text} || name WHERE name IS NOT NULL`,
    `UPDATE object SET soname = ${text}, build_id = ${text}`,
    `UPDATE run SET kernel = ${text}, readiness = ${text}`,
    `UPDATE lookup SET path = '/z/' || ${text} || path WHERE path IS NOT NULL`,
  ];
  execFileSync("sqlite3", [copy, statements.join(";\n")]);
  return copy;
}

test("markup in every name of a trace is shown as text", async () => {
  const [first, second] = [hostile("clang", "hostile-clang.coldtrace"), hostile("libreoffice", "hostile-office.coldtrace")];
  for (const traces of [[first], [first, second]]) {
    const file = join(scratch, `hostile-${traces.length}.html`);
    coldstart("view", ...traces, "-o", file);
    const { page, complaints } = await openView(browser, file);
    // Everything that opens by itself or on a click is opened.
    for (const detail of await page.locator("summary").all()) await detail.click();
    const map = page.locator("#map [role=application]");
    await map.focus();
    for (const key of ["]", "]", "+", "+", "]"]) await page.keyboard.press(key);
    const box = await map.boundingBox();
    for (let step = 0; step < 40; step += 1) await page.mouse.move(box.x + (box.width * step) / 40, box.y + (box.height * (step % 7)) / 7);
    for (const button of await page.getByRole("button", { name: "As table" }).all()) await button.click();
    assert.ok((await page.locator("body").innerText()).includes("onerror=alert(2)"));
    assert.equal(await page.locator("img[src=x], svg[onload], #coldstart script").count(), 0);
    assert.deepEqual(complaints, []);
    await page.close();
  }
});

test("a page that was cut off says so", async () => {
  const whole = readFileSync(pageOf("clang"));
  const data = whole.indexOf('id="coldstart-data-0"');
  const cuts = [
    [Math.floor(data / 2), /was cut off/],
    [data, /was cut off/],
    [data + 500, /cannot be shown/],
    [whole.length - 2000, /cannot be shown/],
  ];
  for (const [length, words] of cuts) {
    const file = join(scratch, `cut-${length}.html`);
    writeFileSync(file, whole.subarray(0, length));
    const { page } = await open(browser, file, {}, "#coldstart p");
    await page.waitForFunction((source) => new RegExp(source).test(document.body.innerText), words.source);
    await page.close();
  }
});

test("a page whose data were changed says so", async () => {
  const text = readFileSync(pageOf("clang"), "latin1");
  const begin = text.indexOf('id="coldstart-data-0"');
  const changed = text.slice(0, begin + 2000) + "AAAAAAAA" + text.slice(begin + 2008);
  const file = join(scratch, "changed.html");
  writeFileSync(file, changed, "latin1");
  const { page } = await open(browser, file);
  assert.match(await page.locator("main").innerText(), /cannot be shown/);
  await page.close();
});
