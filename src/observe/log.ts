import { destination, type Logger, pino } from "pino";

export type { Logger };

/** Structured log: JSON lines on standard error, in the order of the calls. */
export function createLogger(level: string): Logger {
  return pino(
    {
      level,
      base: { service: "pixelmill" },
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
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
