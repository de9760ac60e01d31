import { expect, test } from "bun:test";
import { type TSchema, Type } from "@sinclair/typebox";
import {
  configAnswer,
  expectForms,
  expectWhole,
  kindOf,
  missingKeys,
  newType,
  resolveConfig,
  schemaWithSecrets,
  secretsSet,
} from "../../../src/api/routes/resources/destination-config.ts";
import { appliesWhen } from "../../../src/destinations/config-schema.ts";
import type { DestinationKind } from "../../../src/destinations/destination.ts";
import { ApiError } from "../../../src/errors.ts";

/** A kind with a secret of each place: in the config, in an object, and in the items of a list. */
const password: TSchema = appliesWhen({ mode: ["basic"] }, Type.String());
const configSchema = Type.Object({
  url: Type.String(),
  mode: Type.Optional(Type.String({ default: "basic" })),
  password,
  oauth: Type.Optional(Type.Object({ url: Type.String(), secret: Type.String() })),
  headers: Type.Optional(
    Type.Array(Type.Object({ from: Type.String(), to: Type.String() }), { maxItems: 2 }),
  ),
});
const audiences = ({ url }: Record<string, unknown>) => {
  const { host, protocol } = new URL(String(url));
  return [{ host, isTls: protocol === "https:" }];
};
const shown = ({ url }: Record<string, unknown>) => String(url).replace(/key=.*/, "key=***");
const kind = {
  ...{ kind: "test", configSchema },
  validate: (config: Record<string, unknown>) => [
    ...(config.url === undefined ? [{ path: "/url", message: "Expected a URL" }] : []),
    ...(config.mode === "bad" ? [{ path: "/mode", message: "Expected another mode" }] : []),
  ],
  secretKeys: [
    { path: "password", audiences },
    { path: "oauth.secret", audiences },
    { path: "headers.to", isSecret: ({ from }: { from: string }) => from !== "plain", audiences },
  ],
  maskedKeys: [{ path: "url", shown }],
} as unknown as DestinationKind;

const url = "https://a.test/?key=secret";
const stored = {
  url,
  password: "p",
  oauth: { url: "o", secret: "s" },
  headers: [
    { from: "h", to: "1" },
    { from: "plain", to: "2" },
  ],
};

/** The config that is stored after a change, or the faults of the change by their paths. */
function changed(
  sent: Record<string, unknown>,
  before: Record<string, unknown> = stored,
  enabled = true,
) {
  try {
    return resolveConfig(kind, sent, before, enabled);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return error.details?.map(({ path, message }) => `${path}: ${message}`);
  }
}

test("a change keeps the secrets that it leaves out, each in its place", () => {
  const { password, oauth, headers } = stored;
  const table: [sent: Record<string, unknown>, stored: Record<string, unknown>][] = [
    [{ url }, { url, password }],
    [
      { url, password: "new" },
      { url, password: "new" },
    ],
    [{ url, password: null }, { url }],
    // A password of another mode has no effect.
    [
      { url, mode: "none" },
      { url, mode: "none" },
    ],
    [
      { url, oauth: { url: "o" } },
      { url, password, oauth },
    ],
    [
      { url, oauth: { url: "o", secret: "" } },
      { url, password, oauth },
    ],
    [
      { url, oauth: { url: "x", secret: null } },
      { url, password, oauth: { url: "x", secret: "s" } },
    ],
    [
      { url, oauth: { url: "o", secret: "t" } },
      { url, password, oauth: { url: "o", secret: "t" } },
    ],
    [
      { url, oauth: null },
      { url, password },
    ],
    [
      { url, headers: [{ to: "", from: "plain" }, { from: "h" }] },
      { url, password, headers: headers.toReversed() },
    ],
    [
      { url, headers: [{ from: "h", to: "3" }] },
      { url, password, headers: [{ from: "h", to: "3" }] },
    ],
    // An item whose other fields have changed is another one.
    [
      { url, headers: [{ from: "i", to: "" }] },
      { url, password, headers: [{ from: "i", to: "" }] },
    ],
    [
      { url, headers: [] },
      { url, password, headers: [] },
    ],
  ];
  for (const [sent, expected] of table) expect(changed(sent)).toEqual(expected);
  const noSecret = { url, oauth: { url: "o" }, headers: [{ from: "h", to: "" }] };
  expect(changed(noSecret, { url })).toEqual(noSecret);
});

test("equal items of a list keep their secrets in order, each once", () => {
  const before = {
    url,
    headers: [
      { from: "h", to: "1" },
      { from: "h", to: "2" },
    ],
  };
  const sent = (count: number) => ({ url, headers: Array(count).fill({ from: "h", to: "" }) });
  expect(changed(sent(2), before)).toEqual(before);
  // A list that is too long is refused as it was sent.
  expect(changed(sent(3), before)).toEqual(sent(3));
});

