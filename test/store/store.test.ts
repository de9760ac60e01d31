import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { ApiError } from "../../src/errors.ts";
import { openStore } from "../../src/store/lmdb/lmdb-store.ts";
import { until } from "../pipeline/rig.ts";
import { failMetaWrites } from "./disk.ts";

const directory = realpathSync(mkdtempSync(join(tmpdir(), "store-")));
afterAll(() => rmSync(directory, { recursive: true }));

let stores = 0;

function freshStore() {
  const path = join(directory, String(stores++));
  const lines: string[] = [];
  const logger = pino({ level: "info" }, { write: (line: string) => void lines.push(line) });
  const store = openStore({ path, name: "The store", logger });
  const said = () => lines.map((line) => JSON.parse(line).msg as string);
  return { store, said, numbers: store.table<number, string>("numbers"), path };
}

describe("a store", () => {
  test("stores all of a change or nothing, and tells apart what came together", async () => {
    const { store, numbers } = freshStore();
    const refusal = new ApiError("conflict", "Taken");
    const outcomes = await Promise.allSettled([
      store.change(() => numbers.put("a", 1)),
      store.change(() => {
        numbers.put("a", 2);
        throw refusal;
      }),
      store.change(() => numbers.put("b", (numbers.get("a") ?? 0) + 1)),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(outcomes[1]).toMatchObject({ reason: refusal });
    expect([...numbers.getRange({})]).toEqual([
      { key: "a", value: 1 },
      { key: "b", value: 2 },
    ]);
    expect(() => numbers.put("c", 3)).toThrow("Expected a change of numbers");
    await store.close();
    await expect(store.change(() => {})).rejects.toThrow("The store is closed");
    expect(() => numbers.get("a")).toThrow("The store is closed");
  });

  test.skipIf(process.platform !== "linux")(
    "continues after a failed write of a meta page, which LMDB does not",
    async () => {
      const { store, numbers, said, path } = freshStore();
      await store.change(() => numbers.put("before", 1));
      failMetaWrites(join(path, "data.mdb"));
      await new Promise(setImmediate);
      const names = ["x", "y", "z"];
      const together = names.map((name) => store.change(() => numbers.put(name, 1)));
      const outcomes = await Promise.allSettled(together);
      // The first one goes to the disk alone, those that came meanwhile after it.
      expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "fulfilled", "fulfilled"]);
      expect(outcomes[0]).toMatchObject({ reason: { refusal: "unavailable" } });
      expect(numbers.get("before")).toBe(1);
      expect(numbers.get("z")).toBe(1);
      expect(said()).toEqual(["The store cannot be written", "The store can be written again"]);
      await store.close();
    },
  );

  test.skipIf(process.platform !== "linux")(
    "reports its trouble until one of its probes succeeds, without any further change",
    async () => {
      const { store, numbers, path } = freshStore();
      failMetaWrites(join(path, "data.mdb"));
      expect(store.trouble()).toBeUndefined();
      await expect(store.change(() => numbers.put("x", 1))).rejects.toThrow("could not be stored");
      expect(store.trouble()).toStartWith("The store cannot be written: the disk of ");
      // A transaction without writes says nothing about the disk.
      await store.change(() => {});
      const refused = store.change(() => {
        throw new ApiError("conflict", "Taken");
      });
      await expect(refused).rejects.toThrow("Taken");
      expect(store.trouble()).toStartWith("The store cannot be written: the disk of ");
      await until(() => store.trouble() === undefined, "a probe");
      // The row that a probe writes is no table.
      expect(store.tables()).toEqual(["numbers"]);
      await store.close();
    },
  );
});
