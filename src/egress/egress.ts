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
import { createHttpClient, type EgressResponse, type HttpRequest } from "./http-client.ts";
import { EGRESS_REQUESTS_MAX } from "./limits.ts";
import type { OnStage } from "./socket.ts";

export { EgressRefused } from "./checked-addresses.ts";
export { checkedHost, type EgressConnectRequest, TlsRefused } from "./connect.ts";
export { ResolutionFailed } from "./dns-resolver.ts";
export type { EgressResponse } from "./http-client.ts";
export { reservedHeaders } from "./request-head.ts";
export type { ConnectStage, OnStage } from "./socket.ts";

/**
 * Connections of destinations that keep them open (databases, brokers), but at most an eighth of the
 * process's file descriptors. A workspace gets as many as it leaves to others; its other
 * destinations wait.
 */
export const EGRESS_CONNECTIONS_MAX = 512;

export interface EgressRequest extends HttpRequest {
  /** The workspace that owns the request: workspaces share resolutions and connections fairly. */
  workspaceId: string;
  url: string;
  /** Time from the first DNS query to the last byte of the response. */
  timeoutMs: number;
  tls?: EgressTls | undefined;
  /**
   * Called with each stage that the request has passed. The request gets a new connection.
   */
  onStage?: OnStage | undefined;
  signal: AbortSignal;
}

/**
 * The only way to the network: connects to checked addresses only, follows no redirects, and bounds
 * responses in size and time.
 */
export interface Egress {
  /**
   * Sends a request and resolves with the response, whatever its status. Rejects with
   * `EgressRefused` (policy) or a network error.
   */
  request(request: EgressRequest): Promise<EgressResponse>;
  /**
   * A connection for a protocol other than HTTP. It takes a place of its workspace until it is
   * closed, and tells later errors by `close`. Rejects as `request` does, and with `TlsRefused`.
   */
  connect(request: EgressConnectRequest): Promise<Socket>;
  close(): void;
}

export interface EgressOptions {
  /** Forbidden CIDRs that may be reached. */
  allow: readonly string[];
  /** The setting that holds them, for error messages. */
  allowSetting?: string;
  /** Name servers; those of the system by default. */
  nameServers?: readonly string[];
  resolve?: ResolveHost;
  /** Certificate authorities (PEM) that replace the known ones. */
  ca?: string;
  /** File descriptors of the process, of which concurrent requests may take an eighth. */
  descriptorsMax?: number;
}

/** Connection errors after which another address of the host may work. */
const unreachable = new Set(["ECONNREFUSED", "EHOSTUNREACH", "ENETUNREACH", "EADDRNOTAVAIL"]);

export function createEgress(options: EgressOptions): Egress {
  const rules = createAddressRules(options.allow);
  const names = createCheckedAddresses({
    rules,
    resolve: options.resolve ?? createResolver({ servers: options.nameServers }),
    setting: options.allowSetting ?? "egress.allow",
  });
  const eighth = Math.ceil((options.descriptorsMax ?? Number.POSITIVE_INFINITY) / 8);
  const client = createHttpClient(eighth);
  const requests = new FairSemaphore(Math.min(EGRESS_REQUESTS_MAX, eighth), fewerThanFree);
  const connections = new FairSemaphore(Math.min(EGRESS_CONNECTIONS_MAX, eighth), fewerThanFree);
  const sockets = new Set<Socket>();

  async function acquire(
    semaphore: FairSemaphore,
    kind: "request" | "connection",
    workspaceId: string,
    deadline: Deadline,
  ): Promise<Permit> {
    const permit = semaphore.tryAcquire(workspaceId);
    if (permit) return permit;
    deadline.awaited = `permit for one more ${kind} of the workspace`;
    return await semaphore.acquire(workspaceId, deadline.signal());
  }

  async function addressesOf(host: string, workspaceId: string, deadline: Deadline) {
    const known = names.cached(host);
    if (known !== undefined) return known;
    deadline.awaited = "address of the name";
    return await deadline.bound((signal) => names.addresses(host, workspaceId, signal));
  }

  /** Tries the addresses of the host one after the other until one can be connected to. */
  async function reach<T>(
    host: string,
    { workspaceId, onStage }: Pick<EgressRequest, "workspaceId" | "onStage">,
    deadline: Deadline,
    connect: (address: string) => Promise<T>,
  ): Promise<T> {
    const addresses = await addressesOf(host, workspaceId, deadline);
    onStage?.("resolve");
    let failure: unknown;
    for (const address of addresses) {
      try {
        return await connect(address);
      } catch (error) {
        names.demote(host, address);
        failure = error;
        if (!unreachable.has(codeOf(error))) break;
      }
    }
    throw failure;
  }

  async function send(request: EgressRequest, target: URL, deadline: Deadline) {
    const host = hostOf(target);
    const isSecure = target.protocol === "https:";
    const port = target.port === "" ? (isSecure ? 443 : 80) : Number(target.port);
    const { tls, onStage } = request;
    return await reach(host, request, deadline, (address) => {
      deadline.awaited = "complete answer";
      const tlsHost = isSecure ? (tls?.serverName ?? tlsHostOf(host, address)) : undefined;
      const endpoint = { address, rules, port, tlsHost, ca: tls?.ca ?? options.ca, onStage };
      return client.send(endpoint, { ...request, target, deadline });
    });
  }

  async function open(request: EgressConnectRequest, permit: Permit, deadline: Deadline) {
    const { port, tls, onStage } = request;
    const host = checkedHost(request.host);
    const socket = await reach(host, request, deadline, (address) => {
      deadline.awaited = "connection";
      const tlsHost = tls && (tls.serverName ?? tlsHostOf(host, address));
      const endpoint = { address, rules, port, tlsHost, ca: tls?.ca ?? options.ca, onStage };
      return connectTo(endpoint, tls, deadline);
    });
    // The socket may be closed already; then no further event follows.
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
        return await send(request, target, deadline);
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
