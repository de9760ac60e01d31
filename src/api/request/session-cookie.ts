import { ApiError } from "../../errors.ts";

const SESSION = "pixelmill-session";
/**
 * Name of the cookie that exists during an OpenID sign-in, while the browser is at the provider.
 */
const SIGN_IN = "pixelmill-sign-in";
/**
 * Prefix of a cookie's name when the browser uses TLS. It makes browsers accept the cookie only
 * over TLS and only from this host.
 */
const SECURE_PREFIX = "__Host-";

/**
 * Returns the secret in the session cookie, or undefined if there is none. Over TLS, ignores a
 * cookie without the prefix `__Host-`, because another host of the domain can set it. Throws if
 * several session cookies remain.
 */
export function sessionSecret(headers: Headers): string | undefined {
  const cookies = sessionCookies(headers);
  const secure = cookies.filter(([name]) => name.startsWith(SECURE_PREFIX));
  const [cookie, ...others] = secure.length > 0 || usesTls(headers) ? secure : cookies;
  if (others.length === 0) return cookie?.[1];
  throw new ApiError(
    "unauthenticated",
    "Expected one session cookie, got several; delete the cookies of this site, since another server has set one",
  );
}

/**
 * Returns the value of the cookie that `signInCookie` sets. Undefined unless the request has
 * exactly one cookie with this cookie's name.
 */
export function signInCookieValue(headers: Headers): string | undefined {
  const name = nameFor(headers, SIGN_IN);
  const values = cookiesOf(headers).filter(([it]) => it === name);
  return values.length === 1 ? values[0]?.[1] : undefined;
}

/**
 * Returns a Set-Cookie header that keeps `value` during a sign-in at the OpenID provider, for at
 * most `maxAge` seconds; 0 deletes the cookie. SameSite is Lax, because the provider's redirect
 * back must carry the cookie.
 */
export function signInCookie(headers: Headers, value: string, maxAge: number): string {
  return cookieText(headers, { name: SIGN_IN, value, maxAge, sameSite: "lax" });
}

export function hasSessionCookie(headers: Headers): boolean {
  return sessionCookies(headers).length > 0;
}

/** Returns names and values of all session cookies, with and without the prefix `__Host-`. */
function sessionCookies(headers: Headers): [name: string, value: string][] {
  return cookiesOf(headers).filter(
    ([name]) => name === SESSION || name === SECURE_PREFIX + SESSION,
  );
}

function cookiesOf(headers: Headers): [name: string, value: string][] {
  return (headers.get("cookie") ?? "").split(";").map((pair) => {
    const equals = pair.indexOf("=");
    return [pair.slice(0, Math.max(0, equals)).trim(), pair.slice(equals + 1).trim()];
  });
}

/**
 * Returns a Set-Cookie header that keeps the session until `expiresAt` (milliseconds since the
 * epoch).
 */
export function sessionCookie({ headers }: Request, value: string, expiresAt: number) {
  const maxAge = Math.max(1, Math.floor((expiresAt - Date.now()) / 1_000));
  const cookie = { name: SESSION, value, maxAge, sameSite: "strict" } as const;
  return { "Set-Cookie": cookieText(headers, cookie) };
}

/** Returns a Set-Cookie header that removes the session cookie. */
export function expiredSessionCookie({ headers }: Request) {
  const cookie = { name: SESSION, value: "", maxAge: 0, sameSite: "strict" } as const;
  return { "Set-Cookie": cookieText(headers, cookie) };
}

function cookieText(
  headers: Headers,
  cookie: { name: string; value: string; maxAge: number; sameSite: "strict" | "lax" },
): string {
  const name = nameFor(headers, cookie.name);
  const secure = usesTls(headers);
  return new Bun.Cookie({ ...cookie, name, path: "/", secure, httpOnly: true }).toString();
}

function nameFor(headers: Headers, name: string): string {
  return usesTls(headers) ? SECURE_PREFIX + name : name;
}

/**
 * Whether the browser uses TLS, to this server or to a proxy in front of it. The first case that
 * applies decides:
 * - `X-Forwarded-Proto` is `https`: true. A false claim only makes the rules for cookies stricter.
 * - The request has an Origin: true if its scheme is `https`.
 * - The request has Sec-Fetch-Site: true unless the host is this machine, because browsers send
 *   this header to other hosts only over TLS.
 */
function usesTls(headers: Headers): boolean {
  const forwarded = headers.get("x-forwarded-proto")?.split(",")[0]?.trim().toLowerCase();
  const origin = headers.get("origin")?.toLowerCase();
  if (forwarded === "https") return true;
  if (origin !== undefined) return origin.startsWith("https:");
  return headers.has("sec-fetch-site") && !isThisMachine(headers.get("host") ?? "");
}

function isThisMachine(host: string): boolean {
  return /^(127\.[\d.]+|\[::1\]|([^:]+\.)?localhost)(:\d+)?$/i.test(host);
}
