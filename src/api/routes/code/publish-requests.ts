import { type Static, type TObject, Type } from "@sinclair/typebox";
import type { TestEvent } from "../../../publishing/publisher.ts";
import {
  DESTINATION_REFERENCES_MAX,
  JSON_LEVELS_MAX,
  TEST_EVENTS_MAX,
} from "../../../settings/limits.ts";
import { isTooDeep } from "../../request/body.ts";
import { validationError } from "../../request/validation.ts";
import { AnyObject, Id, isObject, type publishQuery, TestEvents } from "../../schema/common.ts";

/** Schemas and readers of request fields that have several forms with one meaning. */

export const PublishFlag = Type.Optional(
  Type.Boolean({ description: "As in the query, which wins; default false" }),
);

interface PublishRequest {
  query: Static<TObject<typeof publishQuery>>;
  body: { publish?: boolean };
}

/** A request that may connect destinations when it publishes. */
export interface LinkingPublishRequest extends PublishRequest {
  body: PublishRequest["body"] & Static<TObject<typeof destinationLists>>;
}

export function isPublish({ query, body }: PublishRequest): boolean {
  return query.publish ?? body.publish ?? false;
}

const eventsToTest = "Events to test the code with; without any, a page and a track";

/** `events` of create and update: an array, or one object. */
export const Events = Type.Optional(
  Type.Union([TestEvents, AnyObject], { description: eventsToTest }),
);

export function eventList(events: TestEvent[] | TestEvent): TestEvent[] {
  return Array.isArray(events) ? events : [events];
}

/** `testInput` of publish: an array, or that array as a JSON text (RudderStack's older form). */
export const TestInput = Type.Optional(
  Type.Union([TestEvents, Type.String()], { description: eventsToTest }),
);

export function testInputList(input: TestEvent[] | string, path: string): TestEvent[] {
  if (typeof input !== "string") return input;
  const events = parseJson(input);
  const fits = Array.isArray(events) && events.length <= TEST_EVENTS_MAX && events.every(isObject);
  if (fits) return events;
  const message =
    `Expected at most ${TEST_EVENTS_MAX} event objects in a JSON array of at most ` +
    `${JSON_LEVELS_MAX} levels, got other text`;
  throw validationError([{ path, message }]);
}

/** The ids in `destinations` and `destinationIds`, as strings or as `{id}`. */
const DestinationReferences = Type.Optional(
  Type.Array(Type.Union([Id, Type.Object({ id: Id })]), {
    maxItems: DESTINATION_REFERENCES_MAX,
    description: "Destinations to connect; only when publishing, else ignored",
  }),
);
export const destinationLists = {
  destinationIds: DestinationReferences,
  destinations: DestinationReferences,
};

export function destinationIdsOf(body: Static<TObject<typeof destinationLists>>): string[] {
  const references = [...(body.destinationIds ?? []), ...(body.destinations ?? [])];
  return references.map((item) => (typeof item === "string" ? item : item.id));
}

function parseJson(text: string): unknown {
  if (isTooDeep(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
