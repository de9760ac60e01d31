/**
 * Name of the session cookie over TLS. The prefix `__Host-` makes browsers accept the cookie only
 * over TLS and only from this host.
 */
const SECURE_NAME = "__Host-pixelmill-session";
const PLAIN_NAME = "pixelmill-session";

/**
 * Reads the session's secret from the request's cookie. Scripts in the browser cannot read the
 * cookie.
 */
export function sessionSecret(headers: Headers): string | undefined {
  const cookies = new Map(
    (headers.get("cookie") ?? "").split(";").map((pair) => {
      const equals = pair.indexOf("=");
      return [pair.slice(0, Math.max(0, equals)).trim(), pair.slice(equals + 1).trim()] as const;
    }),
  );
  return cookies.get(SECURE_NAME) ?? cookies.get(PLAIN_NAME);
}

/** A Set-Cookie header that keeps the session until `expiresAt` (milliseconds since the epoch). */
export function sessionCookie(request: Request, secret: string, expiresAt: number) {
  const seconds = Math.max(1, Math.floor((expiresAt - Date.now()) / 1_000));
  return cookie(usesTls(request), secret, seconds);
}

/** A Set-Cookie header that removes the session cookie. */
export function expiredSessionCookie(request: Request) {
  return cookie(usesTls(request), "", 0);
}

function cookie(isSecure: boolean, value: string, seconds: number): { "Set-Cookie": string } {
  const name = isSecure ? SECURE_NAME : PLAIN_NAME;
  const attributes = ["HttpOnly", "SameSite=Strict", "Path=/", `Max-Age=${seconds}`];
  if (isSecure) attributes.push("Secure");
  return { "Set-Cookie": [`${name}=${value}`, ...attributes].join("; ") };
}

/**
 * Whether the browser uses TLS, either to this server or to a proxy in front of it. The header of
 * any proxy is believed, since a false one only makes the cookie stricter.
 */
function usesTls({ url, headers }: Request): boolean {
  const forwarded = headers.get("x-forwarded-proto")?.split(",")[0]?.trim().toLowerCase();
  const origin = headers.get("origin")?.toLowerCase() ?? "";
  return url.startsWith("https:") || origin.startsWith("https:") || forwarded === "https";
}
