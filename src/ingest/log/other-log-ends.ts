import type { LogEnd } from "../../event/record.ts";
import { openMark } from "../../log/durable-mark.ts";
import type { OtherFileLog } from "../messages.ts";

/**
 * Returns a function that reads the ends of other ingest processes' event logs from their durable
 * marks (files with the end of a log). Undefined when there are no other logs. The function returns
 * the same array until an end has changed.
 *
 * The ends give events of one client an order across the logs: a process sets its mark before it
 * responds. So when a client has a response of another process and then sends a pixel to this one,
 * the ends stored with this pixel are beyond the first pixel's record.
 */
export function watchOtherLogEnds(
  others: readonly OtherFileLog[],
): (() => readonly LogEnd[]) | undefined {
  if (others.length === 0) return undefined;
  const marks = others.map(({ directory }) => openMark(directory));
  const read = () => others.map(({ log }, index) => ({ log, sequence: marks[index]!.get() }));
  let ends = read();
  return () => {
    for (let index = 0; index < marks.length; index++) {
      if (marks[index]!.get() !== ends[index]!.sequence) {
        ends = read();
        break;
      }
    }
    return ends;
  };
}
