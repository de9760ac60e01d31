import { expect, test } from "bun:test";
import { type TSchema, Type } from "@sinclair/typebox";
import { FAULTS_WALKED_MAX, QUERY_PARAMETERS_MAX } from "../../../src/api/limits.ts";
import {
  expectBody,
  expectShape,
  readQuery,
  unknownKeys,
} from "../../../src/api/request/validation.ts";
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

test.each<[schema: TSchema, value: unknown, message: string]>([
  [Type.String(), 1, "a string, got a number"],
  [
    Type.String({ minLength: 2 }),
    "a",
    "a string of at least 2 characters, got a string of 1 character",
  ],
  [
    Type.String({ maxLength: 1 }),
    "ab",
    "a string of at most 1 characters, got a string of 2 characters",
  ],
  [
    Type.String({ minLength: 1, maxLength: 3 }),
    true,
    "a string of 1 to 3 characters, got a boolean",
  ],
  [Type.Boolean(), null, "true or false, got null"],
  [Type.Integer({ minimum: 5 }), 4, "an integer of at least 5, got a number"],
  [Type.Integer({ maximum: 5 }), 5.5, "an integer of at most 5, got a number"],
  [
    Type.Array(Type.Null(), { minItems: 1 }),
    [],
    "an array of at least 1 items, got an array of 0 items",
  ],
  [Type.Array(Type.Null()), {}, "an array, got an object"],
  [Type.Null(), "", "null, got a string of 0 characters"],
  [Type.Object({}), [1], "an object, got an array of 1 item"],
  [
    Type.Union([Type.Literal("a"), Type.Literal("b")]),
    "c",
    "one of a, b, got a string of 1 character",
  ],
  [
    Type.Union([Type.String(), Type.Integer(), Type.Integer()]),
    true,
    "a string or an integer, got a boolean",
  ],
  [
    Type.Union([Type.Union([Type.Literal("a"), Type.Literal("b")]), Type.Null()]),
    "c",
    "one of a, b or null, got a string of 1 character",
  ],
  [Type.String({ "x-expected": "a colour" }), 7, "a colour, got a number"],
])(
  "a value that the schema %j does not allow, %j, is refused in words",
  (schema, value, message) => {
    expect(refusalOf(() => expectShape(schema, value)).message).toBe(`Expected ${message}`);
  },
);

test("a refusal names the place in the first sentence, and has all faults with their places", () => {
  const choices = Type.Union([
    Type.String(),
    Type.Object({ size: Type.Integer() }),
    Type.Array(Type.Null()),
  ]);
  const schema = Type.Object({ name: Type.String(), each: Type.Array(choices) }, strict);
  // The refusal has only the first fault of each place.
  const value = { each: ["a", { size: "b" }, [1], 2], nam: 1, other: 1 };
  const { message, details } = refusalOf(() => expectShape(schema, value));
  expect(message).toBe("Expected a string at /name, got nothing");
  expect(details).toEqual([
    { path: "/name", message: "Expected a string, got nothing" },
    { path: "", message: 'Unknown key "nam", did you mean name?' },
    { path: "/each/1/size", message: "Expected an integer, got a string of 1 character" },
    { path: "/each/2/0", message: "Expected null, got a number" },
    { path: "/each/3", message: "Expected a string or an object or an array, got a number" },
  ]);
  const unknown = refusalOf(() => expectShape(schema, { name: "a", each: [], colour: 1 }));
  expect(unknown.message).toBe('Unknown key "colour", expected one of name, each');
});

test("a body is taken without the keys that its schema does not have, and without inherited ones", () => {
  const schema = Type.Object({ name: Type.String(), valueOf: Type.Optional(Type.Any()) });
  expect(expectBody(schema, { name: "a", other: 1 })).toEqual({ name: "a" });
});

test("a query is read with the types of its schema, and refused with the name of the parameter", () => {
  const schema = Type.Object({
    all: Type.Optional(Type.Boolean()),
    page: Type.Optional(Type.Integer({ minimum: 1 })),
    text: Type.Optional(Type.String()),
    sort: Type.Optional(Type.Union([Type.Literal("Name"), Type.Literal("-Name")])),
  });
  const read = (query: string) => readQuery(schema, `http://x/y${query}`);
  expect(read("")).toEqual({});
  expect(read("?all=true&page=12&text=true&sort=-NAME&utm=1")).toEqual({
    ...{ all: true, page: 12, text: "true", sort: "-Name" },
  });
  expect(read("?all=false&text=")).toEqual({ all: false, text: "" });
  for (const [query, path, message] of [
    ["?page=1&page=2", "?page", "Expected one value at ?page, got several"],
    ["?page=0", "?page", "Expected an integer of at least 1 at ?page, got a number"],
    [
      "?page=1e1",
      "?page",
      "Expected an integer of at least 1 at ?page, got a string of 3 characters",
    ],
    ["?all=yes", "?all", "Expected true or false at ?all, got a string of 3 characters"],
    ["?sort=size", "?sort", "Expected one of Name, -Name at ?sort, got a string of 4 characters"],
    ["?txet=a", "?text", "Expected the parameter text, got a name that is almost the same"],
  ] as const) {
    const refusal = refusalOf(() => read(query));
    expect([refusal.message, refusal.details?.[0]?.path]).toEqual([message, path]);
  }
});

test("the error names a key that the schema does not have, at any depth, and the nearest key that it has", () => {
  const few = { url: Type.String(), timeoutSeconds: Type.Integer() };
  const many = Object.fromEntries(Array.from("abcdefghi", (name) => [name.repeat(3), Type.Null()]));
  const schema = Type.Object({
    ...{ ...few, many: Type.Object(many), items: Type.Array(Type.Object(few)) },
    free: Type.Object(few, { additionalProperties: true }),
    map: Type.Record(Type.String(), Type.Object(few)),
  });
  const told = (value: unknown) =>
    [...unknownKeys(schema, value, "/config")].map(({ path, message }) => `${path}: ${message}`);
  expect(told({ url: 1, items: [few], free: { x: 1 }, map: { x: { y: 1 } }, many: [1] })).toEqual(
    [],
  );
  expect(told(null)).toEqual([]);
  expect(told({ URl: 1, timeout: 1, colour: 1 })).toEqual([
    '/config: Unknown key "URl", did you mean url?',
    '/config: Unknown key "timeout", did you mean timeoutSeconds?',
    '/config: Unknown key "colour", expected one of url, timeoutSeconds, many, items, free, map',
  ]);
  expect(told({ items: [{}, { myurl: 1, no: 1 }], many: { zzz: 1 } })).toEqual([
    '/config/items/1: Unknown key "myurl", did you mean url?',
    '/config/items/1: Unknown key "no", expected one of url, timeoutSeconds',
    '/config/many: Unknown key "zzz"',
  ]);
  // Two characters are too few to tell the key that was meant.
  expect(told({ items: [{ out: 1 }, { ut: 1 }] })).toEqual([
    '/config/items/0: Unknown key "out", did you mean timeoutSeconds?',
    '/config/items/1: Unknown key "ut", expected one of url, timeoutSeconds',
  ]);
  const [long, odd] = ["aaa".padEnd(101, "x"), "a secret: x"];
  expect(told({ many: { [long]: 1, [odd]: 1, [`${"x".repeat(97)}aaa`]: 1 } })).toEqual([
    "/config/many: Unknown key",
    "/config/many: Unknown key",
    `/config/many: Unknown key "${"x".repeat(97)}aaa", did you mean aaa?`,
  ]);
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