test("a secret that was kept goes to no other host, and to none without TLS", () => {
  const message = (host: string) =>
    `Expected the secret again, since the one that is kept is for ${host} within TLS, got none`;
  const before = { ...stored, url: "https://a.test/" };
  const faults = (...paths: string[]) =>
    paths.map((path) => `/config${path}: ${message("a.test")}`);
  const { oauth, headers } = stored;
  const moved = { url: "https://b.test/" };
  expect(changed(moved, before)).toEqual(faults("/password"));
  expect(changed({ url: "http://a.test/" }, before)).toEqual(faults("/password"));
  expect(changed({ ...moved, oauth: { url: "o" }, headers: [{ from: "h" }] }, before)).toEqual(
    faults("/password", "/oauth/secret", "/headers/0/to"),
  );
  const again = { ...moved, password: "p", oauth, headers };
  expect(changed(again, before)).toEqual(again);
  expect(changed({ url: "https://a.test/other" }, before)).toEqual({
    url: "https://a.test/other",
    password: "p",
  });
});

test("a masked URL that comes back as it was answered keeps its secret part, and another one is refused", () => {
  const masked = "https://a.test/?key=***";
  expect(changed({ url: masked })).toEqual({ url, password: "p" });
  const fault = [
    "/config/url: Expected the whole text, since *** stands for a secret part of another one",
  ];
  expect(changed({ url: "https://a.test/other?key=***" })).toEqual(fault);
  expect(changed({ url: masked }, {})).toEqual(fault);
  // A text that was stored with these signs is no mask.
  expect(changed({ url: masked }, { url: masked })).toEqual({ url: masked });
});

test("a disabled destination may lack keys, and has no wrong ones", () => {
  expect(changed({}, {}, true)).toEqual(["/config/url: Expected a URL"]);
  expect(changed({}, {}, false)).toEqual({});
  const wrong = "/config/mode: Expected another mode";
  expect(changed({ mode: "bad" }, {}, true)).toEqual(["/config/url: Expected a URL", wrong]);
  expect(changed({ mode: "bad" }, {}, false)).toEqual([wrong]);
  expect(changed({ url, other: 1 }, {}, false)?.toString()).toContain('Unknown key "other"');
  expect(missingKeys(kind, { mode: "bad" })).toEqual([{ path: "/url", message: "Expected a URL" }]);
  expect(missingKeys(kind, { url })).toEqual([]);
  expect(() => expectWhole(kind, { url, mode: "bad" })).not.toThrow();
  expect(() => expectWhole(kind, {})).toThrow("Expected a URL");
});

test("a config is answered without its secrets, or with those of headers and URLs when the operator says so", () => {
  const config = { ...stored, unknown: 1 };
  const common = { oauth: { url: "o" } };
  const plain = { from: "plain", to: "2" };
  expect(configAnswer(kind, config, "hidden" as never)).toEqual({
    ...{ ...common, url: "https://a.test/?key=***" },
    headers: [{ from: "h", to: "" }, plain],
  });
  expect(configAnswer(kind, config, "clear")).toEqual({ ...common, url, headers: stored.headers });
  expect(configAnswer(kind, {}, "hidden" as never)).toEqual({});
  const open = { ...kind, configSchema: { ...configSchema, additionalProperties: true } };
  expect(configAnswer(open, config, "clear")).toMatchObject({ unknown: 1 });
});

test("the secrets of a config are named where they are set and secret", () => {
  const table: [config: Record<string, unknown>, paths: string[]][] = [
    [stored, ["/password", "/oauth/secret", "/headers/0/to"]],
    [{}, []],
    [{ password: "", oauth: { secret: "" }, headers: [{ from: "h", to: "" }] }, []],
    [{ password: null, oauth: null, headers: [null, { from: "h", to: "x" }] }, ["/headers/1/to"]],
  ];
  for (const [config, paths] of table) expect(secretsSet(kind, config)).toEqual(paths);
  const schema = schemaWithSecrets(kind).properties;
  expect([
    schema.password.writeOnly,
    schema.oauth.properties.secret.writeOnly,
    schema.headers.items.properties.to.writeOnly,
    schema.headers.items.properties.from.writeOnly,
    schema.url.writeOnly,
  ]).toEqual([true, true, true, undefined, undefined]);
  // The schema of the kind itself stays as it is.
  expect(password.writeOnly).toBeUndefined();
});

test("the type of a destination is a kind of this server, or one that RudderStack defines", () => {
  const definition = { name: "GA4", displayName: "Analytics", config: {} };
  const deps = {
    kinds: new Map([["test", kind]]),
    definitions: { destination: (type: string) => (type === "GA4" ? definition : undefined) },
  } as never;
  expect(kindOf(deps, "Test")).toBe(kind);
  expect(expectForms(deps, "test")).toBe(kind);
  expect(() => expectForms(deps, "gone")).toThrow(
    "definition of the destination's type is missing",
  );
  expect(newType(deps, { type: "TEST" })).toEqual({ type: "test", forms: kind });
  expect(() => newType(deps, { type: "none" })).toThrow(
    "Expected one of test at /type, got another type",
  );
  expect(() => newType(deps, { type: "GA4", deliveredBy: "pixelmill" })).toThrow(
    "Expected one of test",
  );
  expect(newType(deps, { type: "GA4" })).toMatchObject({
    ...{ type: "GA4", deliveredBy: "rudder-server" },
  });
  const noDefinition = { type: "test", deliveredBy: "rudder-server" as const };
  expect(() => newType(deps, noDefinition)).toThrow("Expected a type that has a definition");
});
