import { expect, test } from "bun:test";
import { checkBrokers } from "../../src/check/counterparts.ts";
import type { Config } from "../../src/settings/keys.ts";
import { brokersMissing } from "../cluster/brokers.ts";
import { withBrokers } from "../cluster/support.ts";
import { describeWith } from "../counterpart.ts";

function found(brokers: string[], replicas: number) {
  const plain = { "cluster.tls": false, "cluster.sasl": "none" };
  const config = { ...plain, "cluster.kafka": brokers, "cluster.replicas": replicas };
  return checkBrokers(config as Config);
}

test("the check of brokers names one that refuses connections", async () => {
  const result = await found(["127.0.0.1:1"], 1);
  expect(result).toMatchObject({ state: "fails", subject: "brokers" });
  expect(result.detail).toContain("connect ECONNREFUSED 127.0.0.1:1");
});

describeWith(brokersMissing)("a broker that answers", () => {
  const { brokers } = withBrokers(1);

  test("is enough for one replica", async () => {
    const enough = { state: "ok", subject: "brokers", detail: "1 answer" } as const;
    expect(await found(brokers().addresses, 1)).toEqual(enough);
  });

  test("is too little for three replicas", async () => {
    const detail = "1 answer, fewer than cluster.replicas (3)";
    const few = { state: "fails", subject: "brokers", detail } as const;
    expect(await found(brokers().addresses, 3)).toEqual(few);
  });
});
