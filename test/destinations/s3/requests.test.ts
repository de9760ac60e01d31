import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import type { S3Config } from "../../../src/destinations/s3/config.ts";
import { failureOf } from "../../../src/destinations/s3/failures.ts";
import { requestSigner } from "../../../src/destinations/s3/request-signer.ts";

const { signal } = new AbortController();
const config: S3Config = { bucket: "lake", accessKeyId: "key", secretAccessKey: "secret" };
const body = Buffer.from("body");
const base = "https://lake.s3.us-east-1.amazonaws.com/";

test("a request has the hash of its body, its signature, and the limits of the config", async () => {
  const requestOf = requestSigner(config, "workspace");
  const { headers, ...request } = await requestOf({ method: "PUT", key: "a/b", body, signal });
  expect(request).toEqual({
    ...{ workspaceId: "workspace", url: `${base}a/b`, method: "PUT", body, signal },
    ...{ timeoutMs: 60_000, answerBytesMax: 16_384, isRepeatable: true },
  });
  expect(headers["x-amz-content-sha256"]).toBe(createHash("sha256").update(body).digest("hex"));
  expect(headers.authorization).toMatch(
    /^AWS4-HMAC-SHA256 Credential=key\/\d{8}\/us-east-1\/s3\/aws4_request, SignedHeaders=[a-z0-9;-]+, Signature=[0-9a-f]{64}$/,
  );
  expect(headers).not.toHaveProperty("content-type");
});

test("a request may have a query, headers, a content type and a longer answer", async () => {
  const requestOf = requestSigner({ ...config, region: "eu-west-1", timeoutMs: 7 }, "w");
  const { url, headers, timeoutMs, answerBytesMax, method } = await requestOf({
    ...{ method: "GET", key: "", body: new Uint8Array(), signal, answerBytesMax: 5 },
    query: new URLSearchParams({ prefix: "a b", "list-type": "2" }),
    headers: { "x-amz-meta-a": "b" },
    contentType: "text/plain",
  });
  const asked = new URL(url);
  expect([asked.host, asked.pathname]).toEqual(["lake.s3.eu-west-1.amazonaws.com", "/"]);
  expect([...asked.searchParams].sort()).toEqual([
    ["list-type", "2"],
    ["prefix", "a b"],
  ]);
  expect([timeoutMs, answerBytesMax, method]).toEqual([7, 5, "GET"]);
  expect(headers).toMatchObject({ "x-amz-meta-a": "b", "content-type": "text/plain" });
  expect(headers.authorization).toContain("/eu-west-1/s3/");
  expect(headers.authorization).toContain("x-amz-meta-a");
});

const empty = { headers: {}, body: Buffer.alloc(0) };
const refusedWith = (code: string, status = 400) =>
  failureOf("GET", { ...empty, status, body: Buffer.from(`<Code>${code}</Code>`) })!;

test.each([
  ["InvalidAccessKeyId", "The store does not know the access key"],
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
])("the code %s of an object store is explained", (code, meaning) => {
  expect(refusedWith(code).reason).toBe(`${meaning} (400 ${code})`);
  const ofSignIn = [
    ...["InvalidAccessKeyId", "XAdminUserNotFound", "SignatureDoesNotMatch", "ExpiredToken"],
    ...["RequestTimeTooSkewed", "AuthorizationHeaderMalformed"],
  ];
  expect([code, refusedWith(code).isOfSignIn]).toEqual([code, ofSignIn.includes(code)]);
});

test.each([
  [199, "GET", "The store refuses (199)"],
  [200, "GET", undefined],
  [299, "DELETE", undefined],
  [300, "GET", "The store refuses (300)"],
])(
  "a status %d of an answer without a body is a failure of a %s, or none",
  (status, method, reason) => {
    expect(failureOf(method, { ...empty, status })?.reason).toBe(reason as string);
  },
);

test("a region is named only as that of a bucket that has moved", () => {
  const at = (status: number, region: string) =>
    failureOf("GET", { ...empty, status, headers: { "x-amz-bucket-region": region } })!.reason;
  expect(at(301, "eu-west-1")).toBe("The store refuses, in eu-west-1 (301)");
  expect(at(301, "x".repeat(64))).toContain(`, in ${"x".repeat(64)} `);
  for (const [status, region] of [
    [301, "x".repeat(65)],
    [301, "<b>"],
    [301, ""],
    [302, "eu-west-1"],
  ] as const) {
    expect(at(status, region)).toBe(`The store refuses (${status})`);
  }
});
