import { expect, test } from "bun:test";
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { removeLeftovers } from "../../src/backup/backup-target.ts";
import type { Bucket, BucketRequest } from "../../src/backup/bucket/bucket.ts";
import { upload } from "../../src/backup/bucket/upload.ts";
import { BACKUP_PART_BYTES } from "../../src/settings/limits.ts";
import { removeDirectory, temporaryDirectory } from "../e2e/server.ts";

/** Sends a file of this many bytes to a bucket that answers by `answer`. */
async function uploaded(size: number, answer: (request: BucketRequest) => string | Error) {
  const directory = temporaryDirectory();
  const content = Buffer.alloc(size, "0123456789ab");
  await Bun.write(join(directory, "file"), content);
  const requests: BucketRequest[] = [];
  const send = async (request: BucketRequest) => {
    requests.push({ ...request });
    const body = answer(request);
    if (body instanceof Error) throw body;
    return { status: 200, headers: { etag: `"<${requests.length}>"` }, body: Buffer.from(body) };
  };
  const failure = await upload({ send } as unknown as Bucket, join(directory, "file"), "k").then(
    () => undefined,
    (error: Error) => error.message,
  );
  removeDirectory(directory);
  const steps = requests.map(({ method, query }) => `${method} ${query ?? ""}`.trim());
  return { content, requests, steps, failure };
}

const begin = (request: BucketRequest) =>
  request.query?.has("uploads") ? "<R><UploadId>u&amp;1</UploadId></R>" : "<R></R>";
const SIZE = BACKUP_PART_BYTES + 7;
const PARTS = [
  "POST uploads=",
  "PUT partNumber=1&uploadId=u%261",
  "PUT partNumber=2&uploadId=u%261",
];

test("a file of one part is sent whole, in one request", async () => {
  const { content, requests, steps, failure } = await uploaded(BACKUP_PART_BYTES, begin);
  expect([failure, steps]).toEqual([undefined, ["PUT"]]);
  expect(Buffer.compare(requests[0]!.body!, content)).toBe(0);
});

test("a longer file is sent in parts, which the store then puts together in their order", async () => {
  const { content, requests, steps, failure } = await uploaded(SIZE, begin);
  expect([failure, steps]).toEqual([undefined, [...PARTS, "POST uploadId=u%261"]]);
  const sent = Buffer.concat([requests[1]!.body!, requests[2]!.body!]);
  expect(Buffer.compare(sent, content)).toBe(0);
  expect(Buffer.from(requests[3]!.body!).toString()).toContain(
    '<Part><PartNumber>1</PartNumber><ETag>"&lt;2&gt;"</ETag></Part>' +
      '<Part><PartNumber>2</PartNumber><ETag>"&lt;3&gt;"</ETag></Part>',
  );
});

test("an upload whose end fails in an answer of 200 is an error, and is ended", async () => {
  const { steps, failure } = await uploaded(SIZE, (request) => {
    const isEnd = request.method === "POST" && request.query?.has("uploadId");
    return isEnd ? "<Error><Code>InternalError</Code></Error>" : begin(request);
  });
  expect(failure).toBe("Cannot write k: the store failed at the end (InternalError)");
  expect(steps.at(-1)).toBe("DELETE uploadId=u%261");
});

test("an upload with a failed part is ended, and rejects with the failure of the part", async () => {
  const { steps, failure } = await uploaded(SIZE, (request) => {
    if (request.method === "DELETE") return new Error("no delete either");
    return request.query?.get("partNumber") === "2" ? new Error("part lost") : begin(request);
  });
  expect([failure, steps]).toEqual(["part lost", [...PARTS, "DELETE uploadId=u%261"]]);
});

test("a store that begins an upload without an id is an error", async () => {
  const { steps, failure } = await uploaded(SIZE, () => "<R></R>");
  expect(failure).toBe("Cannot write k: the store begins an upload without an UploadId");
  expect(steps).toEqual(["POST uploads="]);
});

test("leftovers of a backup are removed once its process has ended, and no other file is", () => {
  const directory = temporaryDirectory();
  const name = ".pixelmill-2026-11-26T23-01-02Z.tar.zst";
  const kept = [`${name}.${process.pid}`, "other", "pixelmill-2026-11-26T23-01-02Z.tar.zst"];
  for (const it of [...kept, `${name}.4194305`]) mkdirSync(join(directory, it));
  removeLeftovers(directory);
  expect(readdirSync(directory).sort()).toEqual(kept.sort());
  removeDirectory(directory);
});
