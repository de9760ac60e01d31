import { expect, test } from "bun:test";
import { basicUser, queryWriteKey } from "../../../src/ingest/sdk/write-key.ts";

const encoded = (text: string) => Buffer.from(text).toString("base64");

test.each([
  ["with a password", `Basic ${encoded("key:secret:more")}`, "key"],
  ["without a password", `Basic ${encoded("key:")}`, "key"],
  ["without a colon", `Basic ${encoded("key")}`, "key"],
  ["of one letter", `Basic ${encoded("k:")}`, "k"],
  ["in another alphabet", `basic   ${Buffer.from("ké?>~:").toString("base64url")}`, "ké?>~"],
  ["of 2,048 characters", `Basic ${encoded("k".repeat(1_536))}`, "k".repeat(1_536)],
  ["of more", `Basic ${encoded("k".repeat(1_537))}`, undefined],
  ["that is empty", `Basic ${encoded(":secret")}`, undefined],
  ["of another scheme", `Bearer ${encoded("key:")}`, undefined],
  ["behind another scheme", `x Basic ${encoded("key:")}`, undefined],
  ["that is no base64", "Basic key:", undefined],
  ["that is absent", undefined, undefined],
])("the user of an authorization %s is the write key", (_, authorization, key) => {
  const header = (name: string) => (name === "authorization" ? authorization : "other");
  expect(basicUser({ header })).toBe(key);
});

test.each([
  ["writeKey=key", "key"],
  ["a=b&writeKey=k%2B+y&writeKey=other", "k+ y"],
  ["writekey=key", undefined],
  ["writeKey=", undefined],
  ["", undefined],
])("the write key of the query %j is %p", (query, key) => {
  expect(queryWriteKey({ query })).toBe(key);
});
