import { afterEach, describe, expect, jest, setDefaultTimeout, test } from "bun:test";
import { Packr } from "msgpackr";
import type { NodeBus } from "../../src/cluster/node-bus/node-bus.ts";
import { createNodeRpc, type NodeRpc } from "../../src/cluster/node-bus/node-rpc.ts";
import { exchanges } from "./memory-bus.ts";

// Answers are waited for as long as a busy machine may take, where they are to come.
const LONG_MS = 240_000;
const SHORT_MS = 50;
setDefaultTimeout(300_000);

describe("requests of a node", () => {
  const open: NodeRpc[] = [];
  afterEach(() => {
    for (const questions of open.splice(0)) questions.close();
  });
  const nodes = (count: number, expected: string[], answerMsMax: number) => {
    const { all, told } = exchanges(count);
    const made = all.map((bus, at) =>
      createNodeRpc({ bus, node: `node-${at}`, expected: () => expected, answerMsMax }),
    );
    open.push(...made);
    return { made, told };
  };

  test("are answered by all other nodes, also with large responses", async () => {
    const { made } = nodes(3, ["node-0", "node-1", "node-2"], LONG_MS);
    for (const { node, answerWith } of made) {
      answerWith((question) => ({ node, question, text: node.repeat(100_000) }));
    }
    const { answers, missing } = await made[0]!.ask(["what", 1]);
    expect(missing).toEqual([]);
    expect([...answers.keys()].sort()).toEqual(["node-1", "node-2"]);
    for (const [node, answer] of answers) {
      expect(answer).toEqual({ node, question: ["what", 1], text: node.repeat(100_000) });
    }
  });

  test("report nodes that are gone, do not answer, throw, or answer with too many bytes", async () => {
    const { made } = nodes(4, ["gone", "node-1", "node-2", "node-3"], SHORT_MS);
    made[2]!.answerWith(() => {
      throw new Error("Unknown");
    });
    made[3]!.answerWith(() => "x".repeat(3 << 20));
    const { answers, missing } = await made[0]!.ask("what");
    expect(answers.size).toBe(0);
    expect(missing).toEqual(["gone", "node-1", "node-2", "node-3"]);
  });

  test("tell nodes that answer too late from nodes of which nothing is heard", async () => {
    const { made } = nodes(2, ["gone"], SHORT_MS);
    while (!made[0]!.heard().has("node-1")) await made[0]!.ask(crypto.randomUUID());
    const { missing } = await made[0]!.ask("what");
    expect(missing).toEqual(["gone", "node-1"]);
    expect([...made[0]!.heard()]).toEqual(["node-1"]);
    made[1]!.close();
    while (made[0]!.heard().size > 0) await Bun.sleep(1);
  });

  test("go to every known node until the node announces its end", async () => {
    const { made } = nodes(2, [], SHORT_MS);
    const missing = async () => (await made[0]!.ask(crypto.randomUUID())).missing;
    while ((await missing()).length === 0) await Bun.sleep(1);
    expect(await missing()).toEqual(["node-1"]);
    made[1]!.close();
    while ((await missing()).length > 0) await Bun.sleep(1);
  });

  test("that several callers make at the same time are sent once", async () => {
    const { made, told } = nodes(2, ["node-1"], LONG_MS);
    let count = 0;
    made[1]!.answerWith(() => ++count);
    const all = await Promise.all(Array.from({ length: 100 }, () => made[0]!.ask("same")));
    expect(all.every(({ answers }) => answers.get("node-1") === 1)).toBe(true);
    expect((await made[0]!.ask("same")).answers.get("node-1")).toBe(1);
    expect(told.filter((message) => (message as unknown[])[0] === "asks")).toHaveLength(1);
  });

  test("ignore unrelated messages, and stay unanswered", async () => {
    const { all } = exchanges(2);
    const questions = createNodeRpc({
      ...{ bus: all[0]!, node: "node-0", expected: () => ["node-1"] },
      answerMsMax: SHORT_MS,
    });
    open.push(questions);
    all[1]!.subscribe((message) => {
      const [kind, id] = message as [string, string];
      if (kind !== "asks") return;
      for (const strange of [null, "x", ["answers"], ["answers", id, "node-1", 0, 1, "text"]]) {
        all[1]!.publish(strange);
      }
      all[1]!.publish(["replies", id, "node-1", 0, 1, new Uint8Array([1])]);
      all[1]!.publish(["answers", id, "node-1", 0, 1, new Uint8Array([0xd9])]);
      all[1]!.publish(["answers", id, "node-1", 5, 1, new Uint8Array([1])]);
    });
    expect((await questions.ask("what")).missing).toEqual(["node-1"]);
  });
});

