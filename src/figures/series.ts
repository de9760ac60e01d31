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
 * the destination, not of the connection's own id. A connection that replaces another one between
 * the same source and destination therefore has the same series.
 */
export const connectionSeries = (ends: { sourceId: string; destinationId: string }): Series =>
  seriesOf("connection", ends.destinationId + ends.sourceId);

/**
 * Series of the time for which figures were recorded. It distinguishes a minute without events from
 * a minute that was not recorded. Its rows have one count: the recorded seconds. Each node
 * multiplies its seconds by its share of all partitions. The counts of all nodes therefore add up
 * to 60 for a minute that all nodes recorded.
 */
export const RECORDED: Series = "r";
