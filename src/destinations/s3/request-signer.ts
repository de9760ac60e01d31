import { AwsV4Signer } from "aws4fetch";
import type { EgressRequest } from "../../egress/egress.ts";
import { bucketUrl, type S3Config } from "./config.ts";
import { S3_TIMEOUT_MS_DEFAULT } from "./limits.ts";

/**
 * Maximum number of bytes that are read of an object store's response. Error messages have a few
 * hundred bytes.
 */
const ANSWER_BYTES_MAX = 16_384;

export interface ObjectRequest {
  method: "GET" | "HEAD" | "POST" | "PUT" | "DELETE";
  /** Key of the object; empty if the request is about the bucket itself. */
  key: string;
  query?: URLSearchParams;
  headers?: Readonly<Record<string, string>>;
  body: Uint8Array;
  contentType?: string;
  /** Maximum number of bytes that are read of the response. Default: `ANSWER_BYTES_MAX`. */
  answerBytesMax?: number;
  signal: AbortSignal;
}

/**
 * Returns a function that creates requests for objects of the bucket, signed with AWS Signature
 * Version 4.
 */
export function requestSigner(config: S3Config, workspaceId: string) {
  const base = bucketUrl(config);
  const { accessKeyId, secretAccessKey, region = "us-east-1", timeoutMs } = config;
  // Signing keys are cached. Each is valid for one day.
  let cache = new Map<string, ArrayBuffer>();

  return async (request: ObjectRequest): Promise<EgressRequest> => {
    const { method, key, query, body, contentType, signal } = request;
    if (cache.size > 2) cache = new Map();
    const signer = new AwsV4Signer({
      method,
      url: base + key + (query === undefined ? "" : `?${query}`),
      accessKeyId,
      secretAccessKey,
      region,
      service: "s3",
      cache,
      headers: {
        // The store compares the body with this hash and refuses an incomplete body.
        "x-amz-content-sha256": new Bun.CryptoHasher("sha256").update(body).digest("hex"),
        ...request.headers,
        ...(contentType !== undefined && { "content-type": contentType }),
      },
    });
    const { url, headers } = await signer.sign();
    return {
      workspaceId,
      url: url.href,
      method,
      body,
      signal,
      headers: Object.fromEntries(headers),
      timeoutMs: timeoutMs ?? S3_TIMEOUT_MS_DEFAULT,
      answerBytesMax: request.answerBytesMax ?? ANSWER_BYTES_MAX,
      isRepeatable: true,
    };
  };
}
