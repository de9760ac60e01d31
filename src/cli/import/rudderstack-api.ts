import { StartError, systemReason } from "../../errors.ts";
import { isObject } from "../../is-object.ts";
import { parseToShow } from "../../json/parse-exact.ts";
import { plain } from "../terminal/text.ts";

/** Milliseconds to wait for one answer of RudderStack's API. */
const ANSWER_MS_MAX = 60_000;
/** Maximum size of one answer of RudderStack's API. */
const ANSWER_BYTES_MAX = 67_108_864;
/** Maximum number of pages that are read from each list of RudderStack's API. */
const PAGES_MAX = 1_000;
/**
 * Maximum number of versions that are copied of one transformation or library: the newest ones, and
 * the published one.
 */
const VERSIONS_MAX = 100;

/**
 * Maximum number of times that a request is sent. It is sent again while RudderStack answers with
 * the status 429, or 500 or above.
 */
const ATTEMPTS_MAX = 6;
/** Maximum number of seconds between two attempts at one request. */
const WAIT_SECONDS_MAX = 60;
const TOO_MANY_REQUESTS = 429;
const SERVER_ERRORS = 500;

type Json = Record<string, unknown>;

/** A version of a transformation or library in RudderStack. */
export type RemoteVersion = ReturnType<typeof versionOf>;

/**
 * A transformation or library with its versions, oldest first, and the id of its published version.
 */
export type RemoteCode = Awaited<ReturnType<RudderStackApi["code"]>>[number];

/** A source or destination in RudderStack. */
export type RemoteItem = ReturnType<typeof itemOf>;
export type RemoteConnection = ReturnType<typeof connectionOf>;

/** Reads sources, destinations, connections and code over RudderStack's API. Changes nothing. */
export class RudderStackApi {
  /**
   * Creates a client of the API at `url`. Calls `note` with a sentence before it repeats a request,
   * and when code may have more than `VERSIONS_MAX` versions, because only the newest are read.
   */
  constructor(
    private readonly url: string,
    private readonly token: string,
    private readonly note: (text: string) => void,
  ) {}

  async items(kind: "sources" | "destinations"): Promise<RemoteItem[]> {
    return (await this.#pages(kind)).map(itemOf);
  }

  async connections(): Promise<RemoteConnection[]> {
    return (await this.#pages("connections")).map(connectionOf);
  }

  async code(kind: "transformation" | "library") {
    const [list, versionsKey] =
      kind === "library"
        ? (["libraries", "libraryVersions"] as const)
        : (["transformations", "TransformationVersions"] as const);
    return await Array.fromAsync(listIn(await this.#get(`/${list}`), list), async (it) => {
      const id = textOf(it, "id");
      const path = `/${list}/${encodeURIComponent(id)}`;
      const answer = await this.#get(`${path}/versions?count=${VERSIONS_MAX}&orderBy=desc`);
      const versions = listIn(answer, versionsKey).map(versionOf).reverse();
      if (versions.length === VERSIONS_MAX) {
        this.note(`Only the newest ${VERSIONS_MAX} versions of ${path} are copied`);
      }
      const published = versionOf(it);
      const others = versions.filter(({ versionId }) => versionId !== published.versionId);
      const isListed = others.length < versions.length;
      const destinations = Array.isArray(it.destinations) ? it.destinations : [];
      return {
        id,
        versionId: published.versionId,
        versions: isListed ? versions : [published, ...versions],
        /** Ids of destinations in RudderStack that use the transformation. Empty for a library. */
        destinations: destinations.flatMap((of: unknown) => idOf(of) ?? []),
      };
    });
  }

  async #pages(list: string): Promise<Json[]> {
    // Items by id, because an item may move to the next page while pages are read.
    const all = new Map<string, Json>();
    for (let page = 1; page <= PAGES_MAX; page++) {
      const answer = await this.#get(`/v2/${list}?page=${page}`);
      const before = all.size;
      for (const item of listIn(answer, list)) all.set(textOf(item, "id"), item);
      const { paging } = answer;
      if (all.size === before || !isObject(paging) || !paging.next) break;
    }
    return [...all.values()];
  }

  async #get(path: string): Promise<Json> {
    const place = `${this.url.replace(/\/+$/, "")}${path}`;
    try {
      const answer = await this.#answered(place, path);
      if (!answer.ok) throw new StartError(`RudderStack answered ${answer.status} to ${path}`);
      const body = parsed(await boundedText(answer, path));
      if (isObject(body)) return body;
      throw new StartError(`Expected a JSON object at ${path}, got another body`);
    } catch (error) {
      if (error instanceof StartError) throw error;
      throw new StartError(`Cannot read ${plain(place)}: ${plain(systemReason(error))}`);
    }
  }

