import { resolve } from "node:path";
import type { ControlFault } from "../backend/reloadable/control-socket.ts";
import { codeOf, messageOf, StartError } from "../errors.ts";
import { controlSocket } from "../first-start/data-directory.ts";
import type { Config } from "../settings/keys.ts";

/** Milliseconds that a command waits for an answer of the running server. */
const ANSWER_MS_MAX = 30_000;

/**
 * Sends a request to the server that runs on the data directory of `config`, and returns its
 * answer. Throws `StartError` when no server runs there or the server refuses the request.
 */
export async function askServer<T>(config: Config, method: string, path: string): Promise<T> {
  const unix = controlSocket(config);
  let response: Response;
  try {
    const signal = AbortSignal.timeout(ANSWER_MS_MAX);
    response = await fetch(`http://localhost${path}`, { unix, method, signal });
  } catch (error) {
    const isAway = ["ENOENT", "ECONNREFUSED", "FailedToOpenSocket"].includes(codeOf(error));
    const reason = isAway ? "none answers there" : messageOf(error);
    throw new StartError(`Expected a running server of ${resolve(config.data)}: ${reason}`);
  }
  if (response.ok) return (await response.json()) as T;
  throw new StartError(((await response.json()) as ControlFault).message);
}
