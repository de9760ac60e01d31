/** Largest number of characters in a Kafka topic name. */
export const TOPIC_CHARS_MAX = 249;
const place = "{{event}}";

/**
 * Returns the topic for an event's name: puts the name into a topic template. Replaces characters
 * that Kafka does not allow by `_`, and shortens the name to keep the topic within
 * `TOPIC_CHARS_MAX`.
 */
export function topicOf(template: string, name: string): string {
  const parts = template.split(place);
  if (parts.length === 1) return template;
  const room = TOPIC_CHARS_MAX - parts.join("").length;
  const safe = name.slice(0, TOPIC_CHARS_MAX).replace(/[^A-Za-z0-9._-]+/g, "_") || "_";
  const topic = parts.join(safe.slice(0, Math.floor(room / (parts.length - 1))));
  return topic === "." || topic === ".." || topic === "" ? "_" : topic;
}

/** Whether a topic template contains `{{event}}`. */
export function namesEvent(template: string): boolean {
  return template.includes(place);
}
