import { afterEach, beforeEach, describe, expect, spyOn, test } from "bun:test";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { archiveSource } from "../../src/backup/archive-source.ts";
import { backUpTo } from "../../src/backup/back-up-to.ts";
import { openBucket } from "../../src/backup/bucket/bucket.ts";
import {
  BACKUP_LIST_PAGES_MAX,
  BACKUP_PART_BYTES,
  BACKUP_REQUEST_TRIES_MAX,
} from "../../src/settings/limits.ts";
import { readSettings } from "../../src/settings/reader.ts";

/** Answers of the double of an object store, and the requests that it got. */
let answer: (request: Request) => Response | Promise<Response>;
let requests: Request[];
let store: ReturnType<typeof Bun.serve>;
/** Pauses in ms between the tries of a request, which the tests do not wait for. */
let pauses: unknown[];
let sleep: ReturnType<typeof spyOn>;

beforeEach(() => {
  requests = [];
  pauses = [];
  sleep = spyOn(Bun, "sleep").mockImplementation(async (ms) => void pauses.push(ms));
  store = Bun.serve({
    ...{ port: 0, hostname: "127.0.0.1" },
    fetch(request) {
      requests.push(request.clone() as Request);
      return answer(request);
    },
  });
});
afterEach(async () => {
  sleep.mockRestore();
  await store.stop(true);
});

const settings = (more: Record<string, string> = {}) =>
  readSettings(
    {
      "backup-s3-bucket": "lake",
      "backup-s3-access-key": "key",
      "backup-s3-secret-key": "secret",
      "backup-s3-endpoint": `http://127.0.0.1:${store.port}`,
      "backup-s3-path-style": "true",
      ...more,
    },
    {},
  ).config;

/** Opens the bucket, uses it, and returns the result or the message of the failure. */
async function using<T>(
  use: (bucket: ReturnType<typeof openBucket>) => Promise<T>,
  signal?: AbortSignal,
) {
  const bucket = openBucket(settings(), "lake", signal);
  try {
    return await use(bucket);
  } catch (error) {
    return (error as Error).message;
  } finally {
    bucket.close();
  }
}

const steps = () =>
  requests.map(({ method, url }) => {
    const { pathname, searchParams } = new URL(url);
    return [method, pathname, Object.fromEntries(searchParams)] as const;
  });

const xml = (...parts: string[]) => new Response(`<R>${parts.join("")}</R>`);
const contents = (key: string, size = 1) =>
  `<Contents><Key>${key}</Key><Size>${size}</Size></Contents>`;
const more = (token: string) =>
  `<IsTruncated>true</IsTruncated><NextContinuationToken>${token}</NextContinuationToken>`;
const refused = (status: number, code: string) =>
  new Response(`<Error><Code>${code}</Code></Error>`, { status });

