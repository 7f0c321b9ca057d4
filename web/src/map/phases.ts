// The phases above the map: of one process, as the outermost ones and, below them, those that have to do with the object.

import type { PhaseHead } from "../data/payload";
import type { Trace } from "../data/trace";
import { baseName } from "../names";
import { phaseLabel } from "../timeline/lanes";

export interface LabelledPhase {
  phase: PhaseHead;
  label: string;
}

export interface PhaseRows {
  /** A place in the trace's processes. */
  process: number;
  outer: LabelledPhase[];
  /** Mapping, relocating, initialisers of the object on the map. */
  own: LabelledPhase[];
}

/** The phases of a process: of that which used the file most, of those that are shown (null: all are). */
export function phaseRows(trace: Trace, filePlace: number, shown: readonly boolean[] | null): PhaseRows {
  const process = busiestProcess(trace, filePlace, shown);
  const rows: PhaseRows = { process, outer: [], own: [] };
  for (const phase of trace.head.phases) {
    if (phase.process !== process) continue;
    const file = phase.file === null ? undefined : trace.head.files[phase.file];
    const labelled = { phase, label: phaseLabel(phase, file && baseName(file.path)) };
    if (phase.parent === null) rows.outer.push(labelled);
    else if (phase.file === filePlace) rows.own.push({ phase, label: phase.name === null ? phaseLabel(phase, undefined) : labelled.label.replace(/^initialiser /, "") });
  }
  return rows;
}

/** The process that has most events in the file, of those that are shown. */
function busiestProcess(trace: Trace, filePlace: number, shown: readonly boolean[] | null): number {
  const [first, count] = trace.file(filePlace)?.events ?? [0, 0];
  const { thread, head } = trace;
  const processes = Uint32Array.from(head.threads, ({ process }) => process);
  const counts = new Uint32Array(head.processes.length);
  for (let row = first; row < first + count; row += 1) {
    const process = processes[thread[row] ?? 0] ?? 0;
    counts[process] = (counts[process] ?? 0) + 1;
  }
  let best = Math.max(0, shown?.indexOf(true) ?? 0);
  counts.forEach((number, process) => {
    if (shown?.[process] !== false && number > (counts[best] ?? 0)) best = process;
  });
  return best;
}
