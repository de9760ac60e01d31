import { expect, test } from "bun:test";
import { type TSchema, Type } from "@sinclair/typebox";
import { FAULTS_WALKED_MAX, QUERY_PARAMETERS_MAX } from "../../../src/api/limits.ts";
import { expectShape, readQuery } from "../../../src/api/request/validation.ts";
import { routes } from "../../../src/api/route-table.ts";
import { nullable, strict } from "../../../src/api/schema/common.ts";
import { ApiError } from "../../../src/errors.ts";
import { DETAILS_MAX } from "../../../src/settings/limits.ts";

/** Counts how often the names of a schema's properties are listed: once for each suggestion. */
function countListings(schema: TSchema): () => number {
  let listings = 0;
  schema.properties = new Proxy(schema.properties, {
    ownKeys(target) {
      listings += 1;
      return Reflect.ownKeys(target);
    },
  });
  return () => listings;
}

function refusalOf(call: () => unknown): ApiError {
  try {
    call();
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  throw new Error("Expected a refusal");
}

test("each pattern of a request is explained in words", () => {
  const unexplained: string[] = [];
  const visit = (name: string, schema: TSchema): void => {
    if (schema.pattern !== undefined && schema["x-expected"] === undefined) unexplained.push(name);
    for (const part of [...Object.values(schema.properties ?? {}), ...(schema.anyOf ?? [])]) {
      visit(name, part as TSchema);
    }
  };
  for (const { method, path, query, body } of routes) {
    visit(`${method} ${path}`, query);
    if (body) visit(`${method} ${path}`, body);
  }
  expect(unexplained).toEqual([]);
});

test("a number beyond its bounds or null is expected in words", () => {
  const seconds = nullable(Type.Integer({ minimum: 0, maximum: 9 }));
  const refused = refusalOf(() => expectShape(Type.Object({ seconds }), { seconds: 10 }));
  expect(refused.message).toBe("Expected an integer of 0 to 9 or null at /seconds, got a number");
});

test("355,000 unknown keys cost as few suggestions as a hundred", () => {
  const schema = Type.Object({ name: Type.String(), language: Type.String() }, strict);
  expectShape(schema, { name: "a", language: "b" });
  const listings = countListings(schema);
  const value = Object.fromEntries(Array.from({ length: 355_000 }, (_, key) => [`k${key}`, 1]));
  const { details } = refusalOf(() => expectShape(schema, { name: "a", language: "b", ...value }));
  expect(details).toHaveLength(1);
  // One listing is that of the check itself.
  expect(listings()).toBeLessThanOrEqual(FAULTS_WALKED_MAX + 1);
});

test("unknown keys in the items of a list are looked at up to the bound", () => {
  const item = Type.Object({ name: Type.Optional(Type.String()) }, strict);
  const schema = Type.Object({ items: Type.Array(item) });
  expectShape(schema, { items: [] });
  const listings = countListings(item);
  const items = Array.from({ length: 200_000 }, () => ({ nam: 1 }));
  const { details } = refusalOf(() => expectShape(schema, { items }));
  expect(details).toHaveLength(DETAILS_MAX);
  expect(listings()).toBeLessThanOrEqual(2 * FAULTS_WALKED_MAX + 2);
});

test("the items of a list that is too long are not looked at", () => {
  const schema = Type.Object({
    ids: Type.Array(Type.Union([Type.String(), Type.Object({ id: Type.String() })]), {
      maxItems: 10,
    }),
  });
  let reads = 0;
  const ids = new Proxy(Array<string>(1_000_000).fill("a"), {
    get(target, key, receiver) {
      reads += 1;
      return Reflect.get(target, key, receiver);
    },
  });
  const { details } = refusalOf(() => expectShape(schema, { ids }));
  expect(details).toEqual([
    {
      path: "/ids",
      message: "Expected an array of at most 10 items, got an array of 1000000 items",
    },
  ]);
  expect(reads).toBeLessThan(20);
});

test("a query with too many parameters is refused before they are compared", () => {
  const schema = Type.Object({ page: Type.Optional(Type.Integer()) });
  const listings = countListings(schema);
  const query = (count: number) => `http://x/y?${"pge&".repeat(count - 1)}pge`;
  const message = `Expected a query of at most ${QUERY_PARAMETERS_MAX} parameters, got more`;
  expect(refusalOf(() => readQuery(schema, query(130_000))).message).toBe(message);
  expect(listings()).toBe(0);
  expect(refusalOf(() => readQuery(schema, query(QUERY_PARAMETERS_MAX))).message).toStartWith(
    "Expected the parameter page",
  );
});

test("every choice of every query parameter is taken, in any case", () => {
  let choices = 0;
  for (const { key, query } of routes) {
    for (const [name, property] of Object.entries<TSchema>(query.properties)) {
      for (const { const: choice } of property.anyOf ?? []) {
        if (typeof choice !== "string") continue;
        const schema = Type.Object({ [name]: property });
        for (const sent of [choice, choice.toUpperCase(), choice.toLowerCase()]) {
          const read = readQuery(schema, `/?${name}=${encodeURIComponent(sent)}`);
          expect([key, name, read[name]]).toEqual([key, name, choice]);
        }
        choices++;
      }
    }
  }
  expect(choices).toBeGreaterThan(20);
});
