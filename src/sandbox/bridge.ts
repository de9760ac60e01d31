import {
  FETCH_ANSWER_BYTES_MAX,
  FETCH_MS_MAX,
  FETCH_WAIT_MS_MAX,
  FETCHES_AT_ONCE_MAX,
  FETCHES_MAX,
} from "../limits.ts";
import type { FetchRequest, GuestFetch } from "./fetch.ts";
import { FrameError } from "./frames.ts";
import { printable } from "./printable.ts";

/** Answers of one frame; more wait for the next. */
const ANSWERS_BYTES_MAX = 8 << 20;

interface Asked extends FetchRequest {
  id: number;
}

/**
 * Requests that one batch makes of the network. The guest hands over what its code asked for and
 * sleeps; it is woken with every answer that is there by then.
 */
export class Bridge {
  readonly #fetch: GuestFetch | undefined;
  readonly #workspaceId: string;
  readonly #ending = new AbortController();
  readonly #queue: Asked[] = [];
  /** Answers as JSON texts. */
  readonly #answers: string[] = [];
  #underWay = 0;
  #count = 0;
  #deadline: Timer | undefined;
  #wake = () => {};

  constructor(fetch: GuestFetch | undefined, workspaceId: string) {
    this.#fetch = fetch;
    this.#workspaceId = workspaceId;
  }

  /**
   * Takes new requests (a JSON array) and resolves with the answers that are there, at least
   * one. Throws `FrameError` for what is no list of requests, or when nothing is asked for.
   */
  async exchange(requests: Buffer): Promise<Uint8Array> {
    this.#deadline ??= setTimeout(() => this.#ending.abort(), FETCH_WAIT_MS_MAX);
    for (const asked of parseRequests(requests, this.#workspaceId)) {
      this.#count += 1;
      if (this.#count > FETCHES_MAX) {
        this.#answer(asked, { error: `Expected at most ${FETCHES_MAX} fetches in a batch` });
      } else this.#queue.push(asked);
    }
    this.#startNext();
    if (this.#answers.length === 0 && this.#underWay === 0) throw new FrameError("Waits in vain");
    while (this.#answers.length === 0) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    return Buffer.from(`[${this.#takeAnswers().join(",")}]`);
  }

  /** Ends what is under way; nobody waits for it. */
  end(): void {
    clearTimeout(this.#deadline);
    this.#ending.abort();
  }

  #takeAnswers(): string[] {
    let chars = 0;
    const end = this.#answers.findIndex((answer) => {
      chars += answer.length;
      return chars > ANSWERS_BYTES_MAX;
    });
    return this.#answers.splice(0, end < 0 ? this.#answers.length : Math.max(1, end));
  }

  #startNext(): void {
    while (this.#underWay < FETCHES_AT_ONCE_MAX) {
      const asked = this.#queue.shift();
      if (!asked) return;
      this.#perform(asked);
    }
  }

  async #perform(asked: Asked): Promise<void> {
    this.#underWay += 1;
    const { id, ...request } = asked;
    try {
      if (!this.#fetch) throw new Error("fetch is not available");
      const { signal } = this.#ending;
      if (signal.aborted) throw new Error("The batch has no time left to fetch");
      const { url, status, headers, body } = await this.#fetch(request, signal);
      this.#answer(asked, { url, status, headers, body });
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      this.#answer(asked, { error: printable(message) });
    }
    this.#underWay -= 1;
    this.#startNext();
  }

  #answer({ id }: Asked, answer: object): void {
    this.#answers.push(JSON.stringify({ id, ...answer }));
    this.#wake();
  }
}

function parseRequests(bytes: Buffer, workspaceId: string): Asked[] {
  try {
    const list: unknown = JSON.parse(bytes.toString());
    if (!Array.isArray(list)) throw new FrameError("Expected a list of requests");
    return list.map((item) => parseRequest(item, workspaceId));
  } catch {
    throw new FrameError("Expected a list of requests");
  }
}

function parseRequest(item: Record<string, unknown>, workspaceId: string): Asked {
  const { id, url, method, headers, body, timeoutMs } = item;
  const texts = [url, method, body, ...Object.values(headers as object)];
  if (!Number.isSafeInteger(id) || texts.some((one) => typeof one !== "string")) {
    throw new FrameError("Expected a request");
  }
  const asked = { id, url, method, headers, body, workspaceId } as Asked;
  asked.timeoutMs = Math.min(
    FETCH_MS_MAX,
    Number(timeoutMs) > 0 ? Number(timeoutMs) : FETCH_MS_MAX,
  );
  asked.answerBytesMax = FETCH_ANSWER_BYTES_MAX;
  return asked;
}
