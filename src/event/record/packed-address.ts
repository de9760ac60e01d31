import ipaddr from "ipaddr.js";

/** The bytes of an empty address. At first, `lastBytes` has this value and `lastText` is empty. */
const none = new Uint8Array(0);

/**
 * The address that was converted last, as text and as bytes. Usually all events of a batch have the
 * same address.
 */
let lastText = "";
let lastBytes = none;

/**
 * Returns the 4 bytes of an IPv4 address or the 16 bytes of an IPv6 address. Returns undefined for
 * a string that `unpackAddress` would not restore exactly; the caller then stores the string.
 */
export function packAddress(text: string): Uint8Array | undefined {
  if (text === lastText) return lastBytes;
  if (!ipaddr.isValid(text)) return undefined;
  const bytes = Uint8Array.from(ipaddr.parse(text).toByteArray());
  if (ipaddr.fromByteArray([...bytes]).toString() !== text) return undefined;
  lastText = text;
  lastBytes = bytes;
  return bytes;
}

/** Returns the text of an address of 4 or 16 bytes. */
export function unpackAddress(bytes: Uint8Array): string {
  let isEqual = bytes.length === lastBytes.length;
  for (let i = 0; isEqual && i < bytes.length; i++) isEqual = bytes[i] === lastBytes[i];
  if (isEqual) return lastText;
  lastText = ipaddr.fromByteArray([...bytes]).toString();
  lastBytes = Uint8Array.from(bytes);
  return lastText;
}
