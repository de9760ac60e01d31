import type { Socket } from "node:net";
import { FairSemaphore, fewerThanFree } from "../concurrency/fair-semaphore.ts";
import type { Permit } from "../concurrency/permit.ts";
import { codeOf, failureText } from "../errors.ts";
import { createAddressRules } from "./address-rules.ts";
import { createCheckedAddresses } from "./checked-addresses.ts";
import {
  checkedHost,
  connectTo,
  type EgressConnectRequest,
  type EgressTls,
  tlsHostOf,
} from "./connect.ts";
import { Deadline } from "./deadline.ts";
import { createResolver, ResolutionFailed, type ResolveHost } from "./dns/dns-resolver.ts";
import { createHttpClient, type HttpRequest } from "./http-client.ts";
import { EGRESS_REQUESTS_MAX } from "./limits.ts";
import type { Endpoint, OnStage } from "./socket.ts";
import { type Target, targetOf } from "./target.ts";

export { EgressRefused } from "./checked-addresses.ts";
export { checkedHost, type EgressConnectRequest, TlsRefused } from "./connect.ts";
export { timeoutText } from "./deadline.ts";
export { ResolutionFailed } from "./dns/dns-resolver.ts";
export type { EgressResponse } from "./http-client.ts";
export { reservedHeaders } from "./request-head.ts";
export type { ConnectStage, OnStage } from "./socket.ts";
export { checkedUrl } from "./target.ts";

/**
 * Maximum number of connections that destinations such as databases and brokers keep open, at most
 * an eighth of the process's file descriptors. A workspace (tenant) with n connections may open
 * another one only while more than n are free. Its further destinations wait.
 */
export const EGRESS_CONNECTIONS_MAX = 512;

export interface EgressRequest extends HttpRequest {
  url: string;
  /** Longest time in milliseconds from the first DNS query to the last byte of the response. */
  timeoutMs: number;
  /**
   * Time limit in milliseconds that the message of the timeout error names, if `timeoutMs` is the
   * rest of it. Default: `timeoutMs`.
   */
  wholeTimeoutMs?: number | undefined;
  tls?: EgressTls | undefined;
  /**
   * Called after each stage of opening the connection (`resolve`, `connect`, `tls`). A request with
   * `onStage` always opens a new connection and never uses an idle one.
   */
  onStage?: OnStage | undefined;
  signal: AbortSignal;
}

/**
 * Makes all outgoing connections of destinations and user code. It connects only to addresses that
 * the address rules permit, does not follow redirects, and bounds the size and time of responses.
 */
export type Egress = ReturnType<typeof createEgress>;

export interface EgressOptions {
  /** CIDRs to which connections are permitted although they are in a forbidden address range. */
  allow: readonly string[];
  /** Name of the setting that contains `allow`. Error messages mention it. */
  allowSetting?: string;
  /** Addresses of the name servers to use. When absent, those of the operating system. */
  nameServers?: readonly string[];
  resolve?: ResolveHost;
  /** Certificate authorities (PEM) to trust instead of the default ones. */
  ca?: string;
  /**
   * Number of file descriptors that the process may open. Concurrent requests use at most an eighth
   * of them, and connections of other protocols at most another eighth.
   */
  descriptorsMax?: number;
}

/** Error codes of a failed connection after which the host's next address is tried. */
const unreachable = new Set(["ECONNREFUSED", "EHOSTUNREACH", "ENETUNREACH", "EADDRNOTAVAIL"]);

