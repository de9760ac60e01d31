import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
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
      all[1]!.publish(["answers", id, "node-1", 0, 1, new Uint8Array([0xd9])]);
      all[1]!.publish(["answers", id, "node-1", 5, 1, new Uint8Array([1])]);
    });
    expect((await questions.ask("what")).missing).toEqual(["node-1"]);
  });
});
