// Puts rows in order, a million of them in about a second: keys become doubles, doubles become bits, and the bits are sorted by radix.
// Strings are ranked first, since columns of them (files, functions) repeat few different ones.

import { keyOf, type SortKey, type TableColumn } from "./columns";

/** Below this many rows a comparing sort is faster. */
const FEW = 4096;

/** The rows in the order of a column; equal ones stay as they were. Rows without a key come last. */
export function sortRows(rows: Uint32Array, column: TableColumn, descending: boolean): Uint32Array {
  const keys = new Float64Array(rows.length);
  const words: string[] = [];
  const wordPlaces: number[] = [];
  rows.forEach((row, place) => {
    const key: SortKey = keyOf(column, row);
    if (typeof key === "string") {
      words.push(key);
      wordPlaces.push(place);
    }
    keys[place] = typeof key === "number" ? key : NaN;
  });
  if (words.length > 0) {
    const ranks = rank(words);
    words.forEach((word, nth) => (keys[wordPlaces[nth] ?? 0] = ranks.get(word) ?? 0));
  }
  if (descending) for (let place = 0; place < keys.length; place += 1) keys[place] = -(keys[place] ?? 0);
  const order = rows.length < FEW ? byComparison(keys) : byRadix(keys);
  return order.map((place) => rows[place] ?? 0);
}

/** Each different word's place among them, without regard to case, numbers inside by their value. */
function rank(words: readonly string[]): Map<string, number> {
  const collator = new Intl.Collator("en", { numeric: true });
  const different = [...new Set(words)].sort(collator.compare);
  return new Map(different.map((word, place) => [word, place]));
}

function byComparison(keys: Float64Array): Uint32Array {
  const order = Uint32Array.from(keys, (_, place) => place);
  const value = (place: number) => {
    const key = keys[place] ?? NaN;
    return Number.isNaN(key) ? Infinity : key;
  };
  return order.sort((left, right) => {
    const first = value(left);
    const second = value(right);
    return first < second ? -1 : first > second ? 1 : left - right;
  });
}

/** Sixteen bits at a time, least significant first; a round whose bits are all the same is left out. */
function byRadix(keys: Float64Array): Uint32Array {
  const length = keys.length;
  const halves = sortableBits(keys);
  let order = Uint32Array.from(keys, (_, place) => place);
  let next = new Uint32Array(length);
  for (let round = 0; round < 4; round += 1) {
    const half = round < 2 ? 0 : 1;
    const shift = (round % 2) * 16;
    const starts = new Uint32Array(65537);
    for (let place = 0; place < length; place += 1) {
      const digit = ((halves[2 * place + half] ?? 0) >>> shift) & 0xffff;
      starts[digit + 1] = (starts[digit + 1] ?? 0) + 1;
    }
    if (starts.includes(length)) continue;
    for (let digit = 0; digit < 65536; digit += 1) starts[digit + 1] = (starts[digit + 1] ?? 0) + (starts[digit] ?? 0);
    for (const place of order) {
      const digit = ((halves[2 * place + half] ?? 0) >>> shift) & 0xffff;
      const at = starts[digit] ?? 0;
      next[at] = place;
      starts[digit] = at + 1;
    }
    [order, next] = [next, order];
  }
  return order;
}

/** Low and high halves of numbers that are in the order of the doubles: the sign turned round, and all bits of negative ones. */
function sortableBits(keys: Float64Array): Uint32Array {
  const halves = new Uint32Array(2 * keys.length);
  const bits = new DataView(new ArrayBuffer(8));
  for (let place = 0; place < keys.length; place += 1) {
    const key = keys[place] ?? NaN;
    // One NaN, and one zero.
    bits.setFloat64(0, Number.isNaN(key) ? NaN : key === 0 ? 0 : key);
    const high = bits.getUint32(0);
    const low = bits.getUint32(4);
    const negative = high >>> 31 === 1;
    halves[2 * place] = negative ? ~low : low;
    halves[2 * place + 1] = negative ? ~high : high ^ 0x80000000;
  }
  return halves;
}
