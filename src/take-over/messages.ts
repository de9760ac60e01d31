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

/** Listening sockets of a server, by plane. A successor opens those that it did not receive. */
export type PlaneSockets = Partial<Record<Plane, ListeningSocket>>;

/** Address at which a server listens according to its settings. */
export interface Address {
  host: string;
  port: number;
}

/** A listening socket that is handed over. Its file descriptor is sent with the message. */
export interface HandedSocket {
  plane: Plane;
  /** Address in the settings of the running server, whose port may be 0. */
  setting: Address;
  port: number;
}

export type SuccessorMessage =
  /** The successor asks for the sockets. */
  | { type: "want"; version: string }
  /** The successor accepts requests. */
  | { type: "serving" };

export type RunningMessage =
  | { type: "sockets"; version: string; sockets: HandedSocket[] }
  /** The running server keeps its sockets, for the reason in `message`. */
  | { type: "refused"; message: string }
  /** The running server has closed its stores. */
  | { type: "released" };

/** Longest message in bytes. A longer one is a fault, and ends the connection. */
export const TAKE_OVER_MESSAGE_BYTES_MAX = 4_096;

export const lineOf = (message: SuccessorMessage | RunningMessage): Buffer =>
  Buffer.from(`${JSON.stringify(message)}\n`);

/** Duplicates the descriptors of the defined sockets. The caller must close the duplicates. */
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
