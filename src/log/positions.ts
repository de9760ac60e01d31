/** The next sequence number to read in each event log, by the log's name. */
export type Positions = Readonly<Record<string, number>>;
