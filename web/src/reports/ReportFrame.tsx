// What all pages of results share: title, what must be known first, links to the panels, light or dark.

import type { ComponentChildren } from "preact";

import type { PageHead } from "../data/payload";
import { visible } from "../names";
import { chooseTheme, type Theme, theme } from "../theme";
import { type FactRow, Facts } from "./Facts";

export interface ReportFrameProps {
  page: PageHead;
  facts: readonly FactRow[];
  /** What the reader came for, a sentence each. */
  answers?: readonly string[];
  warnings?: readonly string[];
  panels: readonly { id: string; title: string }[];
  children: ComponentChildren;
}

const THEMES: readonly [Theme, string][] = [["system", "as the system"], ["light", "light"], ["dark", "dark"]];

export function ReportFrame({ page, facts, answers = [], warnings = [], panels, children }: ReportFrameProps) {
  return (
    <div class="report">
      <a class="skip" href="#content">Skip to the results</a>
      <header class="page-head">
        <h1>{visible(page.title)}</h1>
        <Facts rows={facts} />
        {answers.map((sentence) => <p key={sentence} class="report-answer">{sentence}</p>)}
        {warnings.length > 0 && (
          <ul class="warnings" aria-label="Warnings">
            {warnings.map((sentence) => <li key={sentence}><strong>Note well:</strong> {sentence}</li>)}
          </ul>
        )}
      </header>
      <section class="bar" aria-label="What is shown">
        <nav aria-label="Panels">{panels.map(({ id, title }) => <a key={id} href={`#${id}`}>{title}</a>)}</nav>
        <div class="controls">
          <label>
            Colours
            <select value={theme.value} onChange={({ currentTarget }) => chooseTheme(currentTarget.value as Theme)}>
              {THEMES.map(([chosen, words]) => <option key={chosen} value={chosen}>{words}</option>)}
            </select>
          </label>
        </div>
      </section>
      <main id="content" tabIndex={-1}>{children}</main>
      <footer class="page-foot">Made by coldstart {page.version}. Sizes are decimal (1 kB is 1000 bytes), pages 4 KiB, dates UTC.</footer>
    </div>
  );
}
