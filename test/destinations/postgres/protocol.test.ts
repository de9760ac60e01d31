import { expect, test } from "bun:test";
import * as protocol from "../../../src/destinations/postgres/protocol.ts";

const { integerAt, NotPostgres, PostgresMessageReader, rowOf } = protocol;
const bytes = (text: string) => Buffer.from(text, "latin1");

test("a message is read once it is whole, and a length that is too small or too large is refused", () => {
  const read = (text: string) => [...new PostgresMessageReader(8).read(bytes(text))];
  const told = (text: string) => read(text).map(({ type, body }) => [type, body.toString()]);
  expect(told("Z\0\0\0\x05IR\0\0\0\x04C\0\0\0\x08done")).toEqual([
    ["Z", "I"],
    ["R", ""],
    ["C", "done"],
  ]);
  expect(told("R\0\0\0\x04")).toEqual([["R", ""]]);
  for (const part of ["", "Z", "Z\0\0\0", "Z\0\0\0\x05"]) expect(told(part)).toEqual([]);
  for (const length of ["\0\0\0\x03", "\0\0\0\x09", "\xff\xff\xff\xff"]) {
    expect(() => read(`Z${length}`)).toThrow(NotPostgres);
  }
});

test("a row is read only if the message has all of it, and no byte of the next", () => {
  const row = "\0\x04\0\0\0\0\xff\xff\xff\xff\0\0\0\x02ab\0\0\0\x01c";
  expect(rowOf(bytes(row))).toEqual(["", null, "ab", "c"]);
  expect(rowOf(bytes(`${row}more`))).toEqual(["", null, "ab", "c"]);
  expect(rowOf(bytes("\0\0"))).toEqual([]);
  for (let end = 0; end < row.length; end++) {
    expect(() => rowOf(bytes(row.slice(0, end)))).toThrow(NotPostgres);
  }
  expect(integerAt(bytes("x\0\0\x01\x02"), 1, 4)).toBe(258);
  expect(() => integerAt(bytes("x\0\0\x01\x02"), 2, 4)).toThrow(NotPostgres);
});

test("each field of an error is read under its letter, and a field without text is left out", () => {
  const fields = protocol.errorFields(bytes("SERROR\0C42P01\0Mno table\0D\0Ln\0\0"));
  expect(Object.fromEntries(fields)).toEqual({ S: "ERROR", C: "42P01", M: "no table", L: "n" });
});

const messages: [string, Buffer, string][] = [
  ["the request for TLS", protocol.sslRequest, "\0\0\0\x08\x04\xd2\x16\x2f"],
  ["the end", protocol.terminate, "X\0\0\0\x04"],
  [
    "the start",
    protocol.startup({ user: "u", database: "d" }),
    "\0\0\0\x1b\0\x03\0\0user\0u\0database\0d\0\0",
  ],
  ["a password", protocol.password("pw"), "p\0\0\0\x07pw\0"],
  [
    "the first message of SCRAM",
    protocol.saslInitial("M", "é"),
    "p\0\0\0\x0cM\0\0\0\0\x02\xc3\xa9",
  ],
  ["the second message of SCRAM", protocol.saslResponse("ab"), "p\0\0\0\x06ab"],
  ["SQL without parameters", protocol.simpleQuery("A"), "Q\0\0\0\x06A\0"],
  [
    "statements of one transaction",
    protocol.query(["A"], ["B", "x", "é"]),
    "P\0\0\0\x09\0A\0\0\0B\0\0\0\x0c\0\0\0\0\0\0\0\0E\0\0\0\x09\0\0\0\0\0" +
      "P\0\0\0\x09\0B\0\0\0B\0\0\0\x17\0\0\0\0\0\x02\0\0\0\x01x\0\0\0\x02\xc3\xa9\0\0" +
      "E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04",
  ],
];
test.each(messages)("a client sends the bytes of the protocol: %s", (_, sent, expected) => {
  expect(sent.toString("latin1")).toBe(expected);
});
