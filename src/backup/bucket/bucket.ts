import { failureOf } from "../../destinations/s3/failures.ts";
import { type ObjectRequest, requestSigner } from "../../destinations/s3/request-signer.ts";
import { createEgress, type EgressResponse, networkReason } from "../../egress/egress.ts";
import { StartError } from "../../errors.ts";
import type { Config } from "../../settings/keys.ts";
import { BACKUP_LIST_PAGES_MAX, BACKUP_REQUEST_TRIES_MAX } from "../../settings/limits.ts";
import { authoritiesOf, bucketConfig } from "./bucket-config.ts";
import { type ListedObject, listPage, type Page, uploadsPage } from "./listing.ts";

/** Maximum size in bytes of a response with one page of a list. A page has at most 1,000 keys. */
const LIST_BYTES_MAX = 4 << 20;
const RETRY_MS = 1_000;
const nothing = new Uint8Array();

/**
 * A request to the S3 store. `purpose` is a phrase such as `read KEY`. The error message after a
 * failure begins with `Cannot`, followed by this phrase.
 */
export interface BucketRequest extends Omit<ObjectRequest, "signal" | "body"> {
  purpose: string;
  /** Permission in Amazon S3 that the request needs. The error for a refused request names it. */
  permission: string;
  body?: Uint8Array;
}

/** A bucket for backups, in an S3 store that the operator has chosen. */
export type Bucket = ReturnType<typeof openBucket>;

/**
 * Opens the bucket `name` in the S3 store that the settings name. The address rules for tenants
 * (`egress.allow`) do not apply, because the operator chooses the store.
 */
export function openBucket(config: Config, name: string, signal = new AbortController().signal) {
  const s3 = bucketConfig(config, name);
  const sign = requestSigner(s3, "");
  const ca = authoritiesOf(config);
  const nameServers = config["egress.resolver"];
  const egress = createEgress({ allow: ["0.0.0.0/0", "::/0"], nameServers, ...(ca && { ca }) });
  const store = s3.endpoint ?? `Amazon's store in ${s3.region}`;

  /**
   * Sends a request once. Returns the response or, after a failure, the `failure` and whether
   * another attempt may succeed (`isTemporary`).
   */
  async function attempt(request: BucketRequest) {
    try {
      const signed = await sign({ body: nothing, ...request, signal });
      const response = await egress.request(signed);
      const failure = failureOf(request.method, response);
      if (failure === undefined) return { response };
      return {
        failure,
        isTemporary: response.status >= 500 || [408, 429].includes(response.status),
      };
    } catch (error) {
      const failure = { reason: networkReason(error), answer: undefined };
      return { failure, isTemporary: !signal.aborted };
    }
  }

  /**
   * Sends a request, and repeats it after temporary failures. Rejects with a `StartError` that
   * names the bucket, the reason and what to do.
   */
  async function send(request: BucketRequest): Promise<EgressResponse> {
    for (let tries = 1; ; tries++) {
      const { response, failure, isTemporary } = await attempt(request);
      if (response !== undefined) return response;
      if (!isTemporary || tries === BACKUP_REQUEST_TRIES_MAX) {
        const { purpose, permission } = request;
        const advice = adviceOf(failure.answer?.code, failure.answer?.status, permission);
        throw new StartError(
          `Cannot ${purpose} in the bucket ${name} of ${store}: ${failure.reason}; ${advice}`,
        );
      }
      await Bun.sleep(RETRY_MS * 2 ** (tries - 1));
    }
  }

  /**
   * Requests all pages of a list and returns their items. Throws `StartError` if there are more
   * than `BACKUP_LIST_PAGES_MAX` pages.
   */
  async function pages<T>(
    request: Pick<BucketRequest, "purpose" | "permission">,
    first: Record<string, string>,
    read: (xml: string) => Page<T>,
  ): Promise<T[]> {
    const found: T[] = [];
    let query: Record<string, string> | undefined = first;
    for (let page = 0; query !== undefined; page++) {
      if (page === BACKUP_LIST_PAGES_MAX) {
        throw new StartError(
          `Expected at most ${BACKUP_LIST_PAGES_MAX} pages of keys in the bucket ${name}, got more: give the backups a prefix of their own, backup.s3.prefix`,
        );
      }
      const answer: EgressResponse = await send({
        ...request,
        method: "GET",
        key: "",
        query: new URLSearchParams(query),
        answerBytesMax: LIST_BYTES_MAX,
      });
      const { items, next } = read(Buffer.from(answer.body).toString("utf8"));
      found.push(...items);
      query = next && { ...first, ...next };
    }
    return found;
  }

  return {
    /** Prefix of backup keys, from the settings: empty, or with a slash at its end. */
    prefix: s3.prefix === undefined ? "" : `${s3.prefix}/`,
    send,
    /** Lists the objects whose keys begin with this prefix. */
    list: (prefix: string): Promise<ListedObject[]> =>
      pages(
        { purpose: "list the backups", permission: "s3:ListBucket" },
        { "list-type": "2", prefix },
        listPage,
      ),
    async remove(key: string): Promise<void> {
      const purpose = `delete ${key}`;
      await send({ purpose, permission: "s3:DeleteObject", method: "DELETE", key });
    },
    /**
     * Aborts the unfinished multipart uploads whose keys begin with `prefix` and for which `isOurs`
     * returns true.
     */
    async abortUploads(prefix: string, isOurs: (key: string) => boolean): Promise<void> {
      const open = await pages(
        { purpose: "list unfinished uploads", permission: "s3:ListBucketMultipartUploads" },
        { uploads: "", prefix },
        uploadsPage,
      );
      for (const { key, uploadId } of open.filter(({ key }) => isOurs(key))) {
        const purpose = `end the unfinished upload of ${key}`;
        const permission = "s3:AbortMultipartUpload";
        const query = new URLSearchParams({ uploadId });
        await send({ purpose, permission, method: "DELETE", key, query });
      }
    },
    close: () => egress.close(),
  };
}

