import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";

/** The stages that a connection passes before it is ready. */
export type ConnectStage = "resolve" | "connect" | "tls";
export type OnStage = (stage: ConnectStage) => void;

/** Where a connection leads; requests to the same endpoint may share connections. */
export interface Endpoint {
  /** A literal address, so that connecting looks nothing up. */
  address: string;
  port: number;
  /** The host that the certificate must be for; undefined without TLS. */
  tlsHost?: string | undefined;
  /** Certificate authorities (PEM) that replace the known ones. */
  ca?: string | undefined;
  /** Called with each stage that a new connection has passed. */
  onStage?: OnStage | undefined;
}

/**
 * Opens a socket. `ready` is called when the socket carries bytes, inside TLS when the endpoint has
 * a TLS host, or with what is wrong with the certificate. The socket reports all other errors
 * itself.
 */
export function openSocket(
  endpoint: Endpoint,
  protocols: string[] | undefined,
  ready: (error?: Error) => void,
): Socket {
  const at = { host: endpoint.address, port: endpoint.port, noDelay: true };
  if (endpoint.tlsHost !== undefined) {
    const socket = connectTls({ ...at, ...checks(endpoint, protocols) });
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
 * Goes on inside TLS over a connected socket, which belongs to the returned socket from then on.
 */
export function secureSocket(
  socket: Socket,
  endpoint: Endpoint,
  protocols: string[] | undefined,
  ready: (error?: Error) => void,
): Socket {
  const over = { socket, host: endpoint.tlsHost, ...checks(endpoint, protocols) };
  return whenSecure(connectTls(over), endpoint, ready);
}

function checks({ address, tlsHost, ca }: Endpoint, protocols: string[] | undefined) {
  return {
    servername: tlsHost === address ? "" : tlsHost,
    // Without this, an environment variable could switch the check off.
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
