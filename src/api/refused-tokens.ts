import type { RefusedRequests } from "../catalog/audit/audit.ts";
import { AUDIT_REFUSALS_PER_MINUTE_MAX } from "../catalog/audit/limits.ts";
import type { Catalog } from "../catalog/catalog.ts";
import type { Logger } from "../observe/log.ts";

/** Milliseconds for which refused requests are counted before the audit log gets the counts. */
const COLLECTED_MS = 60_000;
/**
 * Maximum number of combinations of workspace, token, address and reason whose requests are counted
 * separately in one minute. Requests with further combinations are added to one common count.
 */
const COUNTED_APART_MAX = 1_000;

type Refused = Omit<RefusedRequests, "requests" | "addresses">;

/**
 * Counts the requests whose token was refused, and stores the counts in the audit log once a
 * minute. Thousands of refused requests per second thus cause only a few entries.
 */
export class RefusedTokens {
  readonly #counts = new Map<string, RefusedRequests>();
  #uncounted = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly store: (refused: readonly RefusedRequests[]) => Promise<void>,
    private readonly logger: Logger,
  ) {}

  note(refused: Refused): void {
    const { workspaceId, tokenId = "", client = "", reason } = refused;
    const key = JSON.stringify([workspaceId, tokenId, client, reason]);
    const counted = this.#counts.get(key);
    if (counted !== undefined) counted.requests += 1;
    else if (this.#counts.size < COUNTED_APART_MAX)
      this.#counts.set(key, { ...refused, requests: 1 });
    else this.#uncounted += 1;
    this.#timer ??= setTimeout(() => this.flush(), COLLECTED_MS);
    this.#timer.unref();
  }

  /** Stores the counts of refused tokens in the audit log. If that fails, warns and drops them. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const refused = summarize([...this.#counts.values()], this.#uncounted);
    this.#counts.clear();
    this.#uncounted = 0;
    try {
      await this.store(refused);
    } catch (error) {
      this.logger.warn({ err: error }, "refused tokens not recorded");
    }
  }
}

/**
 * Returns the audit entries for numbers of refused requests. Each of the
 * `AUDIT_REFUSALS_PER_MINUTE_MAX` highest numbers gets an entry; the others are added up per
 * workspace. `uncounted` further requests count for the workspace with the empty id.
 */
function summarize(counts: readonly RefusedRequests[], uncounted: number): RefusedRequests[] {
  const sorted = counts.toSorted((a, b) => b.requests - a.requests);
  const named = sorted.slice(0, AUDIT_REFUSALS_PER_MINUTE_MAX);
  const rest = sorted.slice(AUDIT_REFUSALS_PER_MINUTE_MAX);
  if (uncounted > 0) rest.push({ workspaceId: "", reason: "", requests: uncounted });
  const others = Map.groupBy(rest, ({ workspaceId }) => workspaceId);
  const summed = [...others].map(([workspaceId, own]) => ({
    workspaceId,
    reason: "Several reasons",
    requests: own.reduce((sum, { requests }) => sum + requests, 0),
    addresses: new Set(own.flatMap(({ client }) => client ?? [])).size,
  }));
  return [...named, ...summed];
}

/** Counts a request whose token is unknown or has expired. */
export function noteRefusedToken(
  { catalog, refusedTokens }: { catalog: Pick<Catalog, "tokens">; refusedTokens: RefusedTokens },
  { secret, ...request }: { secret: string; client: string; route: string },
): void {
  const expired = catalog.tokens.idsOf(secret);
  const token = expired ?? { workspaceId: "" };
  refusedTokens.note({ ...token, ...request, reason: expired ? "Expired token" : "Unknown token" });
}
