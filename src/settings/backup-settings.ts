import { Type } from "@sinclair/typebox";
import { BACKUP_SECONDS_MAX, BACKUPS_KEPT_MAX } from "./limits.ts";
import { integer, optionalFlag, optionalText, secretText } from "./schema-types.ts";

/** Settings of the backups that a server makes by itself, as a part of `configSchema`. */
export const backupSettings = {
  "backup.every": integer(
    "seconds from one backup to the next that the server makes by itself; 0 makes none",
    { default: 0, maximum: BACKUP_SECONDS_MAX },
  ),
  "backup.keep": integer("number of these backups to keep; the oldest are deleted", {
    default: 7,
    minimum: 1,
    maximum: BACKUPS_KEPT_MAX,
  }),
  "backup.directory": text(
    "directory for these backups, of this server alone, on another disk than `data`",
  ),
  "backup.s3.bucket": text("S3 bucket for these backups instead of a directory; it must exist"),
  "backup.s3.endpoint": text(
    "URL of the S3-compatible store of backups, without a path; without it Amazon's of the region",
  ),
  "backup.s3.region": Type.String({
    default: "us-east-1",
    pattern: "^[a-z0-9-]{1,64}$",
    title: "1 to 64 lower-case letters, digits and hyphens",
    description: "region of that bucket",
  }),
  "backup.s3.prefix": text("prefix of the backups' keys in that bucket, such as `site/one`"),
  "backup.s3.path.style": optionalFlag(
    "whether the bucket is in the path of URLs and not in their host; without it when an endpoint is set",
  ),
  "backup.s3.ca": text("PEM file of the authorities that sign the store's certificate"),
  "backup.s3.access.key": text("id of the access key for that bucket"),
  "backup.s3.secret.key": secretText("secret of the access key for that bucket"),
};

function text(description: string) {
  return optionalText(description, { maxLength: 2_048 });
}