export function createEgress(options: EgressOptions) {
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

  /**
   * Waits until the workspace may make one more request or connection. Then starts the time limit
   * of the request again, because the receiver did not cause the wait.
   */
  async function waitForPermit(
    semaphore: FairSemaphore,
    kind: "request" | "connection",
    workspaceId: string,
    deadline: Deadline,
  ): Promise<Permit> {
    deadline.awaited = `permit for one more ${kind} of the workspace`;
    const permit = await semaphore.acquire(workspaceId, deadline.signal());
    deadline.restart();
    return permit;
  }

  function resolved(host: string, workspaceId: string, deadline: Deadline): Promise<string[]> {
    deadline.awaited = "address of the name";
    return deadline.bound((signal) => names.addresses(host, workspaceId, signal));
  }

  /**
   * Resolves the host, and calls `connect` with its addresses in turn while the error is in
   * `unreachable`. Rejects with the error of the last call. `awaited` names the result of `connect`
   * in the timeout error.
   */
  async function reach<T>(
    { host, port, isSecure }: Pick<Target, "host" | "port" | "isSecure">,
    { workspaceId, tls, onStage }: Pick<EgressRequest, "workspaceId" | "tls" | "onStage">,
    deadline: Deadline,
    awaited: string,
    connect: (endpoint: Endpoint) => Promise<T>,
  ): Promise<T> {
    // Cached addresses are not awaited, because each wait costs CPU.
    const addresses = names.cached(host) ?? (await resolved(host, workspaceId, deadline));
    onStage?.("resolve");
    let failure: unknown;
    for (const address of addresses) {
      deadline.awaited = awaited;
      const tlsHost = isSecure ? (tls?.serverName ?? tlsHostOf(host, address)) : undefined;
      try {
        return await connect({ address, rules, port, tlsHost, ca: tls?.ca ?? options.ca, onStage });
      } catch (error) {
        names.demote(host, address);
        failure = error;
        if (!unreachable.has(codeOf(error))) break;
      }
    }
    throw failure;
  }

  function send(request: EgressRequest, target: Target, deadline: Deadline) {
    const method = request.method.toUpperCase();
    return reach(target, request, deadline, "complete answer", (endpoint) =>
      client.send(endpoint, { ...request, method, target, deadline }),
    );
  }

  async function open(request: EgressConnectRequest, permit: Permit, deadline: Deadline) {
    const { port, tls } = request;
    const target = { host: checkedHost(request.host), port, isSecure: tls !== undefined };
    const socket = await reach(target, request, deadline, "connection", (endpoint) =>
      connectTo(endpoint, tls, deadline),
    );
    // If the socket is already closed, no further event follows.
    if (socket.destroyed) throw new Error("The connection was closed at once");
    sockets.add(socket);
    socket.once("close", () => {
      sockets.delete(socket);
      permit.release();
    });
    return socket;
  }

  return {
    /**
     * Sends a request. Resolves with the response, whatever its status. Rejects with
     * `EgressRefused` when the request is not allowed, and with a network or timeout error when
     * there is no complete response.
     */
    async request(request: EgressRequest) {
      const target = targetOf(request.url);
      const { workspaceId, timeoutMs, wholeTimeoutMs, signal } = request;
      using deadline = new Deadline(timeoutMs, signal, wholeTimeoutMs);
      using _permit =
        requests.tryAcquire(workspaceId) ??
        (await waitForPermit(requests, "request", workspaceId, deadline));
      deadline.throwIfOver();
      return await send(request, target, deadline);
    },
    /**
     * Opens a connection for a protocol other than HTTP. The connection counts toward the limit of
     * its workspace (tenant) until closed. Rejects with `EgressRefused`, `TlsRefused`, or a network
     * or timeout error. Later errors appear only as `close` events.
     */
    async connect(request: EgressConnectRequest) {
      const { workspaceId, timeoutMs, signal } = request;
      using deadline = new Deadline(timeoutMs, signal);
      const permit =
        connections.tryAcquire(workspaceId) ??
        (await waitForPermit(connections, "connection", workspaceId, deadline));
      try {
        deadline.throwIfOver();
        return await open(request, permit, deadline);
      } catch (error) {
        permit.release();
        throw error;
      }
    },
    close() {
      client.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/**
 * Describes a network error in one line: `failed`, the cause and the code. For a refused
 * certificate, `owner` (`The server's`) replaces `failed`. Failed DNS resolutions and errors
 * without a code keep their message.
 */
export function networkReason(
  error: unknown,
  failed = "The request failed",
  owner = "The server's",
): string {
  if (!(error instanceof Error)) return failed;
  const code = codeOf(error);
  if (code === "") return error.message;
  if (error instanceof ResolutionFailed) return `${error.message} (${code})`;
  return failureText(code, failed, owner);
}
