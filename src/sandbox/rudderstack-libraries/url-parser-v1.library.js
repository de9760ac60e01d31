/** The parameters of a query, by the URL standard (application/x-www-form-urlencoded). */

const LONE_SURROGATE = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g;

/** Returns a value as text of whole characters. */
const textOf = (value) => String(value).replace(LONE_SURROGATE, "\uFFFD");

/**
 * A character's bytes in UTF-8, percent-encoded, or the beginning of one, as far as it can be one;
 * else one byte.
 */
const CHARACTER =
  /%(?:[0-7][\da-f]|(?:c[2-9a-f]|d[\da-f])%[89ab][\da-f]|(?:e0%[ab]|ed%[89]|e[1-9a-cef]%[89ab])[\da-f](?:%[89ab][\da-f])?|(?:f0%[9ab]|f4%8|f[1-3]%[89ab])[\da-f](?:%[89ab][\da-f]){0,2}|[\da-f]{2})/gi;

/** Returns the text of bytes in UTF-8; what is not whole is U+FFFD, by the encoding standard. */
function decode(text) {
  return text.replaceAll("+", " ").replace(/(?:%[\da-f]{2})+/gi, (bytes) => {
    try {
      return decodeURIComponent(bytes);
    } catch {
      return bytes.replace(CHARACTER, (one) => {
        try {
          return decodeURIComponent(one);
        } catch {
          return "\uFFFD";
        }
      });
    }
  });
}

function encode(text) {
  return encodeURIComponent(text)
    .replaceAll("%20", "+")
    .replace(/[!'()~]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}

function pairsOf(init) {
  if (typeof init === "object" && init !== null) {
    const entries = typeof init[Symbol.iterator] === "function" ? [...init] : Object.entries(init);
    return entries.map(([name, value]) => [textOf(name), textOf(value)]);
  }
  const query = textOf(init ?? "").replace(/^\?/, "");
  const parts = query.split("&").filter((part) => part !== "");
  return parts.map((part) => {
    const equals = part.indexOf("=");
    const name = equals < 0 ? part : part.slice(0, equals);
    return [decode(name), equals < 0 ? "" : decode(part.slice(equals + 1))];
  });
}

export class URLSearchParams {
  #pairs;

  constructor(init) {
    this.#pairs = pairsOf(init);
  }

  get size() {
    return this.#pairs.length;
  }

  append(name, value) {
    this.#pairs.push([textOf(name), textOf(value)]);
  }

  delete(name) {
    this.#pairs = this.#pairs.filter(([it]) => it !== textOf(name));
  }

  get(name) {
    return this.#pairs.find(([it]) => it === textOf(name))?.[1] ?? null;
  }

  getAll(name) {
    return this.#pairs.filter(([it]) => it === textOf(name)).map(([, value]) => value);
  }

  has(name) {
    return this.#pairs.some(([it]) => it === textOf(name));
  }

  set(name, value) {
    const first = this.#pairs.find(([it]) => it === textOf(name));
    if (first === undefined) return this.append(name, value);
    first[1] = textOf(value);
    this.#pairs = this.#pairs.filter((pair) => pair === first || pair[0] !== textOf(name));
  }

  sort() {
    this.#pairs.sort(([one], [other]) => (one < other ? -1 : one > other ? 1 : 0));
  }

  forEach(call, self) {
    for (const [name, value] of this.#pairs) call.call(self, value, name, this);
  }

  *entries() {
    for (const [name, value] of this.#pairs) yield [name, value];
  }

  *keys() {
    for (const [name] of this.#pairs) yield name;
  }

  *values() {
    for (const [, value] of this.#pairs) yield value;
  }

  [Symbol.iterator]() {
    return this.entries();
  }

  toString() {
    return this.#pairs.map((pair) => pair.map(encode).join("=")).join("&");
  }
}

// biome-ignore lint/style/noDefaultExport: code imports the library as a whole.
export default { URLSearchParams };
