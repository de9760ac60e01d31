import { isIP } from "node:net";
import { FairPlaces, leavingSome } from "../fair-places.ts";
import { EGRESS_REQUESTS_MAX } from "../limits.ts";
import { createAddressRules } from "./address.ts";
import { type Attempt, codeOf, createClient, type EgressAnswer } from "./client.ts";
import { Deadline } from "./deadline.ts";
import { createLookUp, type Resolve } from "./look-up.ts";
import { createNames, EgressRefused } from "./names.ts";

export type { EgressAnswer } from "./client.ts";
export { LookUpFailed } from "./look-up.ts";
export { EgressRefused } from "./names.ts";
export { egressHeaders } from "./request-text.ts";

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
  /**
   * Whether it does no harm that the receiver gets it twice: it is sent again when a kept
   * connection turns out to be closed, of which nobody can tell whether it was read.
   */
  isRepeatable: boolean;
  signal: AbortSignal;
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
  /** Descriptors of the process: an eighth of them is the most that requests under way take. */
  descriptorsMax?: number;
}

/** Errors of a connection that never came to be: another address of the host may do. */
const unreachable = new Set(["ECONNREFUSED", "EHOSTUNREACH", "ENETUNREACH", "EADDRNOTAVAIL"]);

export function createEgress(options: EgressOptions): Egress {
  const names = createNames({
    rules: createAddressRules(options.allow),
    resolve: options.resolve ?? createLookUp({ servers: options.nameServers }),
    setting: options.allowSetting ?? "egress.allow",
  });
  const share = Math.ceil((options.descriptorsMax ?? Number.POSITIVE_INFINITY) / 8);
  const client = createClient({ ca: options.ca, idleMax: share });
  const places = new FairPlaces(Math.min(EGRESS_REQUESTS_MAX, share), leavingSome);

  async function takePlace(workspaceId: string, deadline: Deadline): Promise<void> {
    deadline.awaited = "place for one more request of the workspace";
    await places.take(workspaceId, deadline.signal());
    deadline.awaited = "complete answer";
  }

  async function addressesOf(host: string, workspaceId: string, deadline: Deadline) {
    const known = names.known(host);
    if (known !== undefined) return known;
    deadline.awaited = "address of the name";
    const found = await deadline.bound((signal) => names.addresses(host, workspaceId, signal));
    deadline.awaited = "complete answer";
    return found;
  }

  /** Tries the host's addresses in turn as long as the connection itself does not come to be. */
  async function reach(workspaceId: string, attempt: Attempt): Promise<EgressAnswer> {
    const { target, deadline } = attempt;
    const host = hostOf(target);
    const addresses = await addressesOf(host, workspaceId, deadline);
    const isSecure = target.protocol === "https:";
    const port = target.port === "" ? (isSecure ? 443 : 80) : Number(target.port);
    let failure: unknown;
    for (const address of addresses) {
      try {
        const tlsHost = isSecure ? (isIP(host) === 0 ? tlsName(host) : address) : undefined;
        return await client.send({ address, port, tlsHost }, attempt);
      } catch (error) {
        names.demote(host, address);
        failure = error;
        if (!unreachable.has(codeOf(error)) || deadline.isOver) break;
      }
    }
    throw failure;
  }

  return {
    async request(request) {
      const target = checkedUrl(request.url);
      const deadline = new Deadline(request.timeoutMs, request.signal);
      const { workspaceId } = request;
      try {
        if (!places.tryTake(workspaceId)) await takePlace(workspaceId, deadline);
        try {
          deadline.throwIfOver();
          return await reach(workspaceId, { ...request, target, deadline });
        } finally {
          places.leave(workspaceId);
        }
      } finally {
        deadline.clear();
      }
    },
    close: client.close,
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

/** Host name without the brackets of an IPv6 address. */
function hostOf(url: URL): string {
  const { hostname } = url;
  return hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
}

/** Certificates do not have the dot of a full name. */
function tlsName(host: string): string {
  return host.replace(/\.$/, "");
}
