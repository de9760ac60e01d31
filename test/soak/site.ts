import { join } from "node:path";
import { childrenOf, lanesAreThrough, type Server, startServer, waitFor } from "../e2e/server.ts";
import { codeOf, testEvent } from "./fates.ts";

/** Longest time for a soak's backlog to drain on a busy machine. */
const DRAIN_MS_MAX = 1_200_000;
/** Age of the text of `/metrics` after which the server makes a new one. */
const METRICS_AGE_MS = 1_000;
const RESTART_MS_MAX = 120_000;

/**
 * Server with the soak's sources, code and destinations, and methods that kill and stop its
 * processes.
 */
export class Site {
  readonly writeKeys = { j: "", p: "" };
  readonly data: string;
  #file = "";
  readonly #destinations = new Map<string, string>();
  readonly #transformations = new Map<string, string>();
  #up = true;

  private constructor(
    readonly directory: string,
    readonly receiver: { url: string; kill(): void },
    private server: Server,
    private readonly flags: string[],
  ) {
    this.data = join(directory, "data");
  }

  static async open(directory: string, moodMs: number): Promise<Site> {
    const receiver = await startReceiver(join(directory, "received"), moodMs);
    const common = [
      ...["--retry-window", "600", "--log-level", "warn"],
      // The lag of each lane, which `drain` waits for.
      ...["--metrics-tenants", "true"],
    ];
    const server = await startServer({ directory, flags: common });
    const ports = [
      ...["--port", new URL(server.dataPlane).port],
      ...["--admin-port", new URL(server.controlPlane).port],
    ];
    const site = new Site(directory, receiver, server, [...common, ...ports]);
    await site.#build();
    return site;
  }

  get file(): string {
    return this.#file;
  }