describe("a node whose clock stands", () => {
  const packr = new Packr({ useRecords: false });
  const ANSWER_MS = 10;
  const open: NodeRpc[] = [];
  afterEach(() => {
    for (const node of open.splice(0)) node.close();
    jest.useRealTimers();
  });

  /** A node, and a bus that delivers at once, on which a test speaks for all other nodes. */
  function nodeWith(expected: string[] = []) {
    jest.useFakeTimers();
    const told: unknown[][] = [];
    const listeners = new Set<(message: unknown) => void>();
    const bus: NodeBus = {
      publish: (message) => void told.push(message as unknown[]),
      subscribe(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
      trouble: () => "not written",
      async close() {},
    };
    const node = createNodeRpc({
      ...{ bus, node: "own", expected: () => expected, answerMsMax: ANSWER_MS },
    });
    open.push(node);
    const hear = (...message: unknown[]) => {
      for (const listener of listeners) listener(message);
    };
    const sent = (kind: string) => told.filter((message) => message[0] === kind);
    /** The answers to a question once all time for it has passed. */
    const askedLate = (question: unknown) => {
      const asked = node.ask(question);
      jest.advanceTimersByTime(ANSWER_MS);
      return asked;
    };
    return { node, told, hear, sent, askedLate, listeners };
  }
  const turns = async () => {
    for (let turn = 0; turn < 20; turn++) await null;
  };

  test("announces itself every two seconds, and its end once", () => {
    const { node, told, listeners } = nodeWith();
    expect(told).toEqual([["here", "own"]]);
    jest.advanceTimersByTime(1_999);
    expect(told).toHaveLength(1);
    jest.advanceTimersByTime(4_001);
    expect(told).toEqual(Array(4).fill(["here", "own"]));
    expect([node.node, node.trouble()]).toEqual(["own", "not written"]);
    node.close();
    node.close();
    jest.advanceTimersByTime(10_000);
    expect(told.slice(4)).toEqual([["gone", "own"]]);
    expect(listeners.size).toBe(0);
  });

  test("takes another node for silent after 6 s, and waits for it up to 10 s after it was heard", async () => {
    const { node, hear, sent, askedLate } = nodeWith();
    hear("here", "a");
    hear("here", 7);
    jest.advanceTimersByTime(5_999);
    expect([...node.heard()]).toEqual(["a"]);
    jest.advanceTimersByTime(2);
    expect([...node.heard()]).toEqual([]);
    jest.advanceTimersByTime(3_980);
    expect(await askedLate("one")).toEqual({ answers: new Map(), missing: ["a"] });
    expect((await askedLate("two")).missing).toEqual(["a"]);
    expect(await node.ask("three")).toEqual({ answers: new Map(), missing: [] });
    expect(sent("asks").map(([, , question]) => question)).toEqual(["one", "two"]);
  });

  test("takes a late answer for a sign of its node, unless it has forgotten that node", () => {
    const { node, hear } = nodeWith();
    const answerLate = (from: string) => hear("answers", "old", from, 0, 1, new Uint8Array(1));
    hear("here", "a");
    jest.advanceTimersByTime(8_000);
    answerLate("a");
    answerLate("b");
    expect([...node.heard()]).toEqual(["a"]);
    jest.advanceTimersByTime(13_000);
    answerLate("a");
    expect([...node.heard()]).toEqual([]);
  });

  test("remembers a bounded number of nodes, and renews those that it knows", () => {
    const { node, hear } = nodeWith();
    for (let n = 0; n <= 1_000; n++) hear("here", `a${n}`);
    expect(node.heard().size).toBe(1_000);
    jest.advanceTimersByTime(5_000);
    for (const id of ["a0", "a1000"]) hear("here", id);
    jest.advanceTimersByTime(2_000);
    expect([...node.heard()]).toEqual(["a0"]);
    hear("gone", "a0");
    expect(node.heard().size).toBe(0);
  });

  test("asks other nodes alone, and names those that are missing in order", async () => {
    const { node, sent, askedLate } = nodeWith(["own"]);
    expect((await node.ask("what")).missing).toEqual([]);
    expect(sent("asks")).toEqual([]);
    const other = nodeWith(["c", "own", "a"]);
    expect((await other.askedLate("what")).missing).toEqual(["a", "c"]);
    expect((await askedLate("why")).missing).toEqual([]);
  });

  test("sends no question while a thousand wait for answers", async () => {
    const { node, sent } = nodeWith(["b", "a"]);
    const asked = Array.from({ length: 1_000 }, (_, n) => node.ask(n));
    expect(sent("asks")).toHaveLength(1_000);
    expect(await node.ask("more")).toEqual({ answers: new Map(), missing: ["a", "b"] });
    expect(sent("asks")).toHaveLength(1_000);
    jest.advanceTimersByTime(ANSWER_MS);
    await Promise.all(asked);
    void node.ask("later");
    expect(sent("asks")).toHaveLength(1_001);
  });

  test("sends an equal question again half a second after its answers", async () => {
    const { node, sent, askedLate } = nodeWith(["a"]);
    const first = await askedLate("what");
    jest.advanceTimersByTime(499);
    expect(await node.ask("what")).toBe(first);
    expect(sent("asks")).toHaveLength(1);
    jest.advanceTimersByTime(1);
    await askedLate("what");
    expect(sent("asks")).toHaveLength(2);
  });

  test("keeps the answers of at most 200 questions", async () => {
    const { node, sent } = nodeWith(["a"]);
    const asked = Array.from({ length: 202 }, (_, n) => node.ask(n));
    jest.advanceTimersByTime(ANSWER_MS);
    await Promise.all(asked);
    await turns();
    for (const n of [0, 1]) void node.ask(n);
    expect(sent("asks")).toHaveLength(204);
    for (const n of [2, 201]) void node.ask(n);
    expect(sent("asks")).toHaveLength(204);
  });

  test("puts answers together from pieces that come in order, and from at most eight", async () => {
    const { node, hear, sent } = nodeWith(["a", "b", "c"]);
    const asked = node.ask("what");
    const id = sent("asks")[0]![1];
    const bytes = packr.encode("x".repeat(20));
    const piece = (index: number, count: number) => {
      const size = Math.ceil(bytes.length / count);
      return bytes.subarray(index * size, (index + 1) * size);
    };
    const answer = (from: string, index: number, count: number) =>
      hear("answers", id, from, index, count, piece(index, count));
    for (const index of [1, 0, 0, 1]) answer("a", index, 2);
    for (let index = 0; index < 8; index++) answer("b", index, 8);
    for (let index = 0; index < 9; index++) answer("c", index, 9);
    hear("answers", id, "a", 0, 1, packr.encode("another"));
    jest.advanceTimersByTime(ANSWER_MS);
    const { answers, missing } = await asked;
    const text = "x".repeat(20);
    expect([[...answers], missing]).toEqual([
      [
        ["a", text],
        ["b", text],
      ],
      ["c"],
    ]);
  });

  test("has its answers as soon as all other nodes have answered", async () => {
    const { node, hear, sent } = nodeWith(["a", "b"]);
    const asked = node.ask("what");
    const id = sent("asks")[0]![1];
    for (const from of ["b", "a"]) hear("answers", id, from, 0, 1, packr.encode(from));
    expect(await asked).toEqual({
      answers: new Map([
        ["b", "b"],
        ["a", "a"],
      ]),
      missing: [],
    });
  });

  test("answers in pieces of 256 KiB, of 2 MiB at most, until it is closed", async () => {
    const { node, hear, sent } = nodeWith();
    let before = 0;
    const piecesOf = async (question: unknown) => {
      hear("asks", "id", question);
      await turns();
      // Each answer is followed by a pause.
      jest.advanceTimersByTime(1);
      const pieces = sent("answers").slice(before);
      before += pieces.length;
      return pieces.map(([, id, from, index, count, piece]) => [
        ...[id, from, index, count, (piece as Uint8Array).length],
      ]);
    };
    expect(await piecesOf(1)).toEqual([]);
    // MessagePack writes the length of these bytes in five bytes.
    node.answerWith((bytes) => Buffer.alloc(Number(bytes) - 5));
    const KIB_256 = 256 << 10;
    expect(await piecesOf(KIB_256)).toEqual([["id", "own", 0, 1, KIB_256]]);
    expect(await piecesOf(KIB_256 + 1)).toEqual([
      ["id", "own", 0, 2, KIB_256],
      ["id", "own", 1, 2, 1],
    ]);
    expect(await piecesOf(2 << 20)).toHaveLength(8);
    expect(await piecesOf((2 << 20) + 1)).toEqual([]);
    node.answerWith(() => {
      throw new Error("Unknown");
    });
    expect(await piecesOf(1)).toEqual([]);
    node.answerWith(() => "late");
    hear("asks", "id", 1);
    node.close();
    await turns();
    expect(sent("answers")).toHaveLength(before);
  });
});
