/** The cookie of a signed-in browser: the secret of its session, which scripts cannot read. */

/**
 * The cookie's name over TLS: a browser lets no other host and no plain page set a cookie with this
 * prefix.
 */
const SECURE_NAME = "__Host-pixelmill-session";
const PLAIN_NAME = "pixelmill-session";

/** The secret of a request's session; undefined when the request has none. */
export function sessionSecret(headers: Headers): string | undefined {
  const cookies = new Map(
    (headers.get("cookie") ?? "").split(";").map((pair) => {
      const equals = pair.indexOf("=");
      return [pair.slice(0, Math.max(0, equals)).trim(), pair.slice(equals + 1).trim()] as const;
    }),
  );
  return cookies.get(SECURE_NAME) ?? cookies.get(PLAIN_NAME);
}

/** The header that gives the browser its session until `expiresAt` (milliseconds). */
export function sessionCookie(request: Request, secret: string, expiresAt: number) {
  const seconds = Math.max(1, Math.floor((expiresAt - Date.now()) / 1_000));
  return cookie(usesTls(request), secret, seconds);
}

/** The header that removes the session's secret from the browser. */
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
 * Whether the browser came by TLS, to this server or to a proxy before it. A client that claims so
 * wrongly gets a cookie that is stricter than necessary, so every proxy is believed.
 */
function usesTls({ url, headers }: Request): boolean {
  const forwarded = headers.get("x-forwarded-proto")?.split(",")[0]?.trim().toLowerCase();
  const origin = headers.get("origin")?.toLowerCase() ?? "";
  return url.startsWith("https:") || origin.startsWith("https:") || forwarded === "https";
}
