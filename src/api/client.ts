import type { Static, TObject } from "@sinclair/typebox";
import type { Detail } from "../errors.ts";
import { parseToShow } from "../json/parse-exact.ts";
import type { PathParams, Route } from "./route.ts";
import type { RouteTable } from "./route-table.ts";

// Answers have large integers as `parseToShow` returns them.
export { isLargeInteger, parseToShow } from "../json/parse-exact.ts";

/**
 * A client of the control plane. The types of its requests and answers come from the route table:
 *
 *     const client = createClient({ baseUrl: "http://127.0.0.1:8081", token: "pm_…" });
 *     const { id } = await client.call("POST /transformations", {
 *       query: { publish: true },
 *       body: { name: "Shout", language: "javascript", code },
 *     });
 *     await client.call("GET /transformations/{id}", { params: { id } });
 *
 * The client uses nothing of Bun or Node.js, so that it runs wherever `fetch` exists.
 */
export interface Client {
  /**
   * Sends a request and resolves with the answer's body. Rejects with `RequestRefused` when the
   * answer is not a success.
   */
  call<Key extends ClientKey>(key: Key, ...input: InputOf<Key>): Promise<AnswerOf<Key>>;
  /** Sends a request like `call`. Resolves with the body, and the header ETag as `tag`. */
  callTagged<Key extends ClientKey>(
    key: Key,
    ...input: InputOf<Key>
  ): Promise<{ answer: AnswerOf<Key>; tag: string | undefined }>;
  /**
   * Yields the messages of the live tail (the stream of a workspace's new events) until `signal`
   * aborts, the server ends the stream, or nothing has come from the server for `SILENCE_MS_MAX`.
   */
  follow(
    filter?: { sourceId?: string; destinationId?: string },
    signal?: AbortSignal,
    /**
     * Reports that the stream is open; called once. Events that the server received before may be
     * missing from the stream.
     */
    onOpen?: () => void,
  ): AsyncGenerator<FollowedMessage>;
}

export interface FollowedMessage {
  /**
   * Kind of the message. `received`, `delivered`, `dropped` and `dead-letter` say what happened to
   * an event. `missed` means that the server skipped messages: the client read too slowly, or the
   * workspace's live tails reached their limit of bytes per second.
   */
  name: string;
  data: Record<string, unknown>;
}

/** Thrown when a response is not a success. `message` is the server's error message. */
export class RequestRefused extends Error {
  override readonly name = "RequestRefused";

  constructor(
    readonly status: number,
    message: string,
    readonly details: readonly Detail[],
    /** Seconds to wait before a retry (header Retry-After). Undefined without the header. */
    readonly retryAfter: number | undefined,
    /**
     * Current state of the resource, if the status is 412 because the resource's ETag did not match
     * If-Match.
     */
    readonly changed?: ChangedState,
  ) {
    super(message);
  }
}

/** Current state of a resource whose ETag differs from the request's header If-Match. */
export interface ChangedState {
  /** The resource's current state, in the form in which GET returns it. `tag` is its ETag. */
  current: unknown;
  tag: string | undefined;
  /**
   * The resource's earlier state that had the ETag in If-Match, in the form in which GET returned
   * it. Only transformations and libraries have stored earlier states.
   */
  base?: unknown;
}

type Row = RouteTable[number];
export type ClientKey = Row["key"];
type Schemas<Key extends ClientKey> =
  Extract<Row, { key: Key }> extends Route<Key, infer Query, infer Body, infer Answer>
    ? { query: Static<TObject<Query>>; body: Static<Body>; answer: Static<Answer> }
    : never;

export type AnswerOf<Key extends ClientKey> = Schemas<Key>["answer"];
export type QueryOf<Key extends ClientKey> = Schemas<Key>["query"];
type RequestOptions<Key extends ClientKey> = (keyof PathParams<Key> extends never
  ? { params?: undefined }
  : { params: PathParams<Key> }) & {
  query?: Schemas<Key>["query"];
  /** Header If-Match: the server refuses the request if the resource's ETag differs. */
  ifMatch?: string | undefined;
} & (undefined extends Schemas<Key>["body"]
    ? { body?: undefined }
    : { body: Schemas<Key>["body"] });
/**
 * Type of the arguments of `call` and `callTagged` after the route key. There is one argument; it
 * may be left out when the route requires no path parameter, query or body.
 */
export type InputOf<Key extends ClientKey> =
  Record<string, never> extends RequestOptions<Key>
    ? [input?: RequestOptions<Key>]
    : [input: RequestOptions<Key>];

interface Input {
  params?: Record<string, string>;
  query?: Record<string, unknown>;
  body?: unknown;
  ifMatch?: string | undefined;
}

