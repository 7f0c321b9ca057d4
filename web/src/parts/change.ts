// Two values of one figure held against each other: the difference, its sign, and whether it is for the better, in words.

import type { Figure } from "../data/payload";
import { bytes, count, time } from "../format";

export type Unit = Figure["unit"];

/** A value with its unit. */
export function valueText(value: number, unit: Unit): string {
  if (unit === "nanoseconds") return time(value);
  if (unit === "bytes") return bytes(value);
  return unit === "pages" ? `${count(value)} ${value === 1 ? "page" : "pages"}` : count(value);
}

/** "+12.3 MB", "−4", "no change"; null if one of them was not recorded. */
export function changeText(before: number | null, after: number | null, unit: Unit): string | null {
  if (before === null || after === null) return null;
  const change = after - before;
  if (change === 0) return "no change";
  return `${change > 0 ? "+" : "\u2212"}${valueText(Math.abs(change), unit)}`;
}

/** "+12 %"; null if there is nothing to be a part of. */
export function percentText(before: number | null, after: number | null): string | null {
  if (before === null || after === null || before === 0) return null;
  const percent = ((after - before) / Math.abs(before)) * 100;
  const size = Math.abs(percent);
  if (size < 0.05) return "0 %";
  // Many times as much is easier to read as a factor.
  if (percent >= 1000) return `×${count(after / before)}`;
  return `${percent > 0 ? "+" : "\u2212"}${size.toFixed(size < 10 ? 1 : 0)} %`;
}

export type Verdict = "better" | "worse" | "same";

/** Whether B is better than A; null if one of them was not recorded, or if neither more nor less of it is better. */
export function verdictOf(before: number | null, after: number | null, lessIsBetter: boolean): Verdict | null {
  if (before === null || after === null || !lessIsBetter) return null;
  // Less than what is shown of the percentage is no difference.
  if (Math.abs(after - before) < Math.abs(before) * 0.0005 || before === after) return "same";
  return after < before ? "better" : "worse";
}
