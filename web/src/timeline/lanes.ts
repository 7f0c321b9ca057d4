// The lanes of the timeline: a process each, with its phases. Phases inside others stand one level lower.

import type { PhaseHead, ProcessHead, TraceHead } from "../data/payload";
import type { Trace } from "../data/trace";
import { baseName, visible } from "../names";
import { momentText, stretch, time } from "../format";
import { firstNot } from "../halving";
import { entry } from "../theme";

/** One process of one trace. */
export interface Lane {
  trace: number;
  /** A place in the trace's processes. */
  process: number;
  name: string;
  began: number;
  ended: number;
  /** Time in phases that stand in no other, in nanoseconds. */
  busy: number;
  /** Phases of each depth, in order of beginning. */
  levels: LanePhase[][];
  /** All of them, in order of beginning, outer ones first. */
  phases: LanePhase[];
}

export interface LanePhase {
  phase: PhaseHead;
  depth: number;
  label: string;
}

/** Phases of several threads that stand below one another; more lie over one another. */
const MOST_SIDE_BY_SIDE = 4;

export type LaneOrder = "beginning" | "time";

/** The lanes of all traces. */
export function lanesOf(traces: readonly Trace[], order: LaneOrder): Lane[] {
  const lanes = traces.flatMap((trace, nth) => lanesOfTrace(trace, nth));
  return lanes.sort((left, right) =>
    order === "time"
      ? right.busy - left.busy || right.ended - right.began - (left.ended - left.began)
      : left.began - right.began || left.process - right.process || left.trace - right.trace);
}

function lanesOfTrace({ head }: Trace, trace: number): Lane[] {
  const lanes = head.processes.map((process, place): Lane => ({
    trace, process: place, name: laneName(process), began: process.began, ended: process.ended ?? head.run.endedAt, busy: 0, levels: [], phases: [],
  }));
  const depths = new Uint32Array(head.phases.length);
  for (const place of byProcess(head)) {
    const phase = head.phases[place];
    const lane = phase && lanes[phase.process];
    if (phase === undefined || lane === undefined) continue;
    const outer = phase.parent === null ? 0 : (depths[phase.parent] ?? 0) + 1;
    // Threads load objects at the same time: what would lie over another goes one level down.
    let depth = outer;
    while (depth < outer + MOST_SIDE_BY_SIDE && (lane.levels[depth]?.at(-1)?.phase.end ?? 0) > phase.begin) depth += 1;
    depths[place] = depth;
    const known = new LabelledPhase(phase, depth, head);
    while (lane.levels.length <= depth) lane.levels.push([]);
    lane.levels[depth]?.push(known);
    lane.phases.push(known);
    if (phase.parent === null) lane.busy += phase.end - phase.begin;
  }
  return lanes;
}

/** Names itself when its name is drawn: of a hundred thousand phases, few are. */
class LabelledPhase implements LanePhase {
  private text: string | null = null;

  constructor(readonly phase: PhaseHead, readonly depth: number, private readonly head: TraceHead) {}

  get label(): string {
    const file = this.phase.file === null ? undefined : this.head.files[this.phase.file];
    return (this.text ??= phaseLabel(this.phase, file && baseName(file.path)));
  }
}

/** Places of phases, process by process, each in order of beginning. A parent stays before its children: it begins no later, and stood before them. */
function byProcess({ processes, phases }: TraceHead): Uint32Array {
  const ends = new Uint32Array(processes.length + 1);
  // Numbers behind the end of the list are of damaged traces.
  const laneOf = ({ process }: PhaseHead) => Math.min(process, processes.length);
  for (const phase of phases) ends[laneOf(phase)] = (ends[laneOf(phase)] as number) + 1;
  for (let process = 1; process < ends.length; process += 1) ends[process] = (ends[process] as number) + (ends[process - 1] as number);
  const order = new Uint32Array(phases.length);
  const next = Uint32Array.from(ends, (_, process) => (process === 0 ? 0 : (ends[process - 1] as number)));
  phases.forEach((phase, place) => {
    const lane = laneOf(phase);
    order[next[lane] as number] = place;
    next[lane] = (next[lane] as number) + 1;
  });
  const begin = (place: number) => phases[place]?.begin ?? 0;
  for (let process = 0; process < ends.length; process += 1) {
    const own = order.subarray(process === 0 ? 0 : ends[process - 1], ends[process]);
    if (own.some((place, nth) => nth > 0 && begin(own[nth - 1] as number) > begin(place))) own.sort((left, right) => begin(left) - begin(right) || left - right);
  }
  return order;
}

function laneName(process: ProcessHead): string {
  return baseName(process.program);
}

/** "relocation", "dlopen libfoo.so", or an initialiser's own name. */
export function phaseLabel(phase: PhaseHead, file: string | undefined): string {
  const kind = entry("phases", phase.kind);
  const what = kind.id === phase.kind ? kind.label : visible(phase.kind);
  if (phase.name !== null) return `${what} ${visible(phase.name)}`;
  return file === undefined ? what : `${what} ${file}`;
}

/** What is known about a phase, a sentence: for tips and for screen readers. */
export function phaseSentence(trace: Trace, { phase, label }: LanePhase): string {
  const process = trace.head.processes[phase.process];
  const file = phase.file === null ? undefined : trace.head.files[phase.file];
  const most = phase.known === "end-at-most" ? " at most" : "";
  const parts = [
    label,
    ...(file && phase.name !== null ? [`in ${baseName(file.path)}`] : []),
    `${time(phase.end - phase.begin)}${most}`,
    ...(phase.own < phase.end - phase.begin ? [`${time(phase.own)} of its own`] : []),
    phase.end > phase.begin ? `from ${stretch(phase.begin, phase.end)}` : `at ${momentText(phase.begin)}`,
    ...(phase.known === "from-touches" ? ["seen by its touches only"] : []),
    ...(process ? [`${baseName(process.program)} (${process.number})`] : []),
  ];
  return parts.join(", ");
}

/** The first phase of a level that ends after a moment; the level's length if there is none. */
export function firstEndingAfter(level: readonly LanePhase[], moment: number): number {
  return firstNot((place) => (level[place]?.phase.end ?? 0) < moment, 0, level.length);
}
