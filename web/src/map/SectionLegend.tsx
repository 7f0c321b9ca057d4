// What the bands' colours mean; each takes the map to the sections that have it.

import { visible } from "../names";
import { colour, entries, entry } from "../theme";
import { ofBand } from "./targets";
import { goTo } from "./GoTo";
import type { MapModel } from "./model";
import type { Band } from "./places";

export function SectionLegend({ model, hasInitialisers, hasOthers }: { model: MapModel; hasInitialisers: boolean; hasOthers: boolean }) {
  const { bands } = model.places;
  const groups = entries("sections").map(({ id, label }) => ({ id, label, bands: bands.filter((band) => entry("sections", band.section.class).id === id) }));
  return (
    <ul class="legend map-sections" aria-label="Bands of sections">
      {groups.filter((group) => group.bands.length > 0).map(({ id, label, bands }) => (
        <li key={id}>
          <button type="button" class="link" title={`Go to ${namesOf(bands)}`} onClick={() => show(model, label, bands)}>
            <span class="swatch" style={{ background: colour("sections", id) }} />
            {label}
          </button>
        </li>
      ))}
      {hasOthers && <li><span class="swatch map-gap" />first uses of other files only</li>}
      {hasInitialisers && <li><span class="swatch map-initialiser" />initialiser, at its code</li>}
    </ul>
  );
}

/** All sections of one colour: from the lowest to the highest. */
function show(model: MapModel, label: string, bands: readonly Band[]): void {
  const [first] = bands;
  if (first === undefined) return;
  if (bands.length === 1) return goTo(model, ofBand(model.places, first));
  const low = Math.min(...bands.map((band) => band.begin));
  const high = Math.max(...bands.map((band) => band.end));
  goTo(model, { kind: "section", name: `${label} (${namesOf(bands)})`, where: `${bands.length} sections`, low, high });
}

function namesOf(bands: readonly Band[]): string {
  const names = bands.map(({ section }) => visible(section.name));
  return names.length > 6 ? `${names.slice(0, 5).join(", ")} and ${names.length - 5} more` : names.join(", ");
}
