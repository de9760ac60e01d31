import { Packr } from "msgpackr";
import { TimeSlicer } from "../../concurrency/time-slicer.ts";
import type { NodeBus } from "./node-bus.ts";

/** Outcome of one question of this node to all other nodes. */
export interface NodeAnswers {
  /** Answers of the nodes that answered in time, by node id. */
  answers: ReadonlyMap<string, unknown>;
  /** Sorted ids of the nodes that did not answer in time. */
  missing: string[];
}

/** Sends questions to all other nodes of the cluster and collects their answers. */
export type NodeRpc = ReturnType<typeof createNodeRpc>;

export interface NodeRpcOptions {
  bus: NodeBus;
  /** Id of this node in the cluster. The answers of this node contain it. */
  node: string;
  /**
   * Returns the ids of nodes for whose answers `ask` waits even if they have not announced
   * themselves. `ask` also waits for all nodes that announced themselves in the last `PRESENT_MS`
   * milliseconds before the question.
   */
  expected(): Iterable<string>;
  /** Longest time in milliseconds that `ask` waits for answers. */
  answerMsMax?: number;
}

/**
 * Milliseconds between two announcements of this node. A node that asks a question waits for the
 * answers of the nodes that announced themselves.
 */
const ANNOUNCE_MS = 2_000;
/** Milliseconds after a node's announcement during which other nodes wait for its answers. */
const PRESENT_MS = 10_000;
/** Milliseconds without an announcement or answer after which a node counts as silent. */
const SILENT_MS = 3 * ANNOUNCE_MS;
/**
 * Maximum number of other nodes that this node remembers from their announcements. Announcements of
 * further nodes are ignored.
 */
const NODES_MAX = 1_000;
const ANSWER_MS_MAX = 2_000;
/**
 * Milliseconds for which this node keeps the answers to a question, and returns them for an equal
 * question. Answers are not kept if more than `SERVED_MAX` questions wait for answers or have kept
 * answers.
 */
const SERVE_MS = 500;
const SERVED_MAX = 200;
/**
 * Maximum number of questions of this node that wait for answers at the same time. A further
 * question is not sent, and its result has no answers.
 */
const QUESTIONS_MAX = 1_000;
/** Maximum bytes of an answer. A node does not send a larger answer. */
const ANSWER_BYTES_MAX = 2 << 20;
const PIECE_BYTES = 256 << 10;
const PIECES_MAX = Math.ceil(ANSWER_BYTES_MAX / PIECE_BYTES);

type Message =
  | ["here", node: string]
  | ["gone", node: string]
  | ["asks", id: string, question: unknown]
  | ["answers", id: string, node: string, index: number, count: number, piece: Uint8Array];

interface Asked {
  /** Ids of the nodes whose answers to the question have not arrived yet. */
  awaited: Set<string>;
  answers: Map<string, unknown>;
  pieces: Map<string, Uint8Array[]>;
  isAnswered(): void;
}

const packr = new Packr({ useRecords: false });

/**
 * Creates a `NodeRpc` that sends its messages over the node bus, which broadcasts to all nodes.
 * Nodes may start and stop at any time.
 */