export function createClient(options: {
  baseUrl: string;
  /** API token. The console sets none, because the browser sends its session cookie. */
  token?: string;
  fetch?: typeof fetch;
}): Client {
  const send = options.fetch ?? fetch;

  async function request(key: string, input: Input = {}, signal?: AbortSignal) {
    const [method = "GET", path = "/"] = key.split(" ");
    const response = await send(options.baseUrl + requestPath(path, input), {
      method,
      headers: {
        ...(options.token !== undefined && { Authorization: `Bearer ${options.token}` }),
        // The server expects the type beside a session cookie, also of a request without a body.
        ...(method !== "GET" && { "Content-Type": "application/json" }),
        ...(input.ifMatch !== undefined && { "If-Match": input.ifMatch }),
      },
      ...(input.body !== undefined && { body: JSON.stringify(input.body) }),
      ...(signal && { signal }),
    });
    if (!response.ok) throw await refusedError(response);
    return response;
  }

  async function callTagged<Key extends ClientKey>(key: Key, ...[input]: InputOf<Key>) {
    const response = await request(key, input as Input);
    const tag = tagOf(response);
    if (response.status === 204) return { answer: undefined as AnswerOf<Key>, tag };
    const isJson = response.headers.get("content-type")?.startsWith("application/json");
    const text = await response.text();
    return { answer: (isJson ? parseToShow(text) : text) as AnswerOf<Key>, tag };
  }

  return {
    call: async (...input) => (await callTagged(...input)).answer,
    callTagged,
    async *follow(filter = {}, signal, onOpen) {
      const response = await request("GET /v2/events", { query: { ...filter } }, signal);
      onOpen?.();
      yield* messages(response.body!);
    },
  };
}

function requestPath(path: string, { params = {}, query = {} }: Input): string {
  const named = path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(params[name] ?? ""));
  const sent = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value !== undefined) sent.set(key, String(value));
  }
  return sent.size === 0 ? named : `${named}?${sent}`;
}

/**
 * Returns the header ETag without the mark `W/`. Proxies that compress a response, such as nginx,
 * mark its tag as weak, and a weak tag never fits If-Match.
 */
function tagOf(response: Response): string | undefined {
  return response.headers.get("etag")?.replace(/^W\//, "");
}

async function refusedError(response: Response): Promise<RequestRefused> {
  const body: unknown = await response.json().catch(() => undefined);
  const { message, details, current, base } = (body ?? {}) as Record<string, unknown> & {
    message?: string;
    details?: Detail[];
  };
  const tag = tagOf(response);
  const retryAfter = Number.parseFloat(response.headers.get("retry-after") ?? "");
  return new RequestRefused(
    response.status,
    message ?? `The server answered ${response.status}`,
    details ?? [],
    Number.isFinite(retryAfter) ? retryAfter : undefined,
    response.status === 412 ? { current, tag, base } : undefined,
  );
}

/**
 * Maximum milliseconds without a byte on a live tail. The server sends at least one byte each
 * second, so a longer silence means that the connection is broken, for example because the computer
 * slept.
 */
const SILENCE_MS_MAX = 20_000;

/** Parses a stream of server-sent events. Ends when the stream is silent for `SILENCE_MS_MAX`. */
async function* messages(stream: ReadableStream<Uint8Array>): AsyncGenerator<FollowedMessage> {
  const decoder = new TextDecoder();
  let rest = "";
  const reader = stream.getReader();
  let silence: ReturnType<typeof setTimeout> | undefined;
  const next = () => {
    clearTimeout(silence);
    // The cancel of a stream that has failed, such as one that was aborted, rejects.
    silence = setTimeout(() => void reader.cancel().catch(() => {}), SILENCE_MS_MAX);
    return reader.read();
  };
  try {
    // Safari does not support `for await` over streams.
    for (let read = await next(); !read.done; read = await next()) {
      const blocks = (rest + decoder.decode(read.value, { stream: true })).split("\n\n");
      rest = blocks.pop()!;
      for (const block of blocks) {
        const lines = block.split("\n");
        const name = fieldOf(lines, "event: ");
        const data = fieldOf(lines, "data: ");
        if (name && data) yield { name, data: parseToShow(data) as FollowedMessage["data"] };
      }
    }
  } finally {
    clearTimeout(silence);
    // Ends the stream when the caller stops iterating.
    await reader.cancel();
  }
}

/** Returns the rest of the first line that begins with `prefix`. */
function fieldOf(lines: readonly string[], prefix: string): string | undefined {
  return lines.find((line) => line.startsWith(prefix))?.slice(prefix.length);
}
