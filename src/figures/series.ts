/** Kinds of items that have figures. */
export const seriesKinds = [
  "workspace",
  "source",
  "transformation",
  "destination",
  "connection",
] as const;
export type SeriesKind = (typeof seriesKinds)[number];

/** Key of one item's figures: the first letter of its kind, followed by its id. */
export type Series = string;

export const seriesOf = (kind: SeriesKind, id: string): Series => `${kind[0]}${id}`;

/**
 * Returns the series (key of the figures) of a connection. It consists of the ids of the source and
 * the destination, so that a connection that replaces another one between them has the same series.
 */
export const connectionSeries = (ends: { sourceId: string; destinationId: string }): Series =>
  seriesOf("connection", ends.destinationId + ends.sourceId);

/**
 * Series that tells for how long figures were recorded. Its only count is a node's recorded
 * seconds, multiplied by its share of all partitions, so that all nodes together reach 60 in a
 * complete minute.
 */
export const RECORDED: Series = "r";
