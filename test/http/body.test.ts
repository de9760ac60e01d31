import { describe, expect, test } from "bun:test";
import { Body, joinChunks } from "../../src/http/body.ts";
import { HTTP_CHUNK_FRAMING_BYTES_MAX } from "../../src/settings/limits.ts";

const BYTES_MAX = 65_536;
const ENCODED_BYTES_MAX = BYTES_MAX + HTTP_CHUNK_FRAMING_BYTES_MAX;

/** Where a request ends, of which a head of four bytes and this body have come so far. */
function find(body: Body, text: string, before = "..."): { length: number; status: number } {
  const come = `${before}head${text}`;
  // Bytes after the used part of a buffer must not count.
  const bytes = Buffer.from(`${come}\n\r\n`, "latin1");
  return { length: body.find(bytes, before.length, come.length), status: body.status };
}

const chunked = () => new Body(4, undefined, BYTES_MAX);
const withLength = (length: number) => new Body(4, length, BYTES_MAX);
const chunk = (size: number) => `${size.toString(16)}\r\n${"x".repeat(size)}\r\n`;
const END = "0\r\n\r\n";

describe("a chunked body", () => {
  test.each([
    ["no chunk", END],
    ["one", `5\r\nhello\r\n${END}`],
    ["several", chunk(1) + chunk(10) + chunk(16) + END],
    ["sizes in any case", `a\r\n0123456789\r\nF\r\n0123456789abcde\r\n${END}`],
    ["every digit", [1, 2, 9, 10, 11, 15, 16, 25, 159].map(chunk).join("") + END],
    ["zeros in front of a size", `00000005\r\nhello\r\n${END}`],
    ["an extension", `5;a="b"\r\nhello\r\n0;c\r\n\r\n`],
    ["an empty extension", `5;\r\nhello\r\n${END}`],
    ["trailers", "1\r\nx\r\n0\r\nA: b\r\nC:\td\xff\r\n\r\n"],
    ["line ends inside a chunk", `6\r\n\r\n0\r\n\r\r\n${END}`],
  ])("ends where its last line does, and not before: %s", (_, text) => {
    const body = chunked();
    for (let end = 0; end < text.length; end++) {
      expect({ end, ...find(body, text.slice(0, end)) }).toEqual({ end, length: 0, status: 0 });
    }
    const whole = { length: 4 + text.length, status: 0 };
    expect(find(body, text)).toEqual(whole);
    expect(find(chunked(), `${text}GET / HTTP/1.1\r\n`)).toEqual(whole);
    expect(find(chunked(), text, "")).toEqual(whole);
  });

  test.each([
    ["no chunk", END, ""],
    ["one", `5\r\nhello\r\n${END}`, "hello"],
    ["several", `1\r\na\r\nA;x=y\r\n0123456789\r\n00002\r\n\r\n\r\n${END}`, "a0123456789\r\n"],
    ["trailers", "1\r\nx\r\n0\r\nA: b\r\n\r\n", "x"],
  ])("has the contents of its chunks, without their framing: %s", (_, text, contents) => {
    const bytes = Buffer.from(`head${text}GET`);
    expect(bytes.toString("latin1", 4, joinChunks(bytes, 4))).toBe(contents);
    expect(bytes.toString("latin1", 4 + text.length)).toBe("GET");
  });

  test.each([
    ["no size", "\r\n"],
    ["no digit", "g\r\n"],
    ["a character before the digits", "/\r\n"],
    ["a character behind the digits", ":\r\n"],
    ["a character before the letters", "`\r\n"],
    ["a sign", "+5\r\nhello\r\n"],
    ["a prefix", "0x5\r\nhello\r\n"],
    ["a blank behind the size", "5 \r\nhello\r\n"],
    ["nine digits", "000000005\r\nhello\r\n"],
    ["a bare line end", "5\nhello\r\n"],
    ["an empty line of LF alone", "\n"],
    ["a bare CR in an extension", "5;a\rb\r\nhello\r\n"],
    ["a control character in an extension", "5;a\0\r\nhello\r\n"],
    ["a chunk that is longer than it says", "5\r\nhello!\r\n"],
    ["a chunk without CR behind it", "5\r\nhello\n\n0\r\n\r\n"],
    ["a chunk without LF behind it", "5\r\nhello\r0\r\n\r\n"],
    ["a control character in a trailer", "0\r\nA: \x7f\r\n\r\n"],
    ["a bare LF in the trailers", "0\r\nA: b\n\r\n"],
  ])("is refused for %s, also when more comes", (_, text) => {
    const body = chunked();
    expect(find(body, text)).toEqual({ length: 0, status: 400 });
    expect(find(body, `${text}${END}${END}`)).toEqual({ length: 0, status: 400 });
  });

  test("is accepted up to the limit, all chunks together", () => {
    const half = BYTES_MAX / 2;
    const most = chunk(half) + chunk(half) + END;
    expect(find(chunked(), most)).toEqual({ length: 4 + most.length, status: 0 });
    expect(find(chunked(), chunk(half) + chunk(half + 1)).status).toBe(413);
    expect(find(chunked(), `${(BYTES_MAX + 1).toString(16)}\r\n`).status).toBe(413);
    expect(find(chunked(), `${chunk(half) + chunk(half)}1\r\n`).status).toBe(413);
  });

  test("is accepted up to the limit of encoded bytes, in one piece or in several, with chunks of any size", () => {
    const small = chunk(1).repeat(Math.ceil(ENCODED_BYTES_MAX / chunk(1).length) + 1);
    const body = chunked();
    expect(find(body, small.slice(0, ENCODED_BYTES_MAX)).status).toBe(0);
    expect(find(body, small.slice(0, ENCODED_BYTES_MAX + 1)).status).toBe(413);

    const count = Math.floor((ENCODED_BYTES_MAX - END.length) / chunk(1).length);
    const filler = "0".repeat((ENCODED_BYTES_MAX - END.length) % chunk(1).length);
    const whole = chunk(1).repeat(count - 1) + filler + chunk(1) + END;
    expect(whole.length).toBe(ENCODED_BYTES_MAX);
    expect(find(chunked(), `${whole}GET`)).toEqual({ length: 4 + whole.length, status: 0 });
    expect(find(chunked(), `0${whole}`)).toEqual({ length: 0, status: 413 });
  });

  test("is refused when one of its lines is too long, in one piece or in several", () => {
    const body = chunked();
    expect(find(body, `5;${"x".repeat(1_022)}`).status).toBe(0);
    expect(find(body, `5;${"x".repeat(1_023)}`).status).toBe(400);
    for (const [chars, status] of [
      [1_021, 0],
      [1_022, 400],
    ] as const) {
      const extension = "x".repeat(chars);
      expect(find(chunked(), `5;${extension}\r\nhello\r\n${END}`).status).toBe(status);
      expect(find(chunked(), `0\r\nA:${extension}\r\n\r\n`).status).toBe(status);
    }
  });
});

describe("a body with Content-Length", () => {
  test("ends after that many bytes", () => {
    const body = withLength(3);
    expect(find(body, "ab")).toEqual({ length: 0, status: 0 });
    expect(find(body, "abc")).toEqual({ length: 7, status: 0 });
    expect(find(body, "abcGET")).toEqual({ length: 7, status: 0 });
  });

  test("is refused beyond the limit before its first byte", () => {
    expect(withLength(BYTES_MAX).status).toBe(0);
    const long = withLength(BYTES_MAX + 1);
    expect(find(long, "")).toEqual({ length: 0, status: 413 });
  });
});
