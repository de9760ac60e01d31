import { createServer, type Server, type Socket } from "node:net";

/** A TCP server that notes every connection; `answer` plays a receiver with faults. */
export class RawSink {
  connections = 0;
  requests: string[] = [];
  /** Plays a receiver that does something before any request. */
  onConnection: (socket: Socket) => void = () => {};
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  constructor(answer: (socket: Socket, request: string) => void = () => {}) {
    this.#server = createServer((socket) => {
      this.connections += 1;
      this.#sockets.add(socket);
      this.onConnection(socket);
      socket.on("close", () => this.#sockets.delete(socket));
      socket.on("error", () => {});
      socket.on("data", (data) => {
        const request = data.toString("latin1");
        this.requests.push(request);
        answer(socket, request);
      });
    });
  }

  /** Connections that are open now. */
  get open(): number {
    return this.#sockets.size;
  }

  async listen(host = "127.0.0.1", port = 0): Promise<number> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(port, host, resolve);
    });
    return (this.#server.address() as { port: number }).port;
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }
}
