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
 * Returns the series of a connection. Its key consists of the ids of the source and the
 * destination. A connection that replaces another one between the same two has a new id, but the
 * same series.
 */
export const connectionSeries = (ends: { sourceId: string; destinationId: string }): Series =>
  seriesOf("connection", ends.destinationId + ends.sourceId);

/**
 * Series that shows for which time figures were recorded, so that a minute without events differs
 * from one that was not recorded. Its rows have one count: the recorded seconds. Each node adds its
 * seconds times its share of the partitions, so a minute that all nodes recorded has 60.
 */
export const RECORDED: Series = "r";
