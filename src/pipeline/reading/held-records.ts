/**
 * The highest position in each log at which a record was found that only a newer pixelmill can
 * read. Deliveries stop before such a record, because they must not skip it.
 */
export class HeldRecords {
  readonly #furthest = new Map<string, number>();

  note(log: string, sequence: number): void {
    this.#furthest.set(log, Math.max(sequence, this.#furthest.get(log) ?? 0));
  }

  /**
   * Returns the logs in which a delivery may be waiting at a record that only a newer pixelmill can
   * read. `lowOf` returns the lowest position of a log that a delivery needs; undefined if the log
   * has no deliveries.
   */
  logsAbove(lowOf: (log: string) => number | undefined): string[] {
    return [...this.#furthest].flatMap(([log, sequence]) =>
      (lowOf(log) ?? Number.POSITIVE_INFINITY) <= sequence ? log : [],
    );
  }
}

/**
 * Returns a list with one warning: that deliveries wait at records that a newer pixelmill wrote in
 * the logs `logs`. Returns an empty list when `logs` is empty.
 */
export function newerVersionWarning(logs: readonly string[]): string[] {
  if (logs.length === 0) return [];
  const names =
    logs.length === 1 ? `the event log ${logs[0]}` : `the event logs ${logs.join(", ")}`;
  return [
    `Deliveries wait at events that a newer version of pixelmill stored in ${names}: start that version again, which delivers them`,
  ];
}
