import { connect, createServer, type Server, type Socket } from "node:net";

/** An address and port that a TCP connection goes to. */
export interface Endpoint {
  hostname: string;
  port: number;
}

/** Pause between two looks at whether held bytes may pass. */
const HOLD_MS = 20;

/** The bytes of a connection that its opener sends, and those that it receives. */
type Direction = "requests" | "responses";

/**
 * A network link between two processes, which a test disturbs: a TCP proxy in front of one or more
 * ports of the process at the far end.
 */
export class Link {
  /** Delay of all bytes in each direction. */
  delayMs = 0;
  /** Share of chunks that are torn: half of the chunk passes, then the connection ends. */
  tornShare = 0;
  readonly #held = new Set<Direction>();
  #isRefused = false;
  #isClosed = false;
  readonly #servers: Server[] = [];
  readonly #sockets = new Set<Socket>();

  private constructor() {}

  /** Forwards connections to each endpoint `at` to the endpoint `to` beside it. */
  static async open(routes: readonly { at: Endpoint; to: Endpoint }[]): Promise<Link> {
    const link = new Link();
    await Promise.all(routes.map(({ at, to }) => link.#listen(at, to)));
    return link;
  }

  /**
   * Holds bytes back until `heal`, as a network does that loses all packets: connections stay, new
   * ones are accepted, and no byte arrives.
   */
  hold(...directions: Direction[]): void {
    const held = directions.length === 0 ? (["requests", "responses"] as const) : directions;
    for (const direction of held) this.#held.add(direction);
  }

  /** Ends all connections, and ends new ones at once, until `heal`. */
  refuse(): void {
    this.#isRefused = true;
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  /** Ends all disturbances; bytes that were held arrive. */
  heal(): void {
    this.#held.clear();
    this.#isRefused = false;
    this.delayMs = 0;
    this.tornShare = 0;
  }

  close(): void {
    this.#isClosed = true;
    for (const server of this.#servers) server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #listen(at: Endpoint, to: Endpoint): Promise<void> {
    const server = createServer((socket) => this.#accept(socket, to));
    this.#servers.push(server);
    return new Promise((resolve, reject) => {
      server.once("error", reject);
      server.listen(at.port, at.hostname, resolve);
    });
  }

  #accept(opened: Socket, to: Endpoint): void {
    if (this.#isRefused) {
      opened.resetAndDestroy();
      return;
    }
    const far = connect({ host: to.hostname, port: to.port });
    this.#carry(opened, far, "requests");
    this.#carry(far, opened, "responses");
  }

  /** Passes the bytes of one socket to the other in order, and then its end. */
  #carry(from: Socket, to: Socket, direction: Direction): void {
    this.#sockets.add(from);
    from.setNoDelay(true);
    let passed: Promise<void> | undefined;
    const pass = (act: () => void) => {
      const dueAt = performance.now() + this.delayMs;
      if (passed === undefined && this.delayMs === 0 && !this.#held.has(direction)) {
        act();
        return;
      }
      const last = (passed ?? Promise.resolve()).then(async () => {
        await Bun.sleep(Math.max(0, dueAt - performance.now()));
        while (this.#held.has(direction) && !this.#isClosed) await Bun.sleep(HOLD_MS);
        act();
        if (passed === last) passed = undefined;
      });
      passed = last;
    };
    from.on("data", (chunk: Buffer) => {
      pass(() => {
        if (to.destroyed) return;
        if (Math.random() >= this.tornShare) to.write(chunk);
        else to.end(chunk.subarray(0, chunk.length / 2), () => from.destroy());
      });
    });
    from.on("end", () => pass(() => to.end()));
    from.on("error", () => pass(() => to.destroy()));
    from.on("close", () => {
      this.#sockets.delete(from);
      pass(() => to.destroySoon());
    });
  }
}
