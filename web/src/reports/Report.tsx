// The page of a verb's results: looks at what kind of JSON stands in it, and refuses what it does not know.

import type { PageHead } from "../data/payload";
import { visible } from "../names";
import { HistoryReport } from "./HistoryReport";
import { InspectReport } from "./InspectReport";
import type { InspectReportData } from "./inspectTypes";
import { MeasureReport } from "./MeasureReport";
import { SpeedupReport } from "./SpeedupReport";
import { SurveyReport } from "./SurveyReport";
import type { SurveyReportData } from "./surveyTypes";
import type { HistoryReportData, MeasureReportData, SpeedupReportData } from "./types";
import "../style/reports.css";

export function Report({ page }: { page: PageHead }) {
  const { report } = page;
  const schema = typeof report === "object" && report !== null && "schema" in report ? report.schema : undefined;
  switch (schema) {
    case "coldstart.measure/1": return <MeasureReport page={page} report={report as MeasureReportData} />;
    case "coldstart.measure-history/1": return <HistoryReport page={page} report={report as HistoryReportData} />;
    case "coldstart.inspect/1": return <InspectReport page={page} report={report as InspectReportData} />;
    case "coldstart.speedup/2": return <SpeedupReport page={page} report={report as SpeedupReportData} />;
    case "coldstart.survey-report/1": return <SurveyReport page={page} report={report as SurveyReportData} />;
    default: return <Unknown schema={schema} />;
  }
}

function Unknown({ schema }: { schema: unknown }) {
  const what = typeof schema === "string" ? `it has the schema ${visible(schema)}, which this viewer does not know` : "it does not say what it is";
  return (
    <main class="failure">
      <div role="alert">
        <h1>This result cannot be shown</h1>
        <p>The page holds a result, but {what}.</p>
        <p>Make the page again with <code>--html</code>, with one version of coldstart.</p>
      </div>
    </main>
  );
}
