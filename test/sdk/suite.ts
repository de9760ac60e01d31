import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { titled } from "../counterpart.ts";
import { waitFor } from "../e2e/server.ts";
import { expectedEvent, sentEvents } from "./expected-event.ts";
import { type Gate, startGate } from "./gate.ts";
import type { Call, SdkClient, SdkProgram } from "./program.ts";
import { arrived, SdkScene, type Source } from "./scene.ts";
import type { Sdk } from "./sdks.ts";

const context = { locale: "de-DE" };
const integrations = { Other: false };
const properties = {
  size: "Größe „L“",
  price: 12.5,
  tags: ["a", "b"],
  nested: { deep: [null, true] },
};

/** An event of each type. */
const calls = [
  { type: "identify", traits: { plan: "pro", age: 7 } },
  { type: "track", event: "Order 🛒", properties },
  { type: "page", name: "Home", properties },
  { type: "screen", name: "Start", properties },
  { type: "group", groupId: "group-1", traits: { size: 4 } },
  { type: "alias", previousId: "former" },
].map((call) => ({ ...call, userId: "user-1", context, integrations }) as Call);
const callsOf = ({ hasScreen }: Sdk) => calls.filter(({ type }) => hasScreen || type !== "screen");

export const track = (userId: string, number: number, more?: object): Call => ({
  type: "track",
  event: "Counted",
  userId,
  properties: { number, ...more },
});

/** Properties with more levels than an event may have. */
const deep = Array.from({ length: 80 }).reduce<object>((inner) => ({ inner }), {});

/** A client of an SDK in one scenario, with the gate between it and the server. */
export interface Run<Client extends SdkClient = SdkClient> {
  sdk: Sdk;
  client: Client;
  gate: Gate;
  source: Source;
}

type Scenario = (sdk: Sdk) => Promise<void>;

let scene: SdkScene;
const programs = new Map<Sdk, SdkProgram>();
const gates: Gate[] = [];

/** Creates a client of an SDK for a scenario, which reaches the server through a gate. */
export async function open(
  sdk: Sdk,
  name: string,
  options: {
    settings?: object;
    writeKey?: string;
    isBeacon?: boolean;
    decide?(source: Source): Parameters<typeof startGate>[1];
  } = {},
): Promise<Run> {
  const source = await scene.source(`${sdk.name} ${name}`, options.settings);
  const gate = startGate(scene.address, options.decide?.(source));
  gates.push(gate);
  const client = await programs.get(sdk)!.open(name, {
    address: gate.address,
    writeKey: options.writeKey ?? source.writeKey,
    isBeacon: options.isBeacon ?? false,
  });
  return { sdk, client, gate, source };
}

/** Waits until the SDK has reported that all events were sent, if it reports that. */
async function reportedSent({ sdk, client }: Run, count: number): Promise<void> {
  if (sdk.reportsSent) {
    await waitFor(() => client.outcomes().length >= count, "reports of the SDK");
  }
  expect(client.outcomes().filter(({ failed }) => failed !== undefined)).toEqual([]);
}

/** Returns the statuses of the answers to requests with events. */
const statuses = ({ gate }: Run) => gate.seen.map(({ status }) => status);
export const numbers = (events: any[]) => events.map((event) => event.properties.number);

