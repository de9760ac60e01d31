import type { LogEnd } from "../../event/record.ts";
import { openMark } from "../../log/durable-mark.ts";
import type { OtherFileLog } from "../messages.ts";

/**
 * Returns a function that reads the ends of the event logs of other ingest processes from their
 * durable marks (files with the end of a log). The function returns the same array until an end has
 * changed. When there are no other logs, returns undefined instead of a function.
 *
 * The ends give events of one client an order across the logs, because a process sets its mark
 * before it responds. When a client has received the response of another process and then sends a
 * second pixel to this process, the ends that are stored with the second pixel are after the record
 * of the first pixel.
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