  /**
   * Sends a request. Repeats it while the status of the answer is 429, or 500 or above. Sends at
   * most `ATTEMPTS_MAX` requests.
   */
  async #answered(place: string, path: string): Promise<Response> {
    for (let attempt = 1; ; attempt++) {
      const answer = await fetch(place, {
        headers: { authorization: `Bearer ${this.token}` },
        redirect: "error",
        signal: AbortSignal.timeout(ANSWER_MS_MAX),
      });
      const isPassing = answer.status === TOO_MANY_REQUESTS || answer.status >= SERVER_ERRORS;
      if (!isPassing || attempt === ATTEMPTS_MAX) return answer;
      await answer.body?.cancel();
      const seconds = waitSeconds(answer, attempt);
      this.note(`RudderStack answered ${answer.status} to ${path}; again in ${seconds} s`);
      await Bun.sleep(1_000 * seconds);
    }
  }
}

/**
 * Returns the seconds to wait before the next attempt, at most `WAIT_SECONDS_MAX`: the number in
 * the header `Retry-After` or, without one, 1, 2, 4 and so on for successive attempts.
 */
function waitSeconds(answer: Response, attempt: number): number {
  const asked = Number.parseFloat(answer.headers.get("retry-after") ?? "");
  return Math.min(WAIT_SECONDS_MAX, asked >= 0 ? asked : 2 ** (attempt - 1));
}

async function boundedText(answer: Response, path: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of answer.body ?? []) {
    size += chunk.length;
    if (size > ANSWER_BYTES_MAX) {
      throw new StartError(`Expected at most ${ANSWER_BYTES_MAX} bytes at ${path}, got more`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function parsed(text: string): unknown {
  try {
    return parseToShow(text);
  } catch {
    return undefined;
  }
}

function listIn(answer: Json, key: string): Json[] {
  const list = answer[key];
  if (Array.isArray(list) && list.every(isObject)) return list;
  throw new StartError(`Expected a list of ${key} from RudderStack, got something else`);
}

function itemOf(item: Json) {
  return {
    id: textOf(item, "id"),
    name: textOf(item, "name"),
    type: textOf(item, "type"),
    enabled: isEnabled(item),
    config: isObject(item.config) ? item.config : {},
  };
}

function connectionOf(item: Json) {
  return {
    id: textOf(item, "id"),
    sourceId: textOf(item, "sourceId"),
    destinationId: textOf(item, "destinationId"),
    enabled: isEnabled(item),
  };
}

function versionOf(item: Json) {
  return {
    versionId: textOf(item, "versionId"),
    name: textOf(item, "name"),
    description: typeof item.description === "string" ? item.description : "",
    code: textOf(item, "code"),
    language: textOf(item, "language"),
  };
}

function textOf(item: Json, key: string): string {
  const value = item[key];
  if (typeof value === "string") return value;
  throw new StartError(`Expected a text as ${key} of an item of RudderStack, got something else`);
}

/** Whether an item is enabled. RudderStack's lists call the field `enabled` or `isEnabled`. */
function isEnabled({ enabled, isEnabled: is }: Json): boolean {
  return enabled !== false && is !== false;
}

function idOf(of: unknown): string | undefined {
  if (typeof of === "string") return of;
  return isObject(of) && typeof of.id === "string" ? of.id : undefined;
}
