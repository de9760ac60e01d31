import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { came, type Detail } from "../../errors.ts";
import { DELIVERY_BYTES_MAX, GATHERED_BYTES_MAX, GATHERED_MS_MAX } from "../../settings/limits.ts";
import { configFaults } from "../config-faults.ts";
import type { BatchLimits } from "../destination.ts";
import { rudderstackKeys } from "../rudderstack-keys.ts";
import {
  FILE_KEEP_MS_MAX,
  FILE_PATH_CHARS_MAX,
  FILE_ROTATE_BYTES_MAX,
  FILE_ROTATE_BYTES_MIN,
  FILE_ROTATE_MS_MAX,
  FILES_KEPT_MAX,
} from "./limits.ts";

/** How long events are gathered for a Parquet file, unless the config says otherwise. */
const PARQUET_AGE_MS_DEFAULT = 60_000;

/** Of a name to which a time is added; a file system takes 255 bytes. */
const ENDED_NAME_BYTES_MAX = 180;

export const FileConfig = Type.Object({
  ...rudderstackKeys,
  path: Type.String({
    minLength: 1,
    maxLength: FILE_PATH_CHARS_MAX,
    description: "Relative to the workspace's directory below `files` of the data directory",
  }),
  format: Type.Optional(
    Type.Union([Type.Literal("jsonl"), Type.Literal("parquet")], { default: "jsonl" }),
  ),
  rotateBytes: Type.Optional(
    Type.Integer({
      ...{ minimum: FILE_ROTATE_BYTES_MIN, maximum: FILE_ROTATE_BYTES_MAX },
      description: "A file of about so many bytes of JSON ends, and the next begins",
    }),
  ),
  rotateAgeMs: Type.Optional(
    Type.Integer({
      ...{ minimum: 1, maximum: FILE_ROTATE_MS_MAX },
      description: "Milliseconds after which a file ends, and the next begins",
    }),
  ),
  keepFiles: Type.Optional(
    Type.Integer({
      ...{ minimum: 1, maximum: FILES_KEPT_MAX },
      description: "So many files that have ended are kept, the newest",
    }),
  ),
  keepAgeMs: Type.Optional(
    Type.Integer({
      ...{ minimum: 1, maximum: FILE_KEEP_MS_MAX },
      description: "Milliseconds for which a file that has ended is kept",
    }),
  ),
});
export type FileConfig = Static<typeof FileConfig>;

const expectedPath = `Expected a relative path of at most ${FILE_PATH_CHARS_MAX} characters without . or .. as a name`;

/** What is wrong with a config; paths are JSON pointers inside it. */
export function fileFaults(config: Record<string, unknown>): Detail[] {
  const { path, ...others } = config;
  const isGood = Value.Check(FileConfig.properties.path, path) && isRelative(path);
  const faults = [
    ...(isGood ? [] : [{ path: "/path", message: `${expectedPath}, got ${cameOfPath(path)}` }]),
    ...configFaults(Type.Omit(FileConfig, ["path"]), others),
  ];
  return faults.length > 0 ? faults : contradictions(config as FileConfig);
}

/** A path is told apart by what is wrong with it: most are texts of a good length. */
function cameOfPath(path: unknown): string {
  if (typeof path !== "string" || path === "") return came(path);
  return path.startsWith("/") ? "an absolute path" : "another path";
}

/** What cannot be together. */
function contradictions({ format, rotateAgeMs, rotateBytes, path, ...rest }: FileConfig): Detail[] {
  const faults: Detail[] = [];
  const isEnded = format === "parquet" || rotateAgeMs !== undefined || rotateBytes !== undefined;
  if (isEnded && Buffer.byteLength(path.split("/").at(-1)!) > ENDED_NAME_BYTES_MAX) {
    const message = `Expected a file name of at most ${ENDED_NAME_BYTES_MAX} bytes: a time is added to it`;
    faults.push({ path: "/path", message });
  }
  if (format === "parquet") {
    if (rotateAgeMs !== undefined && rotateAgeMs > GATHERED_MS_MAX) {
      const message = `Expected at most ${GATHERED_MS_MAX} for Parquet, which is gathered in memory`;
      faults.push({ path: "/rotateAgeMs", message });
    }
    return faults;
  }
  for (const key of ["keepFiles", "keepAgeMs"] as const) {
    if (rest[key] === undefined || isEnded) continue;
    faults.push({ path: `/${key}`, message: "Expected it beside rotateBytes or rotateAgeMs" });
  }
  return faults;
}

function isRelative(path: string): boolean {
  return path.split("/").every((name) => {
    const known = name !== "" && name !== "." && name !== "..";
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
    return known && Buffer.byteLength(name) <= 255 && !/[\x00-\x1f\x7f\\]/.test(name);
  });
}

/** A Parquet file is written as a whole; JSON lines go at once, into the file that is there. */
export function batchLimitsOf({ format, rotateBytes, rotateAgeMs }: FileConfig): BatchLimits {
  if (format !== "parquet") return { bytes: DELIVERY_BYTES_MAX, ageMs: 0 };
  return {
    bytes: Math.min(rotateBytes ?? GATHERED_BYTES_MAX, GATHERED_BYTES_MAX),
    ageMs: rotateAgeMs ?? PARQUET_AGE_MS_DEFAULT,
  };
}
