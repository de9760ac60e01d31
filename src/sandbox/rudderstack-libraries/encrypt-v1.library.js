/**
 * Encryption of texts with RSA for user code, as RSAES-PKCS1-v1_5 (RFC 8017) in Base64. The random
 * bytes are those of `Math.random`, which is all that a program's context has.
 */

const BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const LONE_SURROGATE = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g;

/** Returns the Base64 of bytes. */
function toBase64(bytes) {
  let text = "";
  for (let at = 0; at < bytes.length; at += 3) {
    const bits = (bytes[at] << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);
    const chars = [18, 12, 6, 0].map((shift) => BASE64[(bits >> shift) & 63]);
    const used = Math.min(3, bytes.length - at) + 1;
    text += chars.slice(0, used).join("").padEnd(4, "=");
  }
  return text;
}

/** Returns the bytes of Base64, in which white space and padding have no meaning. */
function fromBase64(text) {
  const bytes = [];
  let bits = 0;
  let held = 0;
  for (const char of text.replace(/[\s=]/g, "")) {
    const value = BASE64.indexOf(char);
    if (value < 0) throw new Error("Expected Base64");
    bits = (bits << 6) | value;
    held += 6;
    if (held >= 8) {
      held -= 8;
      bytes.push((bits >> held) & 255);
      bits &= (1 << held) - 1;
    }
  }
  return bytes;
}

function toUtf8(text) {
  const escaped = unescape(encodeURIComponent(String(text).replace(LONE_SURROGATE, "\uFFFD")));
  return Array.from(escaped, (char) => char.charCodeAt(0));
}

const fromUtf8 = (bytes) =>
  decodeURIComponent(bytes.map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join(""));

const toNumber = (bytes) =>
  bytes.length === 0
    ? 0n
    : BigInt(`0x${bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("")}`);

function toBytes(number, length) {
  const text = number.toString(16).padStart(2 * length, "0");
  return Array.from({ length }, (_, at) => Number.parseInt(text.slice(2 * at, 2 * at + 2), 16));
}

/** Returns `base` to the power of `exponent`, modulo `modulus`. */
function power(base, exponent, modulus) {
  let result = 1n;
  let square = base % modulus;
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = (result * square) % modulus;
    square = (square * square) % modulus;
  }
  return result;
}

const INTEGER = 0x02;
const SEQUENCE = 0x30;

/** Reads one value of DER: its tag, its content, and the offset after it. */
function readValue(bytes, at) {
  let [tag, length] = [bytes[at], bytes[at + 1]];
  let start = at + 2;
  if (length >= 0x80) {
    const count = length & 0x7f;
    length = Number(toNumber(bytes.slice(start, start + count)));
    start += count;
  }
  const end = start + length;
  if (tag === undefined || !(end <= bytes.length)) throw new Error("Expected a key in PEM");
  return { tag, content: bytes.slice(start, end), end };
}

function valuesIn(bytes) {
  const values = [];
  for (let at = 0; at < bytes.length; ) {
    const value = readValue(bytes, at);
    values.push(value);
    at = value.end;
  }
  return values;
}

/**
 * Returns the numbers of a key. PKCS#1 has them in a sequence; PKCS#8 and X.509 have that sequence
 * in a text of bytes or bits behind the name of the algorithm.
 */
function keyNumbers(bytes) {
  const outer = readValue(bytes, 0);
  if (outer.tag !== SEQUENCE) throw new Error("Expected a key in PEM");
  const values = valuesIn(outer.content);
  if (values.every(({ tag }) => tag === INTEGER)) {
    return values.map(({ content }) => toNumber(content));
  }
  const { tag, content } = values.at(values[0].tag === INTEGER ? 2 : 1);
  // A text of bits begins with the number of its unused bits.
  return keyNumbers(tag === 0x03 ? content.slice(1) : content);
}

/** Returns the key in a PEM text, or undefined when there is none. */
function parseKey(pem) {
  try {
    const numbers = keyNumbers(fromBase64(String(pem).replace(/-----[^-]*-----/g, "")));
    if (numbers.length === 2) return { n: numbers[0], e: numbers[1] };
    const [, n, e, d, p, q, dp, dq, qInverse] = numbers;
    return qInverse === undefined ? undefined : { n, e, d, p, q, dp, dq, qInverse };
  } catch {
    return undefined;
  }
}

const sizeOf = ({ n }) => Math.ceil(n.toString(16).length / 2);

/** Applies the private key, by the Chinese remainder theorem. */
function decipher(number, { n, p, q, dp, dq, qInverse }) {
  const ofP = power(number, dp, p);
  const ofQ = power(number, dq, q);
  const difference = (((ofP - ofQ) % p) + p) % p;
  return (ofQ + ((qInverse * difference) % p) * q) % n;
}

export class JSEncrypt {
  #key;

  /** Takes a public or a private key in PEM, with or without its first and last line. */
  setKey(pem) {
    this.#key = parseKey(pem);
  }

  setPublicKey(pem) {
    this.setKey(pem);
  }

  setPrivateKey(pem) {
    this.setKey(pem);
  }

  /** Returns the text encrypted in Base64; false without a key, or when the text is too long. */
  encrypt(text) {
    const key = this.#key;
    if (key === undefined) return false;
    const [message, size] = [toUtf8(text), sizeOf(key)];
    const paddingLength = size - message.length - 3;
    if (paddingLength < 8) return false;
    const padding = Array.from(
      { length: paddingLength },
      () => 1 + Math.floor(255 * Math.random()),
    );
    const block = toNumber([0, 2, ...padding, 0, ...message]);
    return toBase64(toBytes(power(block, key.e, key.n), size));
  }

  /** Returns the text of what was encrypted; false without a private key, null for another text. */
  decrypt(text) {
    const key = this.#key;
    if (key?.d === undefined) return false;
    try {
      const bytes = toBytes(decipher(toNumber(fromBase64(String(text))), key), sizeOf(key));
      const end = bytes.indexOf(0, 2);
      if (bytes[0] !== 0 || bytes[1] !== 2 || end < 10) return null;
      return fromUtf8(bytes.slice(end + 1));
    } catch {
      return null;
    }
  }
}
