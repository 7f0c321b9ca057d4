// A table of a few rows, for figures that are read and not searched.

import type { ComponentChildren } from "preact";

export interface PlainColumn { label: string; isNumber?: boolean }

export interface PlainTableProps {
  caption: string;
  columns: readonly PlainColumn[];
  /** The first cell of a row is its heading; null: not recorded. */
  rows: readonly (readonly (ComponentChildren | null)[])[];
}

export function PlainTable({ caption, columns, rows }: PlainTableProps) {
  return (
    <div class="report-scroll" tabIndex={0} role="region" aria-label={caption}>
      <table class="report-table">
        <caption class="unseen">{caption}</caption>
        <thead>
          <tr>{columns.map(({ label, isNumber }) => <th key={label} scope="col" class={isNumber ? "right" : undefined}>{label}</th>)}</tr>
        </thead>
        <tbody>
          {rows.map((cells, row) => (
            <tr key={row}>
              {cells.map((cell, place) => {
                const shown = cell ?? <span class="not-recorded">not recorded</span>;
                const side = columns[place]?.isNumber ? "right" : undefined;
                return place === 0 ? <th key={place} scope="row">{shown}</th> : <td key={place} class={side}>{shown}</td>;
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
