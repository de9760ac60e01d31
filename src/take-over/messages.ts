/**
 * Messages between a running server and the server that takes its listening sockets over. Each is a
 * line of JSON on the Unix socket `take-over` in the data directory:
 *
 * 1. the successor sends `want`
 * 2. the running server sends `sockets` with their file descriptors, or `refused`
 * 3. the running server answers what is in flight, closes its stores, and sends `released`
 * 4. the successor opens the stores, listens, and sends `serving`; the running server exits
 *
 * When the connection ends before `serving`, the running server opens its stores again and
 * continues.
 */

import { closeSync } from "node:fs";
import { duplicate, type ListeningSocket } from "../http/listening-socket.ts";

export const planes = ["data-plane", "control-plane", "transformer"] as const;
export type Plane = (typeof planes)[number];

/**
 * Listening sockets of a server by plane (data plane, control plane, transformer). If a plane has
 * no entry, the server opens a new socket for it.
 */
export type PlaneSockets = Partial<Record<Plane, ListeningSocket>>;

/** Address at which a server listens according to its settings. */
export interface Address {
  host: string;
  port: number;
}

/**
 * A listening socket that the running server hands over. Its file descriptor is sent together with
 * the message `sockets` that lists it.
 */
export interface HandedSocket {
  plane: Plane;
  /**
   * Address of the plane in the settings of the running server. Its port may be 0, which lets the
   * system choose a port; the chosen one is in `port`.
   */
  setting: Address;
  port: number;
}

export type SuccessorMessage =
  /** The successor (new server process) asks for the listening sockets. */
  | { type: "want"; version: string }
  /** The successor (new server process) accepts requests. */
  | { type: "serving" };

export type RunningMessage =
  | { type: "sockets"; version: string; sockets: HandedSocket[] }
  /** The running server keeps its sockets, for the reason in `message`. */
  | { type: "refused"; message: string }
  /** The running server has closed its stores. */
  | { type: "released" };

/** Maximum size of a message in bytes. A longer message is an error and ends the connection. */
export const TAKE_OVER_MESSAGE_BYTES_MAX = 4_096;

export const lineOf = (message: SuccessorMessage | RunningMessage): Buffer =>
  Buffer.from(`${JSON.stringify(message)}\n`);

/**
 * Duplicates the file descriptors of the sockets. Leaves out planes whose socket is undefined. The
 * caller must close the duplicates.
 */
export function duplicates(
  sockets: Partial<Record<Plane, ListeningSocket | undefined>>,
): PlaneSockets {
  const copies = Object.entries(sockets).flatMap(([plane, socket]) =>
    socket === undefined ? [] : [[plane, { ...socket, fd: duplicate(socket.fd) }]],
  );
  return Object.fromEntries(copies);
}

/** Closes the file descriptors of the sockets. */
export function closeSockets(sockets: PlaneSockets): void {
  for (const { fd } of Object.values(sockets)) closeSync(fd);
}
