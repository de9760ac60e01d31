import { existsSync } from "node:fs";
import { join } from "node:path";
import { StartError } from "../../errors.ts";
import { environmentName, isSecret, type Key, keys } from "../keys.ts";
import { SECRET_FILE_BYTES_MAX } from "../limits.ts";
import type { Setting } from "../setting.ts";
import { readSmallFile } from "./small-file.ts";

const secrets = keys.filter(isSecret);
const fileVariables: ReadonlyMap<string, Key> = new Map(
  secrets.map((key) => [fileVariable(key), key]),
);

/**
 * Returns the name of the environment variable that holds the path of the file for the secret
 * setting `key`.
 */
export function fileVariable(key: Key): string {
  return `${environmentName(key)}_FILE`;
}

export const isFileVariable = (name: string): boolean => fileVariables.has(name);

/**
 * Reads secrets from the files whose paths are in environment variables such as
 * `PIXELMILL_ADMIN_TOKEN_FILE`. Throws `StartError` if a file cannot be read, or if the environment
 * also contains the secret itself.
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
 * Reads the secrets that systemd has written as credentials into `$CREDENTIALS_DIRECTORY`. Each
 * file there is named after its setting, such as `admin.token`. Files with other names are ignored.
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

/**
 * Returns the secret in the file `path`, without the line end that editors and `echo` add. Error
 * messages name `path` and `name`, the variable or credential that the file belongs to.
 */
function readSecretFile(name: string, path: string): string {
  return readSmallFile(name, path, SECRET_FILE_BYTES_MAX).replace(/\r?\n$/, "");
}
