import type { NodeBus } from "../../src/cluster/node-bus/node-bus.ts";

/** In-memory bus of several nodes in one process, which delivers messages after a short delay. */
export function exchanges(count: number) {
  const heard = Array.from({ length: count }, () => new Set<(message: unknown) => void>());
  const told: unknown[] = [];
  const all = heard.map((own, at): NodeBus => {
    return {
      publish(message) {
        told.push(message);
        setTimeout(() => {
          for (const [to, listeners] of heard.entries()) {
            if (to !== at) for (const listener of listeners) listener(message);
          }
        }, 1);
      },
      subscribe(listener) {
        own.add(listener);
        return () => own.delete(listener);
      },
      trouble: () => undefined,
      async close() {},
    };
  });
  return { all, told };
}
