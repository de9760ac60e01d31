/**
 * Whether a history of calls to one object could have come from an object that does one call at a
 * time, each between its start and its end: the search of Wing and Gong, with Lowe's memory of
 * what was seen to lead nowhere.
 */
export interface Call<Input, Output> {
  input: Input;
  /** Result of the call; undefined if its effect is unknown. */
  output: Output | undefined;
  /** Ticks of one clock. */
  start: number;
  end: number;
}

export interface Model<State, Input, Output> {
  initial: State;
  /** Returns the object's answer in a state, and the next state. Both are immutable. */
  step(state: State, input: Input): { output: Output; state: State };
}

export function isLinearizable<State, Input, Output>(
  history: readonly Call<Input, Output>[],
  model: Model<State, Input, Output>,
): boolean {
  // A call that was never answered may take effect at any time, or never.
  const calls = history.map((call) =>
    call.output === undefined ? { ...call, end: Number.POSITIVE_INFINITY } : call,
  );
  calls.sort((a, b) => a.start - b.start);
  const seen = new Set<string>();
  const paths: { done: bigint; state: State }[] = [{ done: 0n, state: model.initial }];
  for (let path = paths.pop(); path !== undefined; path = paths.pop()) {
    const { done, state } = path;
    const key = `${done} ${JSON.stringify(state)}`;
    if (seen.has(key)) continue;
    seen.add(key);
    const open = calls.map((call, i) => ({ ...call, i })).filter(({ i }) => !isIn(done, i));
    if (open.every(({ output }) => output === undefined)) return true;
    // The next call in the order began before any other one of the open calls ended.
    const earliestEnd = Math.min(...open.map(({ end }) => end));
    for (const { i, input, output, start } of open) {
      if (start > earliestEnd) break;
      const stepped = model.step(state, input);
      if (output !== undefined && !Bun.deepEquals(stepped.output, output)) continue;
      paths.push({ done: done | (1n << BigInt(i)), state: stepped.state });
    }
  }
  return false;
}

const isIn = (set: bigint, i: number) => ((set >> BigInt(i)) & 1n) === 1n;
