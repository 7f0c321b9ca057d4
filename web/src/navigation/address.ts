// Keeps what is shown in the page's address, and follows the address when a link is opened or the browser goes back.

import { batch, effect } from "@preact/signals";

import type { Trace } from "../data/trace";
import { type ChosenFile, chooseFile, comparisonMode, hiddenDots, mark, movedBy, placeRange, selectedEvent, selectedFile, selectedProcess, showTime, timeRange, wholeTime } from "../state";
import { fragmentOf, type Shown, shownIn } from "./fragment";

/** Browsers refuse addresses that change too often: they are written when nothing has changed for so long, in milliseconds. */
const REST = 400;

/** For so many frames a panel is waited for. */
const MOST_FRAMES = 600;

/** For so many more it is kept at the top. */
const FRAMES_TO_REST = 40;

/** What the page shows at first. */
interface Beginning {
  file: ChosenFile;
  hidden: string;
}

/** Shows what the address says, and keeps it up to date from then on; the returned function stops. */
export function followAddress(traces: readonly Trace[]): () => void {
  const beginning: Beginning = { file: selectedFile.peek(), hidden: hiddenText() };
  const hiddenAtFirst = hiddenDots.peek();
  let panel: string | null = null;
  let written = location.hash;
  let waiting: ReturnType<typeof setTimeout> | undefined;
  const write = () => {
    const fragment = fragmentOf(nowShown(beginning, panel), traces);
    const next = fragment === "" ? "" : `#${fragment}`;
    if (next === location.hash) return;
    try {
      history.replaceState(history.state, "", next === "" ? location.pathname + location.search : next);
    } catch {
      // A page inside another may not change its address: then it cannot be sent.
    }
    written = location.hash;
  };
  const writeLater = () => {
    clearTimeout(waiting);
    waiting = setTimeout(write, REST);
  };
  const follow = () => {
    if (location.hash === written) return;
    written = location.hash;
    const shown = shownIn(location.hash, traces);
    panel = panelOf(shown.panel)?.id ?? null;
    // Nothing is what stands there before anything was changed: the browser went back to it.
    if (location.hash === "" || location.hash.includes("=")) {
      show(shown, beginning.file, hiddenAtFirst);
      panelOf(panel)?.scrollIntoView({ block: "start" });
      return;
    }
    // A link inside the page says where to look, and nothing about the view.
    writeLater();
  };
  if (location.hash.length > 1) {
    const shown = shownIn(location.hash, traces);
    show(shown, beginning.file, hiddenAtFirst);
    if (shown.panel !== null) whenThere(shown.panel, (id) => {
      panel = id;
      // What came before it may have taken so long that the address has been written without it.
      writeLater();
    });
  }
  const stop = effect(() => {
    void [timeRange.value, placeRange.value, selectedFile.value, selectedEvent.value, selectedProcess.value, comparisonMode.value, movedBy.value, hiddenDots.value];
    writeLater();
  });
  addEventListener("hashchange", follow);
  return () => {
    stop();
    clearTimeout(waiting);
    removeEventListener("hashchange", follow);
  };
}

function show(shown: Shown, file: ChosenFile, hidden: ReturnType<typeof hiddenDots.peek>): void {
  batch(() => {
    chooseFile(shown.file ?? file);
    if (shown.time === null) timeRange.value = wholeTime.value;
    else showTime(...shown.time);
    placeRange.value = shown.place;
    comparisonMode.value = shown.mode ?? "both";
    movedBy.value = shown.movedBy;
    selectedProcess.value = shown.process;
    hiddenDots.value = shown.hidden === null ? hidden : new Set(shown.hidden);
    selectedEvent.value = shown.event;
    mark.value = null;
  });
}

function nowShown(beginning: Beginning, panel: string | null): Shown {
  const [begin, end] = timeRange.peek();
  const [first, last] = wholeTime.peek();
  const file = selectedFile.peek();
  const mode = comparisonMode.peek();
  return {
    panel,
    time: begin <= first && end >= last ? null : [begin, end],
    file: file.trace === beginning.file.trace && file.place === beginning.file.place ? null : file,
    place: placeRange.peek(),
    mode: mode === "both" ? null : mode,
    movedBy: movedBy.peek(),
    process: selectedProcess.peek(),
    hidden: hiddenText() === beginning.hidden ? null : [...hiddenDots.peek()],
    event: selectedEvent.peek(),
  };
}

function hiddenText(): string {
  return [...hiddenDots.peek()].sort().join();
}

/** Scrolls to a panel: they come into the page one after the other, and what comes later moves those before. The reader's first touch ends it. */
function whenThere(id: string, found: (id: string) => void): void {
  let frames = MOST_FRAMES;
  const leave = () => (frames = 0);
  const look = () => {
    const element = panelOf(id);
    if (frames <= 0) return;
    if (element) {
      found(element.id);
      element.scrollIntoView({ block: "start" });
      frames = Math.min(frames, FRAMES_TO_REST);
    }
    frames -= 1;
    requestAnimationFrame(look);
  };
  for (const kind of ["wheel", "pointerdown", "keydown"]) addEventListener(kind, leave, { once: true, capture: true, passive: true });
  look();
}

function panelOf(id: string | null): Element | null {
  const element = id === null ? null : document.getElementById(id);
  return element?.matches("main > section") ? element : null;
}
