// Which symbols stand where, found by halving: an object can have a hundred thousand.

import type { ObjectHead } from "../data/payload";
import type { Trace } from "../data/trace";
import { firstNot } from "../halving";
import { visible } from "../names";

/** Rows of symbols that have bytes in a stretch of addresses, in order of address; at most so many. */
export function symbolsBetween(trace: Trace, object: ObjectHead, begin: number, end: number, most: number): number[] {
  const [first, count] = object.symbols;
  const low = firstNot((row) => (trace.symbolAddress[row] ?? 0) < begin, first, first + count);
  const rows: number[] = [];
  // The ones before may reach into the stretch; several symbols can begin at one address.
  for (let row = Math.max(low - 4, first); row < low; row += 1) if (symbolEnd(trace, row) > begin) rows.push(row);
  for (let row = low; row < first + count && rows.length < most && (trace.symbolAddress[row] ?? Infinity) < end; row += 1) rows.push(row);
  return rows;
}

/** Behind a symbol's last byte; one without a size goes on for a byte. */
export function symbolEnd(trace: Trace, row: number): number {
  return (trace.symbolAddress[row] ?? 0) + Math.max(trace.symbolSize[row] ?? 0, 1);
}

/** A symbol's name as it is shown. */
export function symbolName(trace: Trace, row: number): string {
  return visible(trace.symbolName(row));
}
