import { afterEach, describe, expect, setSystemTime, test } from "bun:test";
import {
  expiredSessionCookie,
  hasSessionCookie,
  sessionCookie,
  sessionSecret,
  signInCookie,
  signInCookieValue,
} from "../../../src/api/request/session-cookie.ts";

afterEach(() => {
  setSystemTime();
});
const headers = (fields: Record<string, string>) => new Headers(fields);
const secure = { "x-forwarded-proto": "https" };

describe("a session cookie", () => {
  const request = (fields: Record<string, string> = {}) =>
    ({ headers: headers(fields) }) as Request;

  test("lasts as long as the session, in whole seconds, and at least one", () => {
    setSystemTime(1_000_000);
    const ages = [1_010_999, 1_001_000, 1_000_999, 900_000].map((expiresAt) => {
      const text = sessionCookie(request(), "s", expiresAt)["Set-Cookie"];
      return /Max-Age=(\d+)/.exec(text)?.[1];
    });
    expect(ages).toEqual(["10", "1", "1", "1"]);
  });

  test("is for this host alone, and over TLS for TLS alone", () => {
    setSystemTime(0);
    const strict = "HttpOnly; SameSite=Strict";
    expect(sessionCookie(request(), "s", 1_000)["Set-Cookie"]).toBe(
      `pixelmill-session=s; Path=/; Max-Age=1; ${strict}`,
    );
    expect(sessionCookie(request(secure), "s", 1_000)["Set-Cookie"]).toBe(
      `__Host-pixelmill-session=s; Path=/; Max-Age=1; Secure; ${strict}`,
    );
    expect(expiredSessionCookie(request())["Set-Cookie"]).toBe(
      `pixelmill-session=; Path=/; Max-Age=0; ${strict}`,
    );
  });

  const cookie = "a=1; pixelmill-session=p; b";
  const both = `${cookie}; __Host-pixelmill-session=h`;
  test.each([
    [{ cookie }, "p"],
    [{ cookie: both }, "h"],
    [{ cookie, ...secure }, undefined],
    [{ cookie, origin: "HTTPS://host" }, undefined],
    [{ cookie, origin: "http://host" }, "p"],
    [{ cookie, "x-forwarded-proto": "http, https" }, "p"],
    [{ cookie, "x-forwarded-proto": " HTTPS , http" }, undefined],
    [{ cookie, "sec-fetch-site": "none", host: "a.example" }, undefined],
    [{ cookie, "sec-fetch-site": "none", host: "localhost:8081" }, "p"],
    [{ cookie, "sec-fetch-site": "none", host: "app.localhost" }, "p"],
    [{ cookie, "sec-fetch-site": "none", host: "127.0.0.1:1" }, "p"],
    [{ cookie, "sec-fetch-site": "none", host: "[::1]" }, "p"],
    [{ cookie, "sec-fetch-site": "none", host: "localhost.example" }, undefined],
    [{ cookie: "=x; other=1" }, undefined],
    [{}, undefined],
  ])("of the headers %j is %s", (fields, secret) => {
    expect(sessionSecret(headers(fields as Record<string, string>))).toBe(secret);
  });

  test("that another site has set, too, is refused", () => {
    const twice = headers({ cookie: "pixelmill-session=a; pixelmill-session=b" });
    expect(() => sessionSecret(twice)).toThrow("Expected one session cookie, got several");
    expect(hasSessionCookie(twice)).toBe(true);
    expect(hasSessionCookie(headers({ cookie: "x=1" }))).toBe(false);
  });
});

describe("the cookie of a sign-in at a provider", () => {
  test("comes back from the provider, and only once", () => {
    const lax = "HttpOnly; SameSite=Lax";
    expect(signInCookie(headers({}), "v", 9)).toBe(
      `pixelmill-sign-in=v; Path=/; Max-Age=9; ${lax}`,
    );
    expect(signInCookie(headers(secure), "v", 9)).toBe(
      `__Host-pixelmill-sign-in=v; Path=/; Max-Age=9; Secure; ${lax}`,
    );
    const value = (cookie: string, more = {}) => signInCookieValue(headers({ cookie, ...more }));
    expect(value("pixelmill-sign-in=v")).toBe("v");
    expect(value("pixelmill-sign-in=v", secure)).toBeUndefined();
    expect(value("__Host-pixelmill-sign-in=v=w", secure)).toBe("v=w");
    expect(value("pixelmill-sign-in=v; pixelmill-sign-in=w")).toBeUndefined();
    expect(value("")).toBeUndefined();
  });
});
