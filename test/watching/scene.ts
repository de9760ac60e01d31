import { join } from "node:path";
import {
  pixel,
  route,
  type Server,
  startServer,
  startSink,
  temporaryDirectory,
} from "../e2e/server.ts";
import { freePorts } from "../free-ports.ts";
import { type Scrape, scrape } from "./scrapes.ts";

/** The server makes the text of its metrics at most once a second. */
const SCRAPE_MS = 1_100;
const PIXELS_A_SCRAPE = 3;

/** A server with a source and a receiver, which is brought into trouble while it is scraped. */
export class Scene {
  /** Status that the receiver answers with. */
  receiverStatus = 200;
  readonly scrapes: Scrape[] = [];
  writeKey = "";
  sourceId = "";
  transformationId = "";
  readonly #sink = startSink(() => this.receiverStatus);
  #sent = 0;

  private constructor(
    readonly directory: string,
    readonly flags: string[],
    public server: Server,
  ) {}

  /** `flagsIn`: returns the server's flags, for its directory. */
  static async open(
    options: { code?: string; flagsIn?: (directory: string) => string[] } = {},
    directory = temporaryDirectory(),
  ): Promise<Scene> {
    const [port, adminPort] = await freePorts(2);
    const flags = [
      ...["--port", String(port), "--admin-port", String(adminPort)],
      ...(options.flagsIn?.(directory) ?? []),
    ];
    const scene = new Scene(directory, flags, await startServer({ directory, flags }));
    const { code } = options;
    const made = await route(scene.server, { url: scene.#sink.url, ...(code && { code }) });
    scene.writeKey = made.writeKey;
    scene.sourceId = made.sourceId;
    scene.transformationId = made.transformationId;
    return scene;
  }

  get data(): string {
    return join(this.directory, "data");
  }

  async start(): Promise<void> {
    this.server = await startServer({ directory: this.directory, flags: this.flags });
  }

  /** Sends a pixel; resolves with its status, or 0 where the connection breaks. */
  async send(event: string): Promise<number> {
    const query = { writeKey: this.writeKey, userId: `u${this.#sent++ % 5}`, event };
    const answer = await pixel(this.server, "track", query).catch(() => undefined);
    await answer?.arrayBuffer().catch(() => {});
    return answer?.status ?? 0;
  }

  /** Scrapes the server `times` times, each after `act` and some pixels. */
  async watch(times: number, act: (number: number) => Promise<unknown> = async () => {}) {
    for (let number = 0; number < times; number++) {
      const next = performance.now() + SCRAPE_MS;
      await act(number);
      for (let count = 0; count < PIXELS_A_SCRAPE; count++) await this.send("Fine");
      await Bun.sleep(Math.max(0, next - performance.now()));
      this.scrapes.push(await scrape(this.server.controlPlane));
    }
  }

  async close(): Promise<void> {
    await this.server.stop("SIGKILL");
    this.#sink.stop();
  }
}
