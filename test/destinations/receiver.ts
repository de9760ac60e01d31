import type { DestinationKind } from "../../src/destinations/destination.ts";
import { webhookKind } from "../../src/destinations/webhook/webhook.ts";
import { createEgress } from "../../src/egress/egress.ts";

/** A request as a receiver got it; the body as it was sent. */
export interface Got {
  method: string;
  /** Path and query. */
  target: string;
  headers: Record<string, string>;
  body: Buffer;
}

type Answer = (got: Got) => Response | Promise<Response>;

/** A real HTTP server on loopback that keeps what it gets, and the kind that may send to it. */
export class Receiver {
  readonly got: Got[] = [];
  answer: Answer;
  readonly #server: Bun.Server<undefined>;
  readonly #egress = createEgress({ allow: ["127.0.0.0/8"] });
  readonly kind: DestinationKind = webhookKind(this.#egress);

  constructor(answer: Answer = () => new Response("ok")) {
    this.answer = answer;
    this.#server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: async (request) => {
        const { pathname, search } = new URL(request.url);
        const got = {
          method: request.method,
          target: pathname + search,
          headers: Object.fromEntries(request.headers),
          body: Buffer.from(await request.arrayBuffer()),
        };
        this.got.push(got);
        return await this.answer(got);
      },
    });
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}`;
  }

  async end(): Promise<void> {
    this.#egress.close();
    await this.#server.stop(true);
  }
}

export const signal = new AbortController().signal;
