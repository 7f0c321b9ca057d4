// The heat strip's cells, with the pointer and by keyboard.

import { useEffect, useRef, useState } from "preact/hooks";

import { PAGE_SIZE } from "../data/trace";
import { momentText } from "../format";
import { visible } from "../names";
import { hoverTime } from "../state";
import { isDark } from "../theme";
import { prepare } from "../timeline/canvas";
import { pageWords } from "./describe";
import { drawHeat, type HeatData } from "./drawHeat";
import { goTo } from "./GoTo";
import { cellAt, cellPlace, type HeatBlock, NAME_WIDTH } from "./heat";
import type { MapModel } from "./model";
import type { Places } from "./places";
import { ofBand } from "./targets";
import { showPlaces } from "./view";

/** Room for the share of pages, in pixels. */
const SHARE_WIDTH = 152;

interface Cell {
  block: number;
  page: number;
}

export function HeatCanvas({ data, model, width }: { data: HeatData; model: MapModel; width: number }) {
  const { places } = model;
  const canvas = useRef<HTMLCanvasElement>(null);
  const scroller = useRef<HTMLDivElement>(null);
  const [pointed, setPointed] = useState<Cell | null>(null);
  const [chosen, setChosen] = useState<Cell | null>(null);
  const { layout } = data;
  const dark = isDark.value;
  useEffect(() => {
    const context = canvas.current && width > 0 ? prepare(canvas.current, width, layout.height) : null;
    if (context) drawHeat(context, data, width);
  }, [data, width, dark, layout]);
  useEffect(() => (setChosen(null), setPointed(null)), [layout]);

  const at = (event: MouseEvent): Cell | null => {
    const box = canvas.current?.getBoundingClientRect();
    return box ? cellAt(layout, event.clientX - box.left, event.clientY - box.top) : null;
  };
  const point = (cell: Cell | null) => {
    setPointed(cell);
    const of = (moments: Float64Array | null) => (cell ? (moments?.[cell.page] ?? Infinity) : Infinity);
    // Of a difference, the moment in A where it has one.
    const moment = data.mode === "second" ? of(data.second) : data.mode === "difference" && of(data.moments) === Infinity ? of(data.second) : of(data.moments);
    hoverTime.value = moment < Infinity ? moment : null;
  };
  const show = (cell: Cell | null) => {
    if (cell === null) return;
    setChosen(cell);
    showPlaces(places, (cell.page - 15.5) * PAGE_SIZE, (cell.page + 16.5) * PAGE_SIZE);
    document.getElementById("map")?.scrollIntoView({ block: "start" });
  };
  const showSection = (block: HeatBlock | null | undefined) => {
    if (!block) return;
    goTo(model, ofBand(places, block.band));
    document.getElementById("map")?.scrollIntoView({ block: "start" });
  };
  const move = (by: number) => {
    const now = chosen ?? { block: 0, page: (layout.blocks[0]?.firstPage ?? 0) - Math.max(by, 0) };
    let { block, page } = now;
    page += by;
    const here = layout.blocks[block];
    if (here === undefined) return;
    // Over the edge: into the next section, or the one before.
    if (page >= here.firstPage + here.pages) {
      const next = layout.blocks[block + 1];
      if (next === undefined) return;
      [block, page] = [block + 1, next.firstPage];
    } else if (page < here.firstPage) {
      const before = layout.blocks[block - 1];
      if (before === undefined) return;
      [block, page] = [block - 1, before.firstPage + before.pages - 1];
    }
    setChosen({ block, page });
    const found = layout.blocks[block];
    const y = found ? cellPlace(layout, found, page)[1] : 0;
    const view = scroller.current;
    if (view && (y < view.scrollTop || y + 20 > view.scrollTop + view.clientHeight)) view.scrollTop = y - view.clientHeight / 2;
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const steps: Record<string, number> = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: layout.across, ArrowUp: -layout.across };
    const by = steps[event.key];
    if (by !== undefined) move(by);
    else if (event.key === "Enter" && event.shiftKey) showSection(chosen && layout.blocks[chosen.block]);
    else if (event.key === "Enter") show(chosen);
    else return;
    event.preventDefault();
  };
  const ring = (cell: Cell | null, name: string) => {
    const block = cell && layout.blocks[cell.block];
    if (!cell || !block) return null;
    const [x, y] = cellPlace(layout, block, cell.page);
    return <div class={name} style={{ left: `${x - 2}px`, top: `${y - 2}px`, width: `${layout.cell + 1}px`, height: `${layout.cell + 1}px` }} />;
  };
  return (
    <>
      <div
        ref={scroller} class="heat-scroller" tabIndex={0} role="application" aria-roledescription="heat strip" aria-describedby="heat-status"
        aria-label="Pages of each section by the moment of their first touch. Arrow keys go from page to page, Enter shows the page on the map, Shift and Enter its section."
        onKeyDown={onKeyDown}
      >
        <div class="heat-cells" onPointerMove={(event) => point(at(event))} onPointerLeave={() => point(null)} onClick={(event) => show(at(event))}>
          <canvas ref={canvas} aria-hidden="true" />
          {layout.blocks.map((block, nth) => (
            <button
              key={nth} type="button" class="link heat-name" tabIndex={-1} title={nameTitle(block)}
              style={{ top: `${block.top}px`, width: `${NAME_WIDTH - SHARE_WIDTH}px` }} onClick={(event) => (event.stopPropagation(), showSection(block))}
            >
              {visible(block.band.section.name)}
            </button>
          ))}
          {ring(pointed, "heat-ring")}
          {ring(chosen, "heat-ring chosen")}
        </div>
      </div>
      <p id="heat-status" class="heat-status" role="status">{sentence(data, places, pointed ?? chosen)}</p>
    </>
  );
}

function sentence({ layout, use, moments, second }: HeatData, places: Places, cell: Cell | null): string {
  const block = cell && layout.blocks[cell.block];
  if (!cell || !block) return "Point at a cell to read its page; a click shows it on the map, a click on a name its section.";
  const { page, isMemory } = places.pageAt(cell.page * PAGE_SIZE);
  const when = (moment: number) => (moment < Infinity ? `first ${use} at ${momentText(moment)}` : `not ${use}`);
  const words = [visible(block.band.section.name), pageWords(page, 1, isMemory)];
  words.push(second ? `A: ${when(moments[cell.page] ?? Infinity)}; B: ${when(second[cell.page] ?? Infinity)}` : when(moments[cell.page] ?? Infinity));
  return words.join(", ");
}

function nameTitle({ band: { section }, pages }: HeatBlock): string {
  // Its first bytes share the last page of the file with others: that page stands there.
  const more = section.zeroFilled && section.pages !== null && section.pages.all > pages ? "; it begins in the last page of the file, which is not counted here" : "";
  return `${visible(section.name)}: a click shows the section on the map${more}`;
}
