import type { EgressResponse } from "../../egress/egress.ts";
import { answerOf, type ReceiverAnswer } from "../answers/receiver-answer.ts";
import { retryAfterMs } from "../retry-after.ts";

/**
 * Explanations of the error codes of an object store, for the user who configures the destination.
 */
const meanings = new Map<string | undefined, string>([
  ["InvalidAccessKeyId", "The store does not know the access key"],
  // versitygw sends this code.
  ["XAdminUserNotFound", "The store does not know the access key"],
  ["SignatureDoesNotMatch", "The secret access key does not fit the access key"],
  ["RequestTimeTooSkewed", "The clocks of this server and of the store differ too much"],
  ["ExpiredToken", "The access key has expired"],
  ["AccessDenied", "The access key lacks the permission"],
  ["AllAccessDisabled", "The bucket is closed"],
  ["AccountProblem", "The store refuses the account"],
  ["NoSuchBucket", "The bucket does not exist"],
  ["PermanentRedirect", "The bucket is at another endpoint"],
  ["TemporaryRedirect", "The bucket is at another endpoint"],
  ["AuthorizationHeaderMalformed", "The region is not the bucket's"],
  ["IllegalLocationConstraintException", "The region is not the bucket's"],
  ["SlowDown", "The store asks for fewer requests"],
  ["ServiceUnavailable", "The store cannot answer at the moment"],
  ["InternalError", "The store failed by itself"],
  ["EntityTooLarge", "The object is larger than the store takes"],
  ["QuotaExceeded", "The quota of the bucket is used up"],
  ["InsufficientStorage", "The store is full"],
  ["XMinioStorageFull", "The store is full"],
]);

/** Error codes for credentials that the store does not accept. */
const signInCodes = new Set<string | undefined>([
  "InvalidAccessKeyId",
  "XAdminUserNotFound",
  "SignatureDoesNotMatch",
  "RequestTimeTooSkewed",
  "ExpiredToken",
  "AuthorizationHeaderMalformed",
]);

export interface StoreFailure {
  reason: string;
  isOfSignIn: boolean;
  afterMs?: number;
  answer: ReceiverAnswer;
}

/**
 * Returns the failure that an object store's response reports; undefined if the request succeeded.
 */
export function failureOf(method: string, response: EgressResponse): StoreFailure | undefined {
  const { status, headers, body } = response;
  if (status >= 200 && status < 300) {
    // A store answers an object that it has written with the object's ETag. Another web server may
    // answer 200 to any request, and stores nothing.
    if (method !== "PUT" || headers.etag) return undefined;
    const reason = `The server does not answer as an object store does (${status} without ETag)`;
    return { reason, isOfSignIn: false, answer: answerOf(response) };
  }
  // The body is XML, unless a proxy in front of the store sent the response.
  const code = /<Code>(\w{1,64})<\/Code>/.exec(Buffer.from(body).toString("latin1"))?.[1];
  const meaning = meanings.get(code) ?? "The store refuses";
  const region = headers["x-amz-bucket-region"];
  const where = status === 301 && region && /^[\w-]{1,64}$/.test(region) ? `, in ${region}` : "";
  const afterMs = retryAfterMs(headers["retry-after"], Date.now());
  return {
    reason: `${meaning}${where} (${[status, code].filter(Boolean).join(" ")})`,
    isOfSignIn: signInCodes.has(code),
    answer: { ...answerOf(response), ...(code !== undefined && { code }) },
    ...(afterMs !== undefined && { afterMs }),
  };
}
