import { expect, test } from "bun:test";
import fc from "fast-check";
import { parseExact, parseToShow } from "../../src/json/parse-exact.ts";

test("integers of 16 digits or more are texts, and all else is as JSON.parse reads it", () => {
  expect(
    parseExact(`{
      "long": 9007199254740993, "negative": -1234567890123456, "short": 123456789012345,
      "fraction": 1234567890123456.5, "power": 1234567890123456e1, "1234567890123456": [1],
      "text": "1234567890123456 \\" 1234567890123456", "list": [12345678901234567890]
    }`),
  ).toEqual({
    ...{ long: "9007199254740993", negative: "-1234567890123456", short: 123456789012345 },
    ...{ fraction: 1234567890123456.5, power: 12345678901234560, "1234567890123456": [1] },
    ...{ text: '1234567890123456 " 1234567890123456', list: ["12345678901234567890"] },
  });
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value);
      fc.pre(!/\d{16}/.test(text));
      expect(parseExact(text)).toEqual(JSON.parse(text));
    }),
  );
});

/** Runs `work` while the runtime has this `JSON.rawJSON`, or none. */
function withRawJson(rawJSON: ((text: string) => unknown) | undefined, work: () => void): void {
  const before = Object.getOwnPropertyDescriptor(JSON, "rawJSON");
  Object.defineProperty(JSON, "rawJSON", { value: rawJSON, configurable: true });
  try {
    work();
  } finally {
    if (before === undefined) delete (JSON as { rawJSON?: unknown }).rawJSON;
    else Object.defineProperty(JSON, "rawJSON", before);
  }
}

test("what is shown keeps the digits of large integers where the runtime can write them", () => {
  const json = '{"a":[9007199254740993,-12345678901234567890],"b":9007199254740992.5,"c":"1e400"}';
  withRawJson(undefined, () => expect(parseToShow(json)).toEqual(JSON.parse(json)));
  withRawJson(
    (raw) => ({ raw }),
    () =>
      expect(parseToShow(json)).toEqual({
        a: [{ raw: "9007199254740993" }, { raw: "-12345678901234567890" }],
        ...{ b: 9007199254740992, c: "1e400" },
      }),
  );
});
