import { pino } from "pino";
import { ApiError } from "../../src/errors.ts";
import { openView } from "../../src/store/lmdb/view.ts";
import type { CompactionBounds } from "../../src/store/ordered/log-compaction.ts";
import type { OrderedLog } from "../../src/store/ordered/ordered-log.ts";
import { OrderedStore } from "../../src/store/ordered/ordered-store.ts";
import type { Store } from "../../src/store/store.ts";
import { type Call, isLinearizable } from "./linearizable.ts";

const logger = pino({ level: "silent" });

/** A store of one node, in a directory of its own. */
export function openNode(
  path: string,
  log: OrderedLog,
  bounds?: CompactionBounds,
  onNewer?: (reason: string) => void,
  changeSetBytesMax?: number,
): OrderedStore {
  const name = "The store";
  const local = openView({ path, name, logger });
  const store = new OrderedStore({
    ...{ local, log, name, logger },
    ...(bounds && { bounds }),
    ...(onNewer && { onNewer }),
    ...(changeSetBytesMax !== undefined && { changeSetBytesMax }),
  });
  for (const table of ["numbers", "texts"]) store.table(table);
  return store;
}

/** Operations on a pair of numbers: each changes both, so that a partial change is detectable. */
export type Input =
  | { kind: "read" }
  | { kind: "put"; value: number }
  | { kind: "add"; value: number }
  | { kind: "swap"; from: number; value: number }
  | { kind: "remove" };

export type Output = string | number | null;

type Pair = [number, number] | null;

/** One pair, as it should behave. A refusal is its sentence. */
export const pair = {
  initial: null as Pair,
  step(state: Pair, input: Input): { output: Output; state: Pair } {
    const value = state === null ? null : sumOf(state);
    if (input.kind === "read") return { output: value, state };
    if (input.kind === "remove") return { output: value, state: null };
    if (input.kind === "add" && state !== null) return { output: "Taken", state };
    if (input.kind === "swap" && value !== input.from) return { output: "Other", state };
    return { output: value, state: [input.value, -input.value] };
  },
};

/** The number that a pair stands for; NaN when only half of it was written. */
const sumOf = ([a, b]: [number, number]) => (a === -b ? a : Number.NaN);

/** Does to a pair of a node's store what the model does. */
export async function perform(store: Store, name: string, input: Input): Promise<Output> {
  const numbers = store.table<number, string>("numbers");
  const read = (): Pair => {
    const [a, b] = [numbers.get(`${name}/a`), numbers.get(`${name}/b`)];
    if (a === undefined && b === undefined) return null;
    return [a ?? Number.NaN, b ?? Number.NaN];
  };
  if (input.kind === "read") {
    await store.catchUp();
    return pair.step(read(), input).output;
  }
  return store.change(() => {
    const { output, state } = pair.step(read(), input);
    for (const [i, half] of ["a", "b"].entries()) {
      // Half is written before it is known whether the whole is refused.
      if (state === null) numbers.remove(`${name}/${half}`);
      else numbers.put(`${name}/${half}`, state[i]!);
      if (typeof output === "string") throw new ApiError("conflict", output);
    }
    return output;
  });
}

export interface Load {
  clients: number;
  /** Each with a history of its own. */
  pairs: number;
  callsPerPair: number;
  random(): number;
}

/** Histories of clients that call random nodes about random pairs, by pair. */
export async function runLoad(nodes: () => readonly Store[], load: Load, name: string) {
  const { clients, pairs, callsPerPair, random } = load;
  const histories = Array.from({ length: pairs }, () => [] as Call<Input, Output>[]);
  const chosen = (count: number) => Math.floor(random() * count);
  let clock = 0;
  let left = pairs * callsPerPair;
  const client = async () => {
    while (left-- > 0) {
      const index = chosen(pairs);
      const store = nodes()[chosen(nodes().length)]!;
      const call: Call<Input, Output> = {
        ...{ input: inputOf(chosen), output: undefined },
        ...{ start: clock++, end: Number.POSITIVE_INFINITY },
      };
      histories[index]!.push(call);
      try {
        call.output = await perform(store, `${name}, pair ${index}`, call.input);
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        if (error.refusal === "conflict") call.output = error.message;
      }
      call.end = clock++;
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  return histories;
}

function inputOf(chosen: (count: number) => number): Input {
  const value = 1 + chosen(4);
  const inputs: Input[] = [
    { kind: "read" },
    { kind: "read" },
    { kind: "put", value },
    { kind: "add", value },
    { kind: "swap", from: 1 + chosen(4), value },
    { kind: "remove" },
  ];
  return inputs[chosen(inputs.length)]!;
}

/** Calls of histories that no order explains, none if all is well. */
export function unexplained(histories: readonly Call<Input, Output>[][]) {
  return histories.filter((history) => !isLinearizable(history, pair));
}