  /** Sends a pixel; returns the HTTP status, or 0 if the connection breaks. */
  async pixel(writeKey: string, userId: string, id: string): Promise<number> {
    if (!this.#up) return 0;
    const event = { event: "Soak", "properties.id": id, "properties.plan": "pro" };
    const query = new URLSearchParams({ writeKey, userId, ...event });
    try {
      // fetch retries when a kept-alive connection breaks, which would make two events.
      const answer = await fetch(`${this.server.dataPlane}/pixel/v1/track?${query}`, {
        keepalive: false,
      });
      await answer.arrayBuffer();
      return answer.status;
    } catch {
      return 0;
    }
  }

  /** Publishes a revision; resolves with false while the server is down. */
  async publish(language: string, body: object): Promise<boolean> {
    const id = this.#transformations.get(language);
    try {
      const path = `/transformations/${id}?publish=true`;
      const { status } = await this.server.api("POST", path, body);
      return status === 200;
    } catch {
      return false;
    }
  }

  readonly chaos: Record<string, () => Promise<void>> = {
    "ingest killed": async () => this.#signal("ingest", "SIGKILL"),
    "guests killed": async () => this.#signal("guest", "SIGKILL"),
    "server stopped": () => this.#restart("SIGTERM"),
    "ingest paused": async () => {
      this.#signal("ingest", "SIGSTOP");
      await Bun.sleep(1_500);
      this.#signal("ingest", "SIGCONT");
    },
    "server killed": () => this.#restart("SIGKILL"),
  };

  processes(): { server: number; ingest: number | undefined; guests: number[] } {
    const { pid } = this.server;
    return {
      server: pid,
      ingest: childrenOf(pid, "ingest")[0],
      guests: childrenOf(pid, "guest"),
    };
  }

  /** Reads the values of metrics by name; none while the server is down. */
  async metrics(): Promise<(name: string) => number[]> {
    let text = "";
    try {
      text = await (await fetch(`${this.server.controlPlane}/metrics`)).text();
    } catch {
      // The server is restarting.
    }
    return (name) =>
      [...text.matchAll(new RegExp(`^${name}{[^}]*} (\\S+)$`, "gm"))].map(([, value]) =>
        Number(value),
      );
  }

  /** Waits until every lane has processed the whole log. */
  async drain(): Promise<void> {
    await fetch(`${this.receiver.url}/steady`);
    // The last sample may have read the metrics before the last events arrived.
    await Bun.sleep(METRICS_AGE_MS);
    await waitFor(
      () => lanesAreThrough(this.server, this.#destinations.size),
      "every lane to have passed all events",
      DRAIN_MS_MAX,
    );
  }

  /** Stage of each dead letter of a lane, by event id. */
  async deadLetters(lane: string): Promise<Map<string, string>> {
    const found = new Map<string, string>();
    const path = `/v2/dead-letters?count=1000&destinationId=${this.#destinations.get(lane)}`;
    for (let after = ""; ; ) {
      const { body } = await this.server.api("GET", path + after);
      for (const { event, stage } of body.deadLetters) found.set(event.properties.id, stage);
      if (body.paging.next === undefined) return found;
      after = `&after=${body.deadLetters.at(-1).id}`;
    }
  }

  async close(): Promise<void> {
    await this.server.stop();
    this.receiver.kill();
  }

  async #build(): Promise<void> {
    const make = async (path: string, body: object) => {
      const { status, body: answer } = await this.server.api("POST", path, body);
      if (status > 201) throw new Error(`${path}: ${status} ${JSON.stringify(answer)}`);
      return answer;
    };
    const source = async (name: string) =>
      (await make("/v2/sources", { name, type: "http" })).source;
    const destination = async (name: string, sourceId: string, type: string, config: object) => {
      const { id } = (await make("/v2/destinations", { name, type, config })).destination;
      this.#destinations.set(name, id);
      await make("/v2/connections", { sourceId, destinationId: id });
      return id as string;
    };
    const webhook = (name: string, sourceId: string, batchSize: number) =>
      destination(name, sourceId, "webhook", {
        webhookUrl: `${this.receiver.url}/${name}`,
        batchSize,
      });
    const [site, app] = [await source("Site"), await source("App")];
    this.writeKeys.j = site.writeKey;
    this.writeKeys.p = app.writeKey;
    const coded = {
      javascript: await webhook("javascript", site.id, 100),
      pythonfaas: await webhook("python", app.id, 20),
    };
    await webhook("flapping", site.id, 50);
    await destination("file", site.id, "file", { path: "soak.jsonl" });
    const { workspace } = (await this.server.api("GET", "/v2/workspace")).body;
    this.#file = join(this.data, "files", workspace.id, "soak.jsonl");
    for (const [language, destinationId] of Object.entries(coded)) {
      const code = codeOf[language as keyof typeof codeOf](0);
      const events = [testEvent];
      const body = { name: language, language, code, events, destinationIds: [destinationId] };
      const { id } = await make("/transformations?publish=true", body);
      this.#transformations.set(language, id);
    }
  }

  #signal(word: string, signal: NodeJS.Signals): void {
    for (const pid of childrenOf(this.server.pid, word)) {
      try {
        process.kill(pid, signal);
      } catch {
        // The process has just exited.
      }
    }
  }

  async #restart(signal: NodeJS.Signals): Promise<void> {
    this.#up = false;
    await this.server.stop(signal);
    const { directory, flags } = this;
    // The ingest process of a killed server may hold the port for a moment longer.
    this.server = await waitFor(
      () => startServer({ directory, flags }).catch(() => undefined),
      `the server to start after ${signal}`,
      RESTART_MS_MAX,
    );
    this.#up = true;
  }
}

/** Starts the receiver, which writes into `directory`. */
export async function startReceiver(directory: string, moodMs: number) {
  const child = Bun.spawn(
    [process.execPath, join(import.meta.dir, "receiver.ts"), directory, String(moodMs)],
    // Bun prints an error for each response that is aborted on purpose.
    { stdout: "pipe", stderr: "ignore" },
  );
  let port = "";
  for await (const chunk of child.stdout) {
    port += new TextDecoder().decode(chunk);
    if (port.endsWith("\n")) break;
  }
  return { url: `http://127.0.0.1:${port.trim()}`, kill: () => child.kill() };
}
