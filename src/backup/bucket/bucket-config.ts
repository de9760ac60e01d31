import { defined } from "../../defined.ts";
import { type S3Config, s3Faults } from "../../destinations/s3/config.ts";
import { StartError } from "../../errors.ts";
import { readSmallFile } from "../../settings/files/small-file.ts";
import type { Config, Key } from "../../settings/keys.ts";
import { BACKUP_REQUEST_MS_MAX, TLS_FILE_BYTES_MAX } from "../../settings/limits.ts";

/** For each field of the S3 config (key): the name of the setting that has its value. */
const settingOf: Record<string, Key> = {
  bucket: "backup.s3.bucket",
  endpoint: "backup.s3.endpoint",
  prefix: "backup.s3.prefix",
  accessKeyId: "backup.s3.access.key",
  secretAccessKey: "backup.s3.secret.key",
  pathStyle: "backup.s3.path.style",
};

/**
 * Returns the S3 config for backups in `bucket`, which may differ from the bucket in the settings.
 * Throws a `StartError` that names the setting if a setting is missing or invalid.
 */
export function bucketConfig(config: Config, bucket: string): S3Config {
  const settings = Object.entries(settingOf).map(([key, name]) => [key, config[name]]);
  const given: Record<string, unknown> = defined({
    ...Object.fromEntries(settings),
    bucket,
    region: config["backup.s3.region"],
    timeoutMs: BACKUP_REQUEST_MS_MAX,
  });
  for (const key of ["accessKeyId", "secretAccessKey"]) {
    if (given[key] === undefined) {
      throw new StartError(`Expected the setting ${settingOf[key]} for the bucket ${bucket}`);
    }
  }
  const [fault] = s3Faults(given);
  if (fault === undefined) return given as S3Config;
  const name = settingOf[fault.path.slice(1)] ?? fault.path;
  throw new StartError(`Setting ${name} does not fit: ${fault.message}`);
}

/**
 * Returns the certificates (PEM) of the authorities to trust for the store, from the file
 * `backup.s3.ca`. Undefined without this setting.
 */
export function authoritiesOf(config: Config): string | undefined {
  const path = config["backup.s3.ca"];
  return path && readSmallFile("backup.s3.ca", path, TLS_FILE_BYTES_MAX);
}
