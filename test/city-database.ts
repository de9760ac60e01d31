/**
 * Builds a MaxMind DB file (format version 2.0) for IPv4 with one network: 203.0.113.0/24 is in
 * Ghent. Its search tree is a chain of 24 nodes with 24-bit records.
 */
export function cityDatabase(): Uint8Array {
  const nodes = 24;
  const bits = [203, 0, 113].flatMap((byte) => [...byte.toString(2).padStart(8, "0")].map(Number));
  const tree = bits.flatMap((bit, index) => {
    const next = index === nodes - 1 ? nodes + 16 : index + 1;
    const record = (value: number) => [value >> 16, (value >> 8) & 255, value & 255];
    return bit === 0 ? [...record(next), ...record(nodes)] : [...record(nodes), ...record(next)];
  });
  const text = (value: string) => [0x40 | value.length, ...Buffer.from(value)];
  const map = (entries: [string, number[]][]) => [
    0xe0 | entries.length,
    ...entries.flatMap(([key, value]) => [...text(key), ...value]),
  ];
  const uint16 = (value: number) => [0xa1, value];
  const uint32 = (value: number) => [0xc1, value];
  const data = map([["city", map([["names", map([["en", text("Ghent")]])]])]]);
  const metadata = map([
    ["binary_format_major_version", uint16(2)],
    ["binary_format_minor_version", uint16(0)],
    ["build_epoch", [0x01, 0x02, 1]],
    ["database_type", text("Test")],
    ["description", map([["en", text("Test")]])],
    ["ip_version", uint16(4)],
    ["languages", [0x01, 0x04, ...text("en")]],
    ["node_count", uint32(nodes)],
    ["record_size", uint16(24)],
  ]);
  const mark = [0xab, 0xcd, 0xef, ...Buffer.from("MaxMind.com")];
  return new Uint8Array([...tree, ...new Array(16).fill(0), ...data, ...mark, ...metadata]);
}
