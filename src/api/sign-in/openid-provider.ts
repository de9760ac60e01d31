import { createRemoteJWKSet, customFetch as jwksFetch, jwtVerify } from "jose";
import type { CustomFetch } from "openid-client";
import * as client from "openid-client";
import type { WorkspaceRole } from "../../catalog/model.ts";
import { defined } from "../../defined.ts";
import { messageOf } from "../../errors.ts";
import { PROVIDER_ANSWER_BYTES_MAX, PROVIDER_ANSWER_MS_MAX } from "../limits.ts";

/** Settings of single sign-on with OpenID Connect. */
export interface OpenIdSettings {
  /** URL of the provider. It equals the claim `iss` of the provider's tokens. */
  issuer: string;
  clientId: string;
  /**
   * Secret with which the server authenticates itself at the provider. Absent for a public client,
   * which authenticates with PKCE alone.
   */
  clientSecret?: string;
  scopes: readonly string[];
  /** Name of the claim that lists the groups to which the account belongs. */
  groupsClaim: string;
  /**
   * Roles that the provider's groups give to the accounts in them. The group `*` contains all
   * accounts.
   */
  roles: readonly { group: string; role: WorkspaceRole }[];
  /** URL of the console, to which the provider sends browsers back after a sign-in. */
  consoleUrl: string;
  /**
   * Certificates (PEM) of the authorities that may sign the provider's certificate. Default: the
   * system's authorities.
   */
  ca?: string;
}

/**
 * Random values of one sign-in. The browser keeps them in a cookie until the sign-in ends. The PKCE
 * code verifier (`verifier`) proves that the browser that ends the sign-in also began it.
 */
export type PendingSignIn = Record<"state" | "nonce" | "verifier", string>;

/** An account, as the provider's claims describe it at a sign-in. */
export type SignedInAccount = ReturnType<typeof accountOf>;

/** Path on the control plane to which the provider sends browsers back after a sign-in. */
const CALLBACK_PATH = "/v2/session/oidc/callback";

/**
 * Key that the claim `events` of every logout token contains (OpenID Connect Back-Channel Logout
 * 1.0, section 2.4).
 */
const LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout";
const LOGOUT_TOKEN_AGE_MAX = "10 minutes";
/** Time in seconds by which the clocks of provider and server may differ. */
const CLOCK_TOLERANCE_SECONDS = 60;
/** Milliseconds for which the provider's metadata are kept before they are read again. */
const METADATA_MS_MAX = 3_600_000;

/**
 * Sends browsers to an OpenID provider for sign-ins, and reads the provider's answers. It reads the
 * provider's metadata at the first sign-in, so that the server can start while the provider is
 * unreachable.
 */
export class OpenIdProvider {
  readonly #fetch: client.CustomFetch;
  #discovered: { at: number; configuration: Promise<Discovered> } | undefined;

  constructor(readonly settings: OpenIdSettings) {
    this.#fetch = boundedFetch(settings.ca);
  }

  /**
   * Begins a sign-in. Returns the provider's URL, to which the browser goes, and the values that
   * the browser keeps for `finish`.
   */
  async begin(): Promise<{ url: URL; pending: PendingSignIn }> {
    const { configuration } = await this.#discover();
    const verifier = client.randomPKCECodeVerifier();
    const pending = { state: client.randomState(), nonce: client.randomNonce(), verifier };
    const url = client.buildAuthorizationUrl(configuration, {
      redirect_uri: this.#redirectUri().href,
      scope: this.settings.scopes.join(" "),
      state: pending.state,
      nonce: pending.nonce,
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256",
    });
    return { url, pending };
  }

  /**
   * Completes a sign-in and returns the account. `search` is the query with which the browser came
   * back from the provider. Rejects if the provider refuses the sign-in, or if its answer does not
   * belong to `pending`.
   */
  async finish(search: string, pending: PendingSignIn): Promise<SignedInAccount> {
    const { configuration } = await this.#discover();
    const url = this.#redirectUri();
    url.search = search;
    const tokens = await client.authorizationCodeGrant(configuration, url, {
      pkceCodeVerifier: pending.verifier,
      expectedState: pending.state,
      expectedNonce: pending.nonce,
      idTokenExpected: true,
    });
    const idToken = tokens.claims();
    if (idToken === undefined) throw new Error("The provider sent no ID token");
    const claims: Record<string, unknown> = { ...idToken };
    const isComplete = "email" in claims && this.settings.groupsClaim in claims;
    if (!isComplete && configuration.serverMetadata().userinfo_endpoint !== undefined) {
      const more = await client.fetchUserInfo(configuration, tokens.access_token, idToken.sub);
      for (const [name, value] of Object.entries(more)) claims[name] ??= value;
    }
    return accountOf(claims, this.settings.groupsClaim);
  }