describe("a bucket", () => {
  test("lists all pages of the keys that begin with a prefix", async () => {
    answer = ({ url }) =>
      new URL(url).searchParams.has("continuation-token")
        ? xml(contents("a/two", 2))
        : xml(more("t"), contents("a/one"));
    expect<unknown>(await using((bucket) => bucket.list("a/"))).toEqual([
      { key: "a/one", bytes: 1 },
      { key: "a/two", bytes: 2 },
    ]);
    const first = { "list-type": "2", prefix: "a/" };
    expect(steps()).toEqual([
      ["GET", "/lake/", first],
      ["GET", "/lake/", { ...first, "continuation-token": "t" }],
    ]);
    expect(requests[0]!.headers.get("authorization")).toContain("Credential=key/");
  });

  test("of too many pages asks for a prefix of the backups' own", async () => {
    let pages = 0;
    answer = () => xml(more("t"), contents(`a/${pages++}`));
    const message = await using((bucket) => bucket.list("a/"));
    expect(message).toStartWith(`Expected at most ${BACKUP_LIST_PAGES_MAX} pages of keys`);
    expect(message).toEndWith(
      "in the bucket lake, got more: give the backups a prefix of their own, backup.s3.prefix",
    );
    expect(pages).toBe(BACKUP_LIST_PAGES_MAX);
    requests = [];
    pages = 0;
    answer = () => xml(++pages < BACKUP_LIST_PAGES_MAX ? more("t") : "", contents(`a/${pages}`));
    expect(await using((bucket) => bucket.list("a/"))).toHaveLength(BACKUP_LIST_PAGES_MAX);
  });

  test.each([500, 503, 408, 429])("repeats a request that is answered %d", async (status) => {
    answer = () => (requests.length < 3 ? refused(status, "Busy") : xml(contents("a")));
    expect(await using((bucket) => bucket.list(""))).toHaveLength(1);
    expect([requests.length, pauses]).toEqual([3, [1_000, 2_000]]);
  });

  test("gives up after its tries, with the reason and what to do", async () => {
    answer = () => refused(503, "SlowDown");
    const message = await using((bucket) => bucket.remove("a"));
    expect(requests).toHaveLength(BACKUP_REQUEST_TRIES_MAX);
    expect(message).toStartWith(`Cannot delete a in the bucket lake of http://127.0.0.1:`);
    expect(message).toContain("503");
    expect(message).toEndWith("; it is tried again at the next backup");
  });

  test("repeats no refused request, and names the permission that the key lacks", async () => {
    answer = () => refused(403, "AccessDenied");
    const denied = [
      [() => using((bucket) => bucket.list("")), "list the backups", "s3:ListBucket"],
      [() => using((bucket) => bucket.remove("k")), "delete k", "s3:DeleteObject"],
      [
        () => using((bucket) => bucket.abortUploads("", () => true)),
        "list unfinished uploads",
        "s3:ListBucketMultipartUploads",
      ],
    ] as const;
    for (const [send, purpose, permission] of denied) {
      const message = await send();
      expect(message).toStartWith(`Cannot ${purpose} in the bucket lake`);
      expect(message).toEndWith(`; give the access key the permission ${permission}`);
    }
    expect([requests.length, pauses]).toEqual([denied.length, []]);
  });

  test("that cannot be reached is tried again, unless the caller gives up", async () => {
    await store.stop(true);
    const message = await using((bucket) => bucket.list(""));
    expect(pauses).toHaveLength(BACKUP_REQUEST_TRIES_MAX - 1);
    expect(message).toEndWith("; check backup.s3.endpoint and backup.s3.region");
    pauses = [];
    await using((bucket) => bucket.list(""), AbortSignal.abort());
    expect(pauses).toEqual([]);
  });

  test("deletes an object, and ends the unfinished uploads that are its server's own", async () => {
    const upload = (key: string, id: string) =>
      `<Upload><Key>${key}</Key><UploadId>${id}</UploadId></Upload>`;
    answer = ({ method }) =>
      method === "GET" ? xml(upload("own", "1"), upload("other", "2"), upload("own", "3")) : xml();
    await using(async (bucket) => {
      await bucket.remove("gone");
      await bucket.abortUploads("o", (key) => key === "own");
    });
    expect(steps()).toEqual([
      ["DELETE", "/lake/gone", {}],
      ["GET", "/lake/", { uploads: "", prefix: "o" }],
      ["DELETE", "/lake/own", { uploadId: "1" }],
      ["DELETE", "/lake/own", { uploadId: "3" }],
    ]);
  });

  test("has a prefix that ends with a slash, or none", () => {
    const prefixOf = (more = {}) => {
      const bucket = openBucket(settings(more), "lake");
      bucket.close();
      return bucket.prefix;
    };
    expect([prefixOf(), prefixOf({ "backup-s3-prefix": "a/b" })]).toEqual(["", "a/b/"]);
  });
});

