// The figures of both traces put beside each other, by their stable names.

import type { FigureGroup } from "../data/payload";
import type { Unit } from "../parts/change";

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
  note: string;
  figures: FigurePair[];
}

/** In the order of the first trace; groups and figures that only the second has stand behind. */
export function pairGroups(traces: readonly FigureGroup[][]): PairedGroup[] {
  const groups = new Map<string, PairedGroup>();
  const pairs = new Map<string, FigurePair>();
  traces.forEach((ofTrace, trace) => {
    for (const { title, note, figures } of ofTrace) {
      const group = groups.get(title) ?? { title, note, figures: [] };
      groups.set(title, group);
      if (group.note === "") group.note = note;
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
  return [...groups.values()].filter(({ figures }) => figures.length > 0);
}
