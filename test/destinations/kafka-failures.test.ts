import { expect, test } from "bun:test";
import * as failures from "../../src/destinations/kafka/failures.ts";
import { EgressRefused } from "../../src/egress/egress.ts";

/** All error codes of Kafka's protocol, and the ones around them. */
const codes = Array.from({ length: 140 }, (_, n) => n - 2);
const codesWith = (is: (code: number) => boolean) => codes.filter(is);

test("each error code of a broker has one reaction of the producer", () => {
  const of = (reaction: string) => codesWith((code) => failures.classify(code) === reaction);
  // No error, and a repeated sequence number.
  expect(of("written")).toEqual([0, 46]);
  // Sizes, the time, a policy, and what the topic does not take.
  expect(of("records")).toEqual([10, 18, 32, 44, 87]);
  // Sequence out of order, producer epochs, an unknown id, an id that is mapped elsewhere.
  expect(of("identity")).toEqual([45, 47, 49, 59, 90]);
  expect(of("later")).toHaveLength(codes.length - 12);
  expect(codesWith(failures.isTooLarge)).toEqual([10, 18]);
});

test("only permissions, names and credentials wait for an operator", () => {
  expect(codesWith((code) => failures.outlookOf(code) === "later")).toEqual([17, 29, 31, 33, 58]);
  expect(failures.outlookOf(3)).toBe("soon");
});

test("a sentence has the meaning, the topic, the code, and at most 300 characters of a broker", () => {
  expect(failures.sentenceOf(3, "t")).toBe("The topic does not exist (topic t, error 3)");
  expect(failures.sentenceOf(3, undefined, "gone.")).toBe(
    "The topic does not exist: gone (error 3)",
  );
  expect(failures.sentenceOf(119, undefined, "")).toBe("The brokers refuse (error 119)");
  expect(failures.sentenceOf(3, undefined, "x".repeat(301))).toBe(
    `The topic does not exist: ${"x".repeat(300)} (error 3)`,
  );
  expect(codesWith((code) => failures.isMissingTopic(failures.sentenceOf(code)))).toEqual([3]);
});

test("an error without a broker's code is later's, except one of the guarded way out", () => {
  const error = (text: string, code?: string) => Object.assign(new Error(text), code && { code });
  const of = (thrown: unknown) => {
    const { outlook, message, answer } = failures.failureOf(thrown);
    return [outlook, message, answer];
  };
  const own = new failures.KafkaFailure("soon", "known");
  expect(failures.failureOf(own)).toBe(own);
  expect(of(new EgressRefused("not there"))).toEqual(["refused", "not there", undefined]);
  expect(of("thrown")).toEqual(["later", "The brokers do not answer", undefined]);
  expect(of(error("plain"))).toEqual(["later", "plain", undefined]);
  const certificate = "The broker's certificate is not accepted (CERT_HAS_EXPIRED)";
  expect(of(error("x", "CERT_HAS_EXPIRED"))).toEqual(["later", certificate, undefined]);
});
