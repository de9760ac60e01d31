import { isIP } from "node:net";
import { assert } from "../../assert.ts";
import { messageOf } from "../../errors.ts";
import {
  FETCH_ANSWER_BYTES_MAX,
  FETCH_MS_MAX,
  FETCH_REQUEST_CHARS_MAX,
  FETCH_WAIT_MS_MAX,
  FETCHES_AT_ONCE_MAX,
  FETCHES_MAX,
} from "../../settings/limits.ts";
import { GuestFrameError, type JsonTexts } from "../protocol/guest-frames.ts";
import { printable } from "../protocol/printable.ts";
import type { GuestFetchRequest, GuestFetchResponse, HostFunctions } from "./host-functions.ts";

/** UTF-16 units of all pending calls of a batch; beyond it the batch waits. */
export const FETCH_REQUESTS_CHARS_MAX = 8 << 20;
/** UTF-16 units of results that the guest has not taken; beyond it no call starts. */
export const FETCH_ANSWERS_CHARS_MAX = 8 << 20;

/** Bytes of results in one frame; further results wait for the next. */
const RESULTS_BYTES_MAX = 8 << 20;
/**
 * Calls of one batch. A program may make as many again while it is loaded; only a guest whose code
 * has broken out makes more.
 */
const CALLS_MAX = 2 * FETCHES_MAX;
/** UTF-8 bytes of the calls in one frame, as the runner bounds them, with a comma and brackets. */
const CALLS_BYTES_MAX = 3 * (FETCH_REQUEST_CHARS_MAX + 3);

/** A host call of user code: a request, or the lookup of an IP address. */
type HostCall = { id: number; chars: number } & ({ request: GuestFetchRequest } | { ip: string });

type HostCallResult = GuestFetchResponse | { location: object } | { error: string };

/**
 * The host calls of one batch. The guest sends the calls of its code and sleeps; it is woken with
 * all results that are available by then.
 */
export class HostCalls {
  readonly #functions: HostFunctions;
  readonly #workspaceId: string;
  #abortController: AbortController | undefined;
  readonly #queue: HostCall[] = [];
  /** Characters of all pending calls. */
  #pendingChars = 0;
  /** Kept unescaped: as JSON, a body may take six times its memory. */
  readonly #results: (HostCallResult & { id: number })[] = [];
  /** Characters of the results' bodies. */
  #resultsChars = 0;
  #activeCount = 0;
  #count = 0;
  #deadline: Timer | undefined;
  #wake = () => {};

  constructor(functions: HostFunctions, workspaceId: string) {
    this.#functions = functions;
    this.#workspaceId = workspaceId;
  }

