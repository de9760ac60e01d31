import { expect, test } from "bun:test";
import { type KafkaLibrary, requestBroker, requestMetadata } from "../../src/kafka/library.ts";

class ResponseError extends Error {
  constructor(readonly response: unknown) {
    super("Codes of errors");
  }
}
const kafka = {
  kGetApi: "api",
  kGetBootstrapConnection: "bootstrap",
  ResponseError,
} as unknown as KafkaLibrary;

type Done = (error: Error | null, result?: unknown) => void;
interface Faults {
  unreachable?: Error;
  unknown?: Error;
  failed?: Error;
}

/** A client whose broker answers, unless it has a fault. */
function clientOf({ unreachable, unknown, failed }: Faults = {}) {
  const sent: unknown[][] = [];
  const client = {
    bootstrap: (done: Done) => (unreachable ? done(unreachable) : done(null, "connection")),
    api(name: string, done: Done) {
      if (unknown) return done(unknown);
      done(null, (...args: unknown[]) => {
        const answer = args.pop() as Done;
        sent.push([name, ...args]);
        if (failed) answer(failed);
        else answer(null, "answer");
      });
    },
  };
  return { client: client as never, sent };
}

test("a request is sent to a bootstrap broker, and fails with its connection, its name or its answer", async () => {
  const { client, sent } = clientOf();
  expect(await requestBroker<string>(kafka, client, "Heartbeat", ["group", 7])).toBe("answer");
  expect(sent).toEqual([["Heartbeat", "connection", "group", 7]]);
  for (const fault of ["unreachable", "unknown", "failed"] as const) {
    const error = new Error(fault);
    const { client } = clientOf({ [fault]: error });
    await expect(requestBroker(kafka, client, "Heartbeat", [])).rejects.toBe(error);
  }
});

test("metadata with error codes are an answer, and a request that fails is an error", async () => {
  const { client, sent } = clientOf();
  expect((await requestMetadata(kafka, client, ["t"])) as unknown).toBe("answer");
  // No topic is created, and no rights are asked for.
  expect(sent).toEqual([["Metadata", "connection", ["t"], false, false]]);
  const partial = clientOf({ failed: new ResponseError("partial") });
  expect((await requestMetadata(kafka, partial.client, [])) as unknown).toBe("partial");
  const error = new Error("Timed out");
  const { client: silent } = clientOf({ failed: error });
  await expect(requestMetadata(kafka, silent, [])).rejects.toBe(error);
});
