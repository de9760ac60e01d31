/**
 * The cookie's name over TLS: with this prefix, browsers accept it only from this host over TLS.
 */
const SECURE_NAME = "__Host-pixelmill-session";
const PLAIN_NAME = "pixelmill-session";

/** The secret in a request's session cookie, which scripts of the browser cannot read. */
export function sessionSecret(headers: Headers): string | undefined {
  const cookies = new Map(
    (headers.get("cookie") ?? "").split(";").map((pair) => {
      const equals = pair.indexOf("=");
      return [pair.slice(0, Math.max(0, equals)).trim(), pair.slice(equals + 1).trim()] as const;
    }),
  );
  return cookies.get(SECURE_NAME) ?? cookies.get(PLAIN_NAME);
}

/** The header that sets the session cookie until `expiresAt` (milliseconds). */
export function sessionCookie(request: Request, secret: string, expiresAt: number) {
  const seconds = Math.max(1, Math.floor((expiresAt - Date.now()) / 1_000));
  return cookie(usesTls(request), secret, seconds);
}

/** The header that removes the session cookie. */
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
 * Whether the browser uses TLS, to this server or to a proxy in front of it. Every proxy is trusted:
 * a wrong claim only makes the cookie stricter.
 */
function usesTls({ url, headers }: Request): boolean {
  const forwarded = headers.get("x-forwarded-proto")?.split(",")[0]?.trim().toLowerCase();
  const origin = headers.get("origin")?.toLowerCase() ?? "";
  return url.startsWith("https:") || origin.startsWith("https:") || forwarded === "https";
}
