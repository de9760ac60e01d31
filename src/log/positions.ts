/**
 * A read position in each event log: the log's name, and the sequence number of the next record to
 * read from that log.
 */
export type Positions = Readonly<Record<string, number>>;
