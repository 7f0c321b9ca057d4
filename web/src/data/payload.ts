// What stands in a page: docs/formats/page-data.md. Times are nanoseconds since the launch, sizes bytes, addresses without load bias.

/** The element `coldstart-page`. */
export interface PageHead {
  kind: "trace" | "measure" | "inspect" | "speedup" | "survey";
  title: string;
  /** Of coldstart. */
  version: string;
  /** How many traces stand in the page. */
  traces: 0 | 1 | 2;
  comparison?: ComparisonHead;
  /** The verb's own `--json` object. */
  report?: unknown;
}

/** How two traces belong together. */
export interface ComparisonHead {
  /** For each file of the first trace: its partner's place in the second, or null. */
  partners: (number | null)[];
  /** Why sums of the two must not be held against one another, a sentence each. */
  caveats: string[];
}

/** The head of one trace. */
export interface TraceHead {
  format: 2;
  /** The path of the trace file, as given. */
  source: string;
  run: RunHead;
  processes: ProcessHead[];
  threads: { number: number; process: number }[];
  files: FileHead[];
  /** What the numbers of the columns `phase.kind` and `phase.known` stand for: ids of `phases` in palette.json, and how both ends are known. */
  phaseKinds: string[];
  phaseEnds: PhaseHead["known"][];
  /** Of the columns of phases; they are not in the JSON. */
  phases: PhaseHead[];
  initialisers: InitialiserOrderHead[];
  figures: FigureGroup[];
  /** Names that were not there, by directory, most first; `first` is the first of them, without the directory. */
  missing: { directory: string; count: number; first: string }[];
  columns: ColumnHead[];
}

export interface ColumnHead {
  name: string;
  offset: number;
  length: number;
  rows: number;
}

export interface RunHead {
  command: string[];
  /** Seconds since 1970-01-01 UTC. */
  started: number;
  /** The caches before the launch, in words. */
  state: string;
  /** When it was ready and how it ended, a sentence. */
  ready: string;
  readyAt: number | null;
  endedAt: number;
  layers: ("phases" | "pages" | "functions" | "files")[];
  pages: "each" | "fault-around" | "none";
  lostEvents: number;
  complete: boolean;
  kernel: string;
  processors: number;
  /** What the reader should know, a sentence each; those of processes included. */
  notes: string[];
}

export interface ProcessHead {
  number: number;
  parent: number | null;
  program: string;
  arguments: string[];
  began: number;
  ended: number | null;
  executed: boolean;
}

export interface FileHead {
  path: string;
  category: "program" | "system" | "profile" | "data" | "metadata" | "memory";
  size: number | null;
  /** Rows of the event columns. */
  events: [first: number, count: number];
  /** null: nothing happened to it. */
  figures: FileFigures | null;
  object: ObjectHead | null;
}

/** Bytes unless said otherwise; null where it was not recorded. */
export interface FileFigures {
  touched: number | null;
  read: number | null;
  /** Came from the disk. */
  filled: number | null;
  wasted: number | null;
  /** How many times the disk was asked. */
  requests: number | null;
  /** First touches that waited for the disk; a number. */
  major: number | null;
  /** First touches; a number. */
  touches: number | null;
  functions: number | null;
}

export interface ObjectHead {
  soname: string | null;
  buildId: string | null;
  segments: { address: number; offset: number; fileSize: number; memorySize: number; flags: number }[];
  sections: SectionHead[];
  /** Rows of the symbol columns. */
  symbols: [first: number, count: number];
}

export interface SectionHead {
  name: string;
  /** An id of `sections` in palette.json. */
  class: string;
  address: number;
  offset: number;
  size: number;
  zeroFilled: boolean;
  /** Pages that hold bytes of it, and how many of them were touched, written to, executed; null: takes no memory, or touches were not recorded. */
  pages: { all: number; touched: number; written: number; executed: number } | null;
}

/** A row of the columns of phases. */
export interface PhaseHead {
  process: number;
  /** An id of `phases` in palette.json. */
  kind: string;
  file: number | null;
  address: number | null;
  /** The initialiser's name; null where none is known. */
  name: string | null;
  begin: number;
  end: number;
  /** Without the phases inside it. */
  own: number;
  parent: number | null;
  known: "exactly" | "end-at-most" | "from-touches";
}

/** Initialisers of one object in one process, in the order in which they ran. */
export interface InitialiserOrderHead {
  process: number;
  file: number;
  direction: "none" | "ascending" | "descending" | "mixed";
  /** Distances of the jumps from each to the next. */
  forward: number;
  backward: number;
  time: number;
  /** Places in `phases`. */
  phases: number[];
}

export interface FigureGroup {
  title: string;
  /** What these figures rest on, or how to read them; may be empty. */
  note: string;
  figures: Figure[];
}

export interface Figure {
  /** Stable name, the same in all traces: "touches.major". */
  key: string;
  label: string;
  /** null: not recorded. */
  value: number | null;
  unit: "count" | "bytes" | "nanoseconds" | "pages";
  /** Whether less of it is better. */
  lessIsBetter: boolean;
}
