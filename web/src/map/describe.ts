// An event in words: for the box at the pointer, for screen readers, for the table.

import { count as numberText, hex, momentText } from "../format";
import { baseName, visible } from "../names";
import { KIND, PAGE_SIZE, type Trace } from "../data/trace";
import { isMemory } from "./dots";
import type { Places } from "./places";
import { symbolName, symbolsBetween } from "./symbols";

/** What happened, in words: "executed, waited for the disk". */
export function kindWords(kind: number): string {
  if (kind >= KIND.fill) return ["came from the disk when asked for", "came from the disk by readahead", "came from the disk for another process", "came from the disk"][kind - KIND.fill] ?? "came from the disk";
  if (kind === KIND.read) return "read with read(2)";
  if (kind === KIND.function) return "first call of a function";
  const words = [kind & KIND.execute ? "executed" : kind & KIND.write ? "written" : kind & KIND.unknown ? "touched, how is not known" : "read in memory"];
  if (kind & KIND.major) words.push("waited for the disk");
  if (kind & KIND.zeroFilled) words.push("zero-filled");
  if (kind & KIND.byKernel) words.push("by the kernel");
  if ((kind & KIND.firstOfRun) === 0) words.push("touched before");
  return words.join(", ");
}

/** "page 1 234 (0x4d2000)", "memory at 0x68a0000", "pages 3 to 8". */
export function pageWords(page: number, pages: number, memory: boolean): string {
  if (memory) return `memory at ${hex(page * PAGE_SIZE)}`;
  if (pages > 1) return `pages ${numberText(page)} to ${numberText(page + pages - 1)}`;
  return `page ${numberText(page)} (offset ${hex(page * PAGE_SIZE)})`;
}

/** Names of the symbols on an event's page, of the function for a call; the first few. */
export function symbolsOf(trace: Trace, row: number, places: Places, most = 4): string[] {
  const kind = trace.kind[row] ?? 0;
  const code = trace.code[row] ?? 0;
  if (kind === KIND.function && code > 0) return [symbolName(trace, code - 1)];
  if (places.object === null || (trace.pages[row] ?? 1) > 1) return [];
  const begin = places.ofPage(trace.page[row] ?? 0, isMemory(kind));
  const object = places.object;
  const rows = places.addressesBetween(begin, begin + PAGE_SIZE).flatMap(([low, high]) => symbolsBetween(trace, object, low, high, most + 1));
  const names = [...new Set(rows.slice(0, most).map((symbol) => symbolName(trace, symbol)))];
  return rows.length > most ? [...names, "…"] : names;
}

/** The sections on an event's page. */
export function sectionsOf(trace: Trace, row: number, places: Places): string {
  const kind = trace.kind[row] ?? 0;
  const code = trace.code[row] ?? 0;
  const exact = kind === KIND.function && code > 0 ? places.ofAddress(trace.symbolAddress[code - 1] ?? -1) : null;
  if (exact !== null) return visible(places.bandAt(exact)?.section.name ?? "");
  const bands = places.bandsOfPage(places.ofPage(trace.page[row] ?? 0, isMemory(kind)));
  const names = bands.map((band) => visible(band.section.name));
  return names.length > 3 ? `${names.slice(0, 2).join(", ")} … ${names[names.length - 1]}` : names.join(", ");
}

/** What did it: "main in a.out", or "" where that is not known. */
export function causeOf(trace: Trace, row: number): string {
  const code = trace.code[row] ?? 0;
  if (code === 0 || trace.kind[row] === KIND.function) return "";
  const file = trace.fileOfSymbol(code - 1);
  return `${symbolName(trace, code - 1)}${file ? ` in ${baseName(file.path)}` : ""}`;
}

/** Which first touch of the object it is, from 1; null for what is no touch. */
function orderOf(trace: Trace, row: number, first: number): number | null {
  if ((trace.kind[row] ?? 0) >= KIND.function) return null;
  let order = 0;
  for (let each = first; each <= row; each += 1) if ((trace.kind[each] ?? 0) < KIND.function) order += 1;
  return order;
}

/** Lines for the box at the pointer: a label and what stands beside it. */
export function eventLines(trace: Trace, row: number, places: Places, firstRow: number): [label: string, text: string][] {
  const kind = trace.kind[row] ?? 0;
  const order = orderOf(trace, row, firstRow);
  const lines: [string, string][] = [
    ["time", momentText(trace.at[row] ?? 0)],
    ["what", kindWords(kind)],
    ["place", pageWords(trace.page[row] ?? 0, trace.pages[row] ?? 1, isMemory(kind))],
  ];
  const sections = sectionsOf(trace, row, places);
  if (sections !== "") lines.push(["section", sections]);
  const symbols = symbolsOf(trace, row, places);
  if (symbols.length > 0) lines.push([kind === KIND.function ? "function" : symbols.length > 1 ? "symbols" : "symbol", symbols.join(", ")]);
  const cause = causeOf(trace, row);
  if (cause !== "") lines.push(["by", cause]);
  lines.push(["process", trace.actor(row)]);
  if (order !== null) lines.push(["order", `${ordinal(order)} first touch of this object`]);
  return lines;
}

/** The same as one sentence. */
export function eventSentence(trace: Trace, row: number, places: Places, firstRow: number): string {
  const lines = new Map(eventLines(trace, row, places, firstRow));
  const rest = [...lines].filter(([label]) => label !== "time" && label !== "what" && label !== "place");
  return `${lines.get("time")}: ${lines.get("what")}, ${lines.get("place")}; ${rest.map(([label, text]) => (label === "order" ? text : `${label} ${text}`)).join("; ")}.`;
}

function ordinal(value: number): string {
  const tens = value % 100;
  const ending = tens >= 11 && tens <= 13 ? "th" : (["th", "st", "nd", "rd"][value % 10] ?? "th");
  return `${numberText(value)}${ending}`;
}
