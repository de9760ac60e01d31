import { expect, test } from "bun:test";
import { EventEmitter } from "node:events";
import { Membership } from "../../src/cluster/membership/membership.ts";
import type { KafkaClients } from "../../src/kafka/client.ts";
import { quiet } from "../log/support.ts";
import { until } from "../until.ts";

const SESSION_MS = 1_000;

/** A node whose attempts to join the group end with `error`. */
function joining(error: Error) {
  let attempts = 0;
  const groupConsumer = ({ protocolsMetadata }: { protocolsMetadata(...of: unknown[]): unknown }) =>
    Object.assign(new EventEmitter(), {
      topics: { track() {} },
      connections: [],
      isActive: () => false,
      async joinGroup() {
        await protocolsMetadata([], [], { topics: new Map() });
        attempts++;
        throw error;
      },
      async close() {},
    });
  const clients = { admin: () => ({}), groupConsumer, view: { isEmpty: false } };
  const membership = new Membership({
    runner: { async assign() {}, assigned: () => [], running: () => [] },
    clients: clients as unknown as KafkaClients,
    ...{ logger: quiet, group: "p", topic: "p.events", sessionMs: SESSION_MS },
    self: { id: "a", version: "1", controlPlaneUrl: "" },
  });
  return { membership, attempts: () => attempts };
}

test("a node that joins warns of a coordinator that does not answer, and not of one that refuses", async () => {
  const silent = joining(new Error("No answer"));
  const refusing = joining(Object.assign(new Error("No"), { apiId: "GROUP_AUTHORIZATION_FAILED" }));
  await until(() => silent.membership.state().warnings.length > 0);
  expect(silent.membership.state().warnings).toEqual([
    expect.stringMatching(/^The coordinator of the group p has not answered for/),
  ]);
  await until(() => refusing.attempts() > 4);
  expect(refusing.membership.state()).toMatchObject({
    trouble:
      "This node cannot join the group p: its coordinator answers GROUP_AUTHORIZATION_FAILED",
    warnings: [],
  });
  await Promise.all([silent, refusing].map((it) => it.membership.leave()));
});
