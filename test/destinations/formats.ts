import { parquetReadObjects } from "hyparquet";

/** Events of a file that a destination wrote, read by another library than the one that writes. */
export async function eventsOf(name: string, bytes: Uint8Array): Promise<unknown[]> {
  if (name.endsWith(".parquet")) return (await rowsOf(bytes)).map(({ payload }) => payload);
  const text = name.endsWith(".gz") ? Bun.gunzipSync(new Uint8Array(bytes)) : bytes;
  const lines = Buffer.from(text).toString().split("\n");
  if (lines.pop() !== "") throw new Error("Expected a line break at the end");
  return lines.map((line) => JSON.parse(line));
}

/** Rows of a Parquet file. */
export async function rowsOf(bytes: Uint8Array): Promise<Record<string, unknown>[]> {
  const file = new Uint8Array(bytes).buffer;
  return await parquetReadObjects({
    file,
    compressors: { ZSTD: (page: Uint8Array) => new Uint8Array(Bun.zstdDecompressSync(page)) },
  });
}
