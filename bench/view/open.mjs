// How long a page takes to open in Chromium, and how many frames a second it pans at: node open.mjs PAGE RUNS
//
// Opened: from the start of the navigation until the frame is out in which the map of the object with most events stands. Panned: zoomed
// in to a quarter of the time, an arrow key a frame for three seconds on the map, which moves all panels; first to one end, then to the other.
// Prints {"opened": [seconds...], "panned": [frames a second...], "slowest": [seconds of each run's slowest frame...]}.

import { launch, open } from "../../web/tests/pages.mjs";

const [file, runs] = [process.argv[2], Number(process.argv[3])];
const found = { opened: [], panned: [], slowest: [] };
for (let run = 0; run < runs; run += 1) {
  // A new browser each time: nothing is kept of the run before.
  const browser = await launch();
  const { page, complaints } = await open(browser, file);
  await page.waitForFunction(() => performance.getEntriesByName("coldstart-map-drawn").length > 0, undefined, { timeout: 120_000 });
  found.opened.push(await page.evaluate(() => (performance.getEntriesByName("coldstart-map-drawn")[0]?.startTime ?? NaN) / 1000));
  const frames = await page.evaluate(panned);
  found.panned.push(frames.length / frames.reduce((sum, frame) => sum + frame, 0));
  found.slowest.push(Math.max(...frames));
  if (complaints.length > 0) throw new Error(complaints.join("\n"));
  await browser.close();
}
console.log(JSON.stringify(found));

/** In the page: seconds of each frame. */
async function panned() {
  const map = document.querySelector("#map [role=application]");
  map.focus();
  const press = (key) => map.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  for (const key of ["+", "+", "+"]) {
    press(key);
    await frame();
  }
  const seconds = [];
  let last = await frame();
  const begin = last;
  while (last - begin < 3000) {
    press(Math.floor((last - begin) / 500) % 2 === 0 ? "ArrowRight" : "ArrowLeft");
    const now = await frame();
    seconds.push((now - last) / 1000);
    last = now;
  }
  return seconds;
}
