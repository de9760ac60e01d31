import { type Egress, type EgressRequest, networkReason } from "../../egress/egress.ts";
import { GATHERED_EVENTS_MAX } from "../../settings/limits.ts";
import type { ReceiverAnswer } from "../answers/receiver-answer.ts";
import type {
  DeliveryResult,
  DestinationKind,
  OpenDestination,
  OutgoingEvent,
  SecretAudience,
} from "../destination.ts";
import { gzipJsonLines } from "../formats/json-lines.ts";
import { parquet } from "../formats/parquet.ts";
import { audienceOfUrl } from "../secret-audience.ts";
import { testEvent } from "../test-event.ts";
import { requestInSteps, type TestStep, TestSteps } from "../test-steps.ts";
import { batchLimitsOf, S3Config, s3Faults } from "./config.ts";
import { failureOf, type StoreFailure } from "./failures.ts";
import { requestSigner } from "./request-signer.ts";

/** Maps each file format to the function that encodes events and the content type of objects. */
const formats = {
  "jsonl.gz": { encode: gzipJsonLines, contentType: "application/gzip" },
  parquet: { encode: parquet, contentType: "application/vnd.apache.parquet" },
} as const;

/**
 * Creates the kind of destination that writes batches of events as objects to an S3-compatible
 * store, under the key `prefix/source/date/hour/name.format`.
 */
export function s3Kind(egress: Egress): DestinationKind<S3Config> {
  return {
    kind: "s3",
    configSchema: S3Config,
    secretKeys: [{ path: "secretAccessKey", audiences: ({ endpoint }) => [audienceOf(endpoint)] }],
    validate: s3Faults,
    endpoint: ({ endpoint = "s3:/", bucket, prefix }) =>
      bucket && [endpoint, bucket, ...(prefix ? [prefix] : [])].join("/"),
    batchSize: (config) => config.batchSize ?? GATHERED_EVENTS_MAX,
    concurrency: 1,
    batchLimits: batchLimitsOf,
    open: (config, workspaceId) => openS3(egress, config, workspaceId),
    test: (config, workspaceId, signal) => testS3(egress, config, workspaceId, signal),
  };
}

/**
 * Returns the server that gets requests signed with the secret key: the host of `endpoint`. Without
 * an endpoint, returns `amazonaws.com` for all hosts of Amazon, so that another region or bucket
 * does not count as another receiver.
 */
function audienceOf(endpoint: string | undefined): SecretAudience {
  return audienceOfUrl(endpoint ?? "https://amazonaws.com");
}

/** Why an object was not written. `answer` is absent if the store did not answer the request. */
type PutFailure = Pick<StoreFailure, "reason" | "afterMs"> & { answer?: ReceiverAnswer };

function openS3(egress: Egress, config: S3Config, workspaceId: string): OpenDestination {
  const { prefix, format = "jsonl.gz" } = config;
  const { encode, contentType } = formats[format];
  const requestOf = requestSigner(config, workspaceId);
  let attempts = 0;

  async function putObject(
    key: string,
    events: readonly OutgoingEvent[],
    signal: AbortSignal,
  ): Promise<PutFailure | undefined> {
    try {
      const put = { method: "PUT", key, body: await encode(events), contentType, signal } as const;
      const request = await requestOf(put);
      const failure = failureOf("PUT", await egress.request(request));
      if (failure === undefined) return undefined;
      const { isOfSignIn: _, ...told } = failure;
      return { ...told, answer: { ...told.answer, sent: secretsSent(request) } };
    } catch (error) {
      return { reason: networkReason(error) };
    }
  }

  return {
    /**
     * Writes one object for each source and hour. A retry overwrites the objects of earlier
     * attempts. Stops at the first failure and returns `retry`, because only the store or the
     * config can cause a failure.
     */
    async deliver(events, signal, name = crypto.randomUUID()): Promise<DeliveryResult> {
      const folderOf = createFolders();
      const groups = [...Map.groupBy(events.keys(), (index) => folderOf(events[index]!))];
      // Each attempt begins with another object, so that one that always fails blocks no other.
      const first = attempts++ % groups.length;
      const delivered = new Set<number>();
      for (const [folder, indexes] of [...groups.slice(first), ...groups.slice(0, first)]) {
        const key = [...(prefix ? [prefix] : []), folder, `${name}.${format}`].join("/");
        const group = indexes.map((index) => events[index]!);
        const failure = await putObject(key, group, signal);
        if (failure !== undefined) {
          return { kind: "retry", ...failure, ...(delivered.size > 0 && { delivered }) };
        }
        for (const index of indexes) delivered.add(index);
      }
      return { kind: "delivered" };
    },
    async close() {},
  };
}

/**
 * Returns the secrets of a request that the store may repeat in its answer: the access key id and
 * the signature. Other words of the header `Authorization` are left out, because stores use them in
 * messages.
 */
function secretsSent({ headers: { authorization = "" } }: EgressRequest): string[] {
  return [...authorization.matchAll(/\b(?:Credential=([^/]+)|Signature=(\w+))/g)].flatMap(
    ([, accessKeyId, signature]) => accessKeyId ?? signature ?? [],
  );
}

/**
 * Returns a function that computes the folder of an event from its source and the UTC hour of its
 * receipt, such as `source/2026-02-16/01`. A retry gets the same folder, and so overwrites the same
 * objects.
 */
function createFolders(): (event: OutgoingEvent) => string {
  // Neighbouring events mostly have the same folder.
  let last = { source: "", hour: Number.NaN, folder: "" };
  return ({ input: { sourceId, receivedAt } }) => {
    const hour = Math.floor(receivedAt / HOUR_MS);
    if (hour !== last.hour || sourceId !== last.source) {
      const time = new Date(hour * HOUR_MS).toISOString();
      const folder = `${sourceId}/${time.slice(0, 10)}/${time.slice(11, 13)}`;
      last = { source: sourceId, hour, folder };
    }
    return last.folder;
  };
}

const HOUR_MS = 3_600_000;

/** Tests a config: writes an object whose key begins with the prefix, and deletes the object. */
async function testS3(
  egress: Egress,
  config: S3Config,
  workspaceId: string,
  signal: AbortSignal,
): Promise<TestStep[]> {
  const steps = new TestSteps();
  const requestOf = requestSigner(config, workspaceId);
  const name = `connection-test-${crypto.randomUUID()}`;
  const at = { key: config.prefix ? `${config.prefix}/${name}` : name, signal };
  const put = await requestOf({ ...at, method: "PUT", body: testEvent().bytes });
  const answer = await requestInSteps(egress, put, steps, "sign-in");
  if (answer === undefined) return steps.done;
  const failure = failureOf("PUT", answer);
  if (failure?.isOfSignIn !== true) steps.passed("sign-in");
  if (failure !== undefined) {
    const refusal = { ...failure.answer, sent: secretsSent(put) };
    steps.failed(failure.isOfSignIn ? "sign-in" : "write", failure.reason, refusal);
    return steps.done;
  }
  steps.passed("write");
  try {
    const gone = await requestOf({ ...at, method: "DELETE", body: new Uint8Array() });
    const left = failureOf("DELETE", await egress.request(gone));
    if (left === undefined) steps.passed("clean-up");
    else steps.failed("clean-up", `The object ${name} stays: ${left.reason}`);
  } catch (error) {
    steps.failed("clean-up", `The object ${name} stays: ${networkReason(error)}`);
  }
  return steps.done;
}
