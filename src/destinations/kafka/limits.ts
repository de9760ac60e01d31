// Kafka destinations
/** Maximum number of connections of one Kafka destination to brokers. */
export const KAFKA_CONNECTIONS_MAX = 256;
/**
 * Maximum number of topics to which a Kafka destination writes if its config has `{{event}}` in the
 * name of the topic. Events for further topics become dead letters.
 */
export const KAFKA_TOPICS_MAX = 500;
/** Maximum number of headers that the config of a Kafka destination can add to records. */
export const KAFKA_HEADERS_MAX = 50;
