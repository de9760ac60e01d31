// Kafka destinations
/** Most connections of one Kafka destination to brokers. */
export const KAFKA_CONNECTIONS_MAX = 256;
/**
 * Most topics that a Kafka destination with `{{event}}` in its topic writes to. Events for further
 * topics become dead letters.
 */
export const KAFKA_TOPICS_MAX = 500;
/** Most headers that the config of a Kafka destination can add to records. */
export const KAFKA_HEADERS_MAX = 50;
