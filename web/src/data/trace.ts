// A trace in memory: events as columns, because a million objects would neither fit nor be fast.

import { firstNot } from "../halving";
import { baseName } from "../names";
import { type Column, decode, type Decoded, fromDeltas, readVarints, unzigzag } from "./decode";
import type { FileHead, TraceHead } from "./payload";
import { readPhases } from "./phases";

/** Kinds of events as sums and numbers: `kind.id` in docs/formats/trace.md. */
export const KIND = { execute: 1, major: 2, byKernel: 4, zeroFilled: 8, firstOfRun: 16, write: 32, unknown: 64, function: 96, read: 97, fill: 98 } as const;

/** What a dot says: ids of `dots` in palette.json. */
export type DotKind = "major" | "execute" | "read" | "write" | "other" | "call" | "function" | "fill";

/** In the order of palette.json. */
export const DOT_KINDS: readonly DotKind[] = ["major", "execute", "read", "write", "other", "call", "function", "fill"];

/** Which dot an event is. */
export function dotOf(kind: number): DotKind {
  if (kind >= KIND.fill) return "fill";
  if (kind === KIND.read) return "call";
  if (kind === KIND.function) return "function";
  if (kind & KIND.major) return "major";
  if (kind & KIND.execute) return "execute";
  if (kind & KIND.write) return "write";
  return kind & KIND.unknown ? "other" : "read";
}

export const PAGE_SIZE = 4096;

/** One trace: the head, and events and symbols as columns. */
export class Trace {
  readonly head: TraceHead;
  /** Nanoseconds since the launch. */
  readonly at: Column;
  readonly page: Column;
  readonly pages: Uint32Array;
  readonly kind: Uint8Array;
  readonly symbolAddress: Column;
  readonly symbolSize: Column;
  readonly symbolIsFunction: Uint8Array;
  private readonly nameEnds: Column;
  private readonly nameBytes: Uint8Array;
  /** A byte order mark in front of a name is part of it. */
  private readonly text = new TextDecoder("utf-8", { ignoreBOM: true });
  /** Files whose objects have symbols, in the order of these. */
  private readonly named: readonly { file: FileHead; first: number; end: number }[];
  private readonly small: (name: string) => Uint32Array;
  private threads: Uint32Array | null = null;
  private codes: Uint32Array | null = null;

  private constructor(decoded: Decoded) {
    const groups = eventGroups(decoded.head, decoded.bytes("event.kind").length);
    this.at = fromDeltas(decoded.varints("event.at"), groups, (value) => value);
    this.page = fromDeltas(decoded.varints("event.page"), groups, unzigzag);
    this.small = (name) => readVarints(decoded.bytes(name), new Uint32Array(decoded.rows(name)));
    this.pages = this.small("event.pages");
    this.kind = decoded.bytes("event.kind");
    this.named = decoded.head.files.flatMap((file) => {
      const [first, rows] = file.object?.symbols ?? [0, 0];
      return rows > 0 ? [{ file, first, end: first + rows }] : [];
    });
    this.symbolAddress = fromDeltas(decoded.varints("symbol.address"), this.named.map(({ first, end }) => [first, end - first]), (value) => value);
    this.symbolSize = decoded.varints("symbol.size");
    this.symbolIsFunction = decoded.bytes("symbol.function");
    this.nameEnds = decoded.varints("symbol.name_length");
    let end = 0;
    for (let row = 0; row < this.nameEnds.length; row += 1) this.nameEnds[row] = end += this.nameEnds[row] ?? 0;
    this.nameBytes = decoded.bytes("symbol.names");
    this.head = { ...decoded.head, phases: readPhases(decoded, (row) => this.symbolName(row)) };
  }

  /** Reads what stands in a data element. */
  static async read(base64: string): Promise<Trace> {
    return new Trace(await decode(base64));
  }

  /** Places in `head.threads`; read when they are asked for, as the first picture may not need them. */
  get thread(): Uint32Array {
    return (this.threads ??= this.small("event.thread"));
  }

  /** 0, or 1 + a symbol's row. */
  get code(): Uint32Array {
    return (this.codes ??= this.small("event.code"));
  }

  get events(): number {
    return this.kind.length;
  }

  file(place: number): FileHead | undefined {
    return this.head.files[place];
  }

  /** A symbol's name by its row. */
  symbolName(row: number): string {
    const begin = row === 0 ? 0 : (this.nameEnds[row - 1] ?? 0);
    // Functions that unwind tables alone know are named by their addresses.
    if (begin === this.nameEnds[row]) return `fn_${(this.symbolAddress[row] ?? 0).toString(16)}`;
    return this.text.decode(this.nameBytes.subarray(begin, this.nameEnds[row] ?? begin));
  }

  /** The file whose object a symbol's row belongs to. */
  fileOfSymbol(row: number): FileHead | undefined {
    // By halving: a table of a million events asks for each, and there may be thousands of files.
    const found = this.named[firstNot((place) => (this.named[place]?.end ?? 0) <= row, 0, this.named.length)];
    return found !== undefined && row >= found.first ? found.file : undefined;
  }

  /** Who did an event, as "name of process (thread)". */
  actor(event: number): string {
    const thread = this.head.threads[this.thread[event] ?? 0];
    const process = thread && this.head.processes[thread.process];
    if (!thread || !process) return "unknown";
    const name = baseName(process.program);
    return thread.number === process.number ? `${name} (${process.number})` : `${name} (${process.number}, thread ${thread.number})`;
  }
}

/** First row and count of each group of events: of each file, then of those without one. */
function eventGroups(head: Decoded["head"], all: number): [number, number][] {
  const groups = head.files.map((file) => file.events);
  const behind = groups.reduce((end, [first, count]) => Math.max(end, first + count), 0);
  return [...groups, [behind, all - behind]];
}