const ofEndpoint = "check backup.s3.endpoint and backup.s3.region";
const ofKey = "check backup.s3.access.key and backup.s3.secret.key";

/** Advice for the operator, by the error code in the store's response. */
const advice: Record<string, string> = {
  InvalidAccessKeyId: ofKey,
  XAdminUserNotFound: ofKey,
  SignatureDoesNotMatch: ofKey,
  ExpiredToken: ofKey,
  AccountProblem: ofKey,
  RequestTimeTooSkewed: "set the clock of this server",
  NoSuchBucket: "create it, or change backup.s3.bucket",
  PermanentRedirect: ofEndpoint,
  TemporaryRedirect: ofEndpoint,
  AuthorizationHeaderMalformed: ofEndpoint,
  IllegalLocationConstraintException: ofEndpoint,
  QuotaExceeded: "make space in the store, or keep fewer with backup.keep",
  InsufficientStorage: "make space in the store, or keep fewer with backup.keep",
  XMinioStorageFull: "make space in the store, or keep fewer with backup.keep",
  NoSuchKey: "s3://BUCKET/PREFIX/ names the newest backup",
};

/**
 * Returns advice for the operator after a failed request. The advice depends on the error code and
 * the HTTP status of the response. `permission` is the permission in the store that the request
 * needs.
 */
export function adviceOf(
  code: string | undefined,
  status: number | undefined,
  permission: string,
): string {
  const known = code === undefined ? undefined : advice[code];
  if (known !== undefined) return known;
  if (status === 403) return `give the access key the permission ${permission}`;
  if (status === 404) return advice.NoSuchKey!;
  if (status === undefined) return ofEndpoint;
  return status >= 500 || status === 429
    ? "it is tried again at the next backup"
    : "the store's documentation explains the code";
}
