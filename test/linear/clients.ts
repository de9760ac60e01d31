import type { Node } from "../crash/node.ts";
import { Board } from "./board.ts";
import { answerOf, httpCall, Names } from "./calls.ts";
import type { Call } from "./checker.ts";
import { type Answer, isRead, type Request } from "./group.ts";

export interface ClientsOptions {
  clients: number;
  /** Number of answered calls that all clients make together. */
  calls: number;
  /** Number of concurrent groups: the fewer, the more calls of clients conflict. */
  groups: number;
}

/** Call with the node that received it. */
export type GroupCall = Call<Request, Answer> & { node: string };

/** Calls after which a new group replaces a group: the check's time grows with the history. */
const CALLS_OF_GROUP = 150;
/** Time for which clients avoid a node after a failure, like a load balancer. */
const REST_MS = 2_000;
const PAUSE_MS = 50;
/** Delay of a retry after a 503, as in its `Retry-After`. */
const RETRY_MS = 1_000;
/** Client timeout: most clients outlast a hanging node and get its answer; some give up. */
const patienceMs = () => (Math.random() < 0.1 ? 2_000 : 30_000);
/** Attempts to delete an item of a retired group. */
const DELETION_ATTEMPTS = 3;
/** Longest time without an answer to any client while a node is up. */
const GO_ON_MS_MAX = 240_000;

class Work {
  readonly calls: GroupCall[] = [];
  begun = 0;
  underWay = 0;
  constructor(
    readonly name: string,
    readonly board: Board,
  ) {}
}

/** Clients that call random nodes, each after the previous answer, and record the answers. */
export class Clients {
  /** Recorded calls by group. */
  readonly histories = new Map<string, GroupCall[]>();
  readonly counts = { reads: 0, writes: 0, untried: 0, unknown: 0 };
  readonly #names = new Names();
  readonly #resting = new Map<Node, number>();
  readonly #answers: number[];
  readonly #groups: Work[];
  readonly #done: Promise<unknown>;
  #made = 0;
  #on = true;

  constructor(
    private readonly nodes: readonly Node[],
    private readonly options: ClientsOptions,
  ) {
    this.#answers = Array(options.clients).fill(0);
    this.#groups = Array.from({ length: options.groups }, () => this.#newGroup());
    this.#done = Promise.all(this.#answers.map((_, client) => this.#run(client)));
    this.#done.catch(() => {});
  }

  /**
   * Resolves after all calls. An answer may show a transformation whose creation was not answered,
   * so that its id had no name yet: takes the name from the lists at the end.
   */
  async done(): Promise<void> {
    await this.#done;
    for (const node of this.nodes) {
      for (const path of ["/transformations", "/transformations?published=false"]) {
        const { body } = await node.api("GET", path, undefined, patienceMs());
        this.#names.learnAll(body?.transformations ?? []);
      }
    }
    for (const { request, answer } of [...this.histories.values()].flat()) {
      const shows = request.verb === "get" || request.verb === "all";
      if (shows && answer?.seen)
        answer.seen = answer.seen.map((it) => this.#names.resolved(it)).sort();
    }
  }

  get isDone(): boolean {
    return !this.#on;
  }

  /** Waits until each client has got a new answer; returns the time in milliseconds. */
  async goesOn(): Promise<number> {
    const startedAt = performance.now();
    const before = [...this.#answers];
    while (this.#on && this.#answers.some((count, client) => count === before[client])) {
      if (performance.now() - startedAt > GO_ON_MS_MAX) throw new Error("No client is answered");
      await Bun.sleep(PAUSE_MS);
    }
    return Math.round(performance.now() - startedAt);
  }

  async #run(client: number): Promise<void> {
    while (this.#on) {
      const at = Math.floor(Math.random() * this.#groups.length);
      const group = this.#groups[at]!;
      if (++group.begun === CALLS_OF_GROUP) {
        this.#groups[at] = this.#newGroup();
        await this.#leave(group);
      }
      const answer = await this.#call(group, group.board.next());
      if (answer !== undefined) this.#answers[client]! += 1;
      if (this.counts.reads + this.counts.writes >= this.options.calls) this.#on = false;
    }
  }

  #newGroup(): Work {
    const name = `g${this.histories.size + 1}`;
    const group = new Work(name, new Board(() => String(++this.#made)));
    this.histories.set(name, group.calls);
    return group;
  }

  /** Deletes the items of a retired group, which would make every group's lists longer. */
  async #leave(group: Work): Promise<void> {
    while (group.underWay > 0) await Bun.sleep(PAUSE_MS);
    for (const request of group.board.deletions()) {
      for (let left = DELETION_ATTEMPTS; left > 0; left--) {
        if ((await this.#call(group, request)) !== undefined) break;
      }
    }
  }

  async #call(group: Work, request: Request): Promise<Answer | undefined> {
    group.underWay += 1;
    try {
      const node = await this.#awake();
      const { method, path, body } = httpCall(request, group.name, this.#names);
      const calledAt = performance.now();
      const given = await node.api(method, path, body, patienceMs());
      const answeredAt = performance.now();
      if (given.status === 0) this.#resting.set(node, answeredAt + REST_MS);
      const answer = answerOf(request, group.name, this.#names, given);
      this.#note(group, { request, node: node.name, calledAt }, answeredAt, answer);
      if (given.status === 503) await Bun.sleep(RETRY_MS);
      return answer;
    } finally {
      group.underWay -= 1;
    }
  }

  #note(
    group: Work,
    call: Omit<GroupCall, "answeredAt">,
    answeredAt: number,
    answer: Answer | undefined,
  ): void {
    const { counts } = this;
    if (answer !== undefined) {
      group.calls.push({ ...call, answer, answeredAt });
      group.board.take(call.request, answer);
      if (answer.outcome === "untried") counts.untried += 1;
      else counts[isRead(call.request) ? "reads" : "writes"] += 1;
      return;
    }
    counts.unknown += 1;
    // An unanswered read has no effect and no evidence.
    if (isRead(call.request)) return;
    group.calls.push({ ...call, answeredAt: Number.POSITIVE_INFINITY });
  }

  async #awake(): Promise<Node> {
    for (;;) {
      const now = performance.now();
      const awake = this.nodes.filter((node) => (this.#resting.get(node) ?? 0) < now);
      const node = awake[Math.floor(Math.random() * awake.length)];
      if (node !== undefined) return node;
      await Bun.sleep(PAUSE_MS);
    }
  }
}
