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
 * Series that tells for how long figures were recorded, so that a minute without events differs
 * from a minute that was not recorded. Its rows have one count: the recorded seconds of a node,
 * multiplied by the node's share of all partitions. The counts of all nodes add up to 60 if all of
 * them recorded the whole minute.
 */
export const RECORDED: Series = "r";
