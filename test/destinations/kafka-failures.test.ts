import { expect, test } from "bun:test";
import * as failures from "../../src/destinations/kafka/failures.ts";
import { EgressRefused, ResolutionFailed } from "../../src/egress/egress.ts";

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

test.each([
  [3, "The topic does not exist"],
  [5, "The partition has no leader at the moment"],
  [6, "The partition has another leader"],
  [7, "The broker did not finish in time"],
  [10, "The record is larger than the topic takes"],
  [17, "The topic's name is not valid"],
  [18, "The record is larger than the topic takes"],
  [19, "Too few copies of the partition are in sync"],
  [20, "Too few copies of the partition are in sync"],
  [29, "The user may not write to the topic"],
  [31, "The user may write to no topic, nor as an idempotent producer"],
  [32, "The time of the record is out of the topic's bounds"],
  [33, "The brokers do not offer the mechanism"],
  [34, "The brokers ask for no user on this port"],
  [44, "A policy of the cluster refuses the record"],
  [56, "The broker cannot use its disk"],
  [58, "The brokers do not accept the user or the password"],
  [76, "The brokers do not take this compression"],
  [87, "The topic does not take such a record"],
  [89, "The broker asks for fewer requests"],
])("error %d is explained: %s", (code, meaning) => {
  expect(failures.sentenceOf(code)).toBe(`${meaning} (error ${code})`);
});

test("a broker's code is found inside errors of the client, with what the broker said", () => {
  const broker = (apiCode: number) => Object.assign(new Error("said"), { apiCode });
  const nested = [
    broker(29),
    new Error("outer", { cause: broker(29) }),
    new AggregateError([broker(29), broker(3)]),
    new Error("outer", { cause: new AggregateError([broker(29)]) }),
  ];
  for (const error of nested) {
    expect(failures.codeOf(error)).toBe(29);
    const { outlook, message, answer } = failures.failureOf(error);
    expect([outlook, message]).toEqual(["later", failures.sentenceOf(29)]);
    expect(answer).toEqual({ code: "29", body: error.message });
  }
  expect(failures.codeOf(new Error("outer", { cause: { apiCode: 3 } }))).toBeUndefined();
});

test("a failure of a broker begins with its address, in brackets where that is of IPv6", () => {
  const failure = new failures.KafkaFailure("soon", "gone", { code: "3", body: "b" });
  const named = failures.brokerFailure({ host: "::1", port: 9 }, failure);
  expect([named.outlook, named.message]).toEqual(["soon", "Broker [::1]:9: gone"]);
  expect(named.answer).toEqual({ code: "3", body: "b" });
  expect(failures.brokerFailure({ host: "b", port: 9 }, failure).message).toBe("Broker b:9: gone");
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
  expect(of(Object.assign(new Error("number"), { code: 5 }))).toEqual([
    "later",
    "number",
    undefined,
  ]);
  const unknown = new ResolutionFailed("no such host", "ENOTFOUND");
  expect(of(unknown)).toEqual(["later", "no such host (ENOTFOUND)", undefined]);
  const reset = ["soon", "The connection failed: connection reset by peer (ECONNRESET)", undefined];
  expect(of(error("x", "ECONNRESET"))).toEqual(reset);
  const certificate = "The broker's certificate is not accepted: expired (CERT_HAS_EXPIRED)";
  expect(of(error("x", "CERT_HAS_EXPIRED"))).toEqual(["later", certificate, undefined]);
});