describe("a backup in a bucket", () => {
  const object = Buffer.alloc(BACKUP_PART_BYTES + 3, "0123456789a");

  /** Answers requests for the object, of which each part lacks some bytes. */
  function serveObject(lacking = 0) {
    answer = ({ method, url, headers }) => {
      if (new URL(url).searchParams.has("list-type")) {
        const names = ["2026-01-02", "2026-01-03", "2026-01-01"].map(
          (day) => `pixelmill-${day}T00-00-00Z.tar.zst`,
        );
        return xml(...[...names, "pixelmill-9"].map((name) => contents(`a/${name}`)));
      }
      const tag = { etag: '"tag"' };
      if (method === "HEAD") {
        return new Response(null, { headers: { ...tag, "content-length": `${object.length}` } });
      }
      const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(headers.get("range")!)!;
      const part = object.subarray(Number(from), Number(to) + 1 - lacking);
      return new Response(part, { status: 206, headers: tag });
    };
  }

  async function read(argument: string) {
    const source = await archiveSource(settings(), argument);
    try {
      return { name: source.name, bytes: Buffer.concat(await Array.fromAsync(source.read())) };
    } finally {
      source.close();
    }
  }

  test("is read in parts of one version", async () => {
    serveObject();
    const { name, bytes } = await read("s3://lake/a/one");
    expect(name).toBe("s3://lake/a/one");
    expect(Buffer.compare(bytes, object)).toBe(0);
    expect(steps().map(([method, path]) => `${method} ${path}`)).toEqual([
      "HEAD /lake/a/one",
      "GET /lake/a/one",
      "GET /lake/a/one",
    ]);
    const parts = requests
      .slice(1)
      .map(({ headers }) => [headers.get("range"), headers.get("if-match")]);
    expect(parts).toEqual([
      [`bytes=0-${BACKUP_PART_BYTES - 1}`, '"tag"'],
      [`bytes=${BACKUP_PART_BYTES}-${object.length - 1}`, '"tag"'],
    ]);
  });

  test("with a part that is too short is an error", async () => {
    serveObject(1);
    await expect(read("s3://lake/a/one")).rejects.toThrow(
      `Cannot read a/one: expected ${BACKUP_PART_BYTES} bytes from 0 on, got ${BACKUP_PART_BYTES - 1}`,
    );
  });

  test("is the newest one of a folder", async () => {
    serveObject();
    const source = await archiveSource(settings(), "s3://lake/a/");
    source.close();
    expect(source.name).toBe("s3://lake/a/pixelmill-2026-01-03T00-00-00Z.tar.zst");
    expect(steps()).toEqual([["GET", "/lake/", { "list-type": "2", prefix: "a/pixelmill-" }]]);
    answer = () => xml();
    for (const [url, shown] of [["s3://lake/a/"], ["s3://lake", "s3://lake/"]] as const) {
      await expect(archiveSource(settings(), url)).rejects.toThrow(
        `Expected a backup pixelmill-TIME.tar.zst below ${shown ?? url}, got none`,
      );
    }
  });

  test("that is a file is read from there", async () => {
    const source = await archiveSource(settings(), "package.json");
    expect(source.name).toBe(resolve("package.json"));
    const bytes = Buffer.concat(await Array.fromAsync(source.read()));
    expect(bytes.toString()).toBe(readFileSync("package.json", "utf8"));
  });

  test("is a new object", async () => {
    answer = () => xml(contents("a/one"), contents("a/one-more"));
    await expect(backUpTo(settings(), "s3://lake/a/one")).rejects.toThrow(
      "Expected a new object, but s3://lake/a/one exists",
    );
    requests = [];
    for (const url of ["s3://lake/a/", "s3://lake/"]) {
      await expect(backUpTo(settings(), url)).rejects.toThrow(
        `Expected the key of a new object, as s3://BUCKET/KEY, got ${url}`,
      );
    }
    expect(requests).toEqual([]);
  });
});
