import { describe, expect, test } from "bun:test";
import type { LogReader, LogWriter } from "../../src/log/event-log.ts";
import { firstTime, positionAt } from "../../src/log/time-search.ts";
import { appendEach, readAll, texts } from "./support.ts";

export interface OpenLog {
  writer: LogWriter<string>;
  reader: LogReader;
}

/** Appends texts one block each; returns where the log ended before each, and after the last. */
async function appendNoting(writer: LogWriter<string>, all: string[]): Promise<number[]> {
  const ends = [writer.durable()];
  for (const text of all) {
    await writer.append(text);
    ends.push(writer.durable());
  }
  return ends;
}

/** The time of a text that begins with one, as `12:some text` does. */
const timeOf = (bytes: Uint8Array) => Number.parseInt(Buffer.from(bytes).toString(), 10);

const textsOf = (read: [number, string][]) => read.map(([, text]) => text);

/** Promises of every event log. `open` opens the same log again when it gets the same name. */
export function describeEventLog(name: string, open: (log: string) => Promise<OpenLog>): void {
  describe(name, () => {
    let logs = 0;
    const fresh = () => `log-${logs++}`;

    test("starts empty", async () => {
      const { writer, reader } = await open(fresh());
      expect(writer.healthy()).toBe(true);
      expect([writer.durable(), reader.first(), reader.end()]).toEqual([0, 0, 0]);
      expect(await reader.read(0, 1000)).toEqual({ records: [], next: 0 });
      await writer.close();
    });

    test("returns the appended records in order, with ascending numbers", async () => {
      const { writer, reader } = await open(fresh());
      await Promise.all(texts(1000).map((text) => writer.append(text)));
      reader.advance(writer.durable());
      const read = await readAll(reader);
      expect(textsOf(read)).toEqual(texts(1000));
      const numbers = read.map(([sequence]) => sequence);
      expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
      expect(numbers[0]).toBe(0);
      expect(numbers.at(-1)).toBeLessThan(writer.durable());
      expect(await readAll(reader)).toEqual(read);
      await writer.close();
    });

    test("keeps empty records and every byte value", async () => {
      const { writer, reader } = await open(fresh());
      const odd = ["", "\u0000", "é€😀", "x".repeat(40_000)];
      await appendEach(writer, odd);
      reader.advance(writer.durable());
      expect(textsOf(await readAll(reader))).toEqual(odd);
      await writer.close();
    });

    test("keeps a record almost as large as a block", async () => {
      const { writer, reader } = await open(fresh());
      const large = ["x".repeat(349_000), "y", "z".repeat(349_000)];
      await Promise.all(large.map((text) => writer.append(text)));
      reader.advance(writer.durable());
      expect(textsOf(await readAll(reader))).toEqual(large);
      await expect(writer.append("x".repeat(400_000))).rejects.toThrow(RangeError);
      await writer.close();
    });

    test("keeps more small records than one block holds", async () => {
      const { writer, reader } = await open(fresh());
      const many = texts(20_000, "");
      await Promise.all(many.map((text) => writer.append(text)));
      reader.advance(writer.durable());
      expect(textsOf(await readAll(reader))).toEqual(many);
      await writer.close();
    });

    test("reads nothing beyond the durable end", async () => {
      const { writer, reader } = await open(fresh());
      const ends = await appendNoting(writer, texts(3));
      expect(await reader.read(0, 1000)).toEqual({ records: [], next: 0 });
      reader.advance(ends[2]!);
      expect(textsOf(await readAll(reader))).toEqual(texts(2));
      reader.advance(ends[1]!);
      expect(reader.end()).toBe(ends[2]!);
      reader.advance(ends[3]!);
      expect(textsOf(await readAll(reader, ends[2]))).toEqual(["record 2"]);
      await writer.close();
    });

    test("reads at least one block, then about as many bytes as requested", async () => {
      const { writer, reader } = await open(fresh());
      const ends = await appendNoting(writer, texts(100));
      reader.advance(writer.durable());
      const small = await reader.read(ends[10]!, 1);
      expect([small.records.length, small.next]).toEqual([1, ends[11]!]);
      const some = await reader.read(ends[10]!, 500);
      expect(some.records.length).toBeGreaterThan(5);
      expect(some.records.length).toBeLessThan(50);
      await writer.close();
    });

    test("reads from the middle of a block", async () => {
      const { writer, reader } = await open(fresh());
      await Promise.all(texts(10).map((text) => writer.append(text)));
      reader.advance(writer.durable());
      const all = await readAll(reader);
      expect(await readAll(reader, all[7]![0])).toEqual(all.slice(7));
      await writer.close();
    });

    test("serves several callers at different positions at once", async () => {
      const { writer, reader } = await open(fresh());
      const ends = await appendNoting(writer, texts(200));
      reader.advance(writer.durable());
      const starts = [0, 150, 3, 150, 77, 199, 0];
      const reads = await Promise.all(starts.map((start) => readAll(reader, ends[start]!, 64)));
      for (const [i, read] of reads.entries()) {
        expect(textsOf(read)).toEqual(texts(200).slice(starts[i]));
      }
      await writer.close();
    });

    test("continues at its end after it was closed", async () => {
      const log = fresh();
      let end = 0;
      for (let round = 0; round < 4; round++) {
        const { writer, reader } = await open(log);
        expect(writer.durable()).toBe(end);
        await Promise.all(texts(5, `round ${round}`).map((text) => writer.append(text)));
        end = writer.durable();
        reader.advance(end);
        const read = await readAll(reader);
        expect(read.at(-1)![1]).toBe(`round ${round} 4`);
        expect(read.length).toBe(round * 5 + 5);
        await writer.close();
        await reader.close();
      }
    });

    test("writes waiting records before it closes, and refuses later appends", async () => {
      const log = fresh();
      const { writer } = await open(log);
      const appended = Promise.all(texts(50).map((text) => writer.append(text)));
      await writer.close();
      await appended;
      await expect(writer.append("late")).rejects.toThrow("The event log is closed");
      const again = await open(log);
      expect(again.writer.durable()).toBe(writer.durable());
      again.reader.advance(again.writer.durable());
      expect(textsOf(await readAll(again.reader))).toEqual(texts(50));
      await again.writer.close();
    });

    test("trimming keeps what is at or above the position", async () => {
      const { writer, reader } = await open(fresh());
      const ends = await appendNoting(writer, texts(20));
      reader.advance(writer.durable());
      await reader.trim(ends[10]!);
      expect(reader.first()).toBeLessThanOrEqual(ends[10]!);
      expect(textsOf(await readAll(reader, ends[10]))).toEqual(texts(20).slice(10));
      await reader.trim(ends[20]!);
      await writer.append("after");
      reader.advance(writer.durable());
      expect(textsOf(await readAll(reader, ends[20]))).toEqual(["after"]);
      await writer.close();
    });

    test("has parts that ascend from its first number", async () => {
      const { writer, reader } = await open(fresh());
      const ends = await appendNoting(writer, texts(100));
      reader.advance(writer.durable());
      await readAll(reader);
      const parts = reader.parts();
      const starts = parts.map(({ first }) => first);
      expect(starts[0]).toBe(reader.first());
      expect(starts).toEqual([...new Set(starts)].sort((a, b) => a - b));
      expect(starts.at(-1)).toBeLessThanOrEqual(reader.end());
      const bytes = parts.reduce((sum, part) => sum + part.bytes, 0);
      expect(bytes).toBeGreaterThan(texts(100).join("").length);
      await reader.trim(ends[50]!);
      expect(reader.parts()[0]!.first).toBe(reader.first());
      // A log that is trimmed up to a part begins with that part.
      await reader.trim(reader.parts().at(-1)!.first);
      expect(reader.parts().length).toBe(1);
      expect(reader.parts()[0]!.first).toBe(reader.first());
      await writer.close();
    });

    test("finds the position of a time", async () => {
      const { writer, reader } = await open(fresh());
      expect(await positionAt(reader, 5, timeOf)).toBe(0);
      expect(await firstTime(reader, timeOf)).toBeUndefined();
      // Ten records of each even time, some in one block.
      const times = Array.from({ length: 300 }, (_, i) => 2 * Math.floor(i / 10));
      for (let i = 0; i < times.length; i += 3) {
        await Promise.all(times.slice(i, i + 3).map((time) => writer.append(`${time}:text`)));
      }
      reader.advance(writer.durable());
      const all = await readAll(reader);
      expect(await firstTime(reader, timeOf)).toBe(0);
      for (let time = -1; time <= 60; time++) {
        const from = await positionAt(reader, time, timeOf);
        const found = all.filter(([sequence]) => sequence >= from).map(([, text]) => text);
        expect(found).toEqual(times.filter((it) => it >= time).map((it) => `${it}:text`));
      }
      await writer.close();
    });

    test("finds a position within the step when the clock was set back", async () => {
      const { writer, reader } = await open(fresh());
      const times = [0, 10, 20, 30, 40, 25, 28, 33, 45, 50, 42, 60, 70];
      const backMax = 15;
      await appendEach(
        writer,
        times.map((time) => `${time}:text`),
      );
      reader.advance(writer.durable());
      const all = await readAll(reader);
      for (let time = -1; time <= 71; time++) {
        const at = await positionAt(reader, time, timeOf);
        const before = times.filter((_, i) => all[i]![0] < at);
        const from = times.filter((_, i) => all[i]![0] >= at);
        expect(Math.max(...before, -1)).toBeLessThan(time + backMax);
        expect(Math.min(...from, 99)).toBeGreaterThanOrEqual(time - backMax);
        expect(before.length === 0 || before.at(-1)! < time).toBe(true);
        expect(from.length === 0 || from[0]! >= time).toBe(true);
      }
      await writer.close();
    });

    test("passes over records without a time", async () => {
      const { writer, reader } = await open(fresh());
      const all = ["odd", "1:a", "odd", "odd", "3:b", "odd"];
      await appendEach(writer, all);
      reader.advance(writer.durable());
      const at = async (time: number) => {
        const position = await positionAt(reader, time, timeOf);
        return textsOf(await readAll(reader, position)).filter((text) => text !== "odd");
      };
      expect(await firstTime(reader, timeOf)).toBe(1);
      expect(await at(0)).toEqual(["1:a", "3:b"]);
      expect(await at(2)).toEqual(["3:b"]);
      expect(await at(4)).toEqual([]);
      await writer.close();
    });
  });
}
