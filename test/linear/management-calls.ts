import type { Group, ManagementRequest, Outcome, Plain } from "./group.ts";

const MISSING: Outcome = { refusals: ["missing"] };

const partOf = (of: Plain | "connection") => `${of}s` as const;

/** Rules of calls on sources, destinations and connections. */
export function managed(state: Group, request: ManagementRequest): Outcome {
  switch (request.verb) {
    case "connect":
      return connected(state, request);
    case "all":
      return { refusals: [], seen: [...state[partOf(request.of)].keys()].map(shown).sort() };
    case "get":
      return state[partOf(request.of)].has(request.thing)
        ? { refusals: [], seen: [shown(request.thing)] }
        : MISSING;
    case "drop":
      return state[partOf(request.of)].has(request.thing)
        ? { refusals: [], next: dropped(state, request.of, request.thing) }
        : MISSING;
    default: {
      const { verb, of, thing, name } = request;
      const part = `${of}s` as const;
      if (verb === "rename" && !state[part].has(thing)) return MISSING;
      const next = { ...state, [part]: new Map(state[part]).set(thing, name) };
      return { refusals: [], next };
    }
  }

  function shown(thing: string): string {
    const { of } = request as { of: Plain | "connection" };
    if (of === "connection") {
      const { source, destination } = state.connections.get(thing)!;
      return `${thing}: ${source} to ${destination}`;
    }
    const name = `${thing}: ${state[`${of}s`].get(thing)}`;
    return of === "source" ? name : `${name} by ${state.code.links.get(thing)?.id ?? "nothing"}`;
  }
}

function connected(
  state: Group,
  { thing, source, destination }: ManagementRequest & { verb: "connect" },
): Outcome {
  const { sources, destinations, connections } = state;
  if (!sources.has(source) || !destinations.has(destination)) return MISSING;
  const isTaken = connections
    .values()
    .some((it) => it.source === source && it.destination === destination);
  if (isTaken) return { refusals: ["conflict"] };
  const next = { ...state, connections: new Map(connections).set(thing, { source, destination }) };
  return { refusals: [], next };
}

function dropped(state: Group, of: Plain | "connection", thing: string): Group {
  const without = <V>(map: ReadonlyMap<string, V>) =>
    new Map([...map].filter(([name]) => name !== thing));
  if (of === "connection") return { ...state, connections: without(state.connections) };
  const connections = new Map([...state.connections].filter(([, ends]) => ends[of] !== thing));
  if (of === "source") return { ...state, connections, sources: without(state.sources) };
  const code = state.code.copy();
  code.links.delete(thing);
  return { ...state, code, connections, destinations: without(state.destinations) };
}
