/** Text that replaces a secret part of a URL in answers of the API. */
export const MASK = "***";

/**
 * Returns whether the value of a header or query parameter with this name is usually secret, such
 * as that of `api_secret`.
 */
export function isSecretName(name: string): boolean {
  return /key|token|secret|password|signature/i.test(name);
}

/**
 * Hosts of services whose URLs are secrets, because anyone who knows the path of such a URL can
 * send requests to it.
 */
const secretHosts = [
  /^hooks\.slack\.com$/,
  /(^|\.)discord(app)?\.com$/,
  /\.webhook\.office\.com$/,
  /^hooks\.zapier\.com$/,
  /^hook\.([a-z0-9-]+\.)?make\.com$/,
  /^maker\.ifttt\.com$/,
];

/**
 * Returns a URL as the API shows it. `isSecret` determines which parts are masked:
 *
 * - true: the path and the query
 * - false: nothing
 * - undefined: the path and the query if the host is in `secretHosts`; otherwise only values of
 *   query parameters with names such as `token`, and the fragment is removed
 */
export function maskedUrl(text: string, isSecret?: boolean): string {
  const url = URL.parse(text);
  if (url === null || isSecret === false) return text;
  const { hostname, href, origin } = url;
  if (isSecret ?? secretHosts.some((host) => host.test(hostname))) {
    return href === `${origin}/` ? text : `${origin}/${MASK}`;
  }
  const [, base = "", query = ""] = /^([^?#]*\??)([^#]*)/.exec(text) ?? [];
  return base + query.split("&").map(maskedPair).join("&");
}

function maskedPair(pair: string): string {
  const [name = "", value] = pair.split("=", 2);
  const [decoded = ""] = new URLSearchParams(pair).keys();
  const isSecret = isSecretName(decoded) || /^sig$/i.test(decoded);
  return value !== undefined && isSecret ? `${name}=${MASK}` : pair;
}
