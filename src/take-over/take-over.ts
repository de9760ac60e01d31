import { closeSync, openSync } from "node:fs";
import { basename, dirname } from "node:path";
import { codeOf, messageOf, StartError } from "../errors.ts";
import { inheritedSocket } from "../http/sockets/inherited-socket.ts";
import {
  type Address,
  closeSockets,
  lineOf,
  type Plane,
  type PlaneSockets,
  type RunningMessage,
  type SuccessorMessage,
  TAKE_OVER_MESSAGE_BYTES_MAX,
} from "./messages.ts";
import { connectUnix, receiveOn, sendOn } from "./unix-socket.ts";

const POLL_MS = 5;
/**
 * Maximum milliseconds that a new server waits for the sockets of the running server before it
 * gives up.
 */
export const TAKE_OVER_ANSWER_MS_MAX = 10_000;

export interface TakeOverOptions {
  /** Path of the Unix socket on which the running server offers its sockets. */
  path: string;
  version: string;
  /**
   * Addresses in the settings of this (new) server, by plane. A socket that the running server
   * hands over is kept only if the settings of both servers have the same address for the socket's
   * plane.
   */
  settings: Partial<Record<Plane, Address>>;
}

/** Listening sockets received from the running server, and functions to communicate with it. */
export type TakeOver = NonNullable<Awaited<ReturnType<typeof takeOver>>>;

/**
 * Takes the listening sockets over from the server on the same data directory. Resolves with
 * undefined when no server runs there, and rejects with `StartError` when the server does not hand
 * its sockets over. That server continues unless this process calls `serving`.
 */
export async function takeOver(options: TakeOverOptions) {
  const channel = openChannel(options.path);
  if (channel === undefined) return undefined;
  try {
    channel.send({ type: "want", version: options.version });
    const answer = await channel.receive(performance.now() + TAKE_OVER_ANSWER_MS_MAX);
    if (answer === "late") {
      throw new StartError("The running server does not answer, so its sockets are not taken over");
    }
    if (answer === "end") {
      throw new StartError("The running server ended before it handed its sockets over");
    }
    if (answer.type === "refused") {
      throw new StartError(`The running server keeps its sockets: ${answer.message}`);
    }
    if (answer.type !== "sockets") throw new Error(`Expected sockets, got ${answer.type}`);
    return {
      /**
       * Received sockets of those planes that have the same address in the settings of this server
       * and of the running server.
       */
      sockets: socketsOf(answer, channel.descriptors, options.settings),
      /** Version of pixelmill that the running server has. */
      version: answer.version,
      /** Resolves when the running server has closed its stores, or has ended. */
      async released() {
        await channel.receive(Number.POSITIVE_INFINITY);
      },
      /**
       * Tells the running server that this server accepts requests. That server then exits. Later
       * calls do nothing.
       */
      serving() {
        try {
          channel.send({ type: "serving" });
        } catch {
          // The running server has ended already, so it needs no message.
        }
        channel.close();
      },
    };
  } catch (error) {
    channel.close();
    throw error;
  }
}

/**
 * Returns the received sockets whose plane has the same address in the settings of both servers,
 * and closes the others. Throws `StartError` when the file descriptor of a listed socket was not
 * received.
 */
function socketsOf(
  { sockets }: Extract<RunningMessage, { type: "sockets" }>,
  descriptors: readonly number[],
  settings: Partial<Record<Plane, Address>>,
): PlaneSockets {
  const kept: PlaneSockets = {};
  const others: PlaneSockets = {};
  for (const [at, { plane, setting }] of sockets.entries()) {
    const socket = inheritedSocket(descriptors[at] ?? -1);
    if (socket === undefined) throw new StartError(`The running server sent no ${plane} socket`);
    const own = settings[plane];
    const isSame = setting.host === own?.host && setting.port === own.port;
    (isSame ? kept : others)[plane] = { fd: socket.fd, port: socket.port };
  }
  closeSockets(others);
  return kept;
}

/** Connects to the running server. Returns undefined when no server runs. */
function openChannel(path: string) {
  const fd = dial(path);
  if (fd === undefined) return undefined;
  const descriptors: number[] = [];
  let text = "";
  let isOpen = true;
  return {
    /** File descriptors that the running server has sent so far. */
    descriptors,
    send(message: SuccessorMessage) {
      if (isOpen) sendOn(fd, lineOf(message));
    },
    async receive(deadline: number): Promise<RunningMessage | "end" | "late"> {
      for (;;) {
        const end = text.indexOf("\n");
        if (end >= 0) {
          const message = JSON.parse(text.slice(0, end)) as RunningMessage;
          text = text.slice(end + 1);
          return message;
        }
        const received = receiveOn(fd);
        if (received === undefined) {
          if (performance.now() >= deadline) return "late";
          await Bun.sleep(POLL_MS);
        } else {
          if (received.bytes.length === 0) return "end";
          descriptors.push(...received.descriptors);
          text += received.bytes.toString();
          if (text.length > TAKE_OVER_MESSAGE_BYTES_MAX) return "end";
        }
      }
    },
    /** Closes the connection. Later calls do nothing: another file may have the number by then. */
    close() {
      if (isOpen) closeSync(fd);
      isOpen = false;
    },
  };
}

/**
 * Connects to a Unix socket. Returns undefined when the socket is missing or no process listens on
 * it. Throws `StartError` for any other error.
 */
function dial(path: string): number | undefined {
  let directory: number | undefined;
  try {
    // The path through the descriptor of its directory is short, and socket paths are limited.
    directory = openSync(dirname(path), "r");
    return connectUnix(`/proc/self/fd/${directory}/${basename(path)}`, "stream");
  } catch (error) {
    if (["ENOENT", "ECONNREFUSED"].includes(codeOf(error))) return undefined;
    throw new StartError(`Cannot reach the running server: ${messageOf(error)}`);
  } finally {
    if (directory !== undefined) closeSync(directory);
  }
}
