import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import { isIP } from "node:net";
import {
  EGRESS_HEAD_BYTES_MAX,
  EGRESS_IDLE_CONNECTIONS_MAX,
  EGRESS_IDLE_MS_MAX,
} from "../limits.ts";
import { createAddressRules } from "./address.ts";
import { boundIdle } from "./idle-connections.ts";
import { createLookUp, type Resolve } from "./look-up.ts";
import { createNames, EgressRefused } from "./names.ts";

export { LookUpFailed } from "./look-up.ts";
export { EgressRefused } from "./names.ts";

export interface EgressRequest {
  /** Whose request it is: workspaces share look-ups and connections fairly. */
  workspaceId: string;
  url: string;
  method: string;
  /** Without `egressHeaders`. */
  headers: Readonly<Record<string, string>>;
  body: Uint8Array;
  /** From the first look-up to the last byte of the answer. */
  timeoutMs: number;
  /** What of the answer is read; a longer one is cut there and its connection closed. */
  answerBytesMax: number;
  signal: AbortSignal;
}

export interface EgressAnswer {
  status: number;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** As it came: never decompressed. */
  body: Uint8Array;
}

/** The one way out for HTTP: only to checked addresses, no redirects, bounded in size and time. */
export interface Egress {
  /** Any status is an answer, 3xx too. Rejects with `EgressRefused` (policy) or a network error. */
  request(request: EgressRequest): Promise<EgressAnswer>;
  close(): void;
}

export interface EgressOptions {
  /** CIDRs that may be reached although private. */
  allow: readonly string[];
  /** The setting that says so, for messages. */
  allowSetting?: string;
  /** Name servers; by default the system's. */
  nameServers?: readonly string[];
  resolve?: Resolve;
  /** Further certificate authorities (PEM). */
  ca?: string;
}

/**
 * Headers that describe the connection or the body, in lower case. Another's would contradict
 * ours: two lengths of a body let it plant a request on a connection that others share
 * (RFC 9112 §11.2).
 */
export const egressHeaders: ReadonlySet<string> = new Set([
  "host",
  "content-length",
  "transfer-encoding",
  "connection",
  "keep-alive",
  "upgrade",
  "te",
  "trailer",
  "expect",
  "accept-encoding",
]);

interface Attempt extends EgressRequest {
  target: URL;
  address: string;
}

/** Errors of a connection that never came to be: another address of the host may do. */
const unreachable = new Set(["ECONNREFUSED", "EHOSTUNREACH", "ENETUNREACH", "EADDRNOTAVAIL"]);

/** Errors of a connection that was closed by the other side. */
const closed = new Set(["ECONNRESET", "EPIPE"]);

/**
 * node:http and not fetch: Bun's fetch obeys `HTTP_PROXY`, also for literal addresses, and has
 * at most 256 requests under way in the whole process, so a few dead destinations would stop
 * all others. The agents here are ours, hence without proxy, and keep connections by address
 * and TLS name: a kept connection leads to a checked address.
 */
