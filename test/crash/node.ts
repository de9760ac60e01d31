import { ADMIN_TOKEN, childrenOf, type Server, startServer, waitFor } from "../e2e/server.ts";

/** Longest start: it may wait for a port, or for brokers that are starting. */
const START_MS_MAX = 180_000;
/** Client timeout by default, after which the outcome of a call is unknown. */
const PATIENCE_MS = 5_000;

export interface Answer {
  /** HTTP status; 0 for a broken connection or a timeout. */
  status: number;
  body: any;
}

/** Pixelmill server that a test kills, stops and restarts on the same data directory. */
export class Node {
  #server: Server | undefined;

  constructor(
    readonly name: string,
    readonly directory: string,
    /** Flags of its next start. */
    readonly flags: string[],
    private readonly patienceMs = PATIENCE_MS,
    /** Command that starts the executable; absent: that of this checkout. */
    public command?: string[],
  ) {}

  async start(): Promise<void> {
    const { directory, flags, command } = this;
    const options = { directory, flags, ...(command && { command }) };
    let failure: unknown;
    // The port of a killed node may be in use for a moment longer.
    const start = () =>
      startServer(options).catch((error) => {
        failure = error;
        return undefined;
      });
    try {
      this.#server = await waitFor(start, `${this.name} to start`, START_MS_MAX);
    } catch (error) {
      throw new Error(`${(error as Error).message}: ${failure}`);
    }
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
  }

  /** Kills all processes of the node at once. */
  async kill(): Promise<void> {
    this.#signal("SIGKILL");
    await this.#server?.exited();
  }

  /** Stops all processes of the node (SIGSTOP) until `wake`. */
  hang(): void {
    this.#signal("SIGSTOP");
  }

  wake(): void {
    this.#signal("SIGCONT");
  }

  /** Ids of all processes of the node. */
  pids(): number[] {
    return processesOf(this.#server!.pid);
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
    patienceMs = this.patienceMs,
  ): Promise<Answer> {
    const signal = AbortSignal.timeout(patienceMs);
    return this.#call(this.#server!.controlPlane + path, {
      signal,
      method,
      headers: { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  }

  /** Reads the values of a metric by name; none while the node does not respond. */
  async metric(name: string): Promise<number[]> {
    const { status, body } = await this.#call(`${this.#server!.controlPlane}/metrics`, {});
    if (status !== 200) return [];
    const values = (body as string).matchAll(new RegExp(`^${name}(?:{[^}]*})? (\\S+)$`, "gm"));
    return [...values].map(([, value]) => Number(value));
  }

  async #call(url: string, request: RequestInit): Promise<Answer> {
    try {
      // fetch retries when a kept-alive connection breaks.
      const signal = AbortSignal.timeout(this.patienceMs);
      const answer = await fetch(url, { signal, ...request, keepalive: false });
      const text = await answer.text();
      const isJson = answer.headers.get("content-type")?.startsWith("application/json");
      return { status: answer.status, body: isJson ? JSON.parse(text) : text };
    } catch {
      return { status: 0, body: undefined };
    }
  }

  #signal(signal: NodeJS.Signals): void {
    for (const pid of this.pids()) {
      try {
        process.kill(pid, signal);
      } catch {
        // The process has just exited.
      }
    }
  }
}

/** Process ids of a process and all its descendants. */
const processesOf = (pid: number): number[] => [pid, ...childrenOf(pid).flatMap(processesOf)];