export function createNodeRpc(options: NodeRpcOptions) {
  const { bus, node, expected, answerMsMax = ANSWER_MS_MAX } = options;
  /** Time by `performance.now` of each other node's last announcement or answer, by node id. */
  const heardAt = new Map<string, number>();
  const asked = new Map<string, Asked>();
  const serving = new Map<string, Promise<NodeAnswers>>();
  /**
   * Computes the answers to questions of other nodes one by one, with pauses for other work of this
   * node, because an answer takes long to compute.
   */
  const slices = new TimeSlicer();
  let isClosed = false;
  let answer: ((question: unknown) => unknown) | undefined;

  const tell = (message: Message) => bus.publish(message);
  const saying = setInterval(() => {
    tell(["here", node]);
    for (const id of heardAt.keys()) if (!isHeard(id, PRESENT_MS)) heardAt.delete(id);
  }, ANNOUNCE_MS);
  tell(["here", node]);

  const stop = bus.subscribe((message) => {
    if (!isMessage(message)) return;
    if (message[0] === "here") believe(message[1]);
    else if (message[0] === "gone") heardAt.delete(message[1]);
    else if (message[0] === "asks") void slices.run(() => give(message[1], message[2]));
    else {
      // A late answer also shows that its node is present.
      if (heardAt.has(message[2])) believe(message[2]);
      take(message);
    }
  });

  function believe(id: string): void {
    if (heardAt.has(id) || heardAt.size < NODES_MAX) heardAt.set(id, performance.now());
  }

  function isHeard(id: string, withinMs: number): boolean {
    return performance.now() - (heardAt.get(id) ?? Number.NEGATIVE_INFINITY) <= withinMs;
  }

  function give(id: string, question: unknown): void {
    let bytes: Uint8Array;
    try {
      if (answer === undefined || isClosed) return;
      bytes = packr.encode(answer(question));
    } catch {
      return;
    }
    if (bytes.length > ANSWER_BYTES_MAX) return;
    const count = Math.max(1, Math.ceil(bytes.length / PIECE_BYTES));
    for (let index = 0; index < count; index += 1) {
      const piece = bytes.subarray(index * PIECE_BYTES, (index + 1) * PIECE_BYTES);
      tell(["answers", id, node, index, count, piece]);
    }
  }

  /**
   * Adds one piece of an answer to the pieces received before. The pieces from one node arrive in
   * order. If one is lost, the node's later pieces are ignored, so its answer is missing.
   */
  function take([, id, from, index, count, piece]: Message & { 0: "answers" }): void {
    const question = asked.get(id);
    if (question === undefined || question.answers.has(from) || count > PIECES_MAX) return;
    const pieces = question.pieces.getOrInsert(from, []);
    if (index !== pieces.length) return;
    pieces.push(piece);
    if (pieces.length < count) return;
    const answer = decode(Buffer.concat(pieces));
    if (answer === undefined) return;
    question.answers.set(from, answer);
    question.awaited.delete(from);
    if (question.awaited.size === 0) question.isAnswered();
  }

  async function put(question: unknown): Promise<NodeAnswers> {
    const lately = heardAt.keys().filter((id) => isHeard(id, PRESENT_MS));
    const awaited = new Set([...expected(), ...lately]);
    awaited.delete(node);
    if (awaited.size === 0 || asked.size >= QUESTIONS_MAX) {
      return { answers: new Map(), missing: [...awaited].sort() };
    }
    const all = Promise.withResolvers<void>();
    const id = crypto.randomUUID();
    const answers = new Map<string, unknown>();
    asked.set(id, { awaited, answers, pieces: new Map(), isAnswered: all.resolve });
    const late = setTimeout(all.resolve, answerMsMax);
    tell(["asks", id, question]);
    await all.promise;
    clearTimeout(late);
    asked.delete(id);
    return { answers, missing: [...awaited].sort() };
  }

  function serve(key: string, answers: Promise<NodeAnswers>): Promise<NodeAnswers> {
    serving.set(key, answers);
    const end = () => serving.delete(key);
    void answers.then(() => {
      if (serving.size > SERVED_MAX) end();
      else setTimeout(end, SERVE_MS).unref();
    });
    return answers;
  }

  return {
    /** Id of this node in the cluster. */
    node,
    /**
     * Sends a question to all other nodes, and resolves with the answers that arrive in time. An
     * equal question, asked during the wait or within `SERVE_MS` after it, gets the same answers.
     * Never rejects.
     */
    ask(question: unknown) {
      const key = JSON.stringify(question);
      return serving.get(key) ?? serve(key, put(question));
    },
    /**
     * Sets the function that answers the questions of other nodes. The API calls this once, at its
     * start. When the function throws, this node sends no answer.
     */
    answerWith(given: (question: unknown) => unknown) {
      answer = given;
    },
    /**
     * Returns a sentence that says why questions of this node do not reach the other nodes, or
     * `undefined` while they do.
     */
    trouble: () => bus.trouble(),
    /** Returns the ids of other nodes whose announcement or answer came within `SILENT_MS`. */
    heard: () => new Set(heardAt.keys().filter((id) => isHeard(id, SILENT_MS))),
    close() {
      if (isClosed) return;
      isClosed = true;
      clearInterval(saying);
      tell(["gone", node]);
      stop();
    },
  };
}

function decode(bytes: Uint8Array): unknown {
  try {
    return packr.decode(bytes);
  } catch {
    return undefined;
  }
}

function isMessage(message: unknown): message is Message {
  if (!Array.isArray(message)) return false;
  const [kind, id, from, index, count, piece] = message;
  if (typeof id !== "string") return false;
  if (kind === "here" || kind === "gone" || kind === "asks") return true;
  if (kind !== "answers" || typeof from !== "string") return false;
  return Number.isInteger(index) && Number.isInteger(count) && piece instanceof Uint8Array;
}
