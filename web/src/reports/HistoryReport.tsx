// The page of `coldstart measure --history`: how the times of programs went, a panel for each row of measurements that may be compared.

import { useState } from "preact/hooks";

import type { PageHead } from "../data/payload";
import { count } from "../format";
import { shortened, visible } from "../names";
import { Panel } from "../parts/Panel";
import { pointInWords, Trend } from "./charts/Trend";
import { PlainTable } from "./PlainTable";
import { ReportFrame } from "./ReportFrame";
import { plusMinus, seconds } from "./measured";
import type { HistoryReportData, Series } from "./types";
import { moment, verdictInWords } from "./words";

export function HistoryReport({ page, report }: { page: PageHead; report: HistoryReportData }) {
  const all = report.series ?? [];
  const titles = titlesOf(all);
  const points = all.reduce((sum, series) => sum + series.points.length, 0);
  return (
    <ReportFrame
      page={page} facts={[["Comparable rows", count(all.length)], ["Measurements in them", count(points)]]}
      panels={titles.slice(0, LINKS).map((title, place) => ({ id: `series-${place}`, title: shortened(title, 40) }))}
    >
      {all.length === 0 && <p>No run that was kept counts.</p>}
      <p class="report-small">
        The dot is the mean of a measurement, the line through it its 95 % interval, the short line across the median. Measurements on other machines or kernels, to another readiness, from another saved state or at a held
        frequency stand apart: their times must not be compared. Mind that no axis of time begins at zero.{all.length > LINKS && ` Only the first ${LINKS} rows have links above.`}
      </p>
      {all.map((series, place) => <OfSeries key={place} id={`series-${place}`} title={titles[place] ?? ""} series={series} />)}
    </ReportFrame>
  );
}

/** Links at the top, of the first rows. */
const LINKS = 12;

/** A name for each row. One command line has several where machines, readiness or the like differ: these are counted. */
function titlesOf(all: readonly Series[]): string[] {
  const plain = all.map((series) => `${series.state}: ${shortened(visible(series.command_line), 90)}`);
  // Read aloud, several spaces are one.
  const spoken = plain.map((title) => title.replace(/\s+/g, " "));
  return plain.map((title, place) => {
    const alike = spoken.flatMap((other, at) => (other === spoken[place] ? [at] : []));
    return alike.length === 1 ? title : `${title} (${alike.indexOf(place) + 1} of ${alike.length})`;
  });
}

function OfSeries({ id, title, series }: { id: string; title: string; series: Series }) {
  const [pointed, setPointed] = useState<number | null>(null);
  const { points, machine } = series;
  const place = pointed ?? -1;
  const point = points[place];
  const onKeyDown = (event: KeyboardEvent) => {
    const steps: Record<string, number> = { ArrowRight: place + 1, ArrowLeft: place < 0 ? points.length - 1 : place - 1, Home: 0, End: points.length - 1 };
    const to = steps[event.key];
    if (to !== undefined) setPointed(Math.min(Math.max(to, 0), points.length - 1));
    else if (event.key === "Escape") setPointed(null);
    else return;
    event.preventDefault();
  };
  const about = [
    series.readiness === "exit" ? "" : `Ready at ${visible(series.readiness)}. `, series.condition === "" ? "" : `${visible(series.condition)}. `,
    `${machine.processor_count} x ${visible(machine.processor || "processor")}, Linux ${visible(machine.kernel)}.`,
  ].join("");
  return (
    <Panel id={id} title={title} about={about}>
      <div class="report-picker">
        <div class="report-chart" role="group" tabIndex={0} aria-label={`${title}, over time. Arrow keys walk through the measurements.`} onKeyDown={onKeyDown} onPointerLeave={() => setPointed(null)}>
          <Trend series={series} pointed={pointed} onPoint={setPointed} />
        </div>
        <p class="report-readout" role="status">{point ? pointInWords(point) : <span class="hint">Point at a measurement, or focus the chart and press the arrow keys.</span>}</p>
      </div>
      <PlainTable
        caption={`${title}: measurements`}
        columns={[
          { label: "Number" }, { label: "Date (UTC)" }, { label: "Label" }, { label: "Program" }, { label: "Runs", isNumber: true }, { label: "Median", isNumber: true }, { label: "Mean", isNumber: true }, { label: "95 % of the mean", isNumber: true },
          { label: "Change", isNumber: true }, { label: "Verdict" },
        ]}
        rows={points.map((found) => [
          `#${found.number}`, moment(found.measured_at), found.label === null ? "none" : visible(found.label), found.program && <code>{visible(found.program)}</code>, count(found.runs), seconds(found.median), seconds(found.mean),
          found.interval === null ? "too few runs" : plusMinus(found.interval), found.change === null ? "first" : `${found.change.ratio >= 1 ? "+" : ""}${((found.change.ratio - 1) * 100).toFixed(1)} %`, found.change === null ? "nothing before it" : verdictInWords(found.change.verdict),
        ])}
      />
    </Panel>
  );
}
