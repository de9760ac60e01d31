import { describe, expect, test } from "bun:test";
import { isFromPage, secretCheck } from "../../src/transformer/guard.ts";

const exchange = (headers: Record<string, string>) =>
  ({ header: (name: string) => headers[name] }) as never;
const basic = (text: string) => `Basic ${Buffer.from(text).toString("base64")}`;

describe("the shared secret of a request", () => {
  test.each([
    ["Bearer secret", true],
    ["bearer  secret", true],
    [basic("secret"), true],
    [basic("secret:"), true],
    [basic("user:secret"), true],
    [basic(":secret"), true],
    [basic("user:other"), false],
    ["Bearer other", false],
    ["Bearer", false],
    ["Digest secret", false],
    ["Bearer secret more", false],
    ["xBearer secret", false],
    ["", false],
  ])("in the header %j is right: %p", (authorization, isRight) => {
    expect(secretCheck("secret")(exchange({ authorization }))).toBe(isRight);
  });

  test("is missing without the header, and not needed where none is set", () => {
    expect(secretCheck("secret")(exchange({}))).toBe(false);
    expect(secretCheck(undefined)(exchange({}))).toBe(true);
  });
});

describe("a request that a browser sent for a page", () => {
  test.each([
    [{}, false],
    [{ origin: "https://a.example" }, true],
    [{ "sec-fetch-site": "cross-site" }, true],
    [{ "sec-fetch-site": "none" }, false],
    [{ host: "localhost:9090" }, false],
    [{ host: "127.0.0.1" }, false],
    [{ host: "[::1]:80" }, false],
    [{ host: "a.example" }, true],
    [{ host: "127.0.0.1.a.example" }, true],
  ])("to the loopback with the headers %j is known: %p", (headers, isKnown) => {
    expect(isFromPage(exchange(headers as Record<string, string>), true)).toBe(isKnown);
  });

  test("to another address may have any host", () => {
    expect(isFromPage(exchange({ host: "a.example" }), false)).toBe(false);
  });
});
