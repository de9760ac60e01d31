import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import * as errors from "../src/errors.ts";

const coded = (code: unknown, message = "secret") => Object.assign(new Error(message), { code });

test("only what is missing becomes undefined; every other error is thrown on", () => {
  const reading = (error: Error) => () =>
    errors.unlessMissing((): string => {
      throw error;
    });
  expect(errors.unlessMissing(() => "there")).toBe("there");
  expect(reading(new errors.ApiError("missing", "No such item"))()).toBeUndefined();
  expect(reading(new errors.ApiError("conflict", "Changed"))).toThrow("Changed");
  expect(reading(Object.assign(new Error("Odd"), { refusal: "missing" }))).toThrow("Odd");
});

test("a start fails with what was tried and the system's reason", () => {
  expect(errors.orStartError("Cannot read it", () => 1)).toBe(1);
  const read = () => errors.orStartError("Cannot read it", () => readFileSync("/not/there"));
  expect(read).toThrow(errors.StartError);
  expect(read).toThrow(/^Cannot read it: no such file or directory \(ENOENT\)$/);
});

const UNKNOWN = "expected an address of this machine, or a name that it can look up";
test("a listener that fails names its address and why", () => {
  for (const [cause, reason] of [
    [coded("EADDRINUSE"), "address already in use (EADDRINUSE)"],
    [coded("ENOENT"), UNKNOWN],
    [coded("ENOTFOUND"), UNKNOWN],
    [coded("EAI_AGAIN"), UNKNOWN],
    [coded("EADDRNOTAVAIL"), UNKNOWN],
    [new Error("Failed to listen at nowhere"), UNKNOWN],
    [coded("EACCES", "Failed to listen at nowhere"), "permission denied (EACCES)"],
    [new Error("Odd"), "Odd"],
    ["a text", "a text"],
    [null, "null"],
  ]) {
    const error = errors.listenError({ host: "h", port: 80 }, cause);
    expect(error).toBeInstanceOf(errors.StartError);
    expect(error.message).toBe(`Cannot listen on h port 80: ${reason}`);
  }
});

test("a code is that of an error alone, and a message that of anything thrown", () => {
  expect(
    [coded("ENOENT"), coded(5), new Error("Odd"), { code: "ENOENT" }].map(errors.codeOf),
  ).toEqual(["ENOENT", "5", "", ""]);
  expect(errors.messageOf(new SuppressedError(new Error("Left"), "First"))).toBe("First");
  expect([new Error("Odd"), "a text", undefined].map(errors.messageOf)).toEqual([
    "Odd",
    "a text",
    "undefined",
  ]);
  expect(errors.systemReason(coded("ENOENT"))).toBe("no such file or directory (ENOENT)");
  expect(errors.systemReason(coded("UNHEARD_OF", "Odd"))).toBe("Odd");
});

test.each([
  ["DEPTH_ZERO_SELF_SIGNED_CERT", "self-signed"],
  ["SELF_SIGNED_CERT_IN_CHAIN", "of an unknown authority"],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "of an unknown authority"],
  ["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", "of an unknown authority"],
  ["CERT_HAS_EXPIRED", "expired"],
  ["CERT_NOT_YET_VALID", "not valid yet"],
  ["ERR_TLS_CERT_ALTNAME_INVALID", "of another host"],
  ["UNABLE_TO_GET_CRL_ISSUER", "not valid"],
  ["CERT_REVOKED", "not valid"],
])("the error %s says that a certificate is %s", (code, fault) => {
  expect(errors.certificateFault(code)).toBe(fault);
  expect(errors.failureText(code, "It failed", "Your")).toBe(
    `Your certificate is not accepted: ${fault} (${code})`,
  );
});

test.each([
  ["ECONNREFUSED", "It failed: connection refused (ECONNREFUSED)"],
  [
    "ERR_SSL_WRONG_VERSION_NUMBER",
    "It failed: the server does not speak TLS on this port (ERR_SSL_WRONG_VERSION_NUMBER)",
  ],
  ["UNHEARD_OF", "It failed (UNHEARD_OF)"],
])("the error %s is no fault of a certificate", (code, text) => {
  expect(errors.certificateFault(code)).toBeUndefined();
  expect(errors.failureText(code, "It failed", "Your")).toBe(text);
});

test.each([
  [undefined, "nothing"],
  [null, "null"],
  [[], "an array of 0 items"],
  [["secret"], "an array of 1 item"],
  ["", "a string of 0 characters"],
  ["s", "a string of 1 character"],
  ["secret", "a string of 6 characters"],
  [{ secret: 1 }, "an object"],
  [7, "a number"],
  [true, "a boolean"],
])("a value is described by its type and size: %p", (value, text) => {
  expect(errors.describeValue(value)).toBe(text);
});

test.each([
  ["abc", 3, "", "abc"],
  ["abcd", 3, "", "abc"],
  ["abcd", 3, "…", "ab…"],
  ["abc", 3, "…", "abc"],
  ["a😀b", 3, "", "a😀"],
  ["a😀b", 2, "", "a"],
  ["a😀bc", 3, "…", "a…"],
  ["a😀b", 4, "…", "a😀b"],
])("a text is cut between characters: %s to %i UTF-16 units with %p", (text, max, end, cut) => {
  expect(errors.cutText(text, max, end)).toBe(cut);
});
