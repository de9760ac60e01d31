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
import {
  GuestFrameError,
  type GuestJsonBounds,
  type JsonTexts,
  parseGuestJson,
} from "../protocol/guest-frames.ts";
import { printable } from "../protocol/printable.ts";
import type { GuestFetchRequest, GuestFetchResponse, HostFunctions } from "./host-functions.ts";

/**
 * Limit of the total UTF-16 units of the unfinished host calls (such as `fetch`) in one attempt to
 * run a batch. Above it, the server withholds results, and the guest process sleeps, until calls
 * have finished.
 */
export const FETCH_REQUESTS_CHARS_MAX = 8 << 20;
/**
 * Total UTF-16 units of unsent results of host calls (such as `fetch`) in one attempt to run a
 * batch, at which the server starts no further host call. Calls in progress may take the total
 * beyond it.
 */
export const FETCH_ANSWERS_CHARS_MAX = 8 << 20;

/**
 * Maximum size in bytes of the results of host calls (such as `fetch`) that the server sends in one
 * frame (message). Further results go into the next frame.
 */
const RESULTS_BYTES_MAX = 8 << 20;
/**
 * Maximum number of host calls in one attempt to run a batch. A guest process that sends more is
 * killed; calls beyond the first `FETCHES_MAX` get an error as their result. An intact guest sends
 * at most `FETCHES_MAX` while it loads the program, and as many while it runs events.
 */
const CALLS_MAX = 2 * FETCHES_MAX;
/**
 * Maximum size in bytes of the JSON array of host calls in one frame: three bytes of UTF-8 for each
 * of at most `FETCH_REQUEST_CHARS_MAX` UTF-16 units, for the two brackets, and for one unit of
 * reserve.
 */
const CALLS_BYTES_MAX = 3 * (FETCH_REQUEST_CHARS_MAX + 3);
/**
 * Limits of the JSON array of host calls in one frame. The three levels are the array, a call and
 * its headers. Each value takes at least six UTF-16 units, as the empty header `"":"",` does.
 */
const CALLS_BOUNDS: GuestJsonBounds = { levelsMax: 3, valuesMax: FETCH_REQUEST_CHARS_MAX / 6 };

/**
 * One host call of user code: an HTTP request, or the lookup of an IP address. `chars` is its size
 * in UTF-16 units.
 */
type HostCall = { id: number; chars: number } & ({ request: GuestFetchRequest } | { ip: string });

type HostCallResult = GuestFetchResponse | { location: object } | { error: string };

/**
 * Performs the host calls (functions such as `fetch` that the server executes for user code) in one
 * attempt to run events of a batch. The guest process sends calls, and then sleeps until it gets
 * results.
 */
export class HostCalls {
  #abortController: AbortController | undefined;
  readonly #queue: HostCall[] = [];
  /** Total UTF-16 units of the host calls that have no result yet. */
  #pendingChars = 0;
  /**
   * Unsent results of host calls. They are converted to JSON only when they are sent, because the
   * JSON may take six times the memory of a response body.
   */
  readonly #results: (HostCallResult & { id: number })[] = [];
  /** Total UTF-16 units of the bodies and headers in `#results`. */
  #resultsChars = 0;
  #activeCount = 0;
  #count = 0;
  #deadline: Timer | undefined;
  #wake = () => {};

  constructor(
    private readonly functions: HostFunctions,
    private readonly workspaceId: string,
  ) {}

  /**
   * Starts or queues the host calls in `calls`, a JSON array. Resolves with as many results as fit
   * in one frame, once there is a result and results are not withheld (`#isOverloaded`). Rejects
   * with `GuestFrameError` if `calls` is invalid, there were too many calls, or no result can come
   * because no call is in progress.
   */
  async exchange(calls: Buffer): Promise<JsonTexts> {
    for (const call of parseCalls(calls, this.workspaceId)) {
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
      "Host calls in progress are between none and their bound",
    );
    assert(
      this.#pendingChars >= 0 && this.#resultsChars >= 0,
      "Sizes of host calls and of their results are not negative",
    );
    // Results that the guest has taken make room for further host calls.
    this.#startNext();
    return texts;
  }

  /** Aborts the HTTP requests of user code that are in progress in this attempt. */
  abort(): void {
    clearTimeout(this.#deadline);
    this.#abortController?.abort();
  }

  /**
   * Whether results are withheld: a call is in progress, and the calls without a result have more
   * than `FETCH_REQUESTS_CHARS_MAX` UTF-16 units. Otherwise results must be sent, because unsent
   * results can keep queued calls from starting.
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
      this.#resultsChars -= heldChars(result);
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
    this.#abortController ??= new AbortController();
    this.#deadline ??= setTimeout(() => this.abort(), FETCH_WAIT_MS_MAX);
    const { signal } = this.#abortController;
    if (!this.functions.fetch) throw new Error("fetch is not available");
    if (signal.aborted) throw new Error("The batch has no time left to fetch");
    const { url, status, headers, body } = await this.functions.fetch(request, signal);
    return { url, status, headers, body };
  }

  /**
   * Looks up the location of an IP address for user code. The errors that it throws have the same
   * messages as in RudderStack.
   */
  #locate(ip: string): { location: object } {
    if (isIP(ip) === 0) throw new Error("invalid ip address");
    try {
      return { location: this.functions.geolocation!(ip) ?? {} };
    } catch {
      throw new Error("geolocation is not available right now");
    }
  }

  #settle({ id, chars }: HostCall, result: HostCallResult): void {
    this.#results.push({ id, ...result });
    this.#pendingChars -= chars;
    this.#resultsChars += heldChars(result);
    this.#wake();
  }
}

/**
 * UTF-16 units that are counted for each header of a response in addition to its name and value.
 */
const HEADER_CHARS = 32;

function heldChars(result: HostCallResult): number {
  if (!("body" in result)) return 0;
  let chars = result.body.length;
  for (const [name, value] of Object.entries(result.headers)) {
    chars += HEADER_CHARS + name.length + value.length;
  }
  return chars;
}

function parseCalls(bytes: Buffer, workspaceId: string): HostCall[] {
  if (bytes.length > CALLS_BYTES_MAX) throw new GuestFrameError("Expected fewer host calls");
  const list = parseGuestJson(bytes, CALLS_BOUNDS);
  if (!Array.isArray(list)) throw new GuestFrameError("Expected a list of host calls");
  if (list.length > CALLS_MAX) throw new GuestFrameError("Expected fewer host calls");
  try {
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
