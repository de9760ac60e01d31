/**
 * Measures `/customTransform` as rudder-server calls it: a real server with a published
 * transformation, requests of 200 events of 1 KB, several at once. The CPU time is that of all the
 * server's processes. Beside it the same function called directly in a process, for JavaScript and,
 * where `python3` is installed, for Python.
 *
 *   bun bench/transformer.ts [--rounds 5] [--python]
 */
import { parseArgs } from "node:util";
import { removeDirectory, startServer } from "../test/e2e/server.ts";
import { cpuBetween, cpuByPart } from "./cpu.ts";
import { report } from "./report.ts";
import { directEngine } from "./sandbox-engines.ts";

const { values } = parseArgs({
  options: { rounds: { type: "string", default: "5" }, python: { type: "boolean" } },
});
const EVENTS = 200;
const AT_ONCE = 4;
const ROUND_MS = 2_000;
/** Events per CPU-second of RudderStack's transformer as a service, as measured elsewhere. */
const RUDDERSTACK_SERVICE = 3_500;

const javascript = `export function transformEvent(event) {
  event.properties.total = event.properties.price * event.properties.quantity;
  event.context.plan = event.context.traits.plan.toUpperCase();
  delete event.request_ip;
  return event;
}`;
const python = `
def transformEvent(event, metadata):
    properties = event["properties"]
    properties["total"] = properties["price"] * properties["quantity"]
    event["context"]["plan"] = event["context"]["traits"]["plan"].upper()
    event.pop("request_ip", None)
    return event
`;

const messages = Array.from({ length: EVENTS }, (_, n) => ({
  type: "track",
  event: "Product Added",
  messageId: `message-${n}`,
  anonymousId: crypto.randomUUID(),
  properties: { price: 19.5 + n, quantity: 1 + (n % 5), sku: `sku-${n}`, note: "x".repeat(420) },
  context: {
    traits: { plan: "team", email: `user-${n}@example.com` },
    page: { url: `https://shop.example.com/products/${n}`, title: `Product ${n}` },
    userAgent: "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko)",
  },
  request_ip: "203.0.113.7",
}));

const server = await startServer({ flags: ["--transformer-port", "0"] });
const url = /transformer listening on (\S+)/.exec(server.output())?.[1];
const workspaceId = (await server.api("GET", "/v2/workspace")).body.workspace.id;

async function publish(code: string, language: string): Promise<string> {
  const input = { name: `Bench ${language}`, code, language, events: [messages[0]] };
  const answer = await server.api("POST", "/transformations?publish=true", input);
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
  return answer.body.versionId;
}

function requestOf(versionId: string): string {
  return JSON.stringify(
    messages.map((message, n) => ({
      message,
      metadata: {
        workspaceId,
        jobId: n,
        messageId: message.messageId,
        sourceId: "source-1",
        destinationId: "destination-1",
        rudderId: crypto.randomUUID(),
        receivedAt: "2026-11-20T08:00:00.123Z",
        eventName: message.event,
        eventType: message.type,
        sourceDefinitionId: "definition-1",
        destinationDefinitionId: "definition-2",
        transformationVersionId: versionId,
      },
      destination: { ID: "destination-1", Transformations: [{ VersionID: versionId, ID: "t" }] },
      libraries: [],
      credentials: [],
    })),
  );
}

async function send(body: string): Promise<void> {
  const headers = { "content-type": "application/json", "x-feature-filter-code": "?1" };
  const answer = await fetch(`${url}/customTransform`, { method: "POST", headers, body });
  const text = await answer.text();
  if (answer.status !== 200 || !text.endsWith('"statusCode":200}]')) {
    throw new Error(`Expected outputs, got ${answer.status} ${text.slice(-200)}`);
  }
}

async function rate(body: string): Promise<{ perCpu: number; perSecond: number }> {
  const [before, started] = [cpuByPart(server.pid), performance.now()];
  let requests = 0;
  const sender = async () => {
    for (; performance.now() - started < ROUND_MS; requests += 1) await send(body);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, sender));
  const { server: own, guests } = cpuBetween(before, cpuByPart(server.pid));
  const seconds = (performance.now() - started) / 1_000;
  const events = requests * EVENTS;
  return { perCpu: (events / (own + guests)) * 1e6, perSecond: events / seconds };
}

function directRate(): number {
  const engine = directEngine(javascript);
  const texts = messages.map((it) => JSON.stringify(it));
  const started = process.cpuUsage();
  let events = 0;
  for (const end = performance.now() + ROUND_MS; performance.now() < end; events += EVENTS) {
    void engine.run(texts);
  }
  const { user, system } = process.cpuUsage(started);
  return (events / (user + system)) * 1e6;
}

function cpythonRate(): number {
  const script = `
import json, sys, time
${python}
texts = [json.dumps(it) for it in json.load(sys.stdin)]
count, start = 0, time.process_time()
while time.process_time() - start < ${ROUND_MS / 1_000}:
    for text in texts:
        json.dumps(transformEvent(json.loads(text), None))
    count += len(texts)
print(count / (time.process_time() - start))`;
  const stdin = Buffer.from(JSON.stringify(messages));
  const { stdout } = Bun.spawnSync(["python3", "-c", script], { stdin });
  return Number(stdout.toString());
}

const best = (numbers: number[]) => Math.round(Math.max(...numbers));
const rows: Record<string, string | number>[] = [];

async function measure(language: string, code: string, peer: string, peerRate: () => number) {
  const body = requestOf(await publish(code, language));
  await rate(body);
  const own: Awaited<ReturnType<typeof rate>>[] = [];
  const peers: number[] = [];
  for (let round = 0; round < Number(values.rounds); round += 1) {
    own.push(await rate(body));
    peers.push(peerRate());
  }
  const perCpu = best(own.map((it) => it.perCpu));
  const of = best(peers);
  rows.push({
    language,
    "events per CPU-second": perCpu,
    "events per second": best(own.map((it) => it.perSecond)),
    [peer]: of,
    share: Math.round((100 * perCpu) / of) / 100,
    "times RudderStack's service": Math.round((10 * perCpu) / RUDDERSTACK_SERVICE) / 10,
  });
}

await measure("javascript", javascript, "direct", directRate);
if (values.python && Bun.which("python3") !== null) {
  await measure("pythonfaas", python, "CPython", cpythonRate);
}
await server.stop();
removeDirectory(server.directory);
await report("transformer", rows);
