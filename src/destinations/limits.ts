// Databases and brokers
/** Maximum number of events that are written to a database or a broker at once, in one batch. */
export const DATABASE_BATCH_EVENTS_MAX = 1_000;
/**
 * Timeout in milliseconds for writing one batch to a database or a broker, unless the destination's
 * config sets another one.
 */
export const DATABASE_TIMEOUT_MS_DEFAULT = 30_000;
/** Longest batch timeout in milliseconds that the config of a database or broker may set. */
export const DATABASE_TIMEOUT_MS_MAX = 120_000;
/**
 * Maximum size in bytes of a database's response to one statement, or of a broker's answer to one
 * request. A longer response closes the connection.
 */
export const DATABASE_ANSWER_BYTES_MAX = 1 << 20;
/**
 * Maximum length, in characters, of an address, user, password, database name or TLS server name in
 * the config of a database or a broker.
 */
export const DATABASE_TEXT_CHARS_MAX = 1_024;
/**
 * Maximum length, in characters, of the certificate authorities (PEM) in the config of a database
 * or a broker.
 */
export const DATABASE_CA_CHARS_MAX = 65_536;
/** Milliseconds without use after which a connection to a database or broker is closed. */
export const DATABASE_IDLE_MS_MAX = 60_000;
/**
 * Maximum number of SCRAM iterations that a database or a broker may ask for, about fifty times
 * PostgreSQL's default. If a server asks for more, pixelmill does not sign in to it.
 */
export const SCRAM_ITERATIONS_MAX = 200_000;
// Answers of receivers
/**
 * Maximum bytes that a dead letter keeps of the body of a receiver's answer to a failed delivery.
 */
export const ANSWER_BODY_BYTES_MAX = 2_048;
/**
 * Maximum characters that are stored of each header of a receiver's answer, and of the error code
 * in the answer.
 */
export const ANSWER_HEADER_CHARS_MAX = 256;
/** Maximum length of the reason of a failed delivery, in characters. */
export const ANSWER_REASON_CHARS_MAX = 1_024;
