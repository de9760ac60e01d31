import { rmSync } from "node:fs";
import type { Socket, UnixSocketListener } from "bun";
import { messageOf } from "../errors.ts";
import type { Logger } from "../observe/log.ts";
import {
  type HandedSocket,
  lineOf,
  type Plane,
  type PlaneSockets,
  type RunningMessage,
  type SuccessorMessage,
  TAKE_OVER_MESSAGE_BYTES_MAX,
} from "./messages.ts";
import type { TakeOverOptions } from "./take-over.ts";
import { peerUser, sendOn } from "./unix-socket.ts";

export interface OfferOptions extends Pick<TakeOverOptions, "path" | "version" | "settings"> {
  /** The listening sockets of this server. The caller keeps them open until the offer has ended. */
  sockets: PlaneSockets;
  /** Sentence that says why this server keeps its sockets; undefined when it hands them over. */
  refusal?: string | undefined;
  logger: Logger;
}

/**
 * The offer of a running server to hand its listening sockets over to its successor, a new server
 * process.
 */
export type Offer = ReturnType<typeof offerSockets>;

/** The successor: the new server process that takes the sockets over. */
export interface Successor {
  /** Sends the successor the message that this server has closed its stores. */
  release(): void;
  /**
   * Resolves with true when the successor accepts requests, or with false when its connection ends
   * before that.
   */
  isServing: Promise<boolean>;
}

interface Client {
  received: string;
  serving: PromiseWithResolvers<boolean>;
}

/**
 * Offers this server's listening sockets to a new server process of the same user, on the Unix
 * socket `path`. If this server cannot listen there, logs a warning and runs without the offer.
 */
export function offerSockets(options: OfferOptions) {
  const { path, logger } = options;
  const asked = Promise.withResolvers<Successor>();
  let listener: UnixSocketListener<Client> | undefined;
  let isTaken = false;

  const close = () => listener?.stop();

  function handle(socket: Socket<Client>, message: SuccessorMessage): void {
    if (message.type === "serving") socket.data.serving.resolve(true);
    if (message.type !== "want" || isTaken) return;
    if (options.refusal !== undefined) {
      socket.end(lineOf({ type: "refused", message: options.refusal }));
      return;
    }
    sendSockets(socket, options);
    isTaken = true;
    close();
    logger.info({ version: message.version }, "another server takes the sockets over");
    asked.resolve({
      release: () => socket.write(lineOf({ type: "released" })),
      isServing: socket.data.serving.promise,
    });
  }

  const handlers = {
    open(socket: Socket<Client>) {
      socket.data = { received: "", serving: Promise.withResolvers() };
      // The mode of the socket's file keeps out all other users but root.
      if (peerUser(descriptorOf(socket)) !== process.getuid?.()) socket.terminate();
    },
    data(socket: Socket<Client>, chunk: Buffer) {
      try {
        for (const message of messagesIn(socket.data, chunk)) handle(socket, message);
      } catch (error) {
        logger.warn({ reason: messageOf(error) }, "sockets not handed over");
        socket.terminate();
      }
    },
    close: (socket: Socket<Client>) => socket.data.serving.resolve(false),
    error() {},
  };

  // Set before the socket exists, because other users could connect before a later change.
  const mask = process.umask(0o177);
  try {
    // A killed server has left its socket behind.
    rmSync(path, { force: true });
    listener = Bun.listen<Client>({ unix: path, socket: handlers });
  } catch (error) {
    const reason = messageOf(error);
    logger.warn({ reason }, "cannot offer the sockets to another server, which --take-over needs");
  } finally {
    process.umask(mask);
  }
  return {
    /**
     * Resolves when the sockets were sent to a successor. Only the first server that asks gets
     * them.
     */
    asked: asked.promise,
    close,
  };
}

function sendSockets(socket: Socket<Client>, options: OfferOptions): void {
  const { settings, version } = options;
  const sockets = Object.entries(options.sockets) as [Plane, { fd: number; port: number }][];
  const handed: HandedSocket[] = sockets.map(([plane, { port }]) => ({
    plane,
    setting: settings[plane] ?? { host: "", port },
    port,
  }));
  const message: RunningMessage = { type: "sockets", version, sockets: handed };
  const descriptors = sockets.map(([, { fd }]) => fd);
  sendOn(descriptorOf(socket), lineOf(message), descriptors);
}

/**
 * Adds a chunk of bytes received from a client, and returns the messages that it completes. Throws
 * when the unprocessed bytes exceed `TAKE_OVER_MESSAGE_BYTES_MAX`.
 */
function messagesIn(client: Client, chunk: Buffer): SuccessorMessage[] {
  client.received += chunk.toString();
  if (client.received.length > TAKE_OVER_MESSAGE_BYTES_MAX)
    throw new Error("Expected a short message");
  const lines = client.received.split("\n");
  client.received = lines.pop() ?? "";
  return lines.map((line) => JSON.parse(line) as SuccessorMessage);
}

/** Returns the file descriptor of a socket. Bun's sockets have `fd`, but Bun's types lack it. */
const descriptorOf = (socket: Socket<Client>) => (socket as unknown as { fd: number }).fd;
