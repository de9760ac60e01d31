import { writeSync } from "node:fs";
import type { Subprocess } from "bun";
import { Membership } from "../../src/cluster/membership/membership.ts";
import { PartitionRunner } from "../../src/cluster/membership/partition-runner.ts";
import { type BrokerSettings, connectClients } from "../../src/kafka/client.ts";
import { quiet } from "../log/support.ts";

/** Notifications of a member, in order. */
export interface Told {
  what: "open" | "close" | "closed";
  partition: number;
}

export interface TestMember {
  told: Told[];
  membership: Membership;
  /** Partitions that are open, ascending. */
  runs(): number[];
  stop(): Promise<void>;
}

export interface TestMemberOptions {
  brokers: BrokerSettings;
  topic: string;
  id: string;
  sessionMs: number;
  /** How long it takes to close a partition. */
  drainMs?: number;
  onTold?(told: Told): void;
}

/** A member as a node would be: with connections of its own. */
export async function openMember(options: TestMemberOptions): Promise<TestMember> {
  const { brokers, topic, id, sessionMs, drainMs = 0, onTold = () => {} } = options;
  const clients = await connectClients(brokers);
  const told: Told[] = [];
  const tell = (it: Told) => {
    told.push(it);
    onTold(it);
  };
  const runner = new PartitionRunner({
    async start(partition) {
      tell({ what: "open", partition });
    },
    async stop(partition) {
      tell({ what: "close", partition });
      await Bun.sleep(drainMs);
      tell({ what: "closed", partition });
    },
    logger: quiet,
  });
  const membership = new Membership({
    ...{ clients, runner, topic, group: topic, sessionMs, logger: quiet },
    self: { id, version: "1.0.0", controlPlaneUrl: `http://${id}.internal` },
  });
  return {
    ...{ told, membership },
    runs: () => runsAfter(told),
    async stop() {
      await membership.leave();
      await clients.close();
    },
  };
}

/** A member that is a process. */
export interface MemberProcess {
  child: Subprocess;
  told: Told[];
  runs(): number[];
  /** Ends it, in whatever state it is. */
  kill(): Promise<void>;
}

/** Starts a member in a separate process, which prints a line for each notification. */
export function startMember(options: Omit<TestMemberOptions, "onTold">): MemberProcess {
  const child = Bun.spawn([process.execPath, import.meta.path, JSON.stringify(options)], {
    stdout: "pipe",
    stderr: "inherit",
  });
  const told: Told[] = [];
  void (async () => {
    let rest = "";
    for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
      const lines = `${rest}${chunk}`.split("\n");
      rest = lines.pop()!;
      told.push(...lines.map((it) => JSON.parse(it) as Told));
    }
  })();
  return {
    ...{ child, told },
    runs: () => runsAfter(told),
    async kill() {
      child.kill("SIGKILL");
      await child.exited;
    },
  };
}

function runsAfter(told: Told[]): number[] {
  const runs = new Set<number>();
  for (const { what, partition } of told) {
    if (what === "open") runs.add(partition);
    if (what === "closed") runs.delete(partition);
  }
  return [...runs].sort((a, b) => a - b);
}

if (import.meta.main) {
  const onTold = (it: Told) => writeSync(1, `${JSON.stringify(it)}\n`);
  const member = await openMember({ ...JSON.parse(process.argv[2]!), onTold });
  process.on("SIGTERM", async () => {
    await member.stop();
    process.exit();
  });
}
