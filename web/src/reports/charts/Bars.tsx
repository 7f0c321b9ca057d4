// Labelled bars from zero, a row each, in HTML: the words and figures stand beside them and need no picture.

export interface BarRow {
  name: string;
  /** The figure in words. */
  text: string;
  /** null: not recorded, so that no bar is drawn. */
  value: number | null;
  /** An id of `dots` or `sections`, for the colour. */
  colour?: string;
}

export function Bars({ rows, label, most }: { rows: readonly BarRow[]; label: string; most?: number }) {
  const greatest = most ?? Math.max(0, ...rows.map(({ value }) => value ?? 0));
  return (
    <ul class="report-bars" aria-label={label}>
      {rows.map(({ name, text, value, colour }, place) => (
        <li key={place}>
          <span class="name">{name}</span>
          <span class="track">
            {value !== null && greatest > 0 && <span class="bar-fill" style={{ width: `${Math.min(100, (100 * value) / greatest)}%`, background: colour ?? "var(--accent)" }} />}
          </span>
          <span class="figure">{text}</span>
        </li>
      ))}
    </ul>
  );
}
