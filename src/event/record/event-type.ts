/** The types of events. A pixel can send the first two, an SDK all of them. */
export const eventTypes = ["page", "track", "identify", "screen", "group", "alias"] as const;
export type EventType = (typeof eventTypes)[number];
