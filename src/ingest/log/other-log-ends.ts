import type { LogEnd } from "../../event/record.ts";
import { openMark } from "../../log/durable-mark.ts";
import type { OtherFileLog } from "../messages.ts";

/**
 * Returns a function that reads the ends of the event logs of other processes from their marks,
 * which their writers set before they respond: a client that has a response of another process and
 * then asks this one is known to come later. The list is the same object until an end has moved.
 * Undefined when there are no other logs.
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