const scenarios: Record<string, Scenario> = {
  async "delivers each type of event with all of its fields"(sdk) {
    const run = await open(sdk, "types");
    for (const call of callsOf(sdk)) await run.client.call(call);
    const sentBySdk = () => run.gate.seen.flatMap(sentEvents);
    await waitFor(() => sentBySdk().length >= callsOf(sdk).length, "requests of the SDK").catch(
      () => {},
    );
    const sent = sentBySdk();
    expect(sent.map(({ type }) => type).sort()).toEqual(
      callsOf(sdk)
        .map(({ type }) => type)
        .sort(),
    );
    const events = await arrived(run.source, callsOf(sdk).length);
    for (const event of events) {
      const same = sent.find(({ messageId }) => messageId === event.messageId);
      expect(event).toEqual(expectedEvent(same, event.receivedAt));
      const { traits, ...call } = calls.find(({ type }) => type === event.type)!;
      expect(event).toMatchObject(call);
      // Some SDKs move the traits of a user into the context.
      if (traits) expect(event.traits ?? event.context.traits).toEqual(traits);
    }
    expect(events.map(({ type }) => type)).toEqual(sent.map(({ type }) => type));
    await reportedSent(run, callsOf(sdk).length);
  },

  async "delivers the good events beside a bad one"(sdk) {
    const run = await open(sdk, "bad");
    for (const more of [{}, deep, {}])
      await run.client.call(track("user-1", more === deep ? 0 : 1, more));
    const events = await arrived(run.source, 2);
    expect(numbers(events)).toEqual([1, 1]);
    expect(await scene.refusals(run.source)).toEqual([expect.stringContaining("levels")]);
    await reportedSent(run, 3);
    expect(new Set(statuses(run))).toEqual(new Set([200]));
  },

  async "gives up events with an unknown write key"(sdk) {
    const run = await open(sdk, "unknown key", { writeKey: "unknown" });
    await run.client.call(track("user-1", 1));
    if (sdk.unknownKey === "does not start") {
      const configuration = await waitFor(
        () => run.gate.configurations[0],
        "a request for the configuration",
      );
      expect(configuration.answer).toContain("Invalid write key");
      expect(run.gate.seen).toEqual([]);
      return;
    }
    if (sdk.unknownKey === "repeats") {
      await waitFor(() => statuses(run).length > 1, "a repeated request");
    } else {
      await waitFor(() => run.client.outcomes().length > 0, "the SDK's report");
      expect(run.client.outcomes()[0]!.failed).toBeString();
      expect(statuses(run)).toEqual([401]);
    }
    expect(run.gate.seen[0]!.answer).toContain("Invalid write key");
  },

  async "keeps its events while the source is disabled"(sdk) {
    const run = await open(sdk, "disabled");
    await run.client.call(track("user-1", 1));
    await arrived(run.source, 1);
    await scene.enable(run.source, false);
    await run.client.call(track("user-1", 2));
    await waitFor(() => statuses(run).includes(503), "an answer to a disabled source");
    await scene.enable(run.source, true);
    expect(numbers(await arrived(run.source, 2))).toEqual([1, 2]);
    await reportedSent(run, 2);
  },

  async "sends again after status 503"(sdk) {
    const run = await open(sdk, "unavailable", {
      decide: () => async (request, count) =>
        count === 0 ? scene.unavailable(request.headers.origin) : undefined,
    });
    await run.client.call(track("user-1", 1));
    expect(numbers(await arrived(run.source, 1))).toEqual([1]);
    await waitFor(() => statuses(run).length > 1, "the second answer");
    expect(statuses(run)).toEqual([503, 200]);
    await reportedSent(run, 1);
  },

  async "delivers an event once whose first answer was lost"(sdk) {
    const run = await open(sdk, "repeated", {
      settings: { dedupSeconds: 3_600 },
      decide: () => async (request, count, forward) => {
        if (count > 0) return undefined;
        await forward();
        return scene.unavailable(request.headers.origin);
      },
    });
    await run.client.call(track("user-1", 1));
    await waitFor(() => statuses(run).includes(200), "the second answer");
    await run.client.call(track("user-1", 2));
    expect(numbers(await arrived(run.source, 2))).toEqual([1, 2]);
    await reportedSent(run, 2);
  },

  async "sends again after status 429"(sdk) {
    const run = await open(sdk, "rate", {
      // On a busy machine the rate may allow an event again before the request has come.
      settings: { dedupSeconds: 3_600 },
      decide: (source) => async (_, count, forward) => {
        if (count > 0) return undefined;
        for (;;) {
          await scene.exhaustRate(source);
          const answer = await forward();
          if (answer.status === 429) return answer;
        }
      },
    });
    await run.client.call(track("user-1", 1));
    expect(numbers(await arrived(run.source, 1))).toEqual([1]);
    await waitFor(() => statuses(run).includes(200), "the last answer");
    expect([...new Set(statuses(run))]).toEqual([429, 200]);
    await reportedSent(run, 1);
  },
};

