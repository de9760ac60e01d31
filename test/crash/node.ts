import { ADMIN_TOKEN, childrenOf, type Server, startServer, waitFor } from "../e2e/server.ts";

/** A start may have to wait for a port, or for brokers that are just coming back. */
const START_MS_MAX = 180_000;
/** A client that gets no answer for so long gives up, and does not learn what became of its call. */
const PATIENCE_MS = 5_000;

export interface Answer {
  /** 0 when the connection broke, or no answer came. */
  status: number;
  body: any;
}

/** A real pixelmill that is killed, hangs, and is started again on what it left behind. */
export class Node {
  #server: Server | undefined;

  constructor(
    readonly name: string,
    private readonly directory: string,
    private readonly flags: string[],
  ) {}

  async start(): Promise<void> {
    const { directory } = this;
    // The port of a node that was killed may be taken for a moment longer.
    const start = () => startServer({ directory, flags: this.flags }).catch(() => undefined);
    this.#server = await waitFor(start, `${this.name} to start`, START_MS_MAX);
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
  }

  /** Ends all its processes at once, as a machine does that loses power. */
  async kill(): Promise<void> {
    this.#signal("SIGKILL");
    await this.#server?.exited();
  }

  /** All its processes stand still until `wake`. */
  hang(): void {
    this.#signal("SIGSTOP");
  }

  wake(): void {
    this.#signal("SIGCONT");
  }

  /** Log of the node since its last start. */
  errors(): string {
    return this.#server?.errors() ?? "";
  }

  async pixel(writeKey: string, userId: string, id: string): Promise<number> {
    const query = new URLSearchParams({ writeKey, userId, event: "Crash", "properties.id": id });
    return (await this.#call(`${this.#server!.dataPlane}/pixel/v1/track?${query}`, {})).status;
  }

  async api(
    method: string,
    path: string,
    body?: unknown,
    patienceMs = PATIENCE_MS,
  ): Promise<Answer> {
    const signal = AbortSignal.timeout(patienceMs);
    return this.#call(this.#server!.controlPlane + path, {
      signal,
      method,
      headers: { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  }

  /** Values of a metric by its name; none while the node does not answer. */
  async metric(name: string): Promise<number[]> {
    const { status, body } = await this.#call(`${this.#server!.controlPlane}/metrics`, {});
    if (status !== 200) return [];
    const values = (body as string).matchAll(new RegExp(`^${name}(?:{[^}]*})? (\\S+)$`, "gm"));
    return [...values].map(([, value]) => Number(value));
  }

  async #call(url: string, request: RequestInit): Promise<Answer> {
    try {
      // On a kept connection that breaks, fetch asks a second time by itself.
      const signal = AbortSignal.timeout(PATIENCE_MS);
      const answer = await fetch(url, { signal, ...request, keepalive: false });
      const text = await answer.text();
      const isJson = answer.headers.get("content-type")?.startsWith("application/json");
      return { status: answer.status, body: isJson ? JSON.parse(text) : text };
    } catch {
      return { status: 0, body: undefined };
    }
  }

  #signal(signal: NodeJS.Signals): void {
    for (const pid of processesOf(this.#server!.pid)) {
      try {
        process.kill(pid, signal);
      } catch {
        // It has just ended.
      }
    }
  }
}

/** A process and all that descend from it. */
const processesOf = (pid: number): number[] => [pid, ...childrenOf(pid).flatMap(processesOf)];
