import type { Socket } from "node:net";
import { FairSemaphore, fewerThanFree } from "../concurrency/fair-semaphore.ts";
import type { Permit } from "../concurrency/permit.ts";
import { codeOf } from "../errors.ts";
import { createAddressRules } from "./address-rules.ts";
import { createCheckedAddresses, EgressRefused } from "./checked-addresses.ts";
import {
  checkedHost,
  connectTo,
  type EgressConnectRequest,
  type EgressTls,
  hostOf,
  tlsHostOf,
} from "./connect.ts";
import { Deadline } from "./deadline.ts";
import { createResolver, type ResolveHost } from "./dns-resolver.ts";
import { createHttpClient, type EgressResponse } from "./http-client.ts";
import { EGRESS_REQUESTS_MAX } from "./limits.ts";
import type { OnStage } from "./socket.ts";

export { EgressRefused } from "./checked-addresses.ts";
export { checkedHost, type EgressConnectRequest, TlsRefused } from "./connect.ts";
export { ResolutionFailed } from "./dns-resolver.ts";
export type { EgressResponse } from "./http-client.ts";
export { reservedHeaders } from "./request-head.ts";
export type { ConnectStage, OnStage } from "./socket.ts";

/**
 * Connections of destinations that keep theirs open (databases, brokers), but at most an eighth of
 * the process's descriptors. A workspace gets as many as are left for others; beyond that its
 * destinations wait.
 */
export const EGRESS_CONNECTIONS_MAX = 512;

export interface EgressRequest {
  /** Whose request it is: workspaces share look-ups and connections fairly. */
  workspaceId: string;
  url: string;
  method: string;
  /** The request's own headers, without those of `egressHeaders`. */
  headers: Readonly<Record<string, string>>;
  body: Uint8Array;
  /** From the first look-up to the last byte of the answer. */
  timeoutMs: number;
  /** Bytes of the answer that are read; a longer answer is cut there and its connection closed. */
  answerBytesMax: number;
  /**
   * Whether the receiver may get the request twice. Such a request is sent again when a kept
   * connection turns out to be closed, since nobody can tell whether the receiver had read it.
   */
  isRepeatable: boolean;
  tls?: EgressTls | undefined;
  /**
   * Called with the stages that the request has passed; such a request has a connection of its own.
   */
  onStage?: OnStage | undefined;
  signal: AbortSignal;
}

/** The one way out: only to checked addresses, HTTP without redirects, bounded in size and time. */
export interface Egress {
  /** Any status is an answer, 3xx too. Rejects with `EgressRefused` (policy) or a network error. */
  request(request: EgressRequest): Promise<EgressResponse>;
  /**
   * A connection for a protocol other than HTTP. It takes a place of its workspace until it is
   * closed, and tells later errors by `close`. Rejects as `request` does, and with `TlsRefused`.
   */
  connect(request: EgressConnectRequest): Promise<Socket>;
  close(): void;
}

export interface EgressOptions {
  /** CIDRs that may be reached although private. */
  allow: readonly string[];
  /** The setting that says so, for messages. */
  allowSetting?: string;
  /** Name servers; by default the system's. */
  nameServers?: readonly string[];
  resolve?: ResolveHost;
  /** Certificate authorities (PEM) that replace the known ones. */
  ca?: string;
  /** Descriptors of the process: an eighth of them is the most that requests under way take. */
  descriptorsMax?: number;
}

/** Errors of connecting, after which another address of the host may work. */
const unreachable = new Set(["ECONNREFUSED", "EHOSTUNREACH", "ENETUNREACH", "EADDRNOTAVAIL"]);

