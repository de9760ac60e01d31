import { cutText } from "../../errors.ts";
import { type KafkaProtocol, promised } from "../../kafka/library.ts";
import { type ScramKeys, TooManyIterations } from "../scram-keys.ts";
import type { BrokerConnection } from "./broker-connection.ts";
import type { KafkaConfig } from "./config.ts";
import { codeOf, KafkaFailure, sentenceOf } from "./failures.ts";

type SaslCredentials = Required<Pick<KafkaConfig, "user" | "password" | "mechanism">>;

/**
 * Fraction of a session's lifetime after which a new connection replaces the session's connection.
 * The broker sets the lifetime.
 */
const SESSION_SHARE = 0.8;

/** Authenticates a new connection by SASL. Rejects when the broker refuses the credentials. */
export async function authenticate(
  connection: BrokerConnection,
  { user, password, mechanism }: SaslCredentials,
  scramKeys: ScramKeys,
  signal: AbortSignal,
): Promise<void> {
  const { kafka } = connection;
  try {
    await kafka.saslHandshakeV1.api.async(connection.asLibraryConnection, mechanism);
    const ask =
      connection.newestVersion<KafkaProtocol["saslAuthenticateV2"]["api"]>("saslAuthenticate");
    const over = connection.asLibraryConnection;
    const { sessionLifetimeMs } = await (mechanism === "PLAIN"
      ? promised<Answer>((done) => kafka.saslPlain.authenticate(ask, over, user, password, done))
      : promised<Answer>((done) => {
          const hash = mechanism.slice("SCRAM-".length) as "SHA-256";
          const { authenticate } = kafka.saslScramSha;
          authenticate(ask, over, hash, user, password, cryptoOf(kafka, scramKeys, signal), done);
        }));
    const ms = Number(sessionLifetimeMs);
    if (ms > 0) connection.expiresAt = performance.now() + ms * SESSION_SHARE;
  } catch (error) {
    throw refusalOf(error, mechanism);
  }
}

type Crypto = KafkaProtocol["saslScramSha"]["defaultCrypto"];

/**
 * Returns the client library's cryptographic functions for SCRAM, except that keys are derived from
 * passwords on another thread, and only one at a time for each workspace (see `ScramDerivations`).
 */
function cryptoOf(kafka: KafkaProtocol, scramKeys: ScramKeys, signal: AbortSignal): Crypto {
  return {
    ...kafka.saslScramSha.defaultCrypto,
    hi: async ({ algorithm }, password, salt, iterations) => {
      const hash = algorithm === "sha256" ? "sha256" : "sha512";
      return await scramKeys.key({ hash, password, salt, iterations }, signal);
    },
  };
}

type Answer = { sessionLifetimeMs: bigint };

/**
 * Converts an error of the authentication to a `KafkaFailure`. Returns any other error unchanged.
 */
function refusalOf(error: unknown, mechanism: string): unknown {
  const { cause, code, message } = error as Error & { code?: string };
  if (cause instanceof TooManyIterations) return new KafkaFailure("later", cause.message);
  const told = codeOf(error);
  if (told !== undefined) {
    const sentence = sentenceOf(told);
    return new KafkaFailure("later", told === 33 ? `${sentence}: ${mechanism}` : sentence);
  }
  if (code !== "PLT_KFK_AUTHENTICATION") return error;
  const words = cutText(message, WORDS_CHARS_MAX).replace(/\.$/, "");
  return new KafkaFailure("later", `Signing in failed: ${words}`);
}

const WORDS_CHARS_MAX = 300;
