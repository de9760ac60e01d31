import { RequestRefused } from "../../api/client.ts";
import { ApiError, certificateFault, StartError, systemReason } from "../../errors.ts";
import { plain } from "../terminal/text.ts";

/** Exit code of a command whose server cannot be reached or refuses the request. */
export const EXIT_NOT_ANSWERED = 3;

/**
 * Descriptions of failures of `fetch`, by error code. They are clearer than the system's
 * descriptions.
 */
const reasons: Record<string, string> = {
  ConnectionClosed: "the connection was closed",
  ECONNRESET: "the connection was closed",
  FailedToOpenSocket: "the host or the network is unreachable",
  DNSResolveFailed: "the name of the host is unknown",
  ENOTFOUND: "the name of the host is unknown",
  UnexpectedRedirect: "it redirects to another address",
};

/**
 * Returns a sentence that says why a request to the server failed. Returns `undefined` if `error`
 * is not the failure of a request.
 */
export function failureOf(error: unknown, server: string): string | undefined {
  if (error instanceof RequestRefused) return refusalOf(error, server);
  if (error instanceof StartError || error instanceof ApiError) return undefined;
  if (!(error instanceof Error)) return undefined;
  if (error.name === "TimeoutError") return `The server at ${server} gave no answer in time`;
  if (error instanceof SyntaxError) {
    return `Expected the control plane of pixelmill at ${server}, got other answers`;
  }
  const code = "code" in error ? String(error.code) : "";
  if (code === "") return undefined;
  const fault = certificateFault(code);
  const reason = fault === undefined ? reasons[code] : `its certificate is ${fault}`;
  return `Cannot reach the server at ${server}: ${reason ?? plain(systemReason(error))}`;
}

function refusalOf({ status, message, details }: RequestRefused, server: string): string {
  const said = plain(message);
  if (status === 401) return `The server at ${server} refuses the token: ${said}`;
  if (status === 404 && said === "The server answered 404") {
    return `Expected the control plane of pixelmill at ${server}, got status 404`;
  }
  const more = details.filter((it) => it.message !== message);
  const places = more.map((it) => `\n  ${plain([it.path, it.message].join(" ").trim())}`);
  return said + places.join("");
}

/**
 * Returns the sentence of `failureOf` if a repeated request may succeed, because the server was
 * unreachable, failed or was overloaded. Returns `undefined` for all other errors.
 */
export function passingFailureOf(error: unknown, server: string): string | undefined {
  const isFinal = error instanceof RequestRefused && error.status < 500 && error.status !== 429;
  return isFinal ? undefined : failureOf(error, server);
}
