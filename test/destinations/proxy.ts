import { connect, createServer, type Server, type Socket } from "node:net";

/** A TCP proxy before a real server, for bad weather on the way. */
export class TcpProxy {
  connections = 0;
  /** While it is set, connections are accepted and nothing passes: half-open peers. */
  isStalled = false;
  /** Called with each piece on its way to the server; returning false cuts the connection there. */
  onSent: (piece: Buffer) => boolean = () => true;
  /** Like `onSent`, for data of the server. */
  onAnswered: (piece: Buffer) => boolean = () => true;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  constructor(port: number) {
    this.#server = createServer((near) => {
      this.connections += 1;
      const far = connect(port, "127.0.0.1");
      const end = () => {
        near.destroy();
        far.destroy();
      };
      for (const socket of [near, far]) {
        this.#sockets.add(socket);
        socket.on("error", end);
        socket.on("close", () => {
          this.#sockets.delete(socket);
          end();
        });
      }
      near.on("data", (piece: Buffer) => {
        if (this.isStalled) return;
        if (this.onSent(piece)) far.write(piece);
        else end();
      });
      far.on("data", (piece: Buffer) => {
        if (this.isStalled) return;
        if (this.onAnswered(piece)) near.write(piece);
        else end();
      });
    });
  }

  get open(): number {
    return this.#sockets.size;
  }

  async listen(): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return (this.#server.address() as { port: number }).port;
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }
}