export function createEgress(options: EgressOptions): Egress {
  const names = createCheckedAddresses({
    rules: createAddressRules(options.allow),
    resolve: options.resolve ?? createResolver({ servers: options.nameServers }),
    setting: options.allowSetting ?? "egress.allow",
  });
  const share = Math.ceil((options.descriptorsMax ?? Number.POSITIVE_INFINITY) / 8);
  const client = createHttpClient(share);
  const requests = new FairSemaphore(Math.min(EGRESS_REQUESTS_MAX, share), fewerThanFree);
  const connections = new FairSemaphore(Math.min(EGRESS_CONNECTIONS_MAX, share), fewerThanFree);
  const sockets = new Set<Socket>();

  async function acquire(
    semaphore: FairSemaphore,
    what: string,
    workspaceId: string,
    time: Deadline,
  ): Promise<Permit> {
    const permit = semaphore.tryAcquire(workspaceId);
    if (permit) return permit;
    time.awaited = `place for one more ${what} of the workspace`;
    return await semaphore.acquire(workspaceId, time.signal());
  }

  async function addressesOf(host: string, workspaceId: string, deadline: Deadline) {
    const known = names.cached(host);
    if (known !== undefined) return known;
    deadline.awaited = "address of the name";
    return await deadline.bound((signal) => names.addresses(host, workspaceId, signal));
  }

  /** Tries the host's addresses in turn, as long as none can be connected to. */
  async function reach<T>(
    host: string,
    { workspaceId, onStage }: Pick<EgressRequest, "workspaceId" | "onStage">,
    deadline: Deadline,
    ask: (address: string) => Promise<T>,
  ): Promise<T> {
    const addresses = await addressesOf(host, workspaceId, deadline);
    onStage?.("resolve");
    let failure: unknown;
    for (const address of addresses) {
      try {
        return await ask(address);
      } catch (error) {
        names.demote(host, address);
        failure = error;
        if (!unreachable.has(codeOf(error))) break;
      }
    }
    throw failure;
  }

  async function ask(request: EgressRequest, target: URL, deadline: Deadline) {
    const host = hostOf(target);
    const isSecure = target.protocol === "https:";
    const port = target.port === "" ? (isSecure ? 443 : 80) : Number(target.port);
    const { tls, onStage } = request;
    return await reach(host, request, deadline, (address) => {
      deadline.awaited = "complete answer";
      const tlsHost = isSecure ? (tls?.serverName ?? tlsHostOf(host, address)) : undefined;
      const endpoint = { address, port, tlsHost, ca: tls?.ca ?? options.ca, onStage };
      return client.send(endpoint, { ...request, target, deadline });
    });
  }

  async function open(request: EgressConnectRequest, permit: Permit, deadline: Deadline) {
    const { port, tls, onStage } = request;
    const host = checkedHost(request.host);
    const socket = await reach(host, request, deadline, (address) => {
      deadline.awaited = "connection";
      const tlsHost = tls && (tls.serverName ?? tlsHostOf(host, address));
      const endpoint = { address, port, tlsHost, ca: tls?.ca ?? options.ca, onStage };
      return connectTo(endpoint, tls, deadline);
    });
    // The socket may have been closed already, without another event to come.
    if (socket.destroyed) throw new Error("The connection was closed at once");
    sockets.add(socket);
    socket.once("close", () => {
      sockets.delete(socket);
      permit.release();
    });
    return socket;
  }

  return {
    async request(request) {
      const target = checkedUrl(request.url);
      const deadline = new Deadline(request.timeoutMs, request.signal);
      try {
        using _permit = await acquire(requests, "request", request.workspaceId, deadline);
        deadline.throwIfOver();
        return await ask(request, target, deadline);
      } finally {
        deadline.clear();
      }
    },
    async connect(request) {
      const deadline = new Deadline(request.timeoutMs, request.signal);
      try {
        const permit = await acquire(connections, "connection", request.workspaceId, deadline);
        try {
          deadline.throwIfOver();
          return await open(request, permit, deadline);
        } catch (error) {
          permit.release();
          throw error;
        }
      } finally {
        deadline.clear();
      }
    },
    close() {
      client.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** The parsed URL; refuses forms other than http or https without credentials. */
export function checkedUrl(text: string): URL {
  const url = URL.parse(text);
  if (url === null) throw new EgressRefused("Expected an absolute URL");
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new EgressRefused("Expected a URL with http or https");
  }
  if (url.username !== "" || url.password !== "") {
    throw new EgressRefused(
      "Expected a URL without a user and a password, which a header may hold",
    );
  }
  return url;
}
