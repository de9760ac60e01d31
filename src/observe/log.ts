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
      // No code should log a secret; these paths redact one that is logged by mistake.
      redact: {
        paths: ["*.secret", "*.token", "*.writeKey", "*.password", "*.authorization", "*.headers"],
        censor: "[redacted]",
      },
    },
    destination({ fd: 2, sync: true }),
  );
}

/**
 * The fields of an error in a log line. An AggregateError would log the stack of every attempt, 60 kB
 * for a cluster that is away for seconds; only the reason of the last attempt is logged.
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
