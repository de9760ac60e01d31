import { ConcurrencyLimiter } from "../concurrency/concurrency-limiter.ts";
import { atMost, FairSemaphore, fewerThanFree } from "../concurrency/fair-semaphore.ts";
import type { Permit } from "../concurrency/permit.ts";
import { TokenBuckets } from "../concurrency/rate-limiter.ts";
import { SharedResults } from "../concurrency/shared-results.ts";
import { TimeSlicer } from "../concurrency/time-slicer.ts";
import { ApiError } from "../errors.ts";
import {
  CONNECTION_TESTS_MAX,
  CONNECTION_TESTS_OF_WORKSPACE_MAX,
  LISTS_OF_WORKSPACE_MAX,
  RECENT_REQUESTS_OF_WORKSPACE_MAX,
  SEARCHES_MAX,
  SEARCHES_OF_WORKSPACE_MAX,
  STATUS_QUESTIONS_OF_WORKSPACE_MAX,
  STATUS_SHARED_MS_MAX,
  TAILS_MAX,
  TAILS_OF_WORKSPACE_MAX,
} from "../settings/limits.ts";
import {
  API_BURST_SECONDS,
  BODY_BYTES_PER_REQUEST,
  LONG_BODIES_MAX,
  PROVIDER_SIGN_INS_MAX,
} from "./limits.ts";

/**
 * Thrown for a request that exceeds a limit on rate or concurrency. The response has the status
 * 429, and says how many seconds to wait.
 */
export class TooManyRequests extends ApiError {
  constructor(
    readonly retryAfterSeconds: number,
    message: string,
  ) {
    super("too-many", message);
  }
}

/** All limiters of requests to one control plane. */
export type ApiLimiters = ReturnType<typeof createLimiters>;

/**
 * Maximum average number of failed sign-ins per second from one client address. Further failed
 * sign-ins from this address are answered with 429.
 */
const FAILED_SIGN_INS_PER_SECOND_MAX = 5;

/**
 * Creates the limiters of API requests. The tokens of a workspace together may send
 * `requestsPerSecondMax` requests per second on average; 0 is no limit.
 */
export function createLimiters(requestsPerSecondMax: number) {
  const requests = new TokenBuckets(apiRate(requestsPerSecondMax));
  const failedSignIns = new TokenBuckets({ perSecond: FAILED_SIGN_INS_PER_SECOND_MAX });
  const longBodies = new FairSemaphore(LONG_BODIES_MAX, fewerThanFree);
  return {
    connectionTests: requestLimiter("connection tests of a workspace", {
      perOwner: CONNECTION_TESTS_OF_WORKSPACE_MAX,
      total: CONNECTION_TESTS_MAX,
      retryAfterSeconds: 5,
    }),
    liveTails: requestLimiter("live tails of a workspace", {
      perOwner: TAILS_OF_WORKSPACE_MAX,
      total: TAILS_MAX,
      retryAfterSeconds: 10,
    }),
    searches: requestLimiter("searches of a workspace", {
      perOwner: SEARCHES_OF_WORKSPACE_MAX,
      total: SEARCHES_MAX,
      retryAfterSeconds: 2,
    }),
    longLists: requestLimiter("long lists at once", { perOwner: LISTS_OF_WORKSPACE_MAX }),
    recentEvents: requestLimiter("requests of a workspace for recent events at once", {
      perOwner: RECENT_REQUESTS_OF_WORKSPACE_MAX,
    }),
    nodeQuestions: requestLimiter("requests of a workspace that ask all nodes", {
      perOwner: STATUS_QUESTIONS_OF_WORKSPACE_MAX,
    }),
    providerSignIns: requestLimiter("sign-ins at once that wait for the OpenID provider", {
      perOwner: PROVIDER_SIGN_INS_MAX,
    }),
    failedSignIns: (client: string) =>
      takeToken(
        failedSignIns,
        client,
        `Expected at most ${FAILED_SIGN_INS_PER_SECOND_MAX} failed sign-ins of an address a second, got more`,
      ),
    /**
     * Divides the writing of long lists into short slices and runs one slice at a time. Other
     * requests run between two slices.
     */
    listSlices: new TimeSlicer(),
    /**
     * Recently computed state of each workspace's sources, destinations and code, by workspace id.
     * Several requests share one computation.
     */
    workspaceStates: new SharedResults(STATUS_SHARED_MS_MAX),
    /**
     * Waits until a body may be read beyond its first `BODY_BYTES_PER_REQUEST` bytes; at most
     * `LONG_BODIES_MAX` such bodies are read at a time. The caller releases the permit. Rejects
     * with `TooManyRequests` if `signal` aborts first.
     */
    async admitLongBody(workspaceId: string, signal: AbortSignal): Promise<Permit> {
      return await longBodies.acquire(workspaceId, signal).catch(() => {
        const kib = BODY_BYTES_PER_REQUEST >> 10;
        throw new TooManyRequests(
          1,
          `Expected at most ${LONG_BODIES_MAX} bodies longer than ${kib} KiB at once, got more`,
        );
      });
    },
    /** Lets one body above `SMALL_BODY_BYTES_MAX` be parsed at a time. Workspaces take turns. */
    largeBodies: new FairSemaphore(1, atMost(1)),
    setRequestsPerSecondMax: (perSecond: number) => requests.setRate(apiRate(perSecond)),
    /** Counts a request against its workspace's maximum rate. Throws if the rate is exceeded. */
    countRequest: (workspaceId: string) =>
      takeToken(
        requests,
        workspaceId,
        "Expected fewer requests of this workspace, got more than the setting admin.rate allows",
      ),
    /** Counts `bytes / BODY_BYTES_PER_REQUEST` further requests (rounded down) of the workspace. */
    countBody(workspaceId: string, bytes: number): void {
      requests.take(workspaceId, Math.floor(bytes / BODY_BYTES_PER_REQUEST));
    },
  };
}

const apiRate = (perSecond: number) => ({ perSecond, burst: perSecond * API_BURST_SECONDS });

/** Creates a limiter of the number of concurrent requests of one costly kind, such as searches. */
function requestLimiter(
  what: string,
  limits: { perOwner: number; total?: number; retryAfterSeconds?: number },
) {
  const limiter = new ConcurrencyLimiter(limits);
  const { perOwner, total, retryAfterSeconds = 1 } = limits;
  const most = `${perOwner} ${what}${total === undefined ? "" : ` and ${total} in all`}`;
  return {
    /**
     * Takes a permit for `owner`, such as a workspace. Throws `TooManyRequests` when none is free.
     */
    acquire(owner: string): Permit {
      const permit = limiter.tryAcquire(owner);
      if (permit) return permit;
      throw new TooManyRequests(retryAfterSeconds, `Expected at most ${most}, got more`);
    },
  };
}

/**
 * Counts a request in the token bucket of `key` (a workspace or a client address). Throws
 * `TooManyRequests` if the bucket is empty.
 */
function takeToken(buckets: TokenBuckets, key: string, message: string): void {
  const waitSeconds = buckets.waitSeconds(key);
  if (waitSeconds > 0) throw new TooManyRequests(waitSeconds, message);
  buckets.take(key);
}
