import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { type Detail, describeValue } from "../../errors.ts";
import { DELIVERY_BYTES_MAX, GATHERED_BYTES_MAX, GATHERED_MS_MAX } from "../../settings/limits.ts";
import { oneOf, optionalInteger } from "../../settings/schema-types.ts";
import { configFaults } from "../config-faults.ts";
import { appliesWhen, essential, rudderstackKeys } from "../config-schema.ts";
import type { BatchLimits } from "../destination.ts";
import {
  FILE_KEEP_MS_MAX,
  FILE_PATH_CHARS_MAX,
  FILE_ROTATE_BYTES_MAX,
  FILE_ROTATE_BYTES_MIN,
  FILE_ROTATE_MS_MAX,
  FILES_KEPT_MAX,
} from "./limits.ts";

/** Default time, in milliseconds, for which events are collected for one Parquet file. */
const PARQUET_AGE_MS_DEFAULT = 60_000;

/**
 * Maximum length in bytes of a file's name if the file is rotated. Rotation adds a time to the
 * name, and the result must have at most the 255 bytes that file systems allow.
 */
const ROTATED_NAME_BYTES_MAX = 180;

/**
 * Condition under which the settings that delete old files have an effect: the destination writes
 * several files, because the format is Parquet or because files are rotated by size or age.
 */
const hasSeveralFiles = { format: ["parquet"], rotateBytes: "any", rotateAgeMs: "any" } as const;

export const FileConfig = Type.Object({
  ...rudderstackKeys,
  path: Type.String({
    minLength: 1,
    maxLength: FILE_PATH_CHARS_MAX,
    description: "Relative to the workspace's directory below `files` of the data directory",
  }),
  format: essential(oneOf(["jsonl", "parquet"], { default: "jsonl" })),
  rotateBytes: optionalInteger(FILE_ROTATE_BYTES_MIN, FILE_ROTATE_BYTES_MAX, {
    description: "Bytes of JSON at which a file is rotated, approximately",
  }),
  rotateAgeMs: optionalInteger(1, FILE_ROTATE_MS_MAX, {
    description: "Milliseconds after which a file is rotated",
  }),
  keepFiles: appliesWhen(
    hasSeveralFiles,
    optionalInteger(1, FILES_KEPT_MAX, {
      description: "Number of rotated files to keep, the newest ones",
    }),
  ),
  keepAgeMs: appliesWhen(
    hasSeveralFiles,
    optionalInteger(1, FILE_KEEP_MS_MAX, {
      description: "Milliseconds for which a rotated file is kept",
    }),
  ),
});
export type FileConfig = Static<typeof FileConfig>;

const expectedPath = `Expected a relative path of at most ${FILE_PATH_CHARS_MAX} characters without . or .. as a name`;

/** Returns all faults of a file destination's config. A fault's path is a JSON pointer into it. */
export function fileFaults(config: Record<string, unknown>): Detail[] {
  const { path, ...others } = config;
  const isGood = Value.Check(FileConfig.properties.path, path) && isRelative(path);
  const faults = [
    ...(isGood ? [] : [{ path: "/path", message: `${expectedPath}, got ${describePath(path)}` }]),
    ...configFaults(Type.Omit(FileConfig, ["path"]), others),
  ];
  return faults.length > 0 ? faults : contradictions(config as FileConfig);
}

/**
 * Describes an invalid path for an error message: as `an absolute path`, as `another path`, or, if
 * the value is empty or not a string, by `describeValue`.
 */
function describePath(path: unknown): string {
  if (typeof path !== "string" || path === "") return describeValue(path);
  return path.startsWith("/") ? "an absolute path" : "another path";
}

/**
 * Returns a fault for each setting whose value is valid alone, but does not fit the value of
 * another setting.
 */
function contradictions({ format, rotateAgeMs, rotateBytes, path }: FileConfig): Detail[] {
  const faults: Detail[] = [];
  const isRotated = format === "parquet" || rotateAgeMs !== undefined || rotateBytes !== undefined;
  if (isRotated && Buffer.byteLength(path.split("/").at(-1)!) > ROTATED_NAME_BYTES_MAX) {
    const message = `Expected a file name of at most ${ROTATED_NAME_BYTES_MAX} bytes: a time is added to it`;
    faults.push({ path: "/path", message });
  }
  if (format === "parquet" && rotateAgeMs !== undefined && rotateAgeMs > GATHERED_MS_MAX) {
    const message = `Expected at most ${GATHERED_MS_MAX} for Parquet, which is gathered in memory`;
    faults.push({ path: "/rotateAgeMs", message });
  }
  return faults;
}

function isRelative(path: string): boolean {
  return path.split("/").every((name) => {
    const known = name !== "" && name !== "." && name !== "..";
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are refused
    return known && Buffer.byteLength(name) <= 255 && !/[\x00-\x1f\x7f\\]/.test(name);
  });
}

/**
 * Returns the maximum size and age of one delivery. Events are collected for a Parquet file,
 * because it is written as a whole. JSON lines are appended to the current file without a wait.
 */
export function batchLimitsOf({ format, rotateBytes, rotateAgeMs }: FileConfig): BatchLimits {
  if (format !== "parquet") return { bytes: DELIVERY_BYTES_MAX, ageMs: 0 };
  return {
    bytes: Math.min(rotateBytes ?? GATHERED_BYTES_MAX, GATHERED_BYTES_MAX),
    ageMs: rotateAgeMs ?? PARQUET_AGE_MS_DEFAULT,
  };
}
