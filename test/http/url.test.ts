import { expect, test } from "bun:test";
import { httpUrl, reachableUrl } from "../../src/http/url.ts";

test("a listener's URL has an IPv6 address in brackets", () => {
  expect(httpUrl("127.0.0.1", 80)).toBe("http://127.0.0.1:80");
  expect(httpUrl("pixels.test", 443, "https")).toBe("https://pixels.test:443");
  expect(httpUrl("::1", 8080)).toBe("http://[::1]:8080");
});

test("a client of this machine reaches a listener of all addresses as localhost", () => {
  const urls = ["http://0.0.0.0:1", "https://[::]:2", "http://[::1]:3", "http://10.0.0.0:4"];
  expect(urls.map(reachableUrl)).toEqual([
    ...["http://localhost:1", "https://localhost:2", "http://[::1]:3", "http://10.0.0.0:4"],
  ]);
});
