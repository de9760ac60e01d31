// Databases and brokers
/** Events in one batch for a database or a broker. */
export const DATABASE_BATCH_EVENTS_MAX = 1_000;
/**
 * Time limit of writing one batch to a database or a broker, unless the destination's config sets
 * it.
 */
export const DATABASE_TIMEOUT_MS_DEFAULT = 30_000;
/** Longest time for a batch that the config of a database or a broker may set. */
export const DATABASE_TIMEOUT_MS_MAX = 120_000;
/**
 * Response of a database to one statement, or of a broker to one request. A longer response ends
 * the connection.
 */
export const DATABASE_ANSWER_BYTES_MAX = 1 << 20;
/** Length of a host, user, password or name in the config of a database or a broker. */
export const DATABASE_TEXT_CHARS_MAX = 1_024;
/** Length of the certificate authorities (PEM) in the config of a database or a broker. */
export const DATABASE_CA_CHARS_MAX = 65_536;
/** Idle time after which a connection to a database or a broker is closed. */
export const DATABASE_IDLE_MS_MAX = 60_000;
/**
 * Iterations of SCRAM that a database or a broker may ask for: fifty times PostgreSQL's default. A
 * server that asks for more is refused.
 */
export const SCRAM_ITERATIONS_MAX = 200_000;
// Answers of receivers
/** Bytes of a receiver's answer to a failed delivery that are kept with its dead letters. */
export const ANSWER_BODY_BYTES_MAX = 2_048;
/** Length of each header, and of the error code, of a receiver's answer that is kept. */
export const ANSWER_HEADER_CHARS_MAX = 256;
/** Length of the reason of a failed delivery. */
export const ANSWER_REASON_CHARS_MAX = 1_024;
