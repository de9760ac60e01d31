import { createHash, pbkdf2 } from "node:crypto";
import { availableParallelism } from "node:os";
import { promisify } from "node:util";
import { atMost, FairSemaphore } from "../concurrency/fair-semaphore.ts";
import { SCRAM_ITERATIONS_MAX } from "./limits.ts";

/**
 * Maximum number of SCRAM keys that are derived at the same time, for all workspaces together. In a
 * thread pool of several threads, at least half stay free, because the pool also reads and writes
 * files.
 */
export const SCRAM_DERIVATIONS_MAX = Math.max(
  1,
  Math.min(4, Math.floor(availableParallelism() / 2)),
);

/** Parameters of a SCRAM key. The database or broker chooses the salt and number of iterations. */
export interface ScramParameters {
  hash: "sha256" | "sha512";
  password: string;
  salt: Uint8Array;
  iterations: number;
}

/** Thrown when a server asks for more iterations than are allowed. */
export class TooManyIterations extends Error {
  override readonly name = "TooManyIterations";

  constructor() {
    super(`Expected at most ${SCRAM_ITERATIONS_MAX} iterations of SCRAM`);
  }
}

const keyBytes = { sha256: 32, sha512: 64 };
const pbkdf2Async = promisify(pbkdf2);

function deriveKey({ hash, password, salt, iterations }: ScramParameters): Promise<Buffer> {
  return pbkdf2Async(password, salt, iterations, keyBytes[hash], hash);
}

/**
 * Derives SCRAM keys (SaltedPassword of RFC 5802 §3) on other threads: one at a time for each
 * workspace, and at most `max` in all, because any member can choose a server that makes keys
 * costly.
 */
export class ScramDerivations {
  readonly #permits: FairSemaphore;
  readonly #derive: typeof deriveKey;

  /** Runs at most `max` derivations at the same time. Tests replace `derive`. */
  constructor(derive = deriveKey, max = SCRAM_DERIVATIONS_MAX) {
    this.#permits = new FairSemaphore(max, atMost(1));
    this.#derive = derive;
  }

  /** Creates the `ScramKeys` of a destination that belongs to the workspace. */
  keysOf(workspaceId: string): ScramKeys {
    return new ScramKeys(async (parameters, known, signal) => {
      const permit = await this.#permits.acquire(workspaceId, signal);
      try {
        return known() ?? (await this.#derive(parameters));
      } finally {
        permit.release();
      }
    });
  }
}

type Derive = (
  parameters: ScramParameters,
  /**
   * Returns the key if another connection of the destination has derived it in the meantime,
   * otherwise undefined. It is called after the wait for other derivations, before the key is
   * derived.
   */
  known: () => Buffer | undefined,
  signal: AbortSignal,
) => Promise<Buffer>;

/**
 * The SCRAM keys of one destination. Stores the last derived key, because the server asks for the
 * key with the same salt and iterations until the password is changed.
 */
export class ScramKeys {
  #last: { id: string; key: Buffer } | undefined;

  constructor(private readonly derive: Derive) {}

  /**
   * Returns the key for the parameters that a server asks for. Rejects with `TooManyIterations` if
   * they have too many iterations. Rejects with the signal's reason if the signal is aborted before
   * the derivation begins.
   */
  async key(parameters: ScramParameters, signal: AbortSignal): Promise<Buffer> {
    if (parameters.iterations > SCRAM_ITERATIONS_MAX) throw new TooManyIterations();
    const id = idOf(parameters);
    const known = () => (this.#last?.id === id ? this.#last.key : undefined);
    const key = known() ?? (await this.derive(parameters, known, signal));
    this.#last = { id, key };
    return key;
  }
}

function idOf({ hash, password, salt, iterations }: ScramParameters): string {
  const text = JSON.stringify([hash, iterations, password]);
  return createHash("sha256").update(text).update(salt).digest("base64");
}