export function createEgress(options: EgressOptions): Egress {
  const names = createNames({
    rules: createAddressRules(options.allow),
    resolve: options.resolve ?? createLookUp({ servers: options.nameServers }),
    setting: options.allowSetting ?? "egress.allow",
  });
  const kept = { keepAlive: true, maxFreeSockets: 16, scheduling: "lifo" as const };
  const http = new HttpAgent({ ...kept, timeout: EGRESS_IDLE_MS_MAX });
  const https = new HttpsAgent({ ...kept, timeout: EGRESS_IDLE_MS_MAX });
  boundIdle([http, https], EGRESS_IDLE_CONNECTIONS_MAX);

  function send(attempt: Attempt): Promise<EgressAnswer> {
    const { target, address, method, body, signal } = attempt;
    const secure = target.protocol === "https:";
    const host = hostOf(target);
    return new Promise((resolve, reject) => {
      const outgoing = (secure ? requestHttps : requestHttp)({
        // A literal address: connecting looks nothing up.
        host: address,
        port: target.port === "" ? (secure ? 443 : 80) : Number(target.port),
        path: target.pathname + target.search,
        method,
        headers: {
          ...attempt.headers,
          Host: target.host,
          "Accept-Encoding": "identity",
          "Content-Length": String(body.byteLength),
        },
        agent: secure ? https : http,
        signal,
        maxHeaderSize: EGRESS_HEAD_BYTES_MAX,
        ...(secure && { servername: isIP(host) === 0 ? host : "" }),
        ...(secure && options.ca !== undefined && { ca: options.ca }),
      });
      let answered = false;
      outgoing.on("response", (answer) => {
        answered = true;
        readAnswer(answer, attempt.answerBytesMax).then(resolve, reject);
      });
      outgoing.on("upgrade", (_, socket) => {
        socket.destroy();
        reject(new Error("The receiver switched protocols"));
      });
      outgoing.on("error", (error) => {
        // The receiver closed a kept connection just then: it has not read this request.
        const isStale = outgoing.reusedSocket && !answered && closed.has(codeOf(error));
        if (isStale) send(attempt).then(resolve, reject);
        else reject(error);
      });
      outgoing.end(body);
    });
  }

  /** Tries the host's addresses in turn as long as the connection itself does not come to be. */
  async function reach(target: URL, request: EgressRequest): Promise<EgressAnswer> {
    const host = hostOf(target);
    let failure: unknown;
    for (const address of await names.addresses(host, request.workspaceId, request.signal)) {
      try {
        return await send({ ...request, target, address });
      } catch (error) {
        names.demote(host, address);
        failure = error;
        if (!unreachable.has(codeOf(error))) break;
      }
    }
    throw failure;
  }

  return {
    async request(request) {
      const target = checkedUrl(request.url);
      const deadline = startDeadline(request.timeoutMs, request.signal);
      try {
        return await deadline.bound(reach(target, { ...request, signal: deadline.signal }));
      } finally {
        deadline.end();
      }
    },
    close() {
      http.destroy();
      https.destroy();
    },
  };
}

/** The URL when its form is allowed: http or https, no credentials. */
export function checkedUrl(text: string): URL {
  const url = URL.parse(text);
  if (url === null) throw new EgressRefused("Expected an absolute URL");
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new EgressRefused("Expected a URL with http or https");
  }
  if (url.username !== "" || url.password !== "") {
    throw new EgressRefused("Expected a URL without credentials; send them in a header");
  }
  return url;
}

/** Host name without the brackets of an IPv6 address and the dot of a full name. */
function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$|\.$/g, "");
}

function readAnswer(answer: IncomingMessage, bytesMax: number): Promise<EgressAnswer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  return new Promise((resolve, reject) => {
    const end = () =>
      resolve({
        status: answer.statusCode ?? 0,
        headers: answer.headers,
        body: Buffer.concat(chunks),
      });
    answer.on("data", (chunk: Uint8Array) => {
      chunks.push(chunk.subarray(0, bytesMax - bytes));
      bytes += chunk.byteLength;
      if (bytes <= bytesMax) return;
      end();
      answer.destroy();
    });
    answer.on("end", () => {
      if (answer.complete) end();
      else reject(new Error("The answer ended early"));
    });
    answer.on("aborted", () => reject(new Error("The answer ended early")));
    answer.on("error", reject);
  });
}

/** One timer and one listener a request; `AbortSignal.any` would keep every caller's signal busy. */
function startDeadline(ms: number, outer: AbortSignal) {
  const cut = new AbortController();
  const stop = () => cut.abort(outer.reason);
  const late = () => cut.abort(new Error(`No complete answer within ${ms} ms`));
  const timer = setTimeout(late, ms);
  outer.addEventListener("abort", stop);
  if (outer.aborted) stop();
  return {
    signal: cut.signal,
    bound<T>(promise: Promise<T>): Promise<T> {
      return new Promise((resolve, reject) => {
        cut.signal.addEventListener("abort", () => reject(cut.signal.reason));
        if (cut.signal.aborted) reject(cut.signal.reason);
        promise.then(resolve, reject);
      });
    },
    end() {
      clearTimeout(timer);
      outer.removeEventListener("abort", stop);
    },
  };
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}
