import { expect, test } from "bun:test";
import {
  describePartitionFaults,
  type PartitionFault,
} from "../../src/cluster/events/write-faults.ts";

const code = (apiId: string) => Object.assign(new Error("Refused"), { apiId });
const fault = (partition: number, leader: string | undefined, error: unknown): PartitionFault => ({
  partition,
  leader,
  error,
});

test("partitions that fail for one reason share a sentence that names their leader", () => {
  const network = new AggregateError([new Error("connect ECONNREFUSED")], "Failed");
  const faults = [
    fault(4, "b:9092", network),
    fault(0, "b:9092", undefined),
    fault(1, "c:9092", new AggregateError([code("NOT_ENOUGH_REPLICAS")], "Failed")),
    fault(2, "c:9092", code("NOT_LEADER_OR_FOLLOWER")),
    fault(3, undefined, network),
  ];
  expect(describePartitionFaults("p.events", faults)).toEqual([
    "p.events is not written in partitions 0, 4: broker b:9092, which leads, does not answer this node",
    "p.events is not written in partition 1: broker c:9092, which leads, has too few replicas in sync",
    "p.events is not written in partition 2: broker c:9092, which leads, answers that it does not lead",
    "p.events is not written in partition 3: no broker that answers names a leader",
  ]);
});

test("a topic that does not exist is said to be missing, whatever is known of its leaders", () => {
  for (const leader of ["b:9092", undefined]) {
    const error = new Error("Failed", { cause: code("UNKNOWN_TOPIC_OR_PARTITION") });
    const [sentence] = describePartitionFaults("p.events", [fault(0, leader, error)]);
    expect(sentence).toEndWith("that the topic does not exist");
  }
});
