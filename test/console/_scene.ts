import {
  pixel,
  removeDirectory,
  type Server,
  startServer,
  startSink,
  waitFor,
} from "../e2e/server.ts";

/** A workspace as it looks after a day's work: something of everything, and one thing broken. */
export interface Scene {
  server: Server;
  writeKey: string;
  ids: {
    source: string;
    healthy: string;
    broken: string;
    transformation: string;
    library: string;
    deadLetter: string;
  };
  /** The broken receiver answers 200 from now on. */
  mend(): void;
  /** Sends one more event, as a page would. */
  send(fields?: Record<string, string>): Promise<unknown>;
  stop(): Promise<void>;
}

const library = `export function euros(seats) {
  return Math.round(seats * 950) / 100;
}
`;

const price = `import { euros } from "prices";

/** What a sign-up is worth, for the warehouse. */
export function transformEvent(event) {
  const { seats = 1, plan } = event.properties;
  if (plan === "internal") return;
  event.properties.price = euros(seats);
  return event;
}
`;

const careless = `export function transformEvent(event) {
  event.properties.city = event.context.geo.city;
  return event;
}
`;

export async function startScene(): Promise<Scene> {
  const server = await startServer({ flags: ["--retry-window", "1"] });
  let isBroken = true;
  const healthy = startSink();
  const broken = startSink(() => (isBroken ? 422 : 200));
  const made = maker(server);

  const { source } = await made("/v2/sources", { name: "Website", type: "http" });
  const app = await made("/v2/sources", { name: "Mobile app", type: "http" });
  await made("/v2/sources", { name: "Newsletter", type: "http", enabled: false });
  const webhook = async (name: string, webhookUrl: string, more = {}) =>
    (await made("/v2/destinations", { name, type: "webhook", config: { webhookUrl, ...more } }))
      .destination.id as string;
  const warehouse = await webhook("Warehouse", healthy.url, { batchSize: 20 });
  const crm = await webhook("CRM", broken.url);
  const mail = await webhook("Mail tool", healthy.url);
  const archive = await made("/v2/destinations", {
    name: "Archive",
    type: "file",
    config: { path: "archive.jsonl" },
  });
  for (const [sourceId, destinationId] of [
    [source.id, warehouse],
    [source.id, crm],
    [source.id, archive.destination.id],
    [app.source.id, warehouse],
    [app.source.id, mail],
  ]) {
    await made("/v2/connections", { sourceId, destinationId });
  }
  const shared = await made("/libraries?publish=true", {
    name: "Prices",
    description: "What things cost",
    code: library,
    language: "javascript",
  });
  const transformation = await made("/transformations?publish=true", {
    name: "Price of a sign-up",
    description: "Adds what a sign-up is worth",
    code: price,
    language: "javascript",
    destinationIds: [warehouse],
  });
  await made("/transformations", {
    name: "City of a visitor",
    description: "Not published yet",
    code: careless,
    language: "javascript",
  });

  const send = (fields: Record<string, string> = {}) =>
    pixel(server, "track", {
      writeKey: source.writeKey,
      anonymousId: "visitor-1",
      event: "Signed up",
      ...fields,
    });
  const names = ["Signed up", "Opened pricing", "Invited a colleague", "Left"];
  for (let index = 0; index < 60; index++) {
    await send({
      anonymousId: `visitor-${index % 9}`,
      event: names[index % names.length]!,
      "properties.plan": index % 7 === 0 ? "internal" : "pro",
      "properties.seats": String(1 + (index % 12)),
    });
  }
  await pixel(server, "page", { writeKey: app.source.writeKey, anonymousId: "a", name: "Home" });
  const deadLetter = await waitFor(async () => {
    const { body } = await server.api("GET", "/v2/dead-letters?count=1");
    if (body.paging.total >= 60) return body.deadLetters[0].id as string;
  });

  return {
    server,
    writeKey: source.writeKey,
    ids: {
      source: source.id,
      healthy: warehouse,
      broken: crm,
      transformation: transformation.id,
      library: shared.id,
      deadLetter,
    },
    mend() {
      isBroken = false;
    },
    send,
    async stop() {
      await server.stop();
      healthy.stop();
      broken.stop();
      removeDirectory(server.directory);
    },
  };
}

function maker(server: Server) {
  return async (path: string, body: unknown) => {
    const answer = await server.api("POST", path, body);
    if (answer.status > 201) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
}

/** A place of the console, and what is seen there when it is whole. */
export interface ScenePlace {
  name: string;
  hash: string;
  seen: string;
}

/** Every screen, with something on it. */
export function placesOf({ ids }: Scene): ScenePlace[] {
  return [
    { name: "overview", hash: "#/", seen: ".graph .node" },
    { name: "sources", hash: "#/sources", seen: "td >> text=Website" },
    { name: "source", hash: `#/sources/${ids.source}`, seen: ".code" },
    { name: "new source", hash: "#/sources/new", seen: "dialog[open]" },
    { name: "destinations", hash: "#/destinations", seen: "td >> text=Warehouse" },
    { name: "destination", hash: `#/destinations/${ids.broken}`, seen: ".chart canvas" },
    {
      name: "destination settings",
      hash: `#/destinations/${ids.healthy}?tab=settings`,
      seen: "text=Webhook URL",
    },
    { name: "new destination", hash: "#/destinations/new", seen: "text=Webhook URL" },
    { name: "transformations", hash: "#/transformations", seen: "td >> text=Price of a sign-up" },
    { name: "transformation", hash: `#/transformations/${ids.transformation}`, seen: ".cm-line" },
    {
      name: "history",
      hash: `#/transformations/${ids.transformation}?tab=history`,
      seen: "main >> text=Live",
    },
    {
      name: "links",
      hash: `#/transformations/${ids.transformation}?tab=destinations`,
      seen: "main >> text=Warehouse",
    },
    { name: "libraries", hash: "#/libraries", seen: "td >> text=Prices" },
    { name: "library", hash: `#/libraries/${ids.library}`, seen: ".cm-line" },
    { name: "replays", hash: "#/replays", seen: "text=Nothing was sent again yet" },
    { name: "new replay", hash: "#/replays/new", seen: "text=Received before" },
    { name: "event search", hash: "#/search", seen: "text=Received before" },
    { name: "live tail", hash: "#/events", seen: "text=Waiting for events" },
    { name: "dead letters", hash: "#/dead-letters", seen: "td >> text=The receiver answered" },
    { name: "dead letter list", hash: "#/dead-letters?all=1", seen: "td input" },
    { name: "dead letter", hash: `#/dead-letters/${ids.deadLetter}`, seen: ".code" },
    { name: "settings", hash: "#/settings", seen: "text=Pixels go to" },
    { name: "members", hash: "#/settings/members", seen: "text=No members yet" },
    { name: "tokens", hash: "#/settings/tokens", seen: "text=Yours" },
    { name: "credentials", hash: "#/settings/credentials", seen: "text=No credentials yet" },
    { name: "system", hash: "#/system", seen: "text=BODY_BYTES_MAX" },
    { name: "nowhere", hash: "#/nowhere", seen: "text=There is no such screen" },
  ];
}
