/** Kinds of items that have figures. */
export const seriesKinds = [
  "workspace",
  "source",
  "transformation",
  "destination",
  "connection",
] as const;
export type SeriesKind = (typeof seriesKinds)[number];

/** Name of the rows of one item: the first letter of its kind, and its id. */
export type Series = string;

export const seriesOf = (kind: SeriesKind, id: string): Series => `${kind[0]}${id}`;

/**
 * Series of a connection. Its name has both ends, because the id of a connection changes when one
 * of them is replaced.
 */
export const connectionSeries = (ends: { sourceId: string; destinationId: string }): Series =>
  seriesOf("connection", ends.destinationId + ends.sourceId);

/**
 * Series of the time for which figures were recorded. Its rows have one count: the seconds, of all
 * nodes together. They show whether a minute had no events or was not recorded.
 */
export const RECORDED: Series = "r";
