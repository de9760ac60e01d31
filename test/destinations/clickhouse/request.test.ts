import { expect, test } from "bun:test";
import { ClickhouseDatabase } from "../../../src/destinations/clickhouse/database.ts";

const requestOf = (config: object) =>
  new ClickhouseDatabase({ url: "https://ch.test/", ...config } as never, "w", {} as never).request(
    "SELECT 1",
    7,
    new AbortController().signal,
  );

test("a statement is sent as the user of the config, without a password as none", () => {
  const { headers, method, url, body, timeoutMs, workspaceId } = requestOf({});
  expect(headers).toEqual({
    "content-type": "text/plain; charset=utf-8",
    "user-agent": "pixelmill",
    "x-clickhouse-user": "default",
  });
  expect([method, url, String(body), timeoutMs, workspaceId]).toEqual([
    ...["POST", "https://ch.test/", "SELECT 1", 7, "w"],
  ]);
  expect(requestOf({ user: "u", password: "p" }).headers).toMatchObject({
    ...{ "x-clickhouse-user": "u", "x-clickhouse-key": "p" },
  });
});

test("a statement is repeated on a new connection, since the token of an insert names it", () => {
  const { isRepeatable, tls } = requestOf({ tlsCa: "ca", tlsServerName: "name" });
  expect([isRepeatable, tls]).toEqual([true, { ca: "ca", serverName: "name" }]);
});

test("an array of bytes is sent as it is", () => {
  const bytes = Buffer.from("INSERT");
  const database = new ClickhouseDatabase({ url: "https://ch.test/" } as never, "w", {} as never);
  const { body } = database.request(bytes, 7, new AbortController().signal);
  expect(body).toBe(bytes);
});
