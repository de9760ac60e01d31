import { readFileSync } from "node:fs";
import { type Client, createClient } from "../../api/client.ts";
import { orStartError, StartError } from "../../errors.ts";
import { clientEnvironment } from "../../settings/client-environment.ts";
import { textFlag } from "../terminal/flags.ts";
import { readProfile } from "./profile.ts";

const SERVER_DEFAULT = "http://127.0.0.1:8081";

/**
 * Milliseconds that a command waits for an answer to a request. The server needs less time even for
 * the longest request, which runs the tests of all code.
 */
const ANSWER_MS_MAX = 600_000;

/** Flags that select a command's server and token, in the form of the parser citty. */
export const connectionFlags = {
  server: textFlag(`control plane to ask [${SERVER_DEFAULT}]`, "url"),
  token: textFlag("token of the API; others see it in ps", "token"),
  profile: textFlag("name of a profile [default]", "name"),
} as const;

/** The server that a command uses, and a client that sends requests to it with the token. */
export interface ServerAccess {
  /** URL of the control plane, without a slash at its end. */
  server: string;
  client: Client;
}

/**
 * Determines the server and the token: each from a flag, else from the environment, else from a
 * profile. The server defaults to `SERVER_DEFAULT`. Throws `StartError` if there is no token or a
 * value is invalid.
 * - A profile that a flag names replaces the environment.
 * - A profile's token is sent only to the profile's own server.
 */
export function connect(flags: Record<string, unknown>): ServerAccess {
  const environment = clientEnvironment();
  const named = flags.profile === undefined ? environment.profile : String(flags.profile);
  // A profile that a flag names takes precedence over the environment.
  const variables = flags.profile === undefined ? environment : undefined;
  const profile = readProfile(environment.profilesFile, named);
  const given = (flags.server as string | undefined) ?? variables?.server;
  const server = serverUrl(given ?? profile.server ?? SERVER_DEFAULT);
  const isOfProfile = serverUrl(profile.server ?? SERVER_DEFAULT) === server;
  const token =
    (flags.token as string | undefined) ??
    variables?.token ??
    tokenOfFile(variables?.tokenFile) ??
    (isOfProfile ? profile.token : undefined);
  if (token === undefined) {
    throw new StartError(
      `Expected a token for ${server}: set PIXELMILL_TOKEN, or write a profile to ${environment.profilesFile}`,
    );
  }
  if (!/^[\x21-\x7e]+$/.test(token)) throw new StartError("Expected a token without spaces");
  return { server, client: createClient({ baseUrl: server, token, fetch: patientFetch }) };
}

function tokenOfFile(path: string | undefined): string | undefined {
  if (path === undefined) return undefined;
  const failure = `Cannot read PIXELMILL_TOKEN_FILE ${path}`;
  return orStartError(failure, () => readFileSync(path, "utf8")).trim();
}

function serverUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new StartError("Expected the server as a URL that begins with http:// or https://");
  }
  if (url.username || url.password || url.search || url.hash) {
    throw new StartError("Expected the URL of the server without user, query and fragment");
  }
  return url.href.replace(/\/+$/, "");
}

/**
 * Sends a request with the time limit `ANSWER_MS_MAX`. If `init` contains a signal, this signal
 * replaces the time limit. Only requests for live tails contain one.
 */
const patientFetch = ((url: string, init: RequestInit = {}) =>
  fetch(url, { signal: AbortSignal.timeout(ANSWER_MS_MAX), ...init })) as typeof fetch;
