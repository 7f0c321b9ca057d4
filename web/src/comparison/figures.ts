// The figures of both traces put beside each other, by their stable names.

import type { FigureGroup } from "../data/payload";
import type { Unit } from "../parts/change";
import { letterOf } from "../parts/TraceBadge";

export interface FigurePair {
  key: string;
  label: string;
  unit: Unit;
  lessIsBetter: boolean;
  /** One for each trace; null: not recorded. */
  values: (number | null)[];
}

export interface PairedGroup {
  title: string;
  /** What the figures rest on, of each trace where that differs; may be empty. */
  note: string;
  figures: FigurePair[];
}

/** In the order of the first trace; groups and figures that only the second has stand behind. */
export function pairGroups(traces: readonly FigureGroup[][]): PairedGroup[] {
  const groups = new Map<string, PairedGroup>();
  const notes = new Map<string, string[]>();
  const pairs = new Map<string, FigurePair>();
  traces.forEach((ofTrace, trace) => {
    for (const { title, note, figures } of ofTrace) {
      const group = groups.get(title) ?? { title, note: "", figures: [] };
      groups.set(title, group);
      const ofAll = notes.get(title) ?? traces.map(() => "");
      notes.set(title, ofAll);
      ofAll[trace] = note;
      for (const { key, label, unit, lessIsBetter, value } of figures) {
        let pair = pairs.get(key);
        if (pair === undefined) {
          pair = { key, label, unit, lessIsBetter, values: traces.map(() => null) };
          pairs.set(key, pair);
          group.figures.push(pair);
        }
        pair.values[trace] = value;
      }
    }
  });
  for (const group of groups.values()) group.note = noteOf(notes.get(group.title) ?? []);
  return [...groups.values()].filter(({ figures }) => figures.length > 0);
}

/** What is said of all, once: a process that figures are of has another number in each start. */
function noteOf(notes: readonly string[]): string {
  const [first = ""] = notes;
  if (notes.every((note) => note === first)) return first;
  return notes.map((note, trace) => (note === "" ? "" : `${letterOf(trace)}: ${note}`)).filter((note) => note !== "").join(" ");
}
