import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  readMembers,
  valueEnd,
  withoutMembers,
} from "../../../src/destinations/formats/json-members.ts";
import {
  WEBHOOK_BODY_BYTES_MAX,
  WEBHOOK_TEMPLATE_LEVELS_MAX,
  WEBHOOK_TEMPLATE_PLACES_MAX,
} from "../../../src/destinations/webhook/limits.ts";
import {
  parseTemplate,
  render,
  TemplateError,
} from "../../../src/destinations/webhook/template.ts";

const filled = (template: string, event: unknown) =>
  render(parseTemplate(template, "event"), JSON.stringify(event));

describe("a template", () => {
  const event = {
    event: 'A "name"\n',
    userId: "u1",
    properties: { price: 9.5, ok: false, none: null, "a b": 1, items: [{ id: 7 }, "x"], $1: 2 },
  };
  test.each<[string, unknown]>([
    ['{"a": {{event.properties.price}}}', { a: 9.5 }],
    ['{"a": "{{event.properties.price}} EUR"}', { a: "9.5 EUR" }],
    ['{"a": {{event.event}}}', { a: 'A "name"\n' }],
    ['{"a": "<{{event.event}}|{{event.userId}}>"}', { a: '<A "name"\n|u1>' }],
    ['{"a": {{event.properties.ok}}, "b": {{event.properties.none}}}', { a: false, b: null }],
    ['{"a": {{event.nothing.here}}, "b": "{{event.nothing.here}}"}', { a: null, b: "" }],
    ['{"a": "{{event.properties.none}}"}', { a: "" }],
    ["[{{event.properties.items[0].id}}, {{event.properties.items.1}}]", [7, "x"]],
    ["[{{event.properties['a b']}}, {{ event.properties.$1 }}]", [1, 2]],
    ['{"all": {{event.properties.items}}}', { all: [{ id: 7 }, "x"] }],
    ['{"text": "{{event.properties.items}}"}', { text: '[{"id":7},"x"]' }],
    ["{{event}}", event],
    ['{"a": {"b": {{event.userId}}}}', { a: { b: "u1" } }],
    [
      '{"a": "\\u007b{event.userId}}", "b": "\\\\{{event.userId}}"}',
      { a: "{{event.userId}}", b: "\\u1" },
    ],
    ['"plain"', "plain"],
  ])("%s", (template, body) => expect(JSON.parse(filled(template, event))).toEqual(body));

  test("numbers stay as written, and the last of repeated names counts", () => {
    const template = parseTemplate('[{{event.a}}, "{{event.a}}", {{event.b.c}}]', "event");
    const json = '{"a":12345678901234567890.10,"b":{"c":1},"b":{"d":2}}';
    expect(render(template, json)).toBe(
      '[12345678901234567890.10, "12345678901234567890.10", null]',
    );
  });

  test.each([
    ["", "Expected JSON"],
    ["{{event}", "Expected }} after {{ at line 1, column 1"],
    ['{"a":\n {{user.id}}}', 'got "user.id" at line 2, column 2'],
    ['{"a": {{eventful}}}', "Expected a path such as event or event.name"],
    ['{"a": {{event.}}}', "Expected a path"],
    ['{"a": {{event..b}}}', "Expected a path"],
    ['{"a": {{event.a()}}}', "Expected a path"],
    ['{"a": {{event["a"]}}}', "Expected a path"],
    ['{"a": {{#if event.a}}}', "Expected a path"],
    ['{"a": {{event.a | upper}}}', "Expected a path"],
    ['{"a" {{event}}}', "Expected JSON"],
    ['{"a": 1{{event.a}}}', "Expected JSON"],
    ['{"a": "x}', "Expected JSON"],
    ['{"{{event.a}}": 1}', "Expected no {{ in names"],
    ['{"a": "\\u00{{event.a}}41"}', "Expected JSON"],
    ['{"a": "\\{{event.a}}"}', "Expected JSON"],
    [`{{event${".a".repeat(WEBHOOK_TEMPLATE_LEVELS_MAX + 1)}}}`, "Expected paths of at most"],
    [`[${"{{event}},".repeat(WEBHOOK_TEMPLATE_PLACES_MAX)}{{event}}]`, "Expected at most"],
  ])("%j is a fault", (template, message) => {
    expect(() => parseTemplate(template, "event")).toThrow(TemplateError);
    expect(() => parseTemplate(template, "event")).toThrow(message);
  });

  test("a template cannot make a body of any size", () => {
    const places = Array(100).fill("{{event}}").join(",");
    const big = { a: "x".repeat(WEBHOOK_BODY_BYTES_MAX / 50) };
    expect(() => filled(`[${places}]`, big)).toThrow("Expected events that make a body of at most");
  });

  // Values whose texts would end a string, or a body, if they were not escaped.
  const text = fc.oneof(
    fc.string({ unit: "binary", maxLength: 8 }),
    fc.constantFrom('"', "\\", '\\"', "\\u00", '","evil":"', "}}", "{{event}}", "\u2028", "\0"),
  );
  const value = fc.letrec((tie) => ({
    any: fc.oneof(
      ...[text, fc.integer(), fc.boolean(), fc.constant(null)],
      fc.array(tie("any"), { maxLength: 3 }),
      fc.dictionary(text, tie("any"), { maxKeys: 3 }),
    ),
  })).any;
  /** A value after JSON: without lone surrogates. */
  const sent = (it: unknown) => JSON.parse(Buffer.from(JSON.stringify(it)).toString());

  test("the body is the JSON of the template with the values, whatever these are", () => {
    const template = '{"a": {{event.x}}, "b": ["<{{event.x}}|{{event.y}}>"], "c": {{event.y}}}';
    const property = fc.property(value, value, (x, y) => {
      const asText = (it: any) =>
        it === null ? "" : typeof it === "string" ? it : JSON.stringify(it);
      const body = JSON.parse(Buffer.from(filled(template, { x, y })).toString());
      const [a, c] = [sent(x), sent(y)];
      expect(body).toEqual({ a, b: [sent(`<${asText(x)}|${asText(y)}>`)], c });
    });
    fc.assert(property, { numRuns: 1_000 });
  });

  test("members are found as JSON.parse finds them, whatever the white space", () => {
    const spaces = fc.constantFrom(0, 1, 3, "\t", "\r\n ");
    const property = fc.property(fc.dictionary(text, value), spaces, (object, space) => {
      const json = JSON.stringify(object, null, space);
      const found: [string, unknown][] = [];
      const end = readMembers(json, 0, (key, valueStart) => {
        const end = valueEnd(json, valueStart);
        found.push([key, JSON.parse(json.slice(valueStart, end))]);
        return end;
      });
      expect(end).toBe(json.length);
      expect(found).toEqual(Object.entries(JSON.parse(json)));
      const [first = "none"] = Object.keys(object);
      const { [first]: _, ...rest } = JSON.parse(json);
      expect(JSON.parse(withoutMembers(json, new Set([first])))).toEqual(rest);
    });
    fc.assert(property, { numRuns: 1_000 });
  });

  test("a truncated text is an error and no endless loop", () => {
    const json = '{"a":[1,{"b":"c\\"d"}],"e":{"f":null}}';
    for (let length = 1; length < json.length; length += 1) {
      const cut = json.slice(0, length);
      expect(() => readMembers(cut, 0, (_, at) => valueEnd(cut, at))).toThrow(SyntaxError);
    }
  });
});
