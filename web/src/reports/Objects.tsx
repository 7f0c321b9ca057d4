// The searchable table of objects, with the figures of each, and what is known of the one that was chosen.

import { useMemo, useState } from "preact/hooks";

import { bytes, count, hex } from "../format";
import { baseName, visible } from "../names";
import { Table, type TableColumn } from "../table/Table";
import { Bars } from "./charts/Bars";
import { Facts } from "./Facts";
import { Findings } from "./Findings";
import { figuresOf, type Inspected } from "./inspectTypes";
import { FIGURES, figureInWords, initialiserInWords, kindInWords, namesFromInWords, ownerInWords, stepInWords, toldByInWords, weight } from "./inspectWords";
import { PlainTable } from "./PlainTable";
import { SpaceBar, SpaceLegend } from "./SpaceBar";

export function Objects({ objects }: { objects: readonly Inspected[] }) {
  const figures = useMemo(() => objects.map(figuresOf), [objects]);
  const worth = useMemo(() => objects.map(({ findings }) => findings.reduce((sum, { saves }) => sum + weight(saves), 0)), [objects]);
  const columns = useMemo((): TableColumn[] => {
    const figure = (key: (typeof FIGURES)[number]["key"], label: string, explanation: string, width: string): TableColumn => ({
      id: key, label, explanation, width, align: "right", key: (row) => figures[row]?.[key] ?? null,
      text: (row) => {
        const found = figures[row];
        return found === undefined ? null : figureInWords(found[key], key.endsWith("_bytes"));
      },
    });
    return [
      { id: "name", label: "Object", width: "minmax(11rem, 1.4fr)", text: (row) => baseName(objects[row]?.path ?? "") },
      figure("file_bytes", "Size", "size of the file", "5.2rem"),
      figure("relocations", "Relocations", "words that relocation changes", "6.6rem"),
      figure("relocation_bytes", "Tables", "bytes of the tables of relocations", "5.2rem"),
      figure("packing_saves_bytes", "RELR saves", "bytes by which packing would make the tables smaller", "5.8rem"),
      figure("private_pages", "Private", "pages of 4 KiB that relocation makes private", "4.8rem"),
      figure("lookups", "Lookups", "symbols looked up at the start", "5.2rem"),
      figure("initialisers", "Init", "functions that run before the program's own", "4rem"),
      figure("seeks", "Seeks", "requests from a cold cache that are not behind the one before, by the model", "4.2rem"),
      figure("read_bytes", "Reads", "bytes that the loader's work reads from a cold cache, by the model", "5rem"),
      { id: "findings", label: "Findings", explanation: "sorted by what their fixes would save", align: "right", width: "5.2rem", text: (row) => count(objects[row]?.findings.length ?? 0), key: (row) => worth[row] ?? 0, csv: [{ id: "findings", value: (row) => objects[row]?.findings.length ?? null }] },
      { id: "path", label: "Path", width: "minmax(14rem, 2fr)", text: (row) => visible(objects[row]?.path ?? "") },
    ];
  }, [objects, figures, worth]);
  // At first the one with the most to gain, which stands at the top of the table.
  const [chosen, setChosen] = useState<number | null>(() => (worth.length > 0 ? worth.reduce((best, value, row) => (value > (worth[best] ?? 0) ? row : best), 0) : null));
  const object = chosen === null ? undefined : objects[chosen];
  return (
    <>
      <Table label="objects" rows={objects.length} columns={columns} selected={chosen} onChoose={setChosen} height={420} {...(objects.length > 1 ? { order: { column: "findings", descending: true } } : {})} />
      {object && <OneObject object={object} />}
    </>
  );
}

function OneObject({ object: inspected }: { object: Inspected }) {
  const { object, layout, relocations, owners, initialisers, loader_reads: reads, findings, space } = inspected;
  const { names } = layout;
  const figures = figuresOf(inspected);
  const most = 40;
  return (
    <section class="report-object" aria-label={`Chosen object: ${baseName(inspected.path)}`}>
      <h3>{visible(inspected.path)}</h3>
      <SpaceBar space={space} />
      <SpaceLegend space={space} />
      <Facts rows={[
        ["Kind", `${kindInWords(object.kind)}, ${visible(object.machine)}`],
        ["Build id", object.build_id],
        ["Names come from", namesFromInWords(object.names_from)],
        ["Its own name", names.soname ?? "none"],
        ["Search path", names.runpath ?? names.rpath ?? "none"],
        ["Interpreter", names.interpreter ?? "none"],
        ["Needs", names.needed.length === 0 ? "nothing" : names.needed.join(", ")],
        ...FIGURES.slice(1).map(({ key, label, isBytes }) => [label, figureInWords(figures[key], isBytes)] as const),
        ["Looked up when first called", count(relocations.references.lazy)],
        ["Pages that the loader reads in vain", count(Math.max(0, reads.read_pages - reads.useful_pages))],
      ]} />
      <Findings findings={findings} />
      {relocations.by_type.length > 0 && (
        <>
          <h4>Relocations by type</h4>
          <Bars label="Relocations by type" rows={relocations.by_type.map((kind) => ({ name: visible(kind.name), value: kind.count, text: `${count(kind.count)}, ${bytes(kind.bytes)}${kind.is_relative ? ", relative" : ""}`, colour: "var(--phases-relocation)" }))} />
        </>
      )}
      {owners.counts.length > 0 && (
        <>
          <h4>What the relocated words belong to</h4>
          <Bars label="What the relocated words belong to" rows={owners.counts.map(({ owner, told_by, count: words }) => ({ name: ownerInWords(owner), value: words, text: `${count(words)}, ${toldByInWords(told_by)}`, colour: "var(--phases-loader-start)" }))} />
        </>
      )}
      {reads.steps.length > 0 && (
        <>
          <h4>What the loader reads from a cold cache, by the model</h4>
          <PlainTable
            caption="Steps of the loader"
            columns={[{ label: "Step" }, { label: "Pages of the file" }, { label: "New pages", isNumber: true }, { label: "Requests", isNumber: true }, { label: "Seeks", isNumber: true }, { label: "Pages read", isNumber: true }]}
            rows={reads.steps.map((step) => [stepInWords(step.step), step.first_page === step.last_page ? count(step.first_page) : `${count(step.first_page)} to ${count(step.last_page)}`, count(step.new_pages), count(step.requests), count(step.seeks), count(step.read_pages)])}
          />
        </>
      )}
      {initialisers.functions.length > 0 && (
        <details>
          <summary>{count(initialisers.functions.length)} initialisers, in the order in which they run</summary>
          <PlainTable
            caption="Initialisers"
            columns={[{ label: "Place", isNumber: true }, { label: "Name" }, { label: "From" }, { label: "Address", isNumber: true }, { label: "Code", isNumber: true }, { label: "Page", isNumber: true }]}
            rows={initialisers.functions.slice(0, most).map((found, place) => [
              count(place + 1), found.name === null ? null : <code>{visible(found.name)}</code>, initialiserInWords(found.kind), found.address === null ? null : hex(found.address), found.bytes === null ? null : bytes(found.bytes),
              found.page === null ? null : count(found.page),
            ])}
          />
          {initialisers.functions.length > most && <p class="report-small">The first {most}; --json has all.</p>}
        </details>
      )}
    </section>
  );
}
