// Where a page begins: reads what stands in it and shows it, or says what is wrong.

import { render } from "preact";

import { App } from "./App";
import type { PageHead } from "./data/payload";
import { Trace } from "./data/trace";
import { Failure } from "./Failure";
import { Report } from "./reports/Report";
import { followTheme } from "./theme";
import "uplot/dist/uPlot.min.css";
import "./style/page.css";
import "./style/map.css";
import "./style/table.css";
import "./style/timeline.css";
import "./style/panels.css";
import "./style/media.css";

async function start(): Promise<void> {
  const root = document.getElementById("coldstart");
  if (root === null) return;
  followTheme();
  // What stood there until now is not Preact's.
  root.replaceChildren();
  try {
    const page = JSON.parse(textOf("coldstart-page")) as PageHead;
    if (page.kind !== "trace") {
      render(<Report page={page} />, root);
      return;
    }
    const traces: Trace[] = [];
    // The data stay in the page: browsers save what stands there now, and the saved page must open again.
    for (let place = 0; place < page.traces; place += 1) traces.push(await Trace.read(textOf(`coldstart-data-${place}`)));
    render(<App page={page} traces={traces} />, root);
  } catch (error) {
    render(<Failure error={error} />, root);
  }
}

function textOf(id: string): string {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`the page has no element ${id}: the file was cut off or changed`);
  return element.textContent ?? "";
}

// The data stand behind this script.
if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", () => void start());
else void start();
