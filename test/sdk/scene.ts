import { existsSync } from "node:fs";
import { sdkErrorResponse } from "../../src/ingest/sdk/responses.ts";
import {
  childrenOf,
  removeDirectory,
  type Server,
  startServer,
  temporaryDirectory,
  waitFor,
} from "../e2e/server.ts";
import { freePort } from "../free-ports.ts";

/** Events per second of a source that the server takes. */
const RATE = 20;

/** A source whose events arrive at a path of the receiver. */
export interface Source {
  id: string;
  writeKey: string;
  /** Events that the destination got. */
  delivered: readonly any[];
}

/** A server on a port that it keeps over restarts, and a receiver of its webhooks. */
export class SdkScene {
  readonly #directory = temporaryDirectory();
  readonly #delivered = new Map<string, any[]>();
  readonly #receiver = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      const body: any = await request.json();
      const events = this.#delivered.get(new URL(request.url).pathname)!;
      events.push(...(Array.isArray(body) ? body : [body]));
      return new Response();
    },
  });
  readonly #port: number;
  server: Server;

  private constructor(port: number) {
    this.#port = port;
    this.server = undefined as unknown as Server;
  }

  static async start(): Promise<SdkScene> {
    const scene = new SdkScene(await freePort());
    await scene.restart();
    return scene;
  }

  get address(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Starts the server, after it has ended. */
  async restart(): Promise<void> {
    const flags = ["--port", String(this.#port), "--ingest-rate", String(RATE)];
    this.server = await startServer({ directory: this.#directory, flags });
  }

  /** Kills the server with all of its processes. */
  async kill(): Promise<void> {
    const children = childrenOf(this.server.pid);
    await this.server.stop("SIGKILL");
    await waitFor(() => children.every((pid) => !existsSync(`/proc/${pid}`)), "ended processes");
  }

  /** Creates a source, and a webhook destination that is connected to it. */
  async source(name: string, settings = {}): Promise<Source> {
    const path = `/${encodeURIComponent(name)}`;
    const delivered: any[] = [];
    this.#delivered.set(path, delivered);
    const { source } = await this.#create("/v2/sources", { name, type: "http", settings });
    const { destination } = await this.#create("/v2/destinations", {
      name,
      type: "webhook",
      config: { webhookUrl: `http://127.0.0.1:${this.#receiver.port}${path}` },
    });
    await this.#create("/v2/connections", { sourceId: source.id, destinationId: destination.id });
    return { id: source.id, writeKey: source.writeKey, delivered };
  }

  async enable(source: Source, enabled: boolean): Promise<void> {
    const { status } = await this.server.api("PUT", `/v2/sources/${source.id}`, { enabled });
    if (status !== 200) throw new Error(`The change of the source was answered ${status}`);
  }

  /** Waits for events of the source that were refused at ingestion; returns the reasons. */
  refusals(source: Source): Promise<string[]> {
    const query = `refused=true&sourceId=${source.id}`;
    return waitFor(async () => {
      // Few searches run at once; the others are refused.
      const { body } = await this.server.api("GET", `/v2/events/search?${query}`);
      const reasons: string[] = body.events?.map(({ refused }: any) => refused) ?? [];
      return reasons.length > 0 ? reasons : undefined;
    }, "a refused event");
  }

  /** Sends events of a user `exhaust`, until the source is over its rate for some seconds. */
  async exhaustRate({ writeKey }: Source): Promise<void> {
    const batch = Array.from({ length: 4 * RATE }, () => ({
      type: "track",
      event: "Exhaust",
      userId: "exhaust",
    }));
    const response = await fetch(`${this.address}/v1/batch`, {
      method: "POST",
      headers: { authorization: `Basic ${btoa(`${writeKey}:`)}` },
      body: JSON.stringify({ batch }),
    });
    // 429: it is over its rate already.
    if (![200, 429].includes(response.status)) {
      throw new Error(`The batch was answered ${response.status}`);
    }
  }

  /** The answer of a server that cannot store events. */
  unavailable(origin: string | undefined): Response {
    const answer = sdkErrorResponse(
      origin,
      503,
      "The events could not be stored, try again later",
      {
        "Retry-After": "1",
      },
    );
    const [head, body] = answer.bytes("", false, false).toString().split("\r\n\r\n");
    const headers = head!
      .split("\r\n")
      .slice(1)
      .map((line) => line.split(": ", 2));
    return new Response(body!, { status: 503, headers: headers as [string, string][] });
  }

  async stop(): Promise<void> {
    await this.kill();
    await this.#receiver.stop(true);
    removeDirectory(this.#directory);
  }

  async #create(path: string, body: object): Promise<any> {
    const answer = await this.server.api("POST", path, body);
    if (answer.status > 201) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }
}

/** Waits until there are `count` events that `exhaustRate` did not send; returns them. */
export async function arrived({ delivered }: Source, count: number): Promise<any[]> {
  const sent = () => delivered.filter(({ userId }) => userId !== "exhaust");
  await waitFor(() => sent().length >= count, `${count} events`);
  return sent();
}
