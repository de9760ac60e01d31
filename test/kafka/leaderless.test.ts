import { expect, test } from "bun:test";
import { acceptLeaderlessPartitions } from "../../src/kafka/client.ts";

const failed = (...codes: (number | undefined)[]) => ({
  errors: codes.map((apiCode) => ({ apiCode })),
  response: "partial",
});
const [UNKNOWN_TOPIC, LEADERLESS, WITHOUT_REPLICA] = [3, 5, 9];

/** A client whose requests meet this answer, after the change of its Metadata requests. */
function clientOf(error: unknown, response: unknown) {
  const asked: unknown[] = [];
  const request = Object.assign(
    (...all: unknown[]) => {
      const answer = all.pop() as (...answered: unknown[]) => void;
      asked.push(...all);
      answer(error, response);
    },
    { key: 3, version: 9 },
  );
  type Use = (error: unknown, api: typeof request) => void;
  const client = { api: (_name: string, use: Use) => use(null, request) };
  acceptLeaderlessPartitions({ kGetApi: "api" as never }, client as never);
  const ask = (name: string) => {
    const got: unknown[] = [];
    client.api(name, (failure, api) => {
      expect([failure, api.key, api.version]).toEqual([null, 3, 9]);
      api("connection", "topics", (...answered: unknown[]) => void got.push(...answered));
    });
    return got;
  };
  return { ask, asked };
}

test.each([
  ["an answer without errors", null, "whole", [null, "whole"]],
  ["a partition without a leader", failed(LEADERLESS), undefined, [null, "partial"]],
  ["a missing replica", failed(LEADERLESS, WITHOUT_REPLICA), undefined, [null, "partial"]],
  ["an unknown topic", failed(UNKNOWN_TOPIC), undefined, "error"],
  [
    "an unknown topic beside a missing leader",
    failed(LEADERLESS, UNKNOWN_TOPIC),
    undefined,
    "error",
  ],
  ["an error without a code", failed(undefined), undefined, "error"],
  ["an error of no partition", failed(), undefined, "error"],
  ["a broken connection", new Error("closed"), undefined, "error"],
] as [string, unknown, unknown, unknown[] | "error"][])(
  "the list of topics with %s is an answer or an error",
  (_, error, response, expected) => {
    const { ask, asked } = clientOf(error, response);
    const given = [error, response];
    expect(ask("Metadata")).toEqual(expected === "error" ? given : expected);
    expect(asked).toEqual(["connection", "topics"]);
  },
);

test("answers of other requests stay as they are", () => {
  const error = failed(LEADERLESS);
  expect(clientOf(error, undefined).ask("Produce")).toEqual([error, undefined]);
});

test("a request that the broker does not know stays unknown", () => {
  const unknown = new Error("no version in common");
  const got: unknown[] = [];
  const client = { api: (_: string, callback: (error: Error) => void) => callback(unknown) };
  acceptLeaderlessPartitions({ kGetApi: "api" as never }, client as never);
  client.api("Metadata", (...answered) => void got.push(...answered));
  expect(got).toEqual([unknown, undefined]);
});
