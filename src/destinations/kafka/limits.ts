// Kafka destinations
/** Connections of one Kafka destination to brokers. */
export const KAFKA_CONNECTIONS_MAX = 256;
/** Topics that a Kafka destination with `{{event}}` in its topic writes to; events for more become dead letters. */
export const KAFKA_TOPICS_MAX = 500;
/** Headers that the config of a Kafka destination may add to records. */
export const KAFKA_HEADERS_MAX = 50;