  /**
   * Verifies a logout token, with which the provider reports that an account or session has signed
   * out (OpenID Connect Back-Channel Logout 1.0). Rejects if the token is not a valid logout token
   * of this provider.
   */
  async readLogoutToken(
    token: string,
  ): Promise<{ issuer: string; subject?: string; providerSession?: string }> {
    const { configuration, keys } = await this.#discover();
    const { issuer } = configuration.serverMetadata();
    const { payload } = await jwtVerify(token, keys, {
      issuer,
      audience: this.settings.clientId,
      maxTokenAge: LOGOUT_TOKEN_AGE_MAX,
      clockTolerance: CLOCK_TOLERANCE_SECONDS,
      requiredClaims: ["jti", "events"],
      // Only the provider can make these signatures. Whoever has the client's secret can make
      // others.
      algorithms: asymmetricAlgorithms,
    });
    const { events, nonce, sub, sid } = payload;
    const names = typeof events === "object" && events !== null ? Object.keys(events) : [];
    if (!names.includes(LOGOUT_EVENT) || nonce !== undefined) {
      throw new Error("Expected a logout token, got another one");
    }
    const subject = typeof sub === "string" ? sub : undefined;
    const providerSession = typeof sid === "string" ? sid : undefined;
    if (subject === undefined && providerSession === undefined) {
      throw new Error("Expected sub or sid in the logout token, got neither");
    }
    return {
      issuer,
      ...defined({ subject, providerSession }),
    };
  }

  #redirectUri(): URL {
    return new URL(CALLBACK_PATH, this.settings.consoleUrl);
  }

  /** Returns the provider's metadata. Reads them again if they are older than an hour. */
  #discover(): Promise<Discovered> {
    const now = performance.now();
    if (this.#discovered && now - this.#discovered.at < METADATA_MS_MAX) {
      return this.#discovered.configuration;
    }
    const discovered = { at: now, configuration: this.#readMetadata() };
    this.#discovered = discovered;
    discovered.configuration.catch(() => {
      if (this.#discovered === discovered) this.#discovered = undefined;
    });
    return discovered.configuration;
  }

  async #readMetadata(): Promise<Discovered> {
    const { issuer, clientId, clientSecret } = this.settings;
    const isPlain = issuer.startsWith("http:");
    const configuration = await client.discovery(
      new URL(issuer),
      clientId,
      { [client.clockTolerance]: CLOCK_TOLERANCE_SECONDS },
      clientSecret === undefined ? client.None() : client.ClientSecretBasic(clientSecret),
      {
        [client.customFetch]: this.#fetch,
        timeout: PROVIDER_ANSWER_MS_MAX / 1_000,
        execute: isPlain ? [client.allowInsecureRequests] : [],
      },
    );
    // Also checks signatures of ID tokens that come directly from the provider.
    client.enableNonRepudiationChecks(configuration);
    const { jwks_uri } = configuration.serverMetadata();
    if (jwks_uri === undefined) throw new Error("The provider's metadata have no jwks_uri");
    const keys = createRemoteJWKSet(new URL(jwks_uri), { [jwksFetch]: this.#fetch as never });
    return { configuration, keys };
  }
}

interface Discovered {
  configuration: client.Configuration;
  keys: ReturnType<typeof createRemoteJWKSet>;
}

const asymmetricAlgorithms = [
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  ...["ES256", "ES384", "ES512", "EdDSA", "Ed25519"],
];

/**
 * Returns the account that the provider's claims describe. Its email address and the id of its
 * session at the provider (`sid`) are undefined when the provider sends none.
 */
function accountOf(claims: Record<string, unknown>, groupsClaim: string) {
  const text = (name: string) => {
    const value = claims[name];
    return typeof value === "string" && value.trim() !== "" ? value.trim() : undefined;
  };
  const email = text("email");
  const subject = String(claims.sub);
  const groups = [claims[groupsClaim] ?? []].flat();
  return {
    identity: { issuer: String(claims.iss), subject },
    name: text("name") ?? text("preferred_username") ?? email ?? subject,
    email,
    isEmailVerified: claims.email_verified === true,
    groups: groups.filter((it) => typeof it === "string"),
    providerSession: text("sid"),
  };
}

/**
 * Returns a sentence for the log about why a sign-in failed. The sentence contains no data of the
 * account and no secret.
 */
export function reasonOf(error: unknown): string {
  if (error instanceof client.AuthorizationResponseError)
    return `The provider answered ${error.error}`;
  if (error instanceof client.ResponseBodyError) return `The provider answered ${error.error}`;
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : undefined;
  return cause ? `${messageOf(error)}: ${messageOf(cause)}` : messageOf(error);
}

/**
 * Returns a `fetch` for the OpenID provider that follows no redirect, and rejects if the answer
 * takes too long or is too large. `ca` has the trusted certificate authorities (PEM), by default
 * the system's.
 */
export function boundedFetch(ca: string | undefined): CustomFetch {
  return async (url, { body, method, headers, signal }) => {
    const timeout = AbortSignal.timeout(PROVIDER_ANSWER_MS_MAX);
    const answer = await fetch(url, {
      method,
      headers,
      body,
      redirect: "manual",
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
      ...(ca !== undefined && { tls: { ca } }),
    } as BunFetchRequestInit);
    const bytes = await readBounded(answer);
    const { status, headers: answered } = answer;
    return new Response(bytes, { status, headers: answered });
  };
}

async function readBounded(answer: Response): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of answer.body ?? []) {
    bytes += part.byteLength;
    if (bytes > PROVIDER_ANSWER_BYTES_MAX) {
      throw new Error(`The provider's answer is longer than ${PROVIDER_ANSWER_BYTES_MAX} bytes`);
    }
    parts.push(part);
  }
  return new Uint8Array(Buffer.concat(parts));
}
