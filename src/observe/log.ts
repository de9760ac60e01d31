import { destination, type Logger, pino } from "pino";

export type { Logger };

/** Structured log: JSON lines on standard error, in the order of the calls. */
export function createLogger(level: string): Logger {
  return pino(
    {
      level,
      base: { service: "pixelmill" },
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      serializers: { err: errorFields },
      formatters: { level: (label) => ({ level: label }) },
      // No secret should come into a log line; these paths catch an object that was logged
      // carelessly.
      redact: {
        paths: ["*.secret", "*.token", "*.writeKey", "*.password", "*.authorization", "*.headers"],
        censor: "[redacted]",
      },
    },
    destination({ fd: 2, sync: true }),
  );
}

/**
 * An error as a log line tells it. One of many attempts carries the error of each, with its stack:
 * 60 kB for a cluster that is away for seconds. The last attempt's says why.
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