/** Number of events that an SDK hands over while the server restarts. */
const RESTART_EVENTS = 30;

/** Sends events of all SDKs, and kills and starts the server in the middle. */
async function restartUnderLoad(): Promise<Map<Sdk, Source>> {
  const runs = await Promise.all(
    [...programs].map(async ([sdk, program]) => {
      const source = await scene.source(`${sdk.name} restart`, { dedupSeconds: 3_600 });
      const { writeKey } = source;
      const client = await program.open("restart", { address: scene.address, writeKey });
      return { sdk, source, client };
    }),
  );
  for (let number = 0; number < RESTART_EVENTS; number++) {
    for (const { client } of runs) await client.call(track(`user-${number % 3}`, number));
    if (number === RESTART_EVENTS / 3) {
      await Promise.all(runs.map(({ source }) => arrived(source, 1)));
      await scene.kill();
      void scene.restart();
    }
    await Bun.sleep(50);
  }
  return new Map(runs.map(({ sdk, source }) => [sdk, source]));
}

/**
 * Runs SDKs, unmodified, against one server. All scenarios of all SDKs run side by side, because
 * SDKs wait for seconds before they send again; each has a source and a destination of its own.
 * Only the restart of the server comes after the others.
 */
export function testSdks(sdks: readonly Sdk[], more: Record<string, Scenario> = {}): void {
  const all = { ...scenarios, ...more };
  const available = sdks.filter(({ missing }) => missing === undefined);
  const results = new Map<string, Promise<void>>();
  let restarted: Promise<Map<Sdk, Source>>;

  beforeAll(async () => {
    scene = await SdkScene.start();
    for (const sdk of available) programs.set(sdk, await sdk.start());
    for (const sdk of available) {
      for (const [title, scenario] of Object.entries(all)) {
        results.set(`${sdk.name} ${title}`, scenario(sdk));
      }
    }
    restarted = Promise.allSettled(results.values()).then(restartUnderLoad);
  });

  afterAll(async () => {
    for (const program of programs.values()) await program.stop();
    for (const gate of gates) await gate.stop();
    // The next file of this process begins with its own.
    programs.clear();
    gates.length = 0;
    await scene?.stop();
  });

  for (const sdk of sdks) {
    describe(titled(sdk.name, sdk.missing), () => {
      const testThis = test.skipIf(sdk.missing !== undefined);
      for (const title of Object.keys(all)) {
        testThis(titled(title, sdk.missing), () => results.get(`${sdk.name} ${title}`)!);
      }

      testThis(
        titled(
          "loses and doubles no event when the server is killed and starts again",
          sdk.missing,
        ),
        async () => {
          const source = (await restarted).get(sdk)!;
          const distinct = () =>
            new Map(source.delivered.map((event) => [event.properties.number, event]));
          await waitFor(() => distinct().size === RESTART_EVENTS, "all events").catch(() => {});
          expect([...distinct().keys()].sort((a, b) => a - b)).toEqual(
            Array.from({ length: RESTART_EVENTS }, (_, number) => number),
          );
          // An event that the SDK sent again would have another time. One whose delivery the kill
          // interrupted is delivered again as it was.
          const stored = source.delivered.map((it) => `${it.messageId} ${it.receivedAt}`);
          expect(new Set(stored).size).toBe(RESTART_EVENTS);
        },
      );
    });
  }
}
