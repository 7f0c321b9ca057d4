// What can be gone to on the map of an object: sections, symbols, pages, offsets, addresses. What was typed decides which of them.

import type { Trace } from "../data/trace";
import { DOT_KINDS, PAGE_SIZE } from "../data/trace";
import { bytes, count, hex, momentText } from "../format";
import { visible } from "../names";

import type { Dots } from "./dots";
import { isKnown, type MapModel, type MapSide } from "./model";
import type { Band, Places } from "./places";
import { symbolEnd, symbolName } from "./symbols";

/** A place that can be gone to. */
export interface Target {
  kind: "section" | "symbol" | "page" | "offset" | "address";
  name: string;
  /** Where it stands, in words. */
  where: string;
  /** On the map's axis, in bytes. */
  low: number;
  high: number;
}

const FILL = DOT_KINDS.indexOf("fill");

/** No longer list helps. */
const MOST = 40;

/** Places that fit what was typed, the likeliest first; nothing typed: all sections. */
export function targetsOf(model: MapModel, query: string): Target[] {
  const side = model.sides[0];
  if (side === undefined) return [];
  const { places } = model;
  const words = query.trim();
  const numbered = /^(?:(page|offset|address)\s+)?(0x[0-9a-f]{1,13}|[0-9]{1,15})$/i.exec(words);
  const numbers = numbered ? ofNumber(places, side, numbered[1]?.toLowerCase() ?? null, numbered[2] ?? "") : [];
  const asked = words.toLowerCase();
  const sections = places.bands.filter(({ section }) => section.name.toLowerCase().includes(asked)).map((band) => ofBand(places, band));
  return [...numbers, ...sections, ...(asked === "" ? [] : ofSymbols(side, places, asked, MOST))].slice(0, MOST);
}

/** A section as a place to go to. */
export function ofBand(places: Places, { section, begin, end }: Band): Target {
  const { page, isMemory } = places.pageAt(begin);
  return { kind: "section", name: visible(section.name), where: `${bytes(end - begin)} at ${isMemory ? `memory ${hex(page * PAGE_SIZE)}` : hex(begin)}`, low: begin, high: end };
}

/** What to show of a target: itself with something of what stands around it. */
export function around({ kind, low, high }: Target): [low: number, high: number] {
  const air = kind === "section" ? Math.max((high - low) * 0.03, PAGE_SIZE / 2) : kind === "page" ? 3 * PAGE_SIZE : Math.max((high - low) * 0.75, PAGE_SIZE / 2);
  return [low - air, high + air];
}

/** When its pages were first touched, in words: for those who do not see the dots. */
export function targetSentence(model: MapModel, target: Target): string {
  const wordsOf = ({ trace, all }: MapSide) => touchedWords(all, target) ?? (isKnown(trace, "touched") ? "its pages were not used" : "touches of its pages were not recorded");
  const whens = model.sides.map((side) => `${model.sides.length > 1 ? `${side.number === 0 ? "A" : "B"}: ` : ""}${wordsOf(side)}`);
  return `${target.kind} ${target.name}, ${target.where}; ${whens.join("; ")}.`;
}

/** null: nothing happened to its pages. */
function touchedWords({ count: all, at, place, reach, kind }: Dots, { low, high }: Target): string | null {
  const first = Math.floor(low / PAGE_SIZE) * PAGE_SIZE;
  const end = Math.ceil(high / PAGE_SIZE) * PAGE_SIZE;
  let events = 0;
  let earliest = Infinity;
  for (let nth = 0; nth < all; nth += 1) {
    // What came from the disk was not used yet.
    if (kind[nth] === FILL || (place[nth] ?? 0) + (reach[nth] ?? 0) < first || (place[nth] ?? 0) >= end) continue;
    events += 1;
    earliest = Math.min(earliest, at[nth] ?? 0);
  }
  if (events === 0) return null;
  return `${count(events)} ${events === 1 ? "event" : "events"} on its pages, the first at ${momentText(earliest)}`;
}

function ofNumber(places: Places, { trace }: MapSide, kind: string | null, text: string): Target[] {
  const isHex = /^0x/i.test(text);
  const value = Number(text);
  const targets: Target[] = [];
  if ((kind === "page" || (kind === null && !isHex)) && value * PAGE_SIZE < places.fileEnd) {
    targets.push({ kind: "page", name: count(value), where: inBand(places, value * PAGE_SIZE, value * PAGE_SIZE), low: value * PAGE_SIZE, high: (value + 1) * PAGE_SIZE });
  }
  if ((kind === "offset" || kind === null) && value < places.fileEnd) {
    targets.push({ kind: "offset", name: hex(value), where: inBand(places, value, value), low: value, high: value + 1 });
  }
  const place = kind === "address" || kind === null ? places.ofAddress(value) : null;
  if (place !== null) {
    const symbol = symbolAt(trace, places, value);
    targets.push({ kind: "address", name: hex(value), where: `${symbol === null ? "" : `${symbol}, `}${inBand(places, place, value)}`, low: place, high: place + 1 });
  }
  return targets;
}

function inBand(places: Places, place: number, shown: number): string {
  const band = places.bandAt(place) ?? places.bandsOfPage(place)[0];
  const { page, isMemory } = places.pageAt(place);
  const where = isMemory ? `memory ${hex(shown)}` : `page ${count(page)}, offset ${hex(place)}`;
  return band ? `${visible(band.section.name)}, ${where}` : where;
}

function symbolAt(trace: Trace, places: Places, address: number): string | null {
  const [first, all] = places.object?.symbols ?? [0, 0];
  for (let row = first; row < first + all; row += 1) {
    if ((trace.symbolAddress[row] ?? 0) > address) return null;
    if (symbolEnd(trace, row) > address) return symbolName(trace, row);
  }
  return null;
}

/** Symbols with that in their names: those that are it first, then those that begin with it. */
function ofSymbols({ trace }: MapSide, places: Places, asked: string, most: number): Target[] {
  const object = places.object;
  if (object === null) return [];
  const [first] = object.symbols;
  const ranked: number[][] = [[], [], []];
  lowerNames(trace, object).forEach((name, nth) => {
    const at = name.indexOf(asked);
    if (at < 0) return;
    const rank = ranked[at > 0 ? 2 : name.length === asked.length ? 0 : 1];
    if (rank && rank.length < most) rank.push(first + nth);
  });
  return ranked.flat().flatMap((row): Target[] => {
    const address = trace.symbolAddress[row] ?? 0;
    const low = places.ofAddress(address);
    if (low === null) return [];
    return [{ kind: "symbol", name: symbolName(trace, row), where: inBand(places, low, address), low, high: low + symbolEnd(trace, row) - address }];
  });
}

const known = new WeakMap<object, string[]>();

/** An object's symbols in lower case, made at the first search: a hundred thousand names take a tenth of a second. */
function lowerNames(trace: Trace, object: NonNullable<Places["object"]>): string[] {
  const found = known.get(object);
  if (found) return found;
  const [first, all] = object.symbols;
  const names = Array.from({ length: all }, (_, nth) => trace.symbolName(first + nth).toLowerCase());
  known.set(object, names);
  return names;
}
