import { afterEach } from "bun:test";
import { pino } from "pino";
import { Registry } from "prom-client";
import { createPublisher } from "../../src/publishing/create-publisher.ts";
import type { Sandbox } from "../../src/sandbox/guest-sandbox.ts";
import {
  startTransformer,
  type Transformer,
  type TransformerOptions,
} from "../../src/transformer/listener.ts";
import { freshWorkspace } from "../catalog/_setup.ts";

const opened: Transformer[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((it) => it.stop()));
});

/** A listener for rudder-server over a fresh catalog, which ends after the test. */
export async function freshTransformer(
  options: Partial<TransformerOptions> & { sandbox: Sandbox },
) {
  const { catalog, workspaceId } = await freshWorkspace();
  const { sandbox } = options;
  const publishing = createPublisher({ catalog, sandbox });
  const transformer = startTransformer({
    host: "127.0.0.1",
    port: 0,
    secret: undefined,
    catalog,
    metrics: new Registry(),
    onFailedHandshake() {},
    logger: pino({ level: "silent" }),
    ...options,
  });
  opened.push(transformer);

  /** Stops the listener before the test ends. */
  function stop(): Promise<void> {
    opened.splice(opened.indexOf(transformer), 1);
    return transformer.stop();
  }

  /** Stores code and publishes it; resolves with its ids. */
  async function publish(
    kind: "transformation" | "library",
    code: string,
    more: { name?: string; language?: "javascript" | "python"; publish?: boolean } = {},
  ) {
    const input = { name: "My T", language: "javascript" as const, publish: true, ...more, code };
    const { revision } = await publishing.create(workspaceId, kind, input);
    return revision;
  }

  /** Sends items as rudder-server does; resolves with the status, the headers and the body. */
  async function send(items: unknown, headers: Record<string, string> = {}) {
    const response = await fetch(`${transformer.url}/customTransform`, {
      method: "POST",
      headers: {
        "content-type": "application/json; charset=utf-8",
        "x-feature-gzip-support": "?1",
        "x-feature-filter-code": "?1",
        ...headers,
      },
      body: typeof items === "string" ? items : JSON.stringify(items),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, body: jsonIn(text) };
  }

  /** An item as rudder-server sends it. */
  function item(versionId: string | undefined, message: unknown, more: object = {}) {
    const messageId = (message as { messageId?: string } | null)?.messageId ?? "none";
    return {
      message,
      metadata: { jobId: 7, workspaceId, messageId, sourceId: "s1", destinationId: "d1" },
      destination: {
        ID: "d1",
        Transformations: versionId === undefined ? [] : [{ VersionID: versionId, ID: "t" }],
      },
      libraries: [],
      credentials: [],
      ...more,
    };
  }

  return { catalog, workspaceId, sandbox, publishing, transformer, publish, send, item, stop };
}

function jsonIn(text: string): any {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
