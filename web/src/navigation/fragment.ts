// What is shown, as the part of an address behind "#", so that it can be sent or kept as a bookmark: `#t=1200000-5000000&file=/usr/lib/libc.so.6`.
// What stands there may be anything: what cannot be understood, or is not in the page, is left out.

import { DOT_KINDS, type DotKind, type Trace } from "../data/trace";
import type { ChosenFile, ChosenProcess } from "../state";

export type Mode = "both" | "first" | "second" | "difference";

/** What an address tells; what it says nothing of is as at first. */
export interface Shown {
  /** The panel that was jumped to. */
  panel: string | null;
  /** Nanoseconds since the launch; null: all. */
  time: [number, number] | null;
  file: ChosenFile | null;
  /** Bytes of the map's axis; null: all. */
  place: [number, number] | null;
  mode: Mode | null;
  /** By how many nanoseconds a page must be later or earlier to count as moved; null: as at first. */
  movedBy: number | null;
  process: ChosenProcess | null;
  /** Kinds of dots that are hidden; null: those that are hidden at first. */
  hidden: DotKind[] | null;
  event: { trace: number; row: number } | null;
}

const MODES: Record<string, Mode> = { both: "both", a: "first", b: "second", difference: "difference" };

/** The fragment without its "#"; empty if it says nothing. */
export function fragmentOf(shown: Shown, traces: readonly Trace[]): string {
  const parts: [string, string][] = [];
  const add = (name: string, value: string | null) => value !== null && parts.push([name, value]);
  add("panel", shown.panel);
  add("t", shown.time && range(shown.time));
  if (shown.file) {
    const { trace, place } = shown.file;
    const path = traces[trace]?.file(place)?.path ?? "";
    const nth = namesakes(traces, trace, path).indexOf(place);
    add("file", path);
    if (nth > 0) add("nth", String(nth + 1));
    if (trace > 0) add("of", "b");
  }
  add("y", shown.place && range(shown.place));
  add("show", Object.keys(MODES).find((name) => MODES[name] === shown.mode) ?? null);
  add("moved", shown.movedBy === null ? null : String(Math.round(shown.movedBy)));
  add("process", shown.process && numbered(shown.process.trace, shown.process.place));
  add("hide", shown.hidden && shown.hidden.join(","));
  add("event", shown.event && numbered(shown.event.trace, shown.event.row));
  return parts.map(([name, value]) => `${name}=${encodeURIComponent(value).replace(/%2F/g, "/").replace(/%2C/g, ",")}`).join("&");
}

/** Reads a fragment, with or without its "#". A word without "=" is a panel, as in a link of the page. */
export function shownIn(fragment: string, traces: readonly Trace[]): Shown {
  const text = fragment.replace(/^#/, "");
  const isLink = text !== "" && !text.includes("=");
  const found = new URLSearchParams(isLink ? "" : text.replace(/\+/g, "%2B"));
  const path = found.get("file");
  const trace = found.get("of") === "b" ? 1 : 0;
  const nth = Number(found.get("nth") ?? 1) - 1;
  const places = path === null ? [] : namesakes(traces, trace, path);
  const place = places[nth] ?? places[0];
  const hidden = found.get("hide");
  const mode = found.get("show") ?? "";
  return {
    panel: isLink ? text : found.get("panel"),
    time: rangeIn(found.get("t")),
    file: place === undefined ? null : { trace, place },
    // Places mean something on one file only.
    place: path !== null && place === undefined ? null : rangeIn(found.get("y")),
    mode: traces.length > 1 && Object.hasOwn(MODES, mode) ? (MODES[mode] ?? null) : null,
    movedBy: movedByIn(found.get("moved")),
    process: numberIn(found.get("process"), traces, ({ head }) => head.processes.length, (trace, place) => ({ trace, place })),
    hidden: hidden === null ? null : DOT_KINDS.filter((kind) => hidden.split(",").includes(kind)),
    event: numberIn(found.get("event"), traces, ({ events }) => events, (trace, row) => ({ trace, row })),
  };
}

/** Files of a trace with that path: a file that was replaced while it ran, say. */
function namesakes(traces: readonly Trace[], trace: number, path: string): number[] {
  return (traces[trace]?.head.files ?? []).flatMap((file, place) => (file.path === path ? [place] : []));
}

function movedByIn(text: string | null): number | null {
  const found = text !== null && /^\d{1,15}$/.test(text) ? Number(text) : 0;
  return found > 0 ? found : null;
}

function range([low, high]: readonly [number, number]): string {
  return `${Math.round(low)}-${Math.round(high)}`;
}

/** Two whole numbers, the first below the second; the first may be negative, since the map shows a little more than the file. */
function rangeIn(text: string | null): [number, number] | null {
  const found = /^(-?\d{1,16})-(\d{1,16})$/.exec(text ?? "");
  if (found === null) return null;
  const [low, high] = [Number(found[1]), Number(found[2])];
  return low < high ? [low, high] : null;
}

/** "a12": the twelfth of the first trace, from 0. */
function numbered(trace: number, number: number): string {
  return `${trace === 0 ? "a" : "b"}${number}`;
}

function numberIn<Found>(text: string | null, traces: readonly Trace[], all: (trace: Trace) => number, make: (trace: number, number: number) => Found): Found | null {
  const found = /^([ab])(\d{1,15})$/.exec(text ?? "");
  if (found === null) return null;
  const trace = found[1] === "a" ? 0 : 1;
  const of = traces[trace];
  return of !== undefined && Number(found[2]) < all(of) ? make(trace, Number(found[2])) : null;
}
