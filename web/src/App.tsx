// The page of one trace, or of two beside one another: the map in the middle, when above it, what and how much below.

import { useState } from "preact/hooks";

import { Summary } from "./comparison/Summary";
import type { PageHead } from "./data/payload";
import type { Trace } from "./data/trace";
import { Bar } from "./header/Bar";
import { Header } from "./header/Header";
import { partialPages } from "./header/warnings";
import { Comparison } from "./panels/Comparison";
import { Figures } from "./panels/Figures";
import { Files } from "./panels/Files";
import { HeatStrip } from "./panels/HeatStrip";
import { Initialisers } from "./panels/Initialisers";
import { Missing } from "./panels/Missing";
import { ObjectMap } from "./panels/ObjectMap";
import { Pages } from "./panels/Pages";
import { Timeline } from "./panels/Timeline";
import { Later, useTurns } from "./parts/Later";
import { begin } from "./start";

export interface AppProps {
  page: PageHead;
  /** One or two. */
  traces: Trace[];
}

/** The panels, in their order on the page; `id` is that of the element. */
const PANELS = [
  { id: "timeline", title: "Timeline" },
  { id: "map", title: "Map" },
  { id: "heat", title: "Heat strip" },
  { id: "pages", title: "Pages" },
  { id: "comparison", title: "Comparison" },
  { id: "files", title: "Files" },
  { id: "initialisers", title: "Initialisers" },
  { id: "figures", title: "Figures" },
  { id: "missing", title: "Missing" },
] as const;

export function App({ page, traces }: AppProps) {
  // Before the panels read it for the first time.
  useState(() => begin(page, traces));
  useTurns(7);
  const isComparison = traces.length === 2;
  const partial = traces.map(({ head }) => partialPages(head.run.pages)).find((sentence) => sentence !== null);
  return (
    <>
      <a class="skip" href="#content">Skip to the timeline</a>
      <Header page={page} traces={traces} />
      <Bar traces={traces} panels={PANELS.filter(({ id }) => isComparison || id !== "comparison")} />
      <main id="content" tabIndex={-1}>
        {isComparison && <Summary page={page} traces={traces} />}
        <Timeline page={page} traces={traces} />
        {partial && <p class="caveat">On the map and in the tables, {partial}</p>}
        <ObjectMap page={page} traces={traces} />
        <Later turn={0}>{() => <HeatStrip page={page} traces={traces} />}</Later>
        <Later turn={1}>{() => <Pages page={page} traces={traces} />}</Later>
        <Later turn={2}>{() => isComparison && <Comparison page={page} traces={traces} />}</Later>
        <Later turn={3}>{() => <Files page={page} traces={traces} />}</Later>
        <Later turn={4}>{() => <Initialisers page={page} traces={traces} />}</Later>
        <Later turn={5}>{() => <Figures page={page} traces={traces} />}</Later>
        <Later turn={6}>{() => <Missing page={page} traces={traces} />}</Later>
      </main>
      <footer class="page-foot">Made by coldstart {page.version}. Times count from the launch; sizes are decimal (1 kB is 1000 bytes).</footer>
    </>
  );
}
