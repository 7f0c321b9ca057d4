// Phases out of their columns. There may be a hundred thousand: as JSON they would be most of the head.

import { type Column, type Decoded, fromDeltas, unzigzag } from "./decode";
import type { PhaseHead } from "./payload";

/** All phases, in the trace's order; `nameOf` gives the name of a symbol by its row. */
export function readPhases({ head, bytes, rows, varints }: Decoded, nameOf: (row: number) => string): PhaseHead[] {
  const moments = (name: string): Column => fromDeltas(varints(name), [[0, rows(name)]], unzigzag);
  const [begin, end] = [moments("phase.begin"), moments("phase.end")];
  const [process, own, parent] = [varints("phase.process"), varints("phase.own"), varints("phase.parent")];
  const [file, address, symbol] = [varints("phase.file"), varints("phase.address"), varints("phase.symbol")];
  const [kind, known] = [bytes("phase.kind"), bytes("phase.known")];
  // The same initialisers run in one process after another.
  const names = new Map<number, string>();
  const nameAt = (row: number): string => {
    const name = names.get(row) ?? nameOf(row);
    names.set(row, name);
    return name;
  };
  return Array.from(kind, (number, place): PhaseHead => {
    const row = symbol[place] ?? 0;
    const distance = parent[place] ?? 0;
    return {
      process: process[place] ?? 0,
      kind: head.phaseKinds[number] ?? "",
      file: lessOne(file[place]),
      address: lessOne(address[place]),
      name: row === 0 ? null : nameAt(row - 1),
      begin: begin[place] ?? 0,
      end: end[place] ?? 0,
      own: own[place] ?? 0,
      parent: distance === 0 ? null : place - distance,
      known: head.phaseEnds[known[place] ?? 0] ?? "exactly",
    };
  });
}

/** 0 says that there is none. */
function lessOne(number: number | undefined): number | null {
  return number ? number - 1 : null;
}
