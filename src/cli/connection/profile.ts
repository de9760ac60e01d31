import { readFileSync, statSync } from "node:fs";
import { StartError, systemReason } from "../../errors.ts";
import { isObject } from "../../is-object.ts";
import { nearestName } from "../../settings/nearest-name.ts";

/** Bits of a file's mode that give access to users other than the file's owner. */
const OTHERS = 0o077;

/** Server and token that the file of profiles stores under a name. */
interface Profile {
  server?: string;
  token?: string;
}

/**
 * Reads a profile: a table with `server` and `token` in a TOML file. Throws `StartError` if the
 * file is invalid or other users have access to it.
 * - With `name`: throws `StartError` if the profile or the file is missing.
 * - Without `name`: reads the profile `default`, and returns an empty profile if it is missing.
 */
export function readProfile(path: string, name: string | undefined): Profile {
  const profiles = readProfiles(path, name);
  const chosen = name ?? "default";
  const found = Object.hasOwn(profiles, chosen) ? profiles[chosen] : undefined;
  if (found === undefined) {
    if (name === undefined) return {};
    const nearest = nearestName(chosen, Object.keys(profiles));
    const hint = nearest === undefined ? "" : `; the nearest is ${nearest}`;
    throw new StartError(`Unknown profile ${chosen} in ${path}${hint}`);
  }
  if (!isObject(found)) throw new StartError(`Expected a table for ${chosen} in ${path}`);
  const { server, token, ...rest } = found;
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined) {
    throw new StartError(`Unknown key ${unknown} in ${path}; expected server and token`);
  }
  for (const [key, value] of Object.entries({ server, token })) {
    if (value !== undefined && typeof value !== "string") {
      throw new StartError(`Expected a text for ${key} in ${path}`);
    }
  }
  return found as Profile;
}

function readProfiles(path: string, name: string | undefined): Record<string, unknown> {
  try {
    if ((statSync(path).mode & OTHERS) !== 0) {
      throw new StartError(`Other users can read the tokens in ${path}; run chmod 600 ${path}`);
    }
    return Bun.TOML.parse(readFileSync(path, "utf8")) as Record<string, unknown>;
  } catch (error) {
    if (error instanceof StartError) throw error;
    if (name === undefined && (error as { code?: string }).code === "ENOENT") return {};
    throw new StartError(`Cannot read the profiles in ${path}: ${systemReason(error)}`);
  }
}
