/**
 * Sets the version and variant bits that make 16 bytes a version 4 UUID (RFC 9562). Changes the
 * bytes in place and returns them.
 */
export function markVersion4(bytes: Uint8Array): Uint8Array {
  bytes[6] = (bytes[6]! & 0x0f) | 0x40;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  return bytes;
}

/** Formats 16 bytes as a UUID: `8-4-4-4-12` hexadecimal digits. */
export function uuidText(bytes: Uint8Array): string {
  const hex = bytes.toHex();
  const [a, b, c, d] = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20)];
  return `${a}-${b}-${c}-${d}-${hex.slice(20)}`;
}

/** Parses a UUID into its 16 bytes; undefined when the text is no UUID. */
export function uuidBytes(text: string): Uint8Array | undefined {
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)) return undefined;
  return Uint8Array.fromHex(text.replaceAll("-", ""));
}
