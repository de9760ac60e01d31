import { newId } from "../../catalog/ids.ts";
import type { LiveProgram } from "../../catalog/live.ts";
import { TokenBuckets } from "../../concurrency/rate-limiter.ts";
import type { LogLine } from "../../sandbox/program.ts";
import {
  CODE_LOG_BYTES_MAX,
  CODE_LOG_LINES_MAX,
  CODE_LOG_LINES_PER_SECOND_MAX,
  CODE_LOGS_BYTES_MAX,
  GUEST_LOG_CHARS_MAX,
} from "../../settings/limits.ts";
import type { Clock } from "../clock.ts";
import { credentialMask } from "./credential-mask.ts";

/** A line that published code wrote with `log(...)` while it ran over an event. */
export interface CodeLogLine extends Omit<LogLine, "event"> {
  /** Id of the line. Ids sort by time. */
  id: string;
  /** Time in milliseconds since the epoch at which the code had finished the batch of events. */
  at: number;
  transformationId: string;
  transformationVersionId: string;
  destinationId: string;
  /**
   * Id of the event over which the code ran. Absent when it is unknown: after an `await`, or in
   * `transformBatch` over several events.
   */
  messageId?: string;
}

/** Selects log lines: a line must meet all conditions that are present. */
export interface CodeLogFilter {
  transformationId?: string;
  transformationVersionId?: string;
  destinationId?: string;
  messageId?: string;
  /** Text that the line must contain; upper and lower case count as equal. */
  text?: string;
  /** Id of a line; only lines after this one match. */
  after?: string;
  /** Id of a line; only lines before this one match. */
  before?: string;
}

/** Log lines of one workspace, oldest first, and the bytes of memory that they take. */
interface WorkspaceLines {
  lines: CodeLogLine[];
  bytes: number;
}

/**
 * Holds in memory the latest lines that published code wrote with `log(...)` on this node, by
 * workspace. At a workspace's limit, its oldest lines are dropped. At the total limit, the
 * workspace that logged longest ago loses all its lines.
 */
export class CodeLogs {
  readonly #byWorkspace = new Map<string, WorkspaceLines>();
  readonly #rates: TokenBuckets;
  #bytes = 0;

  constructor(private readonly clock: Pick<Clock, "now" | "elapsed">) {
    this.#rates = new TokenBuckets({
      perSecond: CODE_LOG_LINES_PER_SECOND_MAX,
      burst: CODE_LOG_LINES_PER_SECOND_MAX,
      now: () => clock.elapsed(),
    });
  }

  /**
   * Returns what the rate limit allows a transformation to write at present: a number of lines, and
   * a number of characters for all of these lines together.
   */
  room(transformationId: string): { lines: number; chars: number } {
    const lines = this.#rates.available(transformationId);
    return { lines, chars: lines * GUEST_LOG_CHARS_MAX };
  }

  /**
   * Adds the log lines of one batch of events. `messageIdOf` returns the messageId of the event
   * with the given index in the batch.
   */
  add(
    live: LiveProgram,
    destinationId: string,
    lines: readonly LogLine[],
    messageIdOf: (event: number) => string | undefined,
  ): void {
    const { workspaceId, transformation } = live;
    // Other batches of the transformation may have written lines meanwhile.
    const taken = lines.slice(0, this.#rates.available(transformation.id));
    if (taken.length === 0) return;
    this.#rates.take(transformation.id, taken.length);
    const at = this.clock.now();
    const kept = this.#byWorkspace.get(workspaceId) ?? { lines: [], bytes: 0 };
    for (const { event, text, ...place } of taken) {
      const messageId = event === undefined ? undefined : messageIdOf(event);
      this.#push(kept, {
        ...place,
        id: newId(at),
        at,
        text: credentialMask(live.credentials).line(text),
        transformationId: transformation.id,
        transformationVersionId: transformation.versionId,
        destinationId,
        ...(messageId !== undefined && { messageId }),
      });
    }
    // The workspace that logged last is last in the map.
    this.#byWorkspace.delete(workspaceId);
    this.#byWorkspace.set(workspaceId, kept);
    this.#dropOldest();
  }

  /** Returns the latest lines that match `filter`, at most `limit`, newest first. */
  list(workspaceId: string, filter: CodeLogFilter, limit: number): CodeLogLine[] {
    const { lines = [] } = this.#byWorkspace.get(workspaceId) ?? {};
    const matches = matcherOf(filter);
    const found: CodeLogLine[] = [];
    for (let index = lines.length - 1; index >= 0 && found.length < limit; index--) {
      const line = lines[index]!;
      if (matches(line)) found.push(line);
    }
    return found;
  }

  #push(kept: WorkspaceLines, line: CodeLogLine): void {
    kept.lines.push(line);
    this.#count(kept, sizeOf(line));
    while (kept.lines.length > CODE_LOG_LINES_MAX || kept.bytes > CODE_LOG_BYTES_MAX) {
      this.#count(kept, -sizeOf(kept.lines.shift()!));
    }
  }

  #count(kept: WorkspaceLines, bytes: number): void {
    kept.bytes += bytes;
    this.#bytes += bytes;
  }

  #dropOldest(): void {
    for (const [workspaceId, { bytes }] of this.#byWorkspace) {
      if (this.#bytes <= CODE_LOGS_BYTES_MAX) return;
      this.#byWorkspace.delete(workspaceId);
      this.#bytes -= bytes;
    }
  }
}

/** Approximate bytes of memory that a line takes besides its text. */
const LINE_OVERHEAD_BYTES = 400;

function sizeOf({ text }: CodeLogLine): number {
  return Buffer.byteLength(text) + LINE_OVERHEAD_BYTES;
}

/** Returns a function that tells whether a line matches `filter`. */
function matcherOf(filter: CodeLogFilter): (line: CodeLogLine) => boolean {
  const { transformationId, transformationVersionId, destinationId, messageId } = filter;
  const { text, after, before } = filter;
  const lower = text?.toLowerCase();
  return (line) =>
    (transformationId === undefined || line.transformationId === transformationId) &&
    (transformationVersionId === undefined ||
      line.transformationVersionId === transformationVersionId) &&
    (destinationId === undefined || line.destinationId === destinationId) &&
    (messageId === undefined || line.messageId === messageId) &&
    (lower === undefined || line.text.toLowerCase().includes(lower)) &&
    (after === undefined || line.id > after) &&
    (before === undefined || line.id < before);
}
