import { describe, expect, test } from "bun:test";
import { backupName, parseBackupName } from "../../src/backup/backup-name.ts";
import { backupUrlOf } from "../../src/backup/bucket/backup-url.ts";
import { adviceOf } from "../../src/backup/bucket/bucket.ts";
import { listPage, uploadsPage } from "../../src/backup/bucket/listing.ts";
import { partBytesOf } from "../../src/backup/bucket/upload.ts";
import { BACKUP_PART_BYTES, BACKUP_PARTS_MAX } from "../../src/settings/limits.ts";

describe("pages of a bucket", () => {
  test("a page has keys with sizes, and the token of the next page without XML's escapes", () => {
    const xml = `<?xml version="1.0"?><ListBucketResult><IsTruncated>true</IsTruncated>
      <Contents><Key>a/one</Key><LastModified>2026-01-01T00:00:00Z</LastModified><Size>12</Size></Contents>
      <Contents><Key>a/two</Key><Size>x</Size></Contents>
      <Contents><Size>1</Size></Contents>
      <NextContinuationToken>a&amp;b&lt;&gt;&#34;&quot;&apos;&#39;&amp;amp;</NextContinuationToken></ListBucketResult>`;
    expect(listPage(xml)).toEqual({
      items: [{ key: "a/one", bytes: 12 }],
      next: { "continuation-token": `a&b<>""''&amp;` },
    });
    expect(listPage("<html>a proxy's page</html>")).toEqual({ items: [], next: undefined });
  });

  test("a page of unfinished uploads has their ids, and where the next page begins", () => {
    const upload = "<Upload><Key>k</Key><UploadId>i&amp;d</UploadId></Upload>";
    const more = `<IsTruncated>true</IsTruncated><NextKeyMarker>k</NextKeyMarker><NextUploadIdMarker>i</NextUploadIdMarker>`;
    expect(uploadsPage(`<R>${more}${upload}</R>`)).toEqual({
      items: [{ key: "k", uploadId: "i&d" }],
      next: { "key-marker": "k", "upload-id-marker": "i" },
    });
    const first = `<IsTruncated>true</IsTruncated><NextKeyMarker>k</NextKeyMarker>`;
    const next = { "key-marker": "k", "upload-id-marker": "" };
    expect(uploadsPage(`<R>${first}</R>`)).toEqual({ items: [], next });
    expect(uploadsPage(`<R><IsTruncated>false</IsTruncated></R>`).next).toBeUndefined();
  });
});

test.each([
  [1, BACKUP_PART_BYTES],
  [5_500_000_000, BACKUP_PART_BYTES],
  [BACKUP_PART_BYTES * BACKUP_PARTS_MAX + 1, BACKUP_PART_BYTES + 1],
  [5_000_000_000_000, 500_000_000],
])("a backup of %p bytes has parts of %p bytes, and not too many", (size, bytes) => {
  expect(partBytesOf(size)).toBe(bytes);
  expect(Math.ceil(size / bytes)).toBeLessThanOrEqual(BACKUP_PARTS_MAX);
});

test.each([
  ["/backups/one.tar.zst", undefined],
  ["s3://lake/one", { bucket: "lake", key: "one" }],
  ["s3://lake/a/b/", { bucket: "lake", key: "a/b/" }],
  ["s3://lake/", { bucket: "lake", key: "" }],
  ["s3://lake", { bucket: "lake", key: "" }],
])("%s names what is expected", (argument, url) => expect(backupUrlOf(argument)).toEqual(url));

test.each([
  "s3://",
  "s3://a",
  "s3://LAKE/x",
  "s3:///x",
  "s3://lake//x",
  "s3://lake/a/../b",
  "s3://lake/a b",
])("%s is refused with what is expected", (argument) =>
  expect(() => backupUrlOf(argument)).toThrow("Expected s3://BUCKET/KEY, or "),
);

test("a name has the time and the id of the data directory, and no other name is read", () => {
  const at = Date.parse("2026-11-26T23:01:02Z");
  expect(backupName(at)).toBe("pixelmill-2026-11-26T23-01-02Z.tar.zst");
  expect(parseBackupName(backupName(at))).toEqual({ at, dataId: undefined });
  expect(parseBackupName(backupName(at, "0123456789ab"))).toEqual({ at, dataId: "0123456789ab" });
  for (const name of ["pixelmill.tar.zst", `x${backupName(at)}`, `${backupName(at)}.part`]) {
    expect(parseBackupName(name)).toBeUndefined();
  }
});

test.each([
  ["NoSuchBucket", 404, "create it, or change backup.s3.bucket"],
  ["AccessDenied", 403, "give the access key the permission s3:PutObject"],
  [undefined, undefined, "check backup.s3.endpoint and backup.s3.region"],
  [undefined, 404, "s3://BUCKET/PREFIX/ names the newest backup"],
  ["TooManyRequests", 429, "it is tried again at the next backup"],
  ["SlowDown", 503, "it is tried again at the next backup"],
  ["InternalError", 500, "it is tried again at the next backup"],
  ["Strange", 499, "the store's documentation explains the code"],
])("the advice on %p with status %p is %s", (code, status, text) =>
  expect(adviceOf(code, status, "s3:PutObject")).toBe(text),
);
