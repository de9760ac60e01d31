import fc from "fast-check";

/** Arbitrary JSON texts of SDK requests: members in any order and spelling, twice or not at all. */
const space = fc.constantFrom("", "", "", " ", "\n", "\t", "\r\n", "  ");

const piece = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 8 }).map((text) => JSON.stringify(text).slice(1, -1)),
  fc.constantFrom(
    "\\/",
    "\\n",
    "\\u0041",
    "\\uD83D\\uDE00",
    "\\ud800",
    "\\u0000",
    "\u2028",
    "\x7f",
  ),
  fc.constantFrom("a", " ", "é", "€", "😀", '\\"', "\\\\"),
);
const string = fc.array(piece, { maxLength: 4 }).map((pieces) => `"${pieces.join("")}"`);

const number = fc.oneof(
  fc.integer().map(String),
  fc.constantFrom("0", "-0", "1.5", "1e2", "-1E+2", "0.1e-7", "1e999", "123456789"),
);
const scalar = fc.oneof(string, number, fc.constantFrom("true", "false", "null"));

const names = [
  ...["type", "messageId", "userId", "anonymousId", "sentAt", "context", "integrations"],
  ...["writeKey", "event", "properties", "traits", "batch", "__proto__", "constructor", ""],
];
const name = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(...names).map((it) => `"${it}"`) },
  { weight: 1, arbitrary: fc.constantFrom(...names.map(escaped)) },
  { weight: 1, arbitrary: string },
);
const type = fc.constantFrom('"track"', '"page"', '"identify"', '"Alias"', '"merge"', '" group"');
const time = fc.constantFrom('"2026-11-20T07:31:05.123Z"', '"2026-11-20"', '"soon"', "0");

/** Writes the first character of a name as an escape. */
function escaped(text: string): string {
  if (text === "") return '""';
  return `"\\u${text.charCodeAt(0).toString(16).padStart(4, "0")}${text.slice(1)}"`;
}

function listOf(items: fc.Arbitrary<string>, open: string, close: string): fc.Arbitrary<string> {
  const item = fc.tuple(space, items, space).map((parts) => parts.join(""));
  return fc
    .tuple(fc.array(item, { maxLength: 5 }), space)
    .map(([all, gap]) => `${open}${all.join(",") || gap}${close}`);
}

const memberOf = (value: fc.Arbitrary<string>) =>
  fc.tuple(name, space, space, value).map(([key, a, b, it]) => `${key}${a}:${b}${it}`);

export const { value, object } = fc.letrec<{ value: string; object: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    scalar,
    listOf(tie("value"), "[", "]"),
    tie("object"),
  ),
  object: listOf(memberOf(tie("value")), "{", "}"),
}));

/** An event with the members that matter, and some of anything. */
const member = fc.oneof(
  fc.tuple(fc.constantFrom('"userId"', '"anonymousId"', '"messageId"'), scalar),
  fc.tuple(fc.constant('"type"'), type),
  fc.tuple(fc.constant('"sentAt"'), time),
  fc.tuple(fc.constantFrom('"context"', '"integrations"'), fc.oneof(object, scalar)),
  fc.tuple(name, value),
);
export const event = listOf(
  fc.tuple(member, space).map(([[key, it], gap]) => `${key}${gap}:${gap}${it}`),
  "{",
  "}",
);

const events = listOf(fc.oneof({ weight: 5, arbitrary: event }, value), "[", "]");
const batchMember = fc.oneof(
  { weight: 3, arbitrary: fc.tuple(fc.constantFrom('"batch"', escaped("batch")), events) },
  { weight: 2, arbitrary: member },
  { weight: 1, arbitrary: fc.tuple(fc.constant('"writeKey"'), string) },
);
export const batch = fc
  .tuple(
    space,
    listOf(
      batchMember.map(([key, it]) => `${key}:${it}`),
      "{",
      "}",
    ),
    space,
  )
  .map((parts) => parts.join(""));

/** Changes a byte of a text, removes or repeats a part, or leaves it. */
export const damaged = (texts: fc.Arbitrary<string>): fc.Arbitrary<Buffer> =>
  fc
    .tuple(
      texts.map((text) => Buffer.from(text)),
      fc.constantFrom("none", "byte", "cut", "repeat", "insert"),
      fc.nat(),
      fc.nat(20),
      fc.oneof(fc.constantFrom(...Buffer.from('"\\{}[],:0-e\n')), fc.nat(255)),
    )
    .map(([bytes, change, place, length, byte]) => {
      const at = place % (bytes.length + 1);
      const [head, tail] = [bytes.subarray(0, at), bytes.subarray(at)];
      if (change === "byte") return Buffer.concat([head, Buffer.of(byte), tail.subarray(1)]);
      if (change === "insert") return Buffer.concat([head, Buffer.of(byte), tail]);
      if (change === "cut") return Buffer.concat([head, tail.subarray(length)]);
      if (change === "repeat") return Buffer.concat([head, tail.subarray(0, length), tail]);
      return bytes;
    });
