import { closeSync, constants, existsSync, fstatSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { StartError, systemReason } from "../errors.ts";
import { environmentName, isSecret, type Key, keys } from "./keys.ts";
import { SECRET_FILE_BYTES_MAX } from "./limits.ts";
import type { Setting } from "./setting.ts";

const secrets = keys.filter(isSecret);
const fileVariables: ReadonlyMap<string, Key> = new Map(
  secrets.map((key) => [fileVariable(key), key]),
);

/** Returns the environment variable with the path of the file that contains a secret. */
export function fileVariable(key: Key): string {
  return `${environmentName(key)}_FILE`;
}

export const isFileVariable = (name: string): boolean => fileVariables.has(name);

/**
 * Reads the secrets whose files the environment names, such as that of `PIXELMILL_ADMIN_TOKEN_FILE`.
 * Throws `StartError` when a file cannot be read, or when the secret has a variable of its own too.
 */
export function fromSecretFiles(environment: Record<string, string | undefined>): Setting[] {
  return [...fileVariables].flatMap(([name, key]) => {
    const path = environment[name];
    if (path === undefined) return [];
    if (environment[environmentName(key)] !== undefined) {
      throw new StartError(`Expected one of ${environmentName(key)} and ${name}, got both`);
    }
    const value = readSecretFile(name, path);
    return [{ key, value, name: `${name} (${path})`, origin: "environment" }];
  });
}

/**
 * Reads the secrets that systemd has put as credentials into `$CREDENTIALS_DIRECTORY`. Each is a file
 * that is named after its setting, such as `admin.token`. Other files there are ignored.
 */
export function fromCredentials(environment: Record<string, string | undefined>): Setting[] {
  const directory = environment.CREDENTIALS_DIRECTORY;
  if (!directory) return [];
  return secrets
    .filter((key) => existsSync(join(directory, key)))
    .map((key) => {
      const value = readSecretFile(`credential ${key}`, join(directory, key));
      return { key, value, name: `credential ${key}`, origin: "credential" };
    });
}

/** Reads a secret. The line end that editors and `echo` add to the file does not belong to it. */
function readSecretFile(name: string, path: string): string {
  let bytes: Buffer | undefined;
  try {
    bytes = readStart(path, SECRET_FILE_BYTES_MAX + 1);
  } catch (error) {
    throw new StartError(`Cannot read the file ${path} of ${name}: ${systemReason(error)}`);
  }
  if (bytes === undefined) throw new StartError(`Expected a file for ${name}, got ${path}`);
  if (bytes.length > SECRET_FILE_BYTES_MAX) {
    throw new StartError(
      `Expected a secret of at most ${SECRET_FILE_BYTES_MAX} bytes in ${path} for ${name}, got more`,
    );
  }
  return bytes.toString("utf8").replace(/\r?\n$/, "");
}

/** Returns the first bytes of a file; undefined when it is a directory, a pipe or a device. */
function readStart(path: string, bytesMax: number): Buffer | undefined {
  // Opening a pipe would wait for its writer without O_NONBLOCK.
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!fstatSync(fd).isFile()) return undefined;
    const bytes = Buffer.alloc(bytesMax);
    return bytes.subarray(0, readSync(fd, bytes, 0, bytesMax, 0));
  } finally {
    closeSync(fd);
  }
}
