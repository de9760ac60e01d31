import { isIP } from "node:net";
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

/**
 * Characters of all requests of a batch that have no answer, in UTF-16 units; beyond it the batch
 * waits.
 */
export const FETCH_REQUESTS_CHARS_MAX = 8 << 20;
/** Bodies of answers that a batch has not taken, in UTF-16 units; beyond it no request starts. */
export const FETCH_ANSWERS_CHARS_MAX = 8 << 20;

/** Bytes of answers in one frame; further answers wait for the next. */
const ANSWERS_BYTES_MAX = 8 << 20;
/**
 * Questions of one batch. A program may ask as much again while it is loaded; a guest that asks
 * more is not honest.
 */
const QUESTIONS_MAX = 2 * FETCHES_MAX;
/**
 * Bytes of the questions in one frame, as the runner bounds them, with a comma and brackets, in
 * UTF-8.
 */
const QUESTIONS_BYTES_MAX = 3 * (FETCH_REQUEST_CHARS_MAX + 3);

/** A question of user code: a request, or where an IP address is. */
type Question = { id: number; chars: number } & ({ request: GuestFetchRequest } | { ip: string });

type Answer = GuestFetchResponse | { location: object } | { error: string };

/**
 * What one batch asks of the world outside. The guest hands over what its code asked for and
 * sleeps; it is woken with every answer that has come by then.
 */
export class HostCalls {
  readonly #outside: HostFunctions;
  readonly #workspaceId: string;
  #ending: AbortController | undefined;
  readonly #queue: Question[] = [];
  /** Characters of all questions without an answer. */
  #questionsChars = 0;
  /** Kept unescaped: as JSON, a body may take six times its memory. */
  readonly #answers: (Answer & { id: number })[] = [];
  /** Characters of the answers' bodies. */
  #answersChars = 0;
  #underWay = 0;
  #count = 0;
  #deadline: Timer | undefined;
  #wake = () => {};

  constructor(outside: HostFunctions, workspaceId: string) {
    this.#outside = outside;
    this.#workspaceId = workspaceId;
  }

  /**
   * Takes new questions (a JSON array). Resolves with the answers that are there, at least one, and
   * only once not too much waits for an answer: meanwhile the guest cannot ask more. Throws
   * `FrameError` when the bytes are no list of questions, when there are too many, or when nothing
   * is asked for.
   */
  async exchange(questions: Buffer): Promise<JsonTexts> {
    for (const question of parseQuestions(questions, this.#workspaceId)) {
      this.#count += 1;
      this.#questionsChars += question.chars;
      if (this.#count > QUESTIONS_MAX) throw new GuestFrameError("Expected fewer questions");
      if (this.#count > FETCHES_MAX) {
        this.#answer(question, { error: `Expected at most ${FETCHES_MAX} fetches in a batch` });
      } else this.#queue.push(question);
    }
    this.#startNext();
    if (this.#answers.length === 0 && this.#underWay === 0)
      throw new GuestFrameError("Waits in vain");
    while (this.#answers.length === 0 || this.#isLaden) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    const texts = this.#takeAnswers();
    // There is room for more answers now.
    this.#startNext();
    return texts;
  }

  /** Ends the requests under way; nobody waits for them any more. */
  abort(): void {
    clearTimeout(this.#deadline);
    this.#ending?.abort();
  }

  /**
   * Whether too many questions are unanswered. When none is under way it does not wait: handing
   * over answers is what frees the room.
   */
  get #isLaden(): boolean {
    return this.#questionsChars > FETCH_REQUESTS_CHARS_MAX && this.#underWay > 0;
  }

  #takeAnswers(): JsonTexts {
    const texts: Buffer[] = [];
    let bytes = 0;
    for (const answer of this.#answers) {
      const text = Buffer.from(JSON.stringify(answer));
      bytes += text.length;
      if (texts.length > 0 && bytes > ANSWERS_BYTES_MAX) break;
      texts.push(text);
      this.#answersChars -= bodyChars(answer);
    }
    this.#answers.splice(0, texts.length);
    return texts;
  }

  #startNext(): void {
    while (this.#underWay < FETCHES_AT_ONCE_MAX && this.#answersChars < FETCH_ANSWERS_CHARS_MAX) {
      const question = this.#queue.shift();
      if (!question) return;
      this.#perform(question);
    }
  }

  async #perform(question: Question): Promise<void> {
    this.#underWay += 1;
    try {
      this.#answer(
        question,
        "ip" in question ? this.#locate(question.ip) : await this.#request(question.request),
      );
    } catch (error) {
      this.#answer(question, { error: printable(messageOf(error)) });
    }
    this.#underWay -= 1;
    this.#startNext();
  }

  async #request(request: GuestFetchRequest): Promise<GuestFetchResponse> {
    const { signal } = this.#begin();
    if (!this.#outside.fetch) throw new Error("fetch is not available");
    if (signal.aborted) throw new Error("The batch has no time left to fetch");
    const { url, status, headers, body } = await this.#outside.fetch(request, signal);
    return { url, status, headers, body };
  }

  #begin(): AbortController {
    if (!this.#ending) {
      const ending = new AbortController();
      this.#ending = ending;
      this.#deadline = setTimeout(() => ending.abort(), FETCH_WAIT_MS_MAX);
    }
    return this.#ending;
  }

  /** The answer is worded as RudderStack's. */
  #locate(ip: string): { location: object } {
    if (isIP(ip) === 0) throw new Error("invalid ip address");
    try {
      if (!this.#outside.geolocation) throw new Error("Not configured");
      return { location: this.#outside.geolocation(ip) ?? {} };
    } catch {
      throw new Error("geolocation is not available right now");
    }
  }

  #answer({ id, chars }: Question, answer: Answer): void {
    this.#answers.push({ id, ...answer });
    this.#questionsChars -= chars;
    this.#answersChars += bodyChars(answer);
    this.#wake();
  }
}

function bodyChars(answer: Answer): number {
  return "body" in answer ? answer.body.length : 0;
}

function parseQuestions(bytes: Buffer, workspaceId: string): Question[] {
  if (bytes.length > QUESTIONS_BYTES_MAX) throw new GuestFrameError("Expected fewer questions");
  try {
    const list: unknown = JSON.parse(bytes.toString());
    if (!Array.isArray(list)) throw new GuestFrameError("Expected a list of questions");
    return list.map((item) => parseQuestion(item, workspaceId));
  } catch {
    throw new GuestFrameError("Expected a list of questions");
  }
}

function parseQuestion(item: Record<string, unknown>, workspaceId: string): Question {
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
