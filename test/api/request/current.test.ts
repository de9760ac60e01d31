import { expect, test } from "bun:test";
import { handleRequest, type ListenerContext } from "../../../src/api/request/handle.ts";
import { routes } from "../../../src/api/route-table.ts";

test.each([
  ["waits for the catalog and all ledgers when it reads letters", "GET /v2/dead-letters", "both"],
  ["waits for the catalog alone when it reads sources", "GET /v2/sources", "catalog"],
  ["waits for the catalog alone when it answers figures", "GET /v2/overview", "catalog"],
  ["waits for nothing when it needs no token", "GET /health", "nothing"],
] as const)("a request %s", async (_, key, expected) => {
  const route = routes.find((it) => it.key === key)!;
  const asked: string[] = [];
  const current = (name: string) => ({ current: async () => void asked.push(name) });
  const stores = { catalog: current("catalog"), pipeline: current("ledgers") };
  const deps = { ...stores, starting: () => undefined, answerMsMax: 60_000 };
  const closing = new AbortController().signal;
  const listener = { deps, closing, lateness: { recentMs: () => 0 } } as unknown as ListenerContext;
  const request = new Request("http://127.0.0.1/");
  // The other parts that answer a request are missing, so it fails after these waits.
  await handleRequest(route, listener, { request, server: null }).catch(() => {});
  const all = asked.length > 1 ? "both" : (asked[0] ?? "nothing");
  expect(all).toBe(expected);
});
