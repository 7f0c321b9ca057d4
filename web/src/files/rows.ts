// The files of one trace, or of two put together: a file of A and its partner in B are one row.

import type { PageHead } from "../data/payload";
import { KIND, type Trace } from "../data/trace";
import type { Unit } from "../parts/change";
import type { ChosenFile } from "../state";

export interface FileRow {
  path: string;
  category: string;
  /** Its place in the files of A and of B; null: not among them. */
  places: [a: number | null, b: number | null];
}

/** What is measured of a file. */
export interface Measure {
  id: string;
  label: string;
  explanation: string;
  unit: Unit;
  width: string;
  /** Whether a bar shows its share of the greatest. */
  bar: boolean;
  /** Whether a sum over all files means something. */
  sums: boolean;
  value: (trace: Trace, file: number) => number | null;
}

/** One row per file of A, then those that only B has. */
export function rowsOf(page: PageHead, traces: readonly Trace[]): FileRow[] {
  const [first, second] = traces;
  const partners = page.comparison?.partners ?? [];
  const taken = new Set(partners);
  const rows = (first?.head.files ?? []).map(({ path, category }, place): FileRow => ({ path, category, places: [place, second ? (partners[place] ?? null) : null] }));
  second?.head.files.forEach(({ path, category }, place) => {
    if (!taken.has(place)) rows.push({ path, category, places: [null, place] });
  });
  return rows;
}

/** What the map takes for a row: the file of A, or that of B where only B has it. */
export function fileOf({ places: [first, second] }: FileRow): ChosenFile | null {
  if (first !== null) return { trace: 0, place: first };
  return second === null ? null : { trace: 1, place: second };
}

/** When a file was first used; null: it was not, by what was recorded. */
export function firstUse({ head, at, kind }: Trace, file: number): number | null {
  const [first, count] = head.files[file]?.events ?? [0, 0];
  // In order of time; what the kernel read in is not yet a use.
  for (let event = first; event < first + count; event += 1) if ((kind[event] ?? 0) < KIND.fill) return at[event] ?? null;
  return null;
}

function figure(id: string, label: string, unit: Unit, width: string, explanation: string, name: "touches" | "major" | "touched" | "read" | "filled" | "wasted" | "requests" | "functions"): Measure {
  return { id, label, unit, width, explanation, bar: unit === "bytes", sums: true, value: (trace, file) => trace.head.files[file]?.figures?.[name] ?? null };
}

export const MEASURES: readonly Measure[] = [
  figure("from_disk", "From disk", "bytes", "7rem", "Bytes that came from the disk, those that were read ahead included", "filled"),
  figure("wasted", "Wasted", "bytes", "6.5rem", "Bytes that came from the disk and were not used", "wasted"),
  figure("touched", "Touched", "bytes", "6.5rem", "Bytes of pages that were touched in memory, each page once", "touched"),
  figure("read", "Read", "bytes", "6.5rem", "Bytes of pages that were read with read(2) and its kin, each page once", "read"),
  figure("requests", "Requests", "count", "5.5rem", "How many times the disk was asked", "requests"),
  figure("touches", "Touches", "count", "5.2rem", "First touches of pages by each process", "touches"),
  figure("major", "Waited", "count", "5.2rem", "First touches that waited for the disk (major faults)", "major"),
  figure("functions", "Functions", "count", "5.7rem", "Functions that were called for the first time", "functions"),
  { id: "first_use", label: "First use", unit: "nanoseconds", width: "5.7rem", explanation: "When a page of it was first touched or read", bar: false, sums: false, value: firstUse },
];

/** A row's values in A and in B. A file that a trace does not know was not used in it: nothing of it was touched, if that was recorded at all. */
export function valuesOf(measure: Measure, traces: readonly Trace[], row: FileRow): [a: number | null, b: number | null] {
  const value = (nth: 0 | 1) => {
    const trace = traces[nth];
    const place = row.places[nth];
    if (trace === undefined) return null;
    // Nor were its pages used where only its name was asked for.
    if (place === null || trace.head.files[place]?.figures === null) return measure.sums && isRecorded(measure, trace) ? 0 : null;
    return measure.value(trace, place);
  };
  return [value(0), value(1)];
}

/** What can be told of files. Of two traces, what neither recorded is left out: there is no room for it. */
export function measuresOf(traces: readonly Trace[]): readonly Measure[] {
  return traces.length < 2 ? MEASURES : MEASURES.filter((measure) => traces.some((trace) => isRecorded(measure, trace)));
}

/** The sum over all files; null if it was recorded of none. */
export function sumOf(measure: Measure, trace: Trace): number | null {
  let sum: number | null = null;
  trace.head.files.forEach((_, place) => {
    const value = measure.value(trace, place);
    if (value !== null) sum = (sum ?? 0) + value;
  });
  return sum;
}

const recorded = new WeakMap<Trace, Map<string, boolean>>();

/** Whether a trace knows a measure of any file. */
function isRecorded(measure: Measure, trace: Trace): boolean {
  const known = recorded.get(trace) ?? new Map<string, boolean>();
  recorded.set(trace, known);
  const found = known.get(measure.id) ?? trace.head.files.some((_, place) => measure.value(trace, place) !== null);
  known.set(measure.id, found);
  return found;
}
