import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { assert } from "../assert.ts";
import type { AddressRules } from "./address-rules.ts";

/** Stages that a connection passes before it is ready. */
export type ConnectStage = "resolve" | "connect" | "tls";
export type OnStage = (stage: ConnectStage) => void;

/** The peer of a connection; requests to the same endpoint may share connections. */
export interface Endpoint {
  /** A literal address, so that connecting sends no DNS query. */
  address: string;
  /** The rules by which the address was checked. */
  rules: AddressRules;
  port: number;
  /** The host that the certificate must name; undefined without TLS. */
  tlsHost?: string | undefined;
  /** Certificate authorities (PEM) that replace the known ones. */
  ca?: string | undefined;
  /** Called with each stage that a new connection has passed. */
  onStage?: OnStage | undefined;
}

/**
 * Opens a socket, with TLS if the endpoint has a TLS host. Calls `ready` when the socket carries
 * data, or with an error when the certificate is not valid. The socket emits all other errors.
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

/** Starts TLS over a connected socket, which belongs to the returned socket from then on. */
export function secureSocket(
  socket: Socket,
  endpoint: Endpoint,
  protocols: string[] | undefined,
  ready: (error?: Error) => void,
): Socket {
  const over = { socket, host: endpoint.tlsHost, ...tlsOptions(endpoint, protocols) };
  return whenSecure(connectTls(over), endpoint, ready);
}

function tlsOptions({ address, tlsHost, ca }: Endpoint, protocols: string[] | undefined) {
  return {
    servername: tlsHost === address ? "" : tlsHost,
    // Without this, NODE_TLS_REJECT_UNAUTHORIZED could disable the check.
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
