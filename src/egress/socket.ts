import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";

/** Where a connection leads: requests to the same endpoint may share connections. */
export interface Endpoint {
  /** A literal address, so that connecting looks nothing up. */
  address: string;
  port: number;
  /** The host that its certificate must be for, or undefined without TLS. */
  tlsHost?: string | undefined;
  /** Certificate authorities (PEM) instead of the known ones. */
  ca?: string | undefined;
}

/**
 * A socket that is connecting. `ready` is told once it carries bytes, inside TLS when the endpoint
 * has a TLS host, or with what is wrong with the certificate; other errors are the socket's own.
 */
export function openSocket(
  endpoint: Endpoint,
  protocols: string[] | undefined,
  ready: (error?: Error) => void,
): Socket {
  const at = { host: endpoint.address, port: endpoint.port, noDelay: true };
  if (endpoint.tlsHost !== undefined) {
    return whenSecure(connectTls({ ...at, ...checks(endpoint, protocols) }), ready);
  }
  const socket = connectTcp(at);
  socket.on("connect", () => ready());
  return socket;
}

/** Goes on inside TLS over a connected socket, which is the new one's own from then on. */
export function secureSocket(
  socket: Socket,
  endpoint: Endpoint,
  protocols: string[] | undefined,
  ready: (error?: Error) => void,
): Socket {
  const over = { socket, host: endpoint.tlsHost, ...checks(endpoint, protocols) };
  return whenSecure(connectTls(over), ready);
}

function checks({ address, tlsHost, ca }: Endpoint, protocols: string[] | undefined) {
  return {
    servername: tlsHost === address ? "" : tlsHost,
    // By default the environment could switch the check off.
    rejectUnauthorized: true,
    ...(ca !== undefined && { ca }),
    ...(protocols !== undefined && { ALPNProtocols: protocols }),
  };
}

function whenSecure(socket: TLSSocket, ready: (error?: Error) => void): TLSSocket {
  socket.on("secureConnect", () => {
    if (socket.authorized) ready();
    else ready(new Error("The certificate of the receiver is not valid"));
  });
  return socket;
}
