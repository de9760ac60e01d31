import { type Static, type TObject, Type } from "@sinclair/typebox";
import type { Principal } from "../../../catalog/model.ts";
import { isObject } from "../../../is-object.ts";
import { parseToShow } from "../../../json/parse-exact.ts";
import type { TestEvent } from "../../../publishing/publisher.ts";
import {
  DESTINATION_REFERENCES_MAX,
  JSON_LEVELS_MAX,
  TEST_EVENTS_MAX,
} from "../../../settings/limits.ts";
import { optionalFlag } from "../../../settings/schema-types.ts";
import { expectJsonShape } from "../../request/json-shape.ts";
import { invalidValue } from "../../request/validation.ts";
import { AnyObject, Id, type publishQuery, TestEvents } from "../../schema/common.ts";

/**
 * This file has the schemas of the fields of publish requests. Some fields can be sent in several
 * forms, which the functions below convert to one.
 */

export const PublishFlag = optionalFlag("As in the query, which wins; default false");

interface PublishRequest {
  query: Static<TObject<typeof publishQuery>>;
  body: { publish?: boolean };
}

/**
 * Request to create or update a transformation. A request that publishes the transformation may
 * also list destinations to which the transformation is then connected.
 */
export interface LinkingPublishRequest extends PublishRequest {
  body: PublishRequest["body"] & Static<TObject<typeof destinationLists>>;
}

const storedFields = ["name", "language", "code", "description", "note"] as const;

/** Converts a request to create or update code to the input of the catalog. */
export function revisionInput<Body extends PublishRequest["body"]>(
  call: Omit<PublishRequest, "body"> & { principal: Principal; body: Body; request: Request },
) {
  const { principal, body, request } = call;
  const given = storedFields.filter((name) => Reflect.get(body, name) !== undefined);
  const fields = Object.fromEntries(given.map((name) => [name, Reflect.get(body, name)]));
  return {
    createdBy: principal,
    publish: isPublish(call),
    caller: request.signal,
    ...(fields as Pick<Body, (typeof storedFields)[number] & keyof Body>),
  };
}

export function isPublish({ query, body }: PublishRequest): boolean {
  return query.publish ?? body.publish ?? false;
}

const eventsToTest = "Events to test the code with; without any, a page and a track";

/** Schema of `events` in a create or update request: an array of events, or one event. */
export const Events = Type.Optional(
  Type.Union([TestEvents, AnyObject], { description: eventsToTest }),
);

export function eventList(events: TestEvent[] | TestEvent): TestEvent[] {
  return Array.isArray(events) ? events : [events];
}

/**
 * Schema of `testInput` in a publish request: an array of events. RudderStack's older clients send
 * the array as a string of JSON.
 */
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
  throw invalidValue(path, message);
}

/**
 * Schema of the destinations to which a request connects a transformation: a list of ids, each a
 * string or an object `{id}`.
 */
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
  try {
    expectJsonShape(text);
    return parseToShow(text);
  } catch {
    return undefined;
  }
}
