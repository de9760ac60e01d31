/** Types of events. A pixel's event has one of the first two types, an SDK's event any of them. */
export const eventTypes = ["page", "track", "identify", "screen", "group", "alias"] as const;
export type EventType = (typeof eventTypes)[number];
