// Where the panels stand, held against references: boxes, not pixels, as fonts and browsers differ. Beside the boxes
// are pictures for people. `UPDATE_LAYOUT=1 npm test` makes both anew; look at the pictures before you commit them.

import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { launch, openView, pageOf, settled } from "./pages.mjs";

const folder = join(dirname(fileURLToPath(import.meta.url)), "layout");
/** Fonts move lines: so far, in pixels, or by so much of the size. */
const SLACK = 32;
const SHARE = 0.15;

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser?.close());

const references = [
  { name: "clang", traces: ["clang"], colorScheme: "light" },
  { name: "libreoffice", traces: ["libreoffice"], colorScheme: "light" },
  { name: "firefox", traces: ["firefox"], colorScheme: "dark" },
  { name: "comparison", traces: ["libreoffice", "libreoffice-prefetched"], colorScheme: "light" },
];

for (const { name, traces, colorScheme } of references) {
  test(`${name}: panels stand where they stood, and nothing is wider than the window`, async () => {
    const { page } = await openView(browser, pageOf(...traces), { colorScheme });
    const boxes = await settled(() => page.evaluate(() => {
      const round = (value) => Math.round(value);
      const panels = [...document.querySelectorAll("header, .bar, main > section, main canvas")].map((element, place) => {
        const { left, top, width, height } = element.getBoundingClientRect();
        const what = element.id || `${element.tagName.toLowerCase()} ${place}`;
        return [what, { left: round(left), top: round(top + scrollY), width: round(width), height: round(height) }];
      });
      return { scrollWidth: document.documentElement.scrollWidth, panels: Object.fromEntries(panels) };
    }));
    assert.ok(boxes.scrollWidth <= 1280, `the page is ${boxes.scrollWidth} pixels wide`);
    const reference = join(folder, `${name}.json`);
    if (process.env.UPDATE_LAYOUT) {
      mkdirSync(folder, { recursive: true });
      writeFileSync(reference, `${JSON.stringify(boxes.panels, null, 1)}\n`);
      await page.screenshot({ path: join(folder, `${name}.jpg`), type: "jpeg", quality: 50, fullPage: true, clip: { x: 0, y: 0, width: 1280, height: 1600 } });
    }
    assert.ok(existsSync(reference), `${reference} is missing: UPDATE_LAYOUT=1 npm test`);
    const kept = JSON.parse(readFileSync(reference, "utf8"));
    assert.deepEqual(Object.keys(boxes.panels), Object.keys(kept));
    for (const [what, box] of Object.entries(kept)) {
      const now = boxes.panels[what];
      for (const side of ["left", "width", "height"]) {
        const far = Math.abs(now[side] - box[side]);
        assert.ok(far <= Math.max(SLACK, SHARE * box[side]), `${what}: ${side} is ${now[side]}, and was ${box[side]}`);
      }
    }
    await page.close();
  });
}
