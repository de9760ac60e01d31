/** Leader of a partition according to one broker's metadata answer. */
export interface LeaderStatement {
  /** Broker id of the leader; negative for a partition without a leader. */
  leaderId: number;
  /** Number that rises with each change of the leader. Brokers before Kafka 2.1 do not send it. */
  leaderEpoch?: number;
}

/**
 * Returns the statement with the highest leader epoch. Among several, prefers those that name a
 * leader, then the leader that most of them name, then the lowest leader id. Returns undefined if
 * there are no statements.
 */
export function latestStatement<T extends LeaderStatement>(
  statements: readonly T[],
): T | undefined {
  let latest: T | undefined;
  for (const it of statements) {
    if (latest === undefined || precedes(it, latest, statements)) latest = it;
  }
  return latest;
}

export const epochOf = ({ leaderEpoch = -1 }: LeaderStatement) => leaderEpoch;

function precedes(a: LeaderStatement, b: LeaderStatement, all: readonly LeaderStatement[]) {
  if (epochOf(a) !== epochOf(b)) return epochOf(a) > epochOf(b);
  if (a.leaderId === b.leaderId) return false;
  if (a.leaderId < 0 || b.leaderId < 0) return b.leaderId < 0;
  const difference = supporters(a, all) - supporters(b, all);
  return difference === 0 ? a.leaderId < b.leaderId : difference > 0;
}

function supporters(statement: LeaderStatement, all: readonly LeaderStatement[]): number {
  const { leaderId } = statement;
  return all.filter((it) => it.leaderId === leaderId && epochOf(it) === epochOf(statement)).length;
}

/**
 * Groups the entries for the partitions of one topic by partition; each element of `answers` is
 * from one broker. Ignores a partition number that is not below the broker's number of entries,
 * because Kafka leaves no gaps. If a broker repeats a number, the last entry counts.
 */
export function statementsByPartition<T extends { partitionIndex: number }>(
  answers: readonly (readonly T[])[],
): T[][] {
  const count = Math.max(0, ...answers.map(({ length }) => length));
  const grouped = Array.from({ length: count }, (): T[] => []);
  for (const statements of answers) {
    const byPartition = new Map(statements.map((it) => [it.partitionIndex, it]));
    for (const [partition, it] of byPartition) {
      if (partition < statements.length) grouped[partition]?.push(it);
    }
  }
  return grouped;
}

/** Returns the most frequent string; among equally frequent ones, the last in sort order. */
export function mostFrequent(texts: readonly string[]): string {
  const groups = [...Map.groupBy(texts, (text) => text)];
  return groups.reduce((a, b) =>
    b[1].length > a[1].length || (b[1].length === a[1].length && b[0] > a[0]) ? b : a,
  )[0];
}

/** Outdated broker: it answers, but names former leaders, or the other brokers do not list it. */
export interface OutdatedBroker {
  /** Address of the outdated broker as `host:port`. */
  address: string;
  /**
   * Milliseconds since the broker became outdated. Since then it has named former leaders, or has
   * been missing in the lists of the other brokers.
   */
  forMs: number;
  /** Whether the other brokers list this broker as a member of the cluster. */
  isListed: boolean;
  /** Partitions for which another broker reports a higher leader epoch than the outdated broker. */
  partitions: OutdatedLeader[];
}

/** Broker that belongs to another Kafka cluster. Its answers are not used. */
export interface ForeignBroker {
  /** Address as `host:port`. */
  address: string;
  /** Id of the Kafka cluster that the broker belongs to. */
  clusterId: string;
}

interface OutdatedLeader {
  topic: string;
  partition: number;
  /** Address of the leader that the outdated broker names; undefined when it names none. */
  named: string | undefined;
  /** Address of the leader with the highest epoch; undefined when there is none. */
  latest: string | undefined;
}
