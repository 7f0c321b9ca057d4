// How far charts keep from their panel's edges, in pixels: the same everywhere, so that a moment stands at one place on the whole page.

/** Room for the labels of lanes and the ticks of the vertical axis. */
export const LEFT_MARGIN = 88;

/** Room for the last tick's label. */
export const RIGHT_MARGIN = 16;
