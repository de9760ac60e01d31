/** Hashes for user code: `sha256` and `md5` in hexadecimal, `cyrb53` as a number of 53 bits. */

const LONE_SURROGATE = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g;

/** Returns the bytes of a text in UTF-8, followed by the padding of MD5 and SHA-256 (0x80, zeros). */
function padded(text) {
  const utf8 = unescape(encodeURIComponent(String(text).replace(LONE_SURROGATE, "\uFFFD")));
  const bytes = new Uint8Array(Math.ceil((utf8.length + 9) / 64) * 64);
  for (let at = 0; at < utf8.length; at += 1) bytes[at] = utf8.charCodeAt(at);
  bytes[utf8.length] = 0x80;
  return { view: new DataView(bytes.buffer), length: utf8.length };
}

const hex = (word) => (word >>> 0).toString(16).padStart(8, "0");
const rotateRight = (word, bits) => (word >>> bits) | (word << (32 - bits));
const rotateLeft = (word, bits) => (word << bits) | (word >>> (32 - bits));

/** The first 64 primes, of whose roots SHA-256 takes its constants. */
const primes = [];
for (let number = 2; primes.length < 64; number += 1) {
  if (primes.every((prime) => number % prime !== 0)) primes.push(number);
}

/**
 * Returns the first 32 bits of the fraction of the root of a number. The root is found in whole
 * numbers, since a floating-point root of these would lack bits.
 */
function rootBits(number, degree) {
  const wanted = BigInt(number) << BigInt(32 * degree);
  let root = 0n;
  for (let bit = 1n << 40n; bit > 0n; bit >>= 1n) {
    if ((root + bit) ** BigInt(degree) <= wanted) root += bit;
  }
  return Number(BigInt.asIntN(32, root));
}

const sha256Start = primes.slice(0, 8).map((prime) => rootBits(prime, 2));
const sha256Rounds = primes.map((prime) => rootBits(prime, 3));

/** Returns the SHA-256 (FIPS 180-4) of a text in UTF-8, in hexadecimal. */
export function sha256(text) {
  const { view, length } = padded(text);
  view.setUint32(view.byteLength - 8, Math.floor(length / 0x2000_0000));
  view.setUint32(view.byteLength - 4, length << 3);
  const state = Int32Array.from(sha256Start);
  const words = new Int32Array(64);
  for (let block = 0; block < view.byteLength; block += 64) {
    for (let i = 0; i < 16; i += 1) words[i] = view.getInt32(block + 4 * i);
    for (let i = 16; i < 64; i += 1) {
      const early = words[i - 15];
      const late = words[i - 2];
      const s0 = rotateRight(early, 7) ^ rotateRight(early, 18) ^ (early >>> 3);
      const s1 = rotateRight(late, 17) ^ rotateRight(late, 19) ^ (late >>> 10);
      words[i] = words[i - 16] + s0 + words[i - 7] + s1;
    }
    addSha256Block(state, words);
  }
  return Array.from(state, hex).join("");
}

function addSha256Block(state, words) {
  let [a, b, c, d, e, f, g, h] = state;
  for (let i = 0; i < 64; i += 1) {
    const s1 = rotateRight(e, 6) ^ rotateRight(e, 11) ^ rotateRight(e, 25);
    const choice = (e & f) ^ (~e & g);
    const first = (h + s1 + choice + sha256Rounds[i] + words[i]) | 0;
    const s0 = rotateRight(a, 2) ^ rotateRight(a, 13) ^ rotateRight(a, 22);
    const majority = (a & b) ^ (a & c) ^ (b & c);
    [h, g, f, e, d, c, b] = [g, f, e, (d + first) | 0, c, b, a];
    a = (first + s0 + majority) | 0;
  }
  [a, b, c, d, e, f, g, h].forEach((word, at) => {
    state[at] += word;
  });
}

const md5Rounds = Array.from(
  { length: 64 },
  (_, i) => Math.floor(2 ** 32 * Math.abs(Math.sin(i + 1))) | 0,
);
const md5Turns = [
  [7, 12, 17, 22],
  [5, 9, 14, 20],
  [4, 11, 16, 23],
  [6, 10, 15, 21],
];

/** Returns the MD5 (RFC 1321) of a text in UTF-8, in hexadecimal. */
export function md5(text) {
  const { view, length } = padded(text);
  view.setUint32(view.byteLength - 8, length << 3, true);
  view.setUint32(view.byteLength - 4, Math.floor(length / 0x2000_0000), true);
  let [a0, b0, c0, d0] = [0x67452301, 0xefcdab89 | 0, 0x98badcfe | 0, 0x10325476];
  for (let block = 0; block < view.byteLength; block += 64) {
    let [a, b, c, d] = [a0, b0, c0, d0];
    for (let i = 0; i < 64; i += 1) {
      const round = i >> 4;
      const mixed = [(b & c) | (~b & d), (d & b) | (~d & c), b ^ c ^ d, c ^ (b | ~d)][round];
      const at = [i, 5 * i + 1, 3 * i + 5, 7 * i][round] & 15;
      const sum = (a + mixed + md5Rounds[i] + view.getInt32(block + 4 * at, true)) | 0;
      [a, d, c] = [d, c, b];
      b = (b + rotateLeft(sum, md5Turns[round][i & 3])) | 0;
    }
    [a0, b0, c0, d0] = [(a0 + a) | 0, (b0 + b) | 0, (c0 + c) | 0, (d0 + d) | 0];
  }
  const bytes = new DataView(new ArrayBuffer(16));
  [a0, b0, c0, d0].forEach((word, at) => {
    bytes.setInt32(4 * at, word, true);
  });
  return [0, 4, 8, 12].map((at) => hex(bytes.getInt32(at))).join("");
}

/** Returns a hash of 53 bits by the public algorithm cyrb53, which is fast and not secure. */
export function cyrb53(text, seed = 0) {
  const value = String(text);
  let high = 0xdeadbeef ^ seed;
  let low = 0x41c6ce57 ^ seed;
  for (let at = 0; at < value.length; at += 1) {
    const unit = value.charCodeAt(at);
    high = Math.imul(high ^ unit, 2_654_435_761);
    low = Math.imul(low ^ unit, 1_597_334_677);
  }
  const first = high;
  high =
    Math.imul(first ^ (first >>> 16), 2_246_822_507) ^ Math.imul(low ^ (low >>> 13), 3_266_489_909);
  low =
    Math.imul(low ^ (low >>> 16), 2_246_822_507) ^ Math.imul(high ^ (high >>> 13), 3_266_489_909);
  return 4_294_967_296 * (2_097_151 & low) + (high >>> 0);
}
