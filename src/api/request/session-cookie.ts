import { ApiError } from "../../errors.ts";

/**
 * Name of the session cookie when the browser uses TLS. The prefix `__Host-` makes browsers accept
 * the cookie only over TLS and only from this host.
 */
const SECURE_NAME = "__Host-pixelmill-session";
const PLAIN_NAME = "pixelmill-session";
/** Name, without TLS, of the cookie of a begun OpenID sign-in. TLS adds the prefix `__Host-`. */
const SIGN_IN_NAME = "pixelmill-sign-in";

/**
 * Returns the session's secret from the request's session cookie; undefined without one. Over TLS,
 * ignores a cookie without the prefix `__Host-`, because another host of the same domain can set
 * it. Throws if several cookies have the name, because then at least one is foreign.
 */
export function sessionSecret(headers: Headers): string | undefined {
  const cookies = sessionCookies(headers);
  const secure = cookies.filter(([name]) => name === SECURE_NAME);
  const [cookie, ...others] = secure.length > 0 || usesTls(headers) ? secure : cookies;
  if (others.length === 0) return cookie?.[1];
  throw new ApiError(
    "unauthenticated",
    "Expected one session cookie, got several; delete the cookies of this site, since another server has set one",
  );
}

/** Returns the value of `signInCookie`'s cookie. Undefined unless there is exactly one. */
export function signInCookieValue(headers: Headers): string | undefined {
  const name = usesTls(headers) ? `__Host-${SIGN_IN_NAME}` : SIGN_IN_NAME;
  const values = cookiesOf(headers).filter(([it]) => it === name);
  return values.length === 1 ? values[0]?.[1] : undefined;
}

/**
 * Returns a Set-Cookie header for the data of a sign-in that begins at the OpenID provider. The
 * browser must send the cookie when the provider redirects it back, so the cookie has SameSite=Lax,
 * not Strict.
 */
export function signInCookie(headers: Headers, value: string, seconds: number): string {
  const isSecure = usesTls(headers);
  const name = isSecure ? `__Host-${SIGN_IN_NAME}` : SIGN_IN_NAME;
  return cookie({ name, value, seconds, isSecure, sameSite: "Lax" });
}

export function hasSessionCookie(headers: Headers): boolean {
  return sessionCookies(headers).length > 0;
}

/** Returns names and values of all session cookies, with and without the prefix `__Host-`. */
function sessionCookies(headers: Headers): [name: string, value: string][] {
  return cookiesOf(headers).filter(([name]) => name === SECURE_NAME || name === PLAIN_NAME);
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
export function sessionCookie(request: Request, secret: string, expiresAt: number) {
  const seconds = Math.max(1, Math.floor((expiresAt - Date.now()) / 1_000));
  return { "Set-Cookie": sessionCookieText(request, secret, seconds) };
}

/** Returns a Set-Cookie header that removes the session cookie. */
export function expiredSessionCookie(request: Request) {
  return { "Set-Cookie": sessionCookieText(request, "", 0) };
}

function sessionCookieText({ headers }: Request, value: string, seconds: number): string {
  const isSecure = usesTls(headers);
  const name = isSecure ? SECURE_NAME : PLAIN_NAME;
  return cookie({ name, value, seconds, isSecure, sameSite: "Strict" });
}

function cookie(options: {
  name: string;
  value: string;
  seconds: number;
  isSecure: boolean;
  sameSite: "Strict" | "Lax";
}): string {
  const { name, value, seconds, isSecure, sameSite } = options;
  const attributes = ["HttpOnly", `SameSite=${sameSite}`, "Path=/", `Max-Age=${seconds}`];
  if (isSecure) attributes.push("Secure");
  return [`${name}=${value}`, ...attributes].join("; ");
}

/**
 * Whether the browser uses TLS, to this server or to a proxy in front of it. `X-Forwarded-Proto`
 * counts from any client, because a false value only makes the rules for cookies stricter. Without
 * an Origin, Sec-Fetch-Site shows TLS: browsers send it without TLS only to their own machine.
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
