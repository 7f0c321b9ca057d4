// What `coldstart inspect --json` prints, as far as its page reads it: crates/inspect/src and crates/cli/src/commands/inspect/result.rs.
// Sizes are bytes unless the name says pages (4 KiB); null: not there or not known.

/** `coldstart.inspect/1`. */
export interface InspectReportData extends Survey {
  schema: string;
  /** What `--compare` named: "before". */
  compared_with?: Survey;
}

export interface Survey {
  objects: Inspected[];
  passed_over: { path: string; reason: string }[];
  other_files: Record<string, number>;
  totals: Figures;
  closures: Closure[];
  errors: number;
}

export interface Figures {
  objects: number;
  file_bytes: number;
  relocations: number;
  relocation_bytes: number;
  packed_relocations: number;
  packing_saves_bytes: number;
  private_pages: number;
  lookups: number;
  initialisers: number;
  read_requests: number;
  seeks: number;
  read_bytes: number;
}

export interface Inspected {
  path: string;
  object: { kind: string; bytes: number; machine: string; build_id: string | null; names_from: string };
  space: { use: string; bytes: number }[];
  relocations: {
    count: number;
    bytes: number;
    by_type: { name: string; count: number; bytes: number; with_symbol: number; is_relative: boolean }[];
    packed: { count: number } | null;
    packing: { saved_bytes: number };
    dirtied_pages: { pages: number };
    references: { lookups_at_start: number; lazy: number };
  };
  owners: { counts: { owner: string; told_by: string; count: number }[] };
  initialisers: { functions: Initialiser[]; totals: { count: number; code_bytes: number } };
  layout: { names: { needed: string[]; soname: string | null; rpath: string | null; runpath: string | null; interpreter: string | null } };
  loader_reads: { requests: number; seeks: number; read_bytes: number; read_pages: number; useful_pages: number; steps: LoaderStep[] };
  findings: Finding[];
}

export interface Initialiser { kind: string; address: number; name: string | null; bytes: number | null; page: number | null }

export interface LoaderStep { step: string; first_page: number; last_page: number; new_pages: number; requests: number; seeks: number; read_pages: number }

export interface Finding {
  kind: string;
  what: string;
  place: string;
  why: string;
  fixes: { by: "verb" | "linker" | "compiler" | "source"; text: string }[];
  saves: Saving;
  certainty: "counted" | "followed" | "modelled" | "upper-bound";
  condition: string;
}

export interface Saving { file_bytes: number; read_pages: number; private_pages: number; seeks: number; lookups: number; probes: number }

export interface Closure {
  path: string;
  objects: { path: string; found_by: string; needed_by: string | null; explanation: string }[];
  failed_probes: number;
  failed_probes_by_rule: Record<string, number>;
  totals: Figures;
  findings: Finding[];
}

/** The figures of one object, as `Figures::of` adds them up. */
export function figuresOf(inspected: Inspected): Figures {
  const { relocations, initialisers, loader_reads } = inspected;
  return {
    objects: 1,
    file_bytes: inspected.object.bytes,
    relocations: relocations.count,
    relocation_bytes: relocations.bytes,
    packed_relocations: relocations.packed?.count ?? 0,
    packing_saves_bytes: relocations.packing.saved_bytes,
    private_pages: relocations.dirtied_pages.pages,
    lookups: relocations.references.lookups_at_start,
    initialisers: initialisers.totals.count,
    read_requests: loader_reads.requests,
    seeks: loader_reads.seeks,
    read_bytes: loader_reads.read_bytes,
  };
}
