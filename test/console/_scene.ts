import {
  pixel,
  removeDirectory,
  type Server,
  startServer,
  startSink,
  waitFor,
} from "../e2e/server.ts";

/** Server with a workspace that has items of every kind, and a destination that refuses events. */
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
  /** Makes the refusing receiver answer 200. */
  repair(): void;
  /** Sends one pixel. */
  send(fields?: Record<string, string>): Promise<unknown>;
  stop(): Promise<void>;
}

const library = `export function euros(seats) {
  return Math.round(seats * 950) / 100;
}
`;

const price = `import { euros } from "prices";

/** Adds the price of a sign-up. */
export function transformEvent(event) {
  const { seats = 1, plan } = event.properties;
  if (plan === "internal") return;
  if (plan === "free") throw new Error(seats);
  event.properties.price = euros(seats);
  return event;
}
`;

const careless = `export function transformEvent(event) {
  event.properties.city = event.context.geo.city;
  return event;
}
`;

/**
 * Starts the scene. `word` is appended to every text that users, visitors and receivers choose: to
 * names, code, events, errors, the receiver's URL and its response.
 */
export async function startScene(word = ""): Promise<Scene> {
  const server = await startServer({ flags: ["--retry-window", "1"] });
  let isBroken = true;
  const healthy = startSink();
  const broken = startSink(() => (isBroken ? new Response(word, { status: 422 }) : 200));
  const create = creator(server, word);

  const { source } = await create("/v2/sources", { name: "Website", type: "http" });
  const app = await create("/v2/sources", { name: "Mobile app", type: "http" });
  await create("/v2/sources", { name: "Newsletter", type: "http", enabled: false });
  const webhook = async (name: string, webhookUrl: string, more = {}) =>
    (await create("/v2/destinations", { name, type: "webhook", config: { webhookUrl, ...more } }))
      .destination.id as string;
  const warehouse = await webhook("Warehouse", healthy.url, { batchSize: 20 });
  const crm = await webhook("CRM", broken.url + word);
  const mail = await webhook("Mail tool", healthy.url);
  const archive = await create("/v2/destinations", {
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
    await create("/v2/connections", { sourceId, destinationId });
  }
  const shared = await create("/libraries?publish=true", {
    name: "Prices",
    description: "What things cost",
    code: library,
    language: "javascript",
  });
  const transformation = await create("/transformations?publish=true", {
    name: "Price of a sign-up",
    description: "Adds what a sign-up is worth",
    code: price.replace("prices", shared.importName),
    language: "javascript",
    destinationIds: [warehouse],
  });
  await create("/transformations", {
    name: "City of a visitor",
    description: "Not published yet",
    code: careless,
    language: "javascript",
  });

  const send = (fields: Record<string, string> = {}) =>
    pixel(server, "track", {
      writeKey: source.writeKey,
      anonymousId: "visitor-1",
      event: `Signed up${word}`,
      ...fields,
    });
  const names = ["Signed up", "Opened pricing", "Invited a colleague", "Left"];
  for (let index = 0; index < 60; index++) {
    await send({
      anonymousId: `visitor-${index % 9}${word}`,
      event: names[index % names.length]! + word,
      "properties.plan": index % 7 === 0 ? "internal" : "pro",
      "properties.seats": String(1 + (index % 12)),
    });
  }
  await pixel(server, "page", { writeKey: app.source.writeKey, anonymousId: "a", name: "Home" });
  // Its transformation throws an error with the word.
  if (word !== "") await send({ "properties.plan": "free", "properties.seats": word });
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
    repair() {
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

function creator(server: Server, word: string) {
  return async (path: string, body: Record<string, unknown>) => {
    const longer = { ...body };
    if ("name" in body) longer.name = `${body.name}${word}`.slice(0, 255);
    if ("description" in body) longer.description = `${body.description}${word}`;
    const answer = await server.api("POST", path, longer);
    if (answer.status > 201) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
}

/** Screen of the console, and a selector that matches when it is loaded. */
export interface SceneScreen {
  name: string;
  hash: string;
  loaded: string;
}

/** Every screen, with the items of the scene. */
export function screensOf({ ids }: Scene): SceneScreen[] {
  return [
    { name: "overview", hash: "#/", loaded: ".graph .node" },
    { name: "sources", hash: "#/sources", loaded: "td >> text=Website" },
    { name: "source", hash: `#/sources/${ids.source}`, loaded: ".code" },
    { name: "new source", hash: "#/sources/new", loaded: "dialog[open]" },
    { name: "destinations", hash: "#/destinations", loaded: "td >> text=Warehouse" },
    { name: "destination", hash: `#/destinations/${ids.broken}`, loaded: ".chart canvas" },
    {
      name: "destination settings",
      hash: `#/destinations/${ids.healthy}?tab=settings`,
      loaded: "text=Webhook URL",
    },
    { name: "new destination", hash: "#/destinations/new", loaded: "text=Webhook URL" },
    { name: "transformations", hash: "#/transformations", loaded: "td >> text=Price of a sign-up" },
    { name: "transformation", hash: `#/transformations/${ids.transformation}`, loaded: ".cm-line" },
    {
      name: "history",
      hash: `#/transformations/${ids.transformation}?tab=history`,
      loaded: "main >> text=Live",
    },
    {
      name: "links",
      hash: `#/transformations/${ids.transformation}?tab=destinations`,
      loaded: "main >> text=Warehouse",
    },
    { name: "libraries", hash: "#/libraries", loaded: "td >> text=Prices" },
    { name: "library", hash: `#/libraries/${ids.library}`, loaded: ".cm-line" },
    { name: "replays", hash: "#/replays", loaded: "text=No replays" },
    { name: "new replay", hash: "#/replays/new", loaded: "text=Received before" },
    { name: "alerts", hash: "#/alerts", loaded: "text=No receiver yet" },
    { name: "alert rules", hash: "#/alerts/rules", loaded: "text=No receiver yet" },
    { name: "alert receivers", hash: "#/alerts/receivers", loaded: "text=No receivers" },
    { name: "audit log", hash: "#/audit", loaded: "td >> text=source.create" },
    { name: "event search", hash: "#/search", loaded: "text=Received before" },
    { name: "live tail", hash: "#/events", loaded: "td >> text=Signed up" },
    { name: "dead letters", hash: "#/dead-letters", loaded: "td >> text=from receiver" },
    { name: "dead letter list", hash: "#/dead-letters?all=1", loaded: "td input" },
    { name: "dead letter", hash: `#/dead-letters/${ids.deadLetter}`, loaded: ".code" },
    { name: "settings", hash: "#/settings", loaded: "text=Data plane URL" },
    { name: "members", hash: "#/settings/members", loaded: "text=No members yet" },
    { name: "tokens", hash: "#/settings/tokens", loaded: "text=Current" },
    { name: "credentials", hash: "#/settings/credentials", loaded: "text=No credentials yet" },
    { name: "system", hash: "#/system", loaded: "text=BODY_BYTES_MAX" },
    { name: "nowhere", hash: "#/nowhere", loaded: "text=Page not found" },
  ];
}
