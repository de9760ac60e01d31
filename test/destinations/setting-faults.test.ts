import { expect, test } from "bun:test";
import { type TObject, Type } from "@sinclair/typebox";
import { applies, conditionText } from "../../src/destinations/applies-when.ts";
import { configFaults, egressFaults } from "../../src/destinations/config-faults.ts";
import { appliesWhen } from "../../src/destinations/config-schema.ts";
import { audienceOfUrl } from "../../src/destinations/secret-audience.ts";
import { EgressRefused } from "../../src/egress/egress.ts";
import { oneOf, optionalFlag, optionalInteger } from "../../src/settings/schema-types.ts";

const item = Type.Object({ from: Type.String(), to: Type.String() });
const schema = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 5 }),
  mode: Type.Optional(oneOf(["a", "b"], { default: "a" })),
  size: optionalInteger(1, 9, {}),
  flag: optionalFlag(""),
  list: Type.Optional(Type.Array(item, { maxItems: 2 })),
  inner: Type.Optional(
    Type.Object(
      { id: Type.String({ minLength: 1, maxLength: 3 }), flag: optionalFlag("") },
      { "x-expected": "an object with an id" },
    ),
  ),
  other: Type.Optional(Type.String({ pattern: "^x$", "x-expected": "an x" })),
  depth: appliesWhen({ mode: ["b"], flag: "any" }, optionalInteger(0, 3, { default: 2 })),
  loud: appliesWhen({ mode: ["a"] }, optionalFlag("")),
});
const of = (config: object) =>
  configFaults(schema as TObject, { name: "n", ...config }).map(
    ({ path, message }) => `${path}: ${message}`,
  );

test.each([
  [{}, []],
  [{ name: "" }, ["/name: Expected a string of 1 to 5 characters, got a string of 0 characters"]],
  [{ name: undefined }, ["/name: Expected a string of 1 to 5 characters, got nothing"]],
  [{ mode: "c" }, ["/mode: Expected one of a, b, got a string of 1 character"]],
  [{ size: 10 }, ["/size: Expected an integer from 1 to 9, got a number"]],
  [{ size: "5" }, ["/size: Expected an integer from 1 to 9, got a string of 1 character"]],
  [{ flag: 1 }, ["/flag: Expected true or false, got a number"]],
  [{ list: {} }, ["/list: Expected an array of at most 2 objects with from and to, got an object"]],
  [
    { list: [{ from: 1, to: 2 }] },
    ["/list: Expected an array of at most 2 objects with from and to, got an array of 1 item"],
  ],
  [{ inner: 5 }, ["/inner: Expected an object with an id, got a number"]],
  [
    { inner: { id: "long", flag: "x" } },
    [
      "/inner/id: Expected a string of 1 to 3 characters, got a string of 4 characters",
      "/inner/flag: Expected true or false, got a string of 1 character",
    ],
  ],
  [{ other: "y" }, ["/other: Expected an x, got a string of 1 character"]],
] as [object, string[]][])("a config with %j has the faults %j", (config, faults) => {
  expect(of(config)).toEqual(faults);
});

test.each([
  [{ depth: 1 }, ["/depth: Expected none unless mode is b or flag is set, got a number"]],
  [{ depth: 1, mode: "b" }, []],
  [{ depth: 1, flag: false }, []],
  [{ depth: 0 }, ["/depth: Expected none unless mode is b or flag is set, got a number"]],
  // A default has the same effect as none.
  [{ depth: 2 }, []],
  [{ depth: undefined }, []],
  [{ loud: true }, []],
  [{ loud: true, mode: "b" }, ["/loud: Expected none unless mode is a, got a boolean"]],
  [{ loud: false, mode: "b" }, []],
  // Whether it has an effect is unknown until the other setting is right.
  [{ loud: true, mode: "c" }, ["/mode: Expected one of a, b, got a string of 1 character"]],
  [{ depth: "x" }, ["/depth: Expected an integer from 0 to 3, got a string of 1 character"]],
] as [object, string[]][])(
  "a setting without an effect is a fault: %j has %j",
  (config, faults) => {
    expect(of(config)).toEqual(faults);
  },
);

test("at most 100 faults of a schema are looked for", () => {
  const many = Type.Object(
    Object.fromEntries(Array.from({ length: 150 }, (_, n) => [`k${n}`, Type.Boolean()])),
  );
  const config = Object.fromEntries(Object.keys(many.properties).map((key) => [key, 1]));
  expect(configFaults(many, config)).toHaveLength(100);
});

test("a condition is met by one of its settings, or by their defaults", () => {
  const properties = {
    ...{ plain: {}, mode: { default: "a" } },
    one: { "x-applies-when": { mode: ["a", "c"] } },
    any: { "x-applies-when": { mode: ["b"], plain: "any" } },
  } as const;
  const met = (key: string, config: object) => applies({ properties }, key, { ...config });
  expect([met("one", {}), met("one", { mode: "c" }), met("one", { mode: "b" })]).toEqual([
    ...[true, true, false],
  ]);
  expect([met("any", {}), met("any", { plain: 0 }), met("any", { mode: "b" })]).toEqual([
    ...[false, true, true],
  ]);
  expect([met("plain", {}), met("missing", {}), applies({}, "any", {})]).toEqual([
    ...[true, true, true],
  ]);
  expect(conditionText({ mode: ["a", "b", "c"], key: "any" })).toBe(
    "mode is a, b, or c or key is set",
  );
});

test("an address that is not allowed is a fault, and any other error is thrown on", () => {
  expect(egressFaults("/url", () => 1)).toEqual([]);
  const refuse = () => {
    throw new EgressRefused("Not there");
  };
  expect(egressFaults("/url", refuse)).toEqual([{ path: "/url", message: "Not there" }]);
  expect(() => egressFaults("/url", () => audienceOfUrl("no URL"))).toThrow(TypeError);
});
