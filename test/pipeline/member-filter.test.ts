import { expect, test } from "bun:test";
import { createMemberFilter } from "../../src/pipeline/transforming/member-filter.ts";

const filter = createMemberFilter(["header", "appendPath", "fullPath"]);
const filtered = (text: string) => Buffer.from(filter(Buffer.from(text))).toString();

test("a client cannot set what only user code may set, wherever and however it writes it", () => {
  for (const name of ["fullPath", "f\\u0075llPath", "\\u0066\\u0075llPat\\u0068"]) {
    expect(filtered(`{"a":1,"${name}":"x","b":[2]}`)).toBe('{"a":1,"b":[2]}');
    for (const webhook of ["Webhook", "webhook", "W\\u0065bhook"]) {
      const sent = `{"integrations": {"All" :true, "${webhook}" : {"${name}":"x","kept":1.0}}}`;
      expect(filtered(sent)).toBe(`{"integrations":{"All" :true,"${webhook}" : {"kept":1.0}}}`);
    }
    const escaped = `{"integrat\\u0069ons":{"Webhook":{"${name}":{}}}}`;
    expect(filtered(escaped)).toBe('{"integrations":{"Webhook":{}}}');
  }
});

test("an event without such members keeps its bytes", () => {
  const event = Buffer.from('{"integrations":{"All":true},"properties":{"plan":"pro"}}');
  expect(filter(event)).toBe(event);
  expect(filtered('{"properties":{"a":"\\u00e9"},"integrations":[1]}')).toBe(
    '{"properties":{"a":"\\u00e9"},"integrations":[1]}',
  );
});
