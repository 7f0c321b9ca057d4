// The field that takes the map to a section, a symbol, a page, an offset or an address.

import { Combobox, type ComboboxOption } from "../parts/Combobox";
import { selectedEvent, mark } from "../state";
import { around, type Target, targetsOf, targetSentence } from "./targets";
import type { MapModel } from "./model";
import { showPlaces } from "./view";

export function GoTo({ model }: { model: MapModel }) {
  const find = (query: string) => targetsOf(model, query).map((target, nth): ComboboxOption & { target: Target } => ({
    key: `${nth} ${target.kind} ${target.low}`, title: `${target.kind} ${target.name}, ${target.where}`, target,
    cells: (
      <>
        <span class="kind">{target.kind}</span>
        <span class="name">{target.name}</span>
        <span class="path">{target.where}</span>
      </>
    ),
  }));
  const nothing = (query: string) => (query.trim() === "" ? null : "Neither a section, a symbol, a page nor an address of this file");
  return (
    <Combobox
      label="Go to" listLabel="Sections, symbols, pages and addresses of the file on the map" kind="of-places" value="" placeholder="symbol, page 12, 0x1a40"
      find={find} nothing={nothing} onChoose={({ target }) => goTo(model, target)}
    />
  );
}

/** Shows a place, marks it, and says what happened there. */
export function goTo(model: MapModel, target: Target): void {
  showPlaces(model.places, ...around(target));
  selectedEvent.value = null;
  mark.value = { low: target.low, high: target.high, sentence: targetSentence(model, target) };
}
