// Turns the text of a data element back into a trace's head and columns.

import type { ColumnHead, TraceHead } from "./payload";

/** Numbers up to 2^53 fit exactly. */
export type Column = Float64Array;

/** One trace as it stands in the page. */
export interface Decoded {
  head: Omit<TraceHead, "phases">;
  bytes: (name: string) => Uint8Array;
  rows: (name: string) => number;
  varints: (name: string) => Column;
}

/** Reads base64 of zlib data; throws an Error with a sentence for what cannot be read. */
export async function decode(base64: string): Promise<Decoded> {
  const all = await inflate(fromBase64(base64.trim()));
  const headLength = new DataView(all.buffer, all.byteOffset, all.byteLength).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(all.subarray(4, 4 + headLength))) as Decoded["head"];
  // A copy, so that the text of the head need not be kept for the sake of the columns behind it.
  const behind = all.slice(4 + headLength);
  const columns = new Map(head.columns.map((column) => [column.name, column]));
  const find = (name: string): ColumnHead => {
    const column = columns.get(name);
    if (column === undefined) throw new Error(`the page's data have no column ${name}`);
    return column;
  };
  const bytes = (name: string) => {
    const { offset, length } = find(name);
    return behind.subarray(offset, offset + length);
  };
  return { head, bytes, rows: (name) => find(name).rows, varints: (name) => readVarints(bytes(name), new Float64Array(find(name).rows)) };
}

/** Of browsers since 2025. */
interface Bytes {
  fromBase64?: (text: string) => Uint8Array<ArrayBuffer>;
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const own = (Uint8Array as Bytes).fromBase64;
  if (own !== undefined) return own.call(Uint8Array, text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let place = 0; place < binary.length; place += 1) bytes[place] = binary.charCodeAt(place);
  return bytes;
}

async function inflate(data: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  if (typeof DecompressionStream === "undefined") {
    throw new Error("this browser is too old: it has no DecompressionStream (Chromium 80, Firefox 113, Safari 16.4)");
  }
  const stream = new DecompressionStream("deflate");
  const writer = stream.writable.getWriter();
  // What is wrong with the data, the reading side says.
  void writer.write(data).then(() => writer.close()).catch(() => undefined);
  const parts: Uint8Array[] = [];
  let length = 0;
  for (const reader = stream.readable.getReader(); ;) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    length += value.length;
  }
  const all = new Uint8Array(length);
  let end = 0;
  for (const part of parts) {
    all.set(part, end);
    end += part.length;
  }
  return all;
}

/** LEB128 into a column of as many rows. Four bytes fit into the whole numbers that shifts are made for; beyond, the arithmetic is that of doubles. */
export function readVarints<Numbers extends Float64Array | Uint32Array>(bytes: Uint8Array, column: Numbers): Numbers {
  // Small numbers only, as of pages: each byte is one.
  if (bytes.length === column.length) {
    column.set(bytes);
    return column;
  }
  const rows = column.length;
  let at = 0;
  for (let row = 0; row < rows; row += 1) {
    let byte = bytes[at++] ?? 0;
    let value = byte & 0x7f;
    for (let shift = 7; byte >= 0x80 && shift < 28; shift += 7) {
      byte = bytes[at++] ?? 0;
      value |= (byte & 0x7f) << shift;
    }
    for (let factor = 2 ** 28; byte >= 0x80; factor *= 128) {
      byte = bytes[at++] ?? 0;
      value += (byte & 0x7f) * factor;
    }
    column[row] = value;
  }
  return column;
}

/** The other way round from zigzag: 0, 1, 2, 3 ... to 0, -1, 1, -2 ... */
export function unzigzag(value: number): number {
  // Halving by shifts where it fits: the remainder of doubles takes several times as long.
  if (value < 2 ** 31) return (value >>> 1) ^ -(value & 1);
  return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
}

/** Sums up the differences inside each group, in place. */
export function fromDeltas(column: Column, groups: readonly (readonly [number, number])[], step: (value: number) => number): Column {
  for (const [first, count] of groups) {
    let value = 0;
    for (let row = first; row < first + count; row += 1) column[row] = value += step(column[row] ?? 0);
  }
  return column;
}
