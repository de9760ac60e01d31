import { expect, test } from "bun:test";
import { outline, outlineOf } from "../../src/event/sdk/outline.ts";

const objectOf = (names: readonly string[]) =>
  Buffer.from(`{${names.map((name) => `${JSON.stringify(name)}:1`).join(",")}}`);

test("an outline has each member of an event whose names differ in one character, in event after event", () => {
  for (let length = 1; length <= 20; length++) {
    const names = [...Array(length).keys()].flatMap((at) =>
      [..."abcdef"].map((letter) => `${"-".repeat(at)}${letter}${"-".repeat(length - 1 - at)}`),
    );
    const json = objectOf([...names, "-".repeat(length + 1)]);
    for (let repeat = 0; repeat < 3; repeat++) expect(outlineOf(json)).toBe(true);
    expect(outline.members).toBe(names.length + 1);
  }
});

test("two objects of an event may have equal names, one object may not", () => {
  const members = Array.from({ length: 300 }, (_, n) => `"name ${n}":1`).join(",");
  expect(outlineOf(Buffer.from(`{"a":{${members}},"b":{${members}},${members}}`))).toBe(true);
  expect(outlineOf(Buffer.from(`{"a":{${members}},"b":{${members},"name 299":1}}`))).toBe(false);
});

test("a name that occurs twice is found in events of every size", () => {
  for (const size of [1, 2, 40, 49, 50, 51, 400, 1_600, 3_200, 4_000]) {
    const names = Array.from({ length: size }, (_, n) => n.toString(36));
    expect(outlineOf(objectOf(names))).toBe(true);
    expect(outlineOf(objectOf([...names, "0"]))).toBe(false);
    expect(outlineOf(objectOf([...names, names.at(-1)!]))).toBe(false);
  }
});

test("an event with more members than an outline holds is not outlined", () => {
  expect(outlineOf(objectOf(Array.from({ length: 5_000 }, (_, n) => `${n}`)))).toBe(false);
});

test("the names of earlier events do not count against the bound of an event", () => {
  const names = Array.from({ length: 4_000 }, (_, n) => `${n}`);
  for (let event = 0; event < 20; event++) expect(outlineOf(objectOf(names))).toBe(true);
});

test.each([
  ['{"a":1,"a":2}', false],
  ['{"a":{"b":1,"b":2}}', false],
  ['{"a":[{"b":1,"c":{},"b":2}]}', false],
  ['{"b":1,"\\u0062":2}', false],
  ['{"long name":1,"lon\\u0067 name":2}', false],
  ['{"a":{"a":{"a":1}},"b":{"a":1}}', true],
  ['{"a":[{"a":1},{"a":1}]}', true],
  ['{"a":"b","b":"a","c":["a","a"]}', true],
  ['{"a":"\\"b\\":","b":"\\\\"}', true],
  ['{ "a" : "x" , "b" : [ "a" , "b" ] }', true],
  ["{}", true],
])("%s has no name twice in one object: %p", (json, isOutlined) => {
  expect(outlineOf(Buffer.from(json))).toBe(isOutlined);
});

test("members are found with their values, without the white space around them", () => {
  const json = Buffer.from(
    ' { "userId" : "u" ,\t"b" : [ 1 , {"context":2} ] , "context":{ "ip" : 1 } } ',
  );
  expect(outlineOf(json)).toBe(true);
  const { starts, valueStarts, valueEnds } = outline;
  const found = Array.from({ length: outline.members }, (_, n) => [
    json.toString("utf8", starts[n], valueStarts[n]),
    json.toString("utf8", valueStarts[n], valueEnds[n]),
  ]);
  expect(found).toEqual([
    ['"userId" : ', '"u"'],
    ['"b" : ', '[ 1 , {"context":2} ]'],
    ['"context":', '{ "ip" : 1 }'],
  ]);
  expect(outline.hasIp).toBe(true);
  expect(outlineOf(Buffer.from('{"a":{"ip":1},"context":[{"ip":1}]}'))).toBe(true);
  expect(outline.hasIp).toBe(false);
});

test("an object that ends early is not outlined", () => {
  expect(outlineOf(Buffer.from('{"a":"text without an end'))).toBe(false);
});
