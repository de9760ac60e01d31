/** Length of a topic's name that Kafka takes. */
export const TOPIC_CHARS_MAX = 249;
const place = "{{event}}";

/**
 * The topic of an event of this name: what a topic's name must not have becomes `_`, and a name
 * that is too long is cut.
 */
export function topicOf(template: string, name: string): string {
  const parts = template.split(place);
  if (parts.length === 1) return template;
  const room = TOPIC_CHARS_MAX - parts.join("").length;
  const safe = name.slice(0, TOPIC_CHARS_MAX).replace(/[^A-Za-z0-9._-]+/g, "_") || "_";
  const topic = parts.join(safe.slice(0, Math.floor(room / (parts.length - 1))));
  return topic === "." || topic === ".." || topic === "" ? "_" : topic;
}

/** Whether what an event says decides about its topic. */
export function namesEvent(template: string): boolean {
  return template.includes(place);
}
