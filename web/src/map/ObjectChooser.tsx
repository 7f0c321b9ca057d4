// Which file is on the map: files of both traces, searched by parts of their paths.

import { useMemo } from "preact/hooks";

import type { PageHead } from "../data/payload";
import type { Trace } from "../data/trace";
import { fileOf, rowsOf } from "../files/rows";
import { count } from "../format";
import { baseName, visible } from "../names";
import { Combobox, type ComboboxOption } from "../parts/Combobox";
import { letterOf } from "../parts/TraceBadge";
import { type ChosenFile, chooseFile, selectedFile } from "../state";

/** No longer list helps. */
const MOST = 60;

/** A file that can be on the map. */
export interface FileChoice {
  file: ChosenFile;
  path: string;
  /** What happened to it, in words: of both traces, or "only in B". */
  words: string;
  touches: number;
  events: number;
}

export function ObjectChooser({ page, traces }: { page: PageHead; traces: readonly Trace[] }) {
  const choices = useMemo(() => fileChoices(page, traces), [page, traces]);
  const { trace, place } = selectedFile.value;
  const now = traces[trace]?.file(place)?.path ?? "";
  const find = (query: string) => found(choices, query).map((choice): ComboboxOption & { choice: FileChoice } => ({
    key: `${choice.file.trace} ${choice.file.place}`, title: visible(choice.path), choice,
    cells: (
      <>
        <span class="name">{baseName(choice.path)}</span>
        <span class="path">{visible(choice.path)}</span>
        <span class="number">{choice.words}</span>
      </>
    ),
  }));
  return (
    <Combobox
      label="File" listLabel="Files, most first touches first" kind="of-files" value={visible(now)} placeholder="Part of a path"
      find={find} nothing={() => "No file has this in its path"} onChoose={({ choice }) => chooseFile(choice.file)}
    />
  );
}

/** Files of which anything happened, those first of which most was touched. */
export function fileChoices(page: PageHead, traces: readonly Trace[]): FileChoice[] {
  const choices = rowsOf(page, traces).flatMap((row): FileChoice[] => {
    const file = fileOf(row);
    const parts = row.places.flatMap((place, trace) => {
      const head = place === null ? undefined : traces[trace]?.file(place);
      return head && head.events[1] > 0 ? [{ trace, touches: head.figures?.touches ?? 0, events: head.events[1] }] : [];
    });
    const [first] = parts;
    if (file === null || first === undefined) return [];
    const only = traces.length > 1 && parts.length === 1 ? `only in ${letterOf(first.trace)}: ` : "";
    const numbers = parts.map(({ trace, touches, events }) => `${parts.length > 1 ? `${letterOf(trace)} ` : ""}${count(touches > 0 ? touches : events)}`).join(", ");
    const touches = Math.max(...parts.map((part) => part.touches));
    return [{ file, path: row.path, words: `${only}${numbers} ${touches > 0 ? "first touches" : "other events"}`, touches, events: Math.max(...parts.map(({ events }) => events)) }];
  });
  return choices.sort((left, right) => right.touches - left.touches || right.events - left.events);
}

function found(choices: readonly FileChoice[], query: string): FileChoice[] {
  const words = query.toLowerCase().split(/\s+/).filter((word) => word !== "");
  return choices.filter(({ path }) => words.every((word) => path.toLowerCase().includes(word))).slice(0, MOST);
}
