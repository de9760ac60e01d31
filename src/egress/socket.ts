import { closeSync, openSync } from "node:fs";
import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { assert } from "../assert.ts";
import { codeOf } from "../errors.ts";
import type { AddressRules } from "./address-rules.ts";

/** The stages of opening a connection, in their order. */
export type ConnectStage = "resolve" | "connect" | "tls";
export type OnStage = (stage: ConnectStage) => void;

/** The peer of a connection, and how to connect to it. */
export interface Endpoint {
  /** IP address of the peer. It is not a host name, so connecting sends no DNS query. */
  address: string;
  /** Address rules, which must permit `address`; `openSocket` throws otherwise. */
  rules: AddressRules;
  port: number;
  /** Host name that the peer's certificate must contain; undefined for a connection without TLS. */
  tlsHost?: string | undefined;
  /** Certificate authorities (PEM) to trust instead of the default ones. */
  ca?: string | undefined;
  /** Called after each stage of a new connection. */
  onStage?: OnStage | undefined;
}

/**
 * Opens a socket, with TLS if the endpoint has a `tlsHost`. Calls `ready` when data can be sent, or
 * with an error if the peer's certificate is invalid. Other errors are emitted as `error` events.
 */
export function openSocket(
  endpoint: Endpoint,
  protocols: string[] | undefined,
  ready: (error?: Error) => void,
): Socket {
  assert(
    endpoint.rules.allows(endpoint.address),
    "A socket is opened only to an address that the address rules allow",
  );
  const at = { host: endpoint.address, port: endpoint.port, noDelay: true };
  if (endpoint.tlsHost !== undefined) {
    const socket = connectTls({ ...at, ...tlsOptions(endpoint, protocols) });
    socket.on("connect", () => endpoint.onStage?.("connect"));
    return whenSecure(socket, endpoint, ready);
  }
  const socket = connectTcp(at);
  socket.on("connect", () => {
    endpoint.onStage?.("connect");
    ready();
  });
  return socket;
}

/**
 * Returns the true cause of an error of a socket from `openSocket`. At this process's limit of open
 * files, Bun wrongly reports a refused connection: the result is then an error that names the
 * limit.
 */
export function trueErrorOf(error: Error): Error {
  if (codeOf(error) !== "ECONNREFUSED") return error;
  try {
    closeSync(openSync("/dev/null", "r"));
    return error;
  } catch (own) {
    return new Error(
      `This server may open no further connection or file (${codeOf(own)}): raise its limit of open files`,
    );
  }
}

/**
 * Starts TLS on a connected socket and returns the TLS socket. Closing the TLS socket also closes
 * `socket`.
 */
export function secureSocket(
  socket: Socket,
  endpoint: Endpoint,
  ready: (error?: Error) => void,
): Socket {
  const over = { socket, host: endpoint.tlsHost, ...tlsOptions(endpoint) };
  return whenSecure(connectTls(over), endpoint, ready);
}

function tlsOptions({ address, tlsHost, ca }: Endpoint, protocols?: string[]) {
  return {
    servername: tlsHost === address ? "" : tlsHost,
    // Without this option, NODE_TLS_REJECT_UNAUTHORIZED could disable the check of the certificate.
    rejectUnauthorized: true,
    ...(ca !== undefined && { ca }),
    ...(protocols !== undefined && { ALPNProtocols: protocols }),
  };
}

function whenSecure(
  socket: TLSSocket,
  { onStage }: Endpoint,
  ready: (error?: Error) => void,
): TLSSocket {
  socket.on("secureConnect", () => {
    if (!socket.authorized) return ready(new Error("The certificate of the receiver is not valid"));
    onStage?.("tls");
    ready();
  });
  return socket;
}
