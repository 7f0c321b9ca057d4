// Two starts in one sentence: "B is ready 412 ms earlier (31 %), and reads 84 MB less from the disk."

import type { Trace } from "../data/trace";
import { type Unit, valueText } from "../parts/change";
import { whyNotComparable } from "./comparable";

/** What is told of, after readiness: the figure's stable name, and the words around the difference. */
const TOLD = [
  { key: "bytes.filled", verb: "reads", what: "from the disk", less: "less", same: "as much", name: "bytes from the disk" },
  { key: "requests.disk", verb: "asks the disk", what: "times", less: "fewer", same: "as many", name: "requests to the disk" },
  { key: "touches.all", verb: "touches", what: "pages", less: "fewer", same: "as many", name: "touches" },
] as const;

/** Sentences, the most telling first. Nothing is held against each other that was not recorded in both, or not in the same way. */
export function compare(first: Trace, second: Trace): string[] {
  const sentences = [readiness(first, second)];
  const parts: string[] = [];
  const unknown: string[] = [];
  const unlike: string[] = [];
  for (const { key, verb, what, less, same, name } of TOLD) {
    const [before, after] = [figureOf(first, key), figureOf(second, key)];
    const reason = whyNotComparable(key, first.head.run, second.head.run);
    if (before === null || after === null) unknown.push(name);
    else if (reason !== null) unlike.push(`${name} (${reason})`);
    else if (before.value === after.value) parts.push(`${verb} ${same} ${what}`);
    else parts.push(`${verb} ${amount(before.value, after.value, before.unit, less)} ${what}${share(before.value, after.value)}`);
  }
  if (parts.length > 0) sentences.push(`It ${list(parts)}.`);
  if (unlike.length > 0) sentences.push(`Not comparable: ${list(unlike)}.`);
  if (unknown.length > 0) sentences.push(`Not recorded in both: ${list(unknown)}.`);
  return sentences;
}

function figureOf({ head }: Trace, key: string): { value: number; unit: Unit } | null {
  for (const { figures } of head.figures) {
    const found = figures.find((figure) => figure.key === key);
    if (found) return found.value === null ? null : { value: found.value, unit: found.unit };
  }
  return null;
}

function readiness(first: Trace, second: Trace): string {
  const [before, after] = [first.head.run.readyAt, second.head.run.readyAt];
  if (before === null && after === null) return "Neither A nor B became ready while they were recorded.";
  if (before === null || after === null) return `${before === null ? "A" : "B"} did not become ready while it was recorded.`;
  const reason = whyNotComparable("time.ready", first.head.run, second.head.run);
  if (reason !== null) return `A is ready after ${valueText(before, "nanoseconds")}, B after ${valueText(after, "nanoseconds")}, which is not comparable: ${reason}.`;
  if (before === after) return "A and B are ready at the same moment.";
  return `B is ready ${valueText(Math.abs(after - before), "nanoseconds")} ${after < before ? "earlier" : "later"} than A${share(before, after)}.`;
}

function amount(before: number, after: number, unit: Unit, less: string): string {
  return `${valueText(Math.abs(after - before), unit)} ${after < before ? less : "more"}`;
}

/** " (31 %)", of A. */
function share(before: number, after: number): string {
  if (before === 0 || before === after) return "";
  const percent = (Math.abs(after - before) / before) * 100;
  return ` (${percent < 10 ? percent.toFixed(1) : Math.round(percent)} %)`;
}

function list(parts: readonly string[]): string {
  return parts.length < 2 ? (parts[0] ?? "") : `${parts.slice(0, -1).join(", ")} and ${parts[parts.length - 1] ?? ""}`;
}