  /**
   * Takes new calls (a JSON array). Resolves with the available results, at least one, once the
   * pending calls are within their bound: until then the guest cannot send more. Throws
   * `GuestFrameError` when the bytes are no list of calls, when there are too many, or when no call
   * is pending.
   */
  async exchange(calls: Buffer): Promise<JsonTexts> {
    for (const call of parseCalls(calls, this.#workspaceId)) {
      this.#count += 1;
      this.#pendingChars += call.chars;
      if (this.#count > CALLS_MAX) throw new GuestFrameError("Expected fewer host calls");
      if (this.#count > FETCHES_MAX) {
        this.#settle(call, { error: `Expected at most ${FETCHES_MAX} fetches in a batch` });
      } else this.#queue.push(call);
    }
    this.#startNext();
    if (this.#results.length === 0 && this.#activeCount === 0)
      throw new GuestFrameError("Expected a pending host call");
    while (this.#results.length === 0 || this.#isOverloaded) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    const texts = this.#takeResults();
    assert(
      this.#activeCount >= 0 && this.#activeCount <= FETCHES_AT_ONCE_MAX,
      "Host calls under way are between none and their bound",
    );
    assert(
      this.#pendingChars >= 0 && this.#resultsChars >= 0,
      "Sizes of host calls and of their results are not negative",
    );
    // The results that were taken make room for more.
    this.#startNext();
    return texts;
  }

  /** Aborts the requests under way. */
  abort(): void {
    clearTimeout(this.#deadline);
    this.#abortController?.abort();
  }

  /**
   * Whether the pending calls are over their bound. Without a call under way the batch must not
   * wait: only taking results makes room then.
   */
  get #isOverloaded(): boolean {
    return this.#pendingChars > FETCH_REQUESTS_CHARS_MAX && this.#activeCount > 0;
  }

  #takeResults(): JsonTexts {
    const texts: Buffer[] = [];
    let bytes = 0;
    for (const result of this.#results) {
      const text = Buffer.from(JSON.stringify(result));
      bytes += text.length;
      if (texts.length > 0 && bytes > RESULTS_BYTES_MAX) break;
      texts.push(text);
      this.#resultsChars -= bodyChars(result);
    }
    this.#results.splice(0, texts.length);
    return texts;
  }

  #startNext(): void {
    while (
      this.#activeCount < FETCHES_AT_ONCE_MAX &&
      this.#resultsChars < FETCH_ANSWERS_CHARS_MAX
    ) {
      const call = this.#queue.shift();
      if (!call) return;
      this.#perform(call);
    }
  }

  async #perform(call: HostCall): Promise<void> {
    this.#activeCount += 1;
    try {
      this.#settle(call, "ip" in call ? this.#locate(call.ip) : await this.#request(call.request));
    } catch (error) {
      this.#settle(call, { error: printable(messageOf(error)) });
    }
    this.#activeCount -= 1;
    this.#startNext();
  }

  async #request(request: GuestFetchRequest): Promise<GuestFetchResponse> {
    const { signal } = this.#startDeadline();
    if (!this.#functions.fetch) throw new Error("fetch is not available");
    if (signal.aborted) throw new Error("The batch has no time left to fetch");
    const { url, status, headers, body } = await this.#functions.fetch(request, signal);
    return { url, status, headers, body };
  }

  #startDeadline(): AbortController {
    if (!this.#abortController) {
      const controller = new AbortController();
      this.#abortController = controller;
      this.#deadline = setTimeout(() => controller.abort(), FETCH_WAIT_MS_MAX);
    }
    return this.#abortController;
  }

  /** The error texts are RudderStack's. */
  #locate(ip: string): { location: object } {
    if (isIP(ip) === 0) throw new Error("invalid ip address");
    try {
      if (!this.#functions.geolocation) throw new Error("Not configured");
      return { location: this.#functions.geolocation(ip) ?? {} };
    } catch {
      throw new Error("geolocation is not available right now");
    }
  }

  #settle({ id, chars }: HostCall, result: HostCallResult): void {
    this.#results.push({ id, ...result });
    this.#pendingChars -= chars;
    this.#resultsChars += bodyChars(result);
    this.#wake();
  }
}

function bodyChars(result: HostCallResult): number {
  return "body" in result ? result.body.length : 0;
}

function parseCalls(bytes: Buffer, workspaceId: string): HostCall[] {
  if (bytes.length > CALLS_BYTES_MAX) throw new GuestFrameError("Expected fewer host calls");
  try {
    const list: unknown = JSON.parse(bytes.toString());
    if (!Array.isArray(list)) throw new GuestFrameError("Expected a list of host calls");
    return list.map((item) => parseCall(item, workspaceId));
  } catch {
    throw new GuestFrameError("Expected a list of host calls");
  }
}

function parseCall(item: Record<string, unknown>, workspaceId: string): HostCall {
  const { id, ip, url, method, headers, body, timeoutMs } = item;
  if (!Number.isSafeInteger(id)) throw new GuestFrameError("Expected a number");
  if (typeof ip === "string") return { id: id as number, chars: ip.length, ip };
  const texts = [url, method, body, ...Object.entries(headers as object).flat()];
  if (texts.some((one) => typeof one !== "string")) throw new GuestFrameError("Expected texts");
  const request = { url, method, headers, body, workspaceId } as GuestFetchRequest;
  request.timeoutMs =
    Number(timeoutMs) > 0 ? Math.min(FETCH_MS_MAX, Number(timeoutMs)) : FETCH_MS_MAX;
  request.answerBytesMax = FETCH_ANSWER_BYTES_MAX;
  const chars = (texts as string[]).reduce((sum, one) => sum + one.length, 0);
  return { id: id as number, chars, request };
}
