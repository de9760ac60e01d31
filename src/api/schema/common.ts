import { type Static, type TObject, type TSchema, Type } from "@sinclair/typebox";
import { permissions } from "../../catalog/model.ts";
import { component, oneOf, optionalFlag, text } from "../../settings/schema-types.ts";
import "./formats.ts";
import {
  DESCRIPTION_CHARS_MAX,
  ID_CHARS_MAX,
  NAME_CHARS_MAX,
  PAGE_MAX,
  PERMISSIONS_MAX,
  REVISION_NOTE_CHARS_MAX,
  TEST_EVENTS_MAX,
} from "../../settings/limits.ts";

/** This file has the schemas that the requests and answers of several resources use. */

export const Id = Type.String({ minLength: 1, maxLength: ID_CHARS_MAX });
export const Name = Type.String({
  format: "name",
  description: `1 to ${NAME_CHARS_MAX} characters after trimming`,
});
export const Description = Type.String({ maxLength: DESCRIPTION_CHARS_MAX });
/** Schema of a user's note about why a revision is saved or published. */
export const Note = Type.Optional(
  Type.String({
    maxLength: REVISION_NOTE_CHARS_MAX,
    description: "Why; shown with the revision and in the audit log",
  }),
);
export const Code = Type.String({ format: "code" });
export const Time = Type.String({ format: "date-time", description: "ISO 8601 in UTC" });

/** Schema of the stage in which an event failed: in user code, or in the delivery. */
export const Stage = oneOf(["transform", "deliver"]);

/** Formats a time (milliseconds since the epoch) in ISO 8601, as all responses do. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

type DeepReadonly<T> = T extends object ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> } : T;

/**
 * Item that `answerOf` accepts. Unlike in the answer, a time may be a number, an optional field may
 * be undefined, and lists may be readonly.
 */
type Unformatted<Answer> = {
  [Key in keyof Answer]:
    | DeepReadonly<Answer[Key]>
    | (string extends Answer[Key] ? number : never)
    | (object extends Pick<Answer, Key> ? undefined : never);
};

/**
 * Converts an item to an answer. The answer has only the schema's fields, and times (milliseconds
 * since the epoch) become ISO 8601.
 */
export function answerOf<S extends TObject>(schema: S, item: Unformatted<Static<S>>): Static<S> {
  const answer: Record<string, unknown> = {};
  for (const [key, value] of Object.entries<unknown>(item)) {
    if (value === undefined || !Object.hasOwn(schema.properties, key)) continue;
    const isTime = schema.properties[key]?.format === Time.format && typeof value === "number";
    answer[key] = isTime ? isoTime(value) : value;
  }
  return answer as Static<S>;
}

export const Language = oneOf(["javascript", "pythonfaas", "python"], {
  description: "`python` is an alias of `pythonfaas`, answered as it was sent",
});
/**
 * Returns a schema that also accepts null. Clients written in Go send null for an object that was
 * never set, and routes treat it as an empty object.
 */
export const nullable = <S extends TSchema>(schema: S) => Type.Union([schema, Type.Null()]);

/**
 * Schema of a list that says which secrets an item has. Answers never contain the secrets
 * themselves.
 */
export const SecretsSet = Type.Array(Type.String(), {
  description: "JSON pointers to the secrets that are set, such as `/password`",
});

/**
 * Schema of the id that an external tool, such as Terraform, gave to an item. An empty string means
 * that the item has none.
 */
export const ExternalId = Type.String({
  maxLength: ID_CHARS_MAX,
  description: "The id by which an external tool knows it; an empty one is none",
});
/** Schema of an object with any keys, such as an event or a destination's config. */
export const AnyObject = Type.Record(Type.String(), Type.Unknown());

export const TestEvents = Type.Array(AnyObject, { maxItems: TEST_EVENTS_MAX });

export const publishQuery = {
  publish: optionalFlag("Publish at once; wins over `publish` in the body"),
};

export const pageQuery = {
  page: Type.Optional(Type.Integer({ minimum: 1, maximum: PAGE_MAX, default: 1 })),
};
export const hasExternalIdQuery = {
  hasExternalId: optionalFlag("Lists what has an external id alone, or what has none"),
};
/**
 * Schema option that refuses unknown keys. Used for objects in which ignoring a misspelt key would
 * do harm: a filter would match everything, or a token would never expire.
 */
export const strict = { additionalProperties: false } as const;

const Paging = component("Paging", {
  total: Type.Integer(),
  next: Type.Optional(text("Absent on the last page")),
});

export const Success = component("Success", { success: Type.Literal(true) });

/** Returns the schema of one item in a `/v2` response or request: `{[key]: item}`. */
export function enveloped<Key extends string, S extends TSchema>(key: Key, schema: S) {
  return Type.Object({ [key]: schema } as { [K in Key]: S });
}

/** Returns the schema of a list in a `/v2` response: `{[key]: [item…], paging}`. */
export function paged<Key extends string, S extends TSchema>(key: Key, schema: S) {
  return Type.Object({ [key]: Type.Array(schema), paging: Paging } as {
    [K in Key]: ReturnType<typeof Type.Array<S>>;
  } & { paging: typeof Paging });
}

/**
 * Schema of the field `missingNodes`: ids of the nodes that did not answer in time. Responses that
 * combine the states of all nodes have it.
 */
export const MissingNodes = Type.Optional(
  Type.Array(Type.String(), {
    description: "Ids of nodes that did not answer in time: what they know is not in the answer",
  }),
);

export const Permissions = Type.Array(oneOf(permissions), { maxItems: PERMISSIONS_MAX });
