import fc from "fast-check";

/** Queries that are mean: what parsers get wrong, in every mixture. */

const component = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom("a", "b", "c", "items", "properties", "context") },
  { weight: 4, arbitrary: fc.constantFrom("0", "1", "2", "10", "999", "1000", "01", "-1", "1e2") },
  { weight: 3, arbitrary: fc.constantFrom("screen", "page", "url", "width", "All", "") },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      "__proto__",
      "constructor",
      "prototype",
      "toString",
      "hasOwnProperty",
      "length",
      "%5F_proto__",
      "toJSON",
    ),
  },
  { weight: 2, arbitrary: fc.constantFrom("%61", "%C3%A9", "%FF", "%E2%82%AC", "%00", "%22", "+") },
  { weight: 1, arbitrary: fc.string({ maxLength: 5 }).map(encodeURIComponent) },
);

const top = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom("properties", "context", "context.screen") },
  { weight: 4, arbitrary: fc.constantFrom("anonymousId", "userId", "name", "event", "writeKey") },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      "type",
      "messageId",
      "originalTimestamp",
      "sentAt",
      "receivedAt",
      "channel",
      "request_ip",
      "integrations",
      "write%4Bey",
      "%70roperties",
      "%65vent",
    ),
  },
  { weight: 3, arbitrary: component },
);

const dot = fc.constantFrom(".", ".", ".", "%2E", "%2e");

const name = fc
  .tuple(top, fc.array(fc.tuple(dot, component), { maxLength: 5 }))
  .map(([first, rest]) => first + rest.map(([separator, text]) => separator + text).join(""));

const deepName = fc
  .tuple(top, component, fc.integer({ min: 10, max: 18 }))
  .map(([first, text, levels]) => first + `.${text}`.repeat(levels));

const byte = fc.integer({ min: 0, max: 255 }).map((value) => {
  const hex = value.toString(16).padStart(2, "0");
  return `%${value % 2 ? hex : hex.toUpperCase()}`;
});

const value = fc.oneof(
  fc.constantFrom(
    "",
    "0",
    "-0",
    "7",
    "007",
    "+1",
    "-1.50",
    "1.0.0",
    "1e5",
    "0x1F",
    "NaN",
    "Infinity",
    "123456789012345",
    "1234567890123456",
    "0.000000000000000000123",
    "0.1234567890123456",
    "-",
    "1.",
    ".5",
    "-%31",
    "%31%30",
    "1%2E5",
    "+",
    "%20",
    "%22",
    "%22%22",
    "%22x%22",
    "%22+%22",
    "%22a%5C%22",
  ),
  fc.string().map(encodeURIComponent),
  fc.string({ unit: "grapheme" }).map(encodeURIComponent),
  fc.double({ noNaN: true }).map((number) => encodeURIComponent(String(number))),
  fc.array(byte, { maxLength: 8 }).map((bytes) => bytes.join("")),
  fc.constantFrom(
    "%",
    "%4",
    "%zz",
    "%%41",
    "%E2%82",
    "%E2%28%A1",
    "%F0%9F%98%80",
    "%F0%9F%98",
    "%ED%A0%80",
    "%C0%AF",
    "%F4%90%80%80",
    "%EF%BB%BFx",
    "a\\b",
    "a=b=c",
    "%E2%80%A8",
    "%7F",
    "%01%1f",
  ),
);

const pair = fc.oneof(
  { weight: 20, arbitrary: fc.tuple(name, value).map(([left, right]) => `${left}=${right}`) },
  { weight: 1, arbitrary: fc.tuple(deepName, value).map(([left, right]) => `${left}=${right}`) },
  { weight: 2, arbitrary: name },
  { weight: 1, arbitrary: value.map((text) => `=${text}`) },
  { weight: 1, arbitrary: fc.constant("") },
  { weight: 1, arbitrary: fc.constantFrom("writeKey=k", "anonymousId=a", "userId=u", "event=e") },
);

/** Any characters that the HTTP layer could hand over: one byte each. */
const noise = fc
  .array(fc.constantFrom(...'abp019.&=%+2eE"\\\u0001\u0080\u00e9\u00ff '), { maxLength: 40 })
  .map((characters) => characters.join(""));

export const query: fc.Arbitrary<string> = fc.oneof(
  { weight: 12, arbitrary: fc.array(pair, { maxLength: 8 }).map((pairs) => pairs.join("&")) },
  { weight: 1, arbitrary: fc.array(pair, { maxLength: 60 }).map((pairs) => pairs.join("&")) },
  { weight: 2, arbitrary: noise },
);
