// Words for what an inspection tells apart: the same as in crates/cli/src/commands/inspect/render/words.rs.

import { bytes, count } from "../format";
import { visible } from "../names";
import type { Figures, Finding, Saving } from "./inspectTypes";

/** A name, and what it is shown with. */
export interface Purpose { id: string; label: string; colour: string }

/** What bytes are for, in the order of the bars; colours are bands of the palette. */
export const PURPOSES: readonly Purpose[] = [
  { id: "code", label: "code", colour: "var(--phases-mapping)" },
  { id: "read-only-data", label: "constants", colour: "var(--phases-initialisers)" },
  { id: "relocated-constants", label: "relocated constants", colour: "var(--phases-dlopen)" },
  { id: "data", label: "variables", colour: "var(--phases-runtime)" },
  { id: "relocations", label: "relocations", colour: "var(--phases-relocation)" },
  { id: "dynamic-symbols", label: "dynamic symbols", colour: "var(--phases-loader-start)" },
  { id: "unwind", label: "unwind tables", colour: "var(--phases-zeroing)" },
  { id: "not-loaded", label: "not loaded", colour: "var(--phases-exec)" },
  { id: "administration", label: "notes, dynamic table", colour: "var(--phases-dlclose)" },
  { id: "headers", label: "headers", colour: "var(--phases-main)" },
  { id: "padding", label: "padding", colour: "var(--line)" },
];

export function purpose(id: string): Purpose {
  return PURPOSES.find((found) => found.id === id) ?? { id, label: visible(id), colour: "var(--elsewhere)" };
}

const KINDS: Record<string, string> = {
  "shared-object": "shared library",
  "position-independent-program": "position-independent program",
  "fixed-program": "program at fixed addresses",
  "static-program": "static program at fixed addresses",
  "static-position-independent-program": "static position-independent program",
};

export function kindInWords(kind: string): string {
  return KINDS[kind] ?? visible(kind);
}

const NAMES_FROM: Record<string, string> = {
  "symbol-table": "its own symbol table",
  "debug-file": "its debug file",
  "mini-debug-info": "its .gnu_debugdata",
  "dynamic-symbols": "exported symbols only: it is stripped",
};

export function namesFromInWords(source: string): string {
  return NAMES_FROM[source] ?? visible(source);
}

const CERTAINTIES: Record<Finding["certainty"], string> = { counted: "counted", followed: "followed", modelled: "modelled", "upper-bound": "at most" };

export function certaintyInWords(certainty: Finding["certainty"]): string {
  return CERTAINTIES[certainty] ?? visible(certainty);
}

/** What a fix saves, the most telling first; null when nothing is promised. */
export function savingInWords(saves: Saving): string | null {
  const part = (value: number, one: string, many = `${one}s`) => (value > 0 ? [`${count(value)} ${value === 1 ? one : many}`] : []);
  const parts = [
    ...part(saves.seeks, "seek"), ...(saves.file_bytes > 0 ? [`${bytes(saves.file_bytes)} of file`] : []), ...part(saves.read_pages, "page read", "pages read"), ...part(saves.private_pages, "private page"),
    ...part(saves.lookups, "lookup"), ...part(saves.probes, "failed probe"),
  ];
  return parts.length === 0 ? null : parts.join(", ");
}

/** One number to sort by, as `Saving::weight` in crates/inspect/src/findings; never shown. */
export function weight(saves: Saving): number {
  return saves.file_bytes + 4096 * (saves.read_pages + saves.private_pages) + 131072 * saves.seeks + 13312 * saves.probes + 256 * saves.lookups;
}

export function addSavings(a: Saving, b: Saving): Saving {
  return {
    file_bytes: a.file_bytes + b.file_bytes, read_pages: a.read_pages + b.read_pages, private_pages: a.private_pages + b.private_pages,
    seeks: a.seeks + b.seeks, lookups: a.lookups + b.lookups, probes: a.probes + b.probes,
  };
}

type Fix = Finding["fixes"][number];

export function fixInWords({ by, text }: Fix): string {
  const shown = visible(text);
  return by === "verb" ? `coldstart ${shown}` : by === "linker" ? `linker: ${shown}` : by === "compiler" ? `compiler: ${shown}` : shown;
}

/** A sentence with large numbers in groups of three digits, except in names between backticks. */
export function readable(text: string): string {
  const grouped = (part: string) => part.replace(/(?<=^|[ (])[1-9]\d{3,}(?=[ ,:;)]|$)/g, (digits) => count(Number(digits)));
  return visible(text).split("`").map((part, place) => (place % 2 === 1 ? part : grouped(part))).join("`");
}

const OWNERS: Record<string, string> = { vtable: "vtables", typeinfo: "typeinfo", "init-array": "initialiser arrays", "global-offset-table": "GOT", "named-table": "named tables", untold: "unknown" };

/** What relocated words belong to. */
export function ownerInWords(owner: string): string {
  return OWNERS[owner] ?? visible(owner);
}

/** How that was found out. */
export function toldByInWords(toldBy: string): string {
  return toldBy === "nothing" ? "not told" : toldBy === "shape" ? "inferred from shape" : `told by ${visible(toldBy)}`;
}

const STEPS: Record<string, string> = {
  headers: "the headers", "zero-fill": "clearing the start of the zero-filled memory", "dynamic-table": "the dynamic table", "hash-table": "the hash table", names: "names of libraries", versions: "symbol versions",
  relr: "the packed relocations and what they change", relocations: "the relocations and what they change", "plt-relocations": "the relocations of the PLT and what they change",
  "thread-local-template": "the template of thread-local storage", initialisers: "the initialisers' code",
};

/** What a step of the loader works on, as `LoaderStep::describe` in crates/inspect/src/loader_reads. */
export function stepInWords(step: string): string {
  return STEPS[step] ?? visible(step);
}

const INITIALISERS: Record<string, string> = { "preinit-array": "preinit array", init: "DT_INIT", ctors: ".ctors", "init-array": "init array" };

/** How an initialiser comes to run. */
export function initialiserInWords(kind: string): string {
  return INITIALISERS[kind] ?? visible(kind);
}

/** All figures, in the order of a table. */
export const FIGURES: readonly { key: keyof Figures; label: string; isBytes: boolean }[] = [
  { key: "objects", label: "objects", isBytes: false },
  { key: "file_bytes", label: "size of the files", isBytes: true },
  { key: "relocations", label: "relocations", isBytes: false },
  { key: "relocation_bytes", label: "tables of relocations", isBytes: true },
  { key: "packed_relocations", label: "relocations packed as RELR", isBytes: false },
  { key: "packing_saves_bytes", label: "packing would save", isBytes: true },
  { key: "private_pages", label: "pages made private by relocation", isBytes: false },
  { key: "lookups", label: "symbols looked up at the start", isBytes: false },
  { key: "initialisers", label: "initialisers", isBytes: false },
  { key: "read_requests", label: "read requests from cold, modelled", isBytes: false },
  { key: "seeks", label: "seeks among these, modelled", isBytes: false },
  { key: "read_bytes", label: "read by these, modelled", isBytes: true },
];

export function figureInWords(value: number, isBytes: boolean): string {
  return isBytes ? bytes(value) : count(value);
}
