import { describe, expect, test } from "bun:test";
import type { LogReader, LogWriter } from "../../src/log/event-log.ts";
import { appendEach, readAll, texts } from "./support.ts";

export interface OpenLog {
  writer: LogWriter<string>;
  reader: LogReader;
}

/** What every event log promises. `open` opens the same log again when it is told the same name. */
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

    test("gives back what was appended, in order, numbered from 0", async () => {
      const { writer, reader } = await open(fresh());
      await Promise.all(texts(1000).map((text) => writer.append(text)));
      expect(writer.durable()).toBe(1000);
      reader.advance(writer.durable());
      expect(await readAll(reader)).toEqual(texts(1000).map((text, i) => [i, text]));
      await writer.close();
    });

    test("keeps empty records and every byte value", async () => {
      const { writer, reader } = await open(fresh());
      const odd = ["", "\u0000", "é€😀", "x".repeat(40_000)];
      await appendEach(writer, odd);
      reader.advance(4);
      expect((await readAll(reader)).map(([, text]) => text)).toEqual(odd);
      await writer.close();
    });

    test("reads nothing that it was not told to be durable", async () => {
      const { writer, reader } = await open(fresh());
      await appendEach(writer, texts(3));
      expect(await reader.read(0, 1000)).toEqual({ records: [], next: 0 });
      reader.advance(2);
      expect((await readAll(reader)).map(([sequence]) => sequence)).toEqual([0, 1]);
      reader.advance(1);
      expect(reader.end()).toBe(2);
      reader.advance(3);
      expect((await readAll(reader, 2)).map(([sequence]) => sequence)).toEqual([2]);
      await writer.close();
    });

    test("reads at least one block, and then about as much as was asked for", async () => {
      const { writer, reader } = await open(fresh());
      await appendEach(writer, texts(100));
      reader.advance(100);
      const small = await reader.read(10, 1);
      expect([small.records.length, small.next]).toEqual([1, 11]);
      const some = await reader.read(10, 500);
      expect(some.records.length).toBeGreaterThan(5);
      expect(some.records.length).toBeLessThan(50);
      await writer.close();
    });

    test("reads from the middle of a block", async () => {
      const { writer, reader } = await open(fresh());
      await Promise.all(texts(10).map((text) => writer.append(text)));
      reader.advance(10);
      expect((await readAll(reader, 7)).map(([sequence]) => sequence)).toEqual([7, 8, 9]);
      await writer.close();
    });

    test("serves several callers at different positions at once", async () => {
      const { writer, reader } = await open(fresh());
      await appendEach(writer, texts(200));
      reader.advance(200);
      const starts = [0, 150, 3, 150, 77, 199, 0];
      const reads = await Promise.all(starts.map((start) => readAll(reader, start, 64)));
      for (const [i, read] of reads.entries()) {
        expect(read.map(([sequence]) => sequence)).toEqual(
          Array.from({ length: 200 - starts[i]! }, (_, j) => starts[i]! + j),
        );
      }
      await writer.close();
    });

    test("goes on where it ended after it was closed", async () => {
      const log = fresh();
      for (let round = 0; round < 4; round++) {
        const { writer, reader } = await open(log);
        expect(writer.durable()).toBe(round * 5);
        await Promise.all(texts(5, `round ${round}`).map((text) => writer.append(text)));
        reader.advance(writer.durable());
        expect((await readAll(reader)).at(-1)).toEqual([round * 5 + 4, `round ${round} 4`]);
        expect((await readAll(reader)).length).toBe(round * 5 + 5);
        await writer.close();
        await reader.close();
      }
    });

    test("writes what waits before it closes, and refuses appends after", async () => {
      const log = fresh();
      const { writer } = await open(log);
      const appended = Promise.all(texts(50).map((text) => writer.append(text)));
      await writer.close();
      await appended;
      expect(writer.durable()).toBe(50);
      expect(writer.append("late")).rejects.toThrow("The event log is closed");
      const again = await open(log);
      expect(again.writer.durable()).toBe(50);
      await again.writer.close();
    });

    test("trimming keeps what is at or above the position", async () => {
      const { writer, reader } = await open(fresh());
      await appendEach(writer, texts(20));
      reader.advance(20);
      await reader.trim(10);
      expect(reader.first()).toBeLessThanOrEqual(10);
      expect((await readAll(reader, 10)).length).toBe(10);
      await reader.trim(20);
      await writer.append("after");
      reader.advance(21);
      expect(await readAll(reader, 20)).toEqual([[20, "after"]]);
      await writer.close();
    });
  });
}
