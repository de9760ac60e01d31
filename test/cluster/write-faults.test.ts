import { expect, test } from "bun:test";
import {
  describePartitionFaults,
  type PartitionFault,
} from "../../src/cluster/topics/write-refusal.ts";

const code = (apiId: string) => Object.assign(new Error("Refused"), { apiId });
const fault = (
  partition: number,
  leader: string | undefined,
  error: unknown,
  broker = leader,
): PartitionFault => ({ partition, leader, broker, error });

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

test("a broker that led when it failed is blamed, not the one that leads now", () => {
  const fenced = fault(0, "b:9092", code("REQUEST_TIMED_OUT"), "a:9092");
  expect(describePartitionFaults("p.events", [fenced])).toEqual([
    "p.events is not written in partition 0: broker a:9092, which led before, does not get the acknowledgement of its replicas",
  ]);
});

test("without a producer id no leader is blamed", () => {
  const refused = (error: Error) => ({ partition: 0, leader: "b:9092", broker: undefined, error });
  const silent = new Error("Cannot connect to any broker.");
  expect(describePartitionFaults("p.events", [refused(silent)])).toEqual([
    "p.events is not written in partition 0: the brokers give this node no producer id",
  ]);
  expect(
    describePartitionFaults("p.events", [refused(code("CLUSTER_AUTHORIZATION_FAILED"))]),
  ).toEqual([
    "p.events is not written in partition 0: the brokers give this node no producer id, they answer CLUSTER_AUTHORIZATION_FAILED",
  ]);
});
