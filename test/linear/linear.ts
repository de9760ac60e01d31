/**
 * Linearizability test of the management API: many clients create, publish, connect and delete over
 * HTTP at several nodes, while nodes and brokers are killed and hang, and a broker is cut off from
 * the others. At the end the calls must be linearizable: some order explains every answer, and
 * agrees with the times of the calls.
 *
 *   npm run linear [CALLS] [-- --alone] [--quiet]
 *
 * Runs three nodes on three brokers, or with `--alone` one node on its disk; with `--quiet` nothing
 * fails. On a violation it prints the shortest part that no order explains, and exits with 1.
 */
import { Site, type SiteOptions } from "../crash/site.ts";
import { Undecided, violation } from "./checker.ts";
import { Clients, type ClientsOptions, type GroupCall } from "./clients.ts";
import { groupRules, withEvidence } from "./group.ts";
import { harms } from "./harm.ts";

export interface LinearOptions extends SiteOptions, ClientsOptions {
  /** Failures of nodes and brokers, which alternate. */
  harm: readonly (keyof typeof harms)[];
  /** Pause between two failures. */
  quietMs: number;
  onRound(row: object): void;
}

export interface LinearReport {
  calls: Clients["counts"];
  groups: number;
  perSecond: { reads: number; writes: number };
  /** Shortest unexplained part of each group that is not linearizable. */
  violations: GroupCall[][];
  /** Groups whose check has reached its limit. */
  undecided: string[];
}

export async function linear(options: LinearOptions): Promise<LinearReport> {
  const { clients, seconds } = await called(options);
  const { histories, counts } = clients;
  options.onRound({ act: "all calls are made", ...counts, seconds: Math.round(seconds) });
  const violations: GroupCall[][] = [];
  const undecided: string[] = [];
  for (const [group, calls] of histories) {
    try {
      const found = violation(groupRules, withEvidence(calls));
      if (found !== undefined) violations.push(found as GroupCall[]);
    } catch (error) {
      if (!(error instanceof Undecided)) throw error;
      undecided.push(group);
    }
  }
  const perSecond = {
    reads: Math.round(counts.reads / seconds),
    writes: Math.round(counts.writes / seconds),
  };
  return { calls: counts, groups: histories.size, perSecond, violations, undecided };
}

async function called(options: LinearOptions) {
  const site = await Site.open(options);
  try {
    const startedAt = performance.now();
    const clients = new Clients(site.nodes, options);
    await Promise.all([clients.done(), upset(site, clients, options)]);
    return { clients, seconds: (performance.now() - startedAt) / 1_000 };
  } finally {
    await site.close();
  }
}

async function upset(site: Site, clients: Clients, options: LinearOptions): Promise<void> {
  const { harm, quietMs, onRound } = options;
  for (let round = 0; harm.length > 0; round++) {
    for (const until = Date.now() + quietMs; Date.now() < until; await Bun.sleep(100)) {
      if (clients.isDone) return;
    }
    const name = harm[round % harm.length]!;
    const goesOn = () => clients.goesOn();
    await harms[name](site, Math.floor(round / harm.length), goesOn);
    onRound({ harm: name, answeredMs: await goesOn(), ...clients.counts });
  }
}

/** Formats a call as a line: start, answer time, node, request and answer. */
export function formatCall({ calledAt, answeredAt, node, request, answer }: GroupCall): string {
  const ms = (at: number) => (Number.isFinite(at) ? at.toFixed(1) : "?").padStart(10);
  const said = answer === undefined ? "" : `→ ${answer.outcome} ${answer.seen?.join("; ") ?? ""}`;
  return `${ms(calledAt)} ${ms(answeredAt)} ${node} ${JSON.stringify(request)} ${said}`;
}

if (import.meta.main) {
  const flags = process.argv.slice(2);
  const [calls = "10000"] = flags.filter((it) => !it.startsWith("--"));
  const isAlone = flags.includes("--alone");
  const all = ["nodeKilled", "brokerKilled", "nodeHangs", "leaderCut"] as const;
  const harm = isAlone ? (["nodeKilled"] as const) : all;
  const print = (row: object) => process.stdout.write(`${JSON.stringify(row)}\n`);
  const { violations, ...report } = await linear({
    ...(isAlone
      ? { nodes: 1, brokers: 0 as const }
      : { nodes: 3, brokers: 3 as const, hasLinks: true }),
    ...{ clients: 64, calls: Number(calls), groups: 24 },
    ...{ harm: flags.includes("--quiet") ? [] : harm, quietMs: 5_000 },
    onRound: print,
  });
  print(report);
  for (const calls of violations) {
    process.stdout.write(`NO ORDER EXPLAINS\n${calls.map((it) => `${formatCall(it)}\n`).join("")}`);
  }
  process.exit(violations.length + report.undecided.length === 0 ? 0 : 1);
}
