import { destination, type Logger, pino } from "pino";

export type { Logger };

/**
 * Creates the logger, which synchronously writes JSON lines with `fields` to standard error. No
 * code may make child loggers, because they would keep the old level when the level of this logger
 * changes.
 */
export function createLogger(level: string, fields?: object): Logger {
  return pino(
    {
      level,
      base: { service: "pixelmill", ...fields },
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      serializers: { err: errorFields },
      formatters: { level: (label) => ({ level: label }) },
      // No code should log a secret. If code does by mistake, these paths are redacted.
      redact: {
        paths: ["*.secret", "*.token", "*.writeKey", "*.password", "*.authorization", "*.headers"],
        censor: "[redacted]",
      },
    },
    standardError(),
  );
}

/**
 * Maximum number of characters of log lines that wait in memory while standard error cannot be
 * written (for example, because it is a file on a full disk). Further lines are dropped.
 */
const WAITING_CHARS_MAX = 1 << 20;

function standardError() {
  const stream = destination({ fd: 2, sync: true, maxLength: WAITING_CHARS_MAX });
  // Without a listener, the call that logs would throw, and end what it only reports on.
  stream.on("error", () => {});
  return stream;
}

/**
 * Returns the fields that describe an error in a log line. For the errors in an `AggregateError`,
 * they include only the message of the last one, because all stacks take 60 kB when a cluster is
 * unreachable for seconds.
 */
export function errorFields(error: Error): object {
  const { aggregateErrors, ...fields } = pino.stdSerializers.err(error);
  const last = aggregateErrors?.at(-1);
  return last === undefined ? fields : { ...fields, reason: innermostError(last.raw).message };
}

function innermostError(error: Error): Error {
  const last = (error as Partial<AggregateError>).errors?.at(-1);
  return last === undefined ? error : innermostError(last);
}
