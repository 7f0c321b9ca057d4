// Initialisers in the order in which they ran, object by object and process by process.

import type { InitialiserOrderHead, PhaseHead } from "../data/payload";
import type { Trace } from "../data/trace";
import { count, bytes } from "../format";
import { baseName } from "../names";
import { letterOf } from "../parts/TraceBadge";

/** The initialisers of one object in one process. */
export interface InitialiserGroup {
  trace: number;
  order: InitialiserOrderHead;
  object: string;
  /** In full. */
  path: string;
  process: string;
  rows: InitialiserRow[];
}

export interface InitialiserRow {
  group: InitialiserGroup;
  /** From 1 on. */
  nth: number;
  phase: PhaseHead;
  /** From the one before to this one, in bytes; null: the first, or an address is not known. */
  jump: number | null;
}

/** Those that took most time first. */
export function groupsOf(traces: readonly Trace[]): InitialiserGroup[] {
  const groups = traces.flatMap(({ head }, trace) => head.initialisers.map((order): InitialiserGroup => {
    const path = head.files[order.file]?.path ?? "";
    const process = head.processes[order.process];
    const group: InitialiserGroup = { trace, order, path, object: baseName(path), process: process ? `${baseName(process.program)} (${process.number})` : "", rows: [] };
    let before: number | null = null;
    order.phases.forEach((place, nth) => {
      const phase = head.phases[place];
      if (phase === undefined) return;
      group.rows.push({ group, nth: nth + 1, phase, jump: before === null || phase.address === null ? null : phase.address - before });
      before = phase.address;
    });
    return group;
  }));
  return groups.sort((left, right) => right.order.time - left.order.time);
}

/** Which way through the object they ran, in words. */
export function directionText({ order }: InitialiserGroup): string {
  const words: Record<string, string> = { none: "at one place", ascending: "forward, each behind the one before", descending: "backward, each before the one before", mixed: "to and fro" };
  return words[order.direction] ?? order.direction;
}

/** "libxul.so, firefox (123): 410 initialisers, to and fro, 12.3 MB forward, 11.0 MB backward". */
export function groupSentence(group: InitialiserGroup): string {
  const { order, rows } = group;
  return `${group.object} in ${group.process}: ${count(rows.length)} ${rows.length === 1 ? "initialiser" : "initialisers"}, ${directionText(group)}; jumps of ${bytes(order.forward)} forward and ${bytes(order.backward)} backward in all.`;
}

/** For a list to choose from. */
export function groupName(group: InitialiserGroup, several: boolean): string {
  return `${several ? `${letterOf(group.trace)}: ` : ""}${group.object}, ${group.process}, ${count(group.rows.length)}`;
}
