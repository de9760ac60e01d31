import { createHmac, hash, randomBytes, timingSafeEqual } from "node:crypto";
import type { ScramKeys } from "../scram-keys.ts";
import {
  integerAt,
  NotPostgres,
  type PostgresMessage,
  password as passwordFrame,
  saslInitial,
  saslResponse,
} from "./protocol.ts";

export interface PostgresCredentials {
  user: string;
  password: string;
  scramKeys: ScramKeys;
}

const mechanism = "SCRAM-SHA-256";

/** Answers the authentication messages of a PostgreSQL server until the server accepts the user. */
export class PostgresSignIn {
  isDone = false;
  readonly #nonce = randomBytes(18).toString("base64");
  #serverSignature: Buffer | undefined;
  #isProved = false;

  constructor(
    private readonly account: PostgresCredentials,
    private readonly isSecure: boolean,
  ) {}

  /**
   * Returns the response to an authentication message (type `R`), or undefined if the message needs
   * none. Rejects if `signal` is aborted before the computation of the response begins.
   */
  async respond({ body }: PostgresMessage, signal: AbortSignal): Promise<Buffer | undefined> {
    const { user, password } = this.account;
    switch (integerAt(body, 0, 4)) {
      case 0:
        // A server that began a SCRAM exchange must prove that it knows the password before it
        // accepts.
        if (this.#serverSignature !== undefined && !this.#isProved) throw new NotPostgres();
        this.isDone = true;
        return undefined;
      case 3:
        if (!this.isSecure) {
          throw new Error("The database asks for the password unencrypted, without TLS");
        }
        return passwordFrame(password);
      case 5: {
        const inner = Buffer.from(hash("md5", password + user));
        return passwordFrame(`md5${hash("md5", Buffer.concat([inner, body.subarray(4, 8)]))}`);
      }
      case 10:
        if (!body.toString("latin1", 4).split("\0").includes(mechanism)) {
          throw new Error(`The database does not offer ${mechanism}`);
        }
        return saslInitial(mechanism, `n,,n=,r=${this.#nonce}`);
      case 11:
        return saslResponse(await this.#prove(body.toString("latin1", 4), signal));
      case 12:
        this.#check(body.toString("latin1", 4));
        return undefined;
      default:
        throw new Error("The database asks for an unsupported sign-in method");
    }
  }

  /**
   * Computes the proof that the client knows the password, from the nonce, salt and iteration count
   * in the server's `challenge` (RFC 5802 §3).
   */
  async #prove(challenge: string, signal: AbortSignal): Promise<string> {
    const match = /^r=([\x21-\x2b\x2d-\x7e]+),s=([A-Za-z0-9+/=]+),i=(\d{1,9})$/.exec(challenge);
    if (match === null || !match[1]!.startsWith(this.#nonce)) throw new NotPostgres();
    const iterations = Number(match[3]);
    if (iterations < 1) throw new NotPostgres();
    const salt = Buffer.from(match[2]!, "base64");
    const password = this.account.password.normalize("NFKC");
    const parameters = { hash: "sha256", password, salt, iterations } as const;
    const salted = await this.account.scramKeys.key(parameters, signal);
    const final = `c=biws,r=${match[1]}`;
    const text = `n=,r=${this.#nonce},${challenge},${final}`;
    const key = hmac(salted, "Client Key");
    const signature = hmac(hash("sha256", key, "buffer"), text);
    this.#serverSignature = hmac(hmac(salted, "Server Key"), text);
    const proof = Buffer.from(key.map((byte, at) => byte ^ signature[at]!));
    return `${final},p=${proof.toString("base64")}`;
  }

  /**
   * Checks that the server knows the password: its last SCRAM message must contain a valid proof.
   * Throws an error if the proof is wrong.
   */
  #check(final: string): void {
    const match = /^v=([A-Za-z0-9+/=]+)$/.exec(final);
    const theirs = Buffer.from(match?.[1] ?? "", "base64");
    const ours = this.#serverSignature;
    if (ours === undefined || theirs.length !== ours.length || !timingSafeEqual(theirs, ours)) {
      throw new Error("The database cannot prove that it knows the password");
    }
    this.#isProved = true;
  }
}

function hmac(key: Uint8Array, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}
