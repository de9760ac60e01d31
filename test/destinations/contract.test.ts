import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { destinationKinds } from "../../src/destinations/destination-kinds.ts";
import { createEgress } from "../../src/egress/egress.ts";
import { type Bench, describeDestination } from "./contract.ts";
import { eventsOf } from "./formats.ts";

function kindsIn(directory: string) {
  const egress = createEgress({ allow: ["127.0.0.0/8"] });
  return { kinds: destinationKinds({ directory, egress }), egress };
}

function webhookBench(batchSize: number, over: Record<string, unknown> = {}): Bench {
  const { kinds, egress } = kindsIn("unused");
  const arrived: unknown[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      if (request.url.endsWith("/token")) return Response.json({ access_token: "token" });
      const isOpen = over.oauth === undefined || request.headers.has("authorization");
      if (request.url.endsWith("/refused") || !isOpen) return new Response(null, { status: 401 });
      const bytes = Buffer.from(await request.arrayBuffer());
      const isZipped = request.headers.get("content-encoding") === "gzip";
      const body = JSON.parse((isZipped ? gunzipSync(bytes) : bytes).toString());
      arrived.push(...(body.events ?? (batchSize > 1 ? body : [body])));
      return new Response("ok");
    },
  });
  const base = `http://127.0.0.1:${server.port}`;
  const oauth = { tokenUrl: `${base}/token`, clientId: "id", clientSecret: "secret" };
  const config = {
    webhookUrl: `${base}/in?a=b`,
    batchSize,
    ...over,
    ...(over.oauth !== undefined && { oauth }),
  };
  const broken = (over: Record<string, unknown>) => ({ ...config, ...over });
  const header = (from: string, to: string) =>
    broken({
      headers: [
        { from: "a", to: "b" },
        { from, to },
      ],
    });
  return {
    kind: kinds.get("webhook")!,
    config,
    faulty: [
      { config: {}, path: "/webhookUrl" },
      { config: broken({ webhookUrl: 1 }), path: "/webhookUrl" },
      { config: broken({ webhookUrl: "example.com/x" }), path: "/webhookUrl" },
      { config: broken({ webhookUrl: "ftp://example.com" }), path: "/webhookUrl" },
      { config: broken({ webhookUrl: "http://user@example.com" }), path: "/webhookUrl" },
      { config: broken({ webhookUrl: `http://a/${"x".repeat(3_000)}` }), path: "/webhookUrl" },
      { config: broken({ webhookMethod: "TRACE" }), path: "/webhookMethod" },
      { config: broken({ batchSize: 0 }), path: "/batchSize" },
      { config: broken({ batchSize: 1.5 }), path: "/batchSize" },
      { config: broken({ timeoutMs: 600_000 }), path: "/timeoutMs" },
      { config: broken({ headers: {} }), path: "/headers" },
      { config: broken({ headers: [{ from: "a" }] }), path: "/headers" },
      { config: header("x y", "b"), path: "/headers/1/from" },
      { config: header("Host", "b"), path: "/headers/1/from" },
      { config: header("Content-Length", "0"), path: "/headers/1/from" },
      { config: header("Webhook-Signature", "v1,x"), path: "/headers/1/from" },
      { config: header("b", "x\r\nEvil: 1"), path: "/headers/1/to" },
      { config: broken({ secret: "whsec_AAAA" }), path: "/secret" },
      { config: broken({ secret: "" }), path: "/secret" },
      { config: header("Content-Encoding", "br"), path: "/headers/1/from" },
      { config: header("a", "b".repeat(5_000)), path: "/headers" },
      { config: broken({ gzip: 1 }), path: "/gzip" },
      { config: broken({ template: "{{event" }), path: "/template" },
      { config: broken({ template: "x".repeat(20_000) }), path: "/template" },
      { config: broken({ batchTemplate: "{{event}}" }), path: "/batchTemplate" },
      { config: broken({ batchTemplate: "[1]" }), path: "/batchTemplate" },
      { config: broken({ oauth: 1 }), path: "/oauth" },
      { config: broken({ oauth: { ...oauth, tokenUrl: "x" } }), path: "/oauth/tokenUrl" },
      { config: broken({ oauth: { ...oauth, authStyle: "x" } }), path: "/oauth/authStyle" },
    ],
    unusable: [
      { config: broken({ webhookUrl: "http://nowhere.invalid/" }), step: "resolve" },
      { config: broken({ webhookUrl: "http://10.1.2.3/" }), step: "resolve" },
      { config: broken({ webhookUrl: "http://127.0.0.1:1/" }), step: "connect" },
      { config: broken({ webhookUrl: `https://127.0.0.1:${server.port}/` }), step: "tls" },
      { config: broken({ webhookUrl: new URL("/refused", server.url).href }), step: "write" },
    ],
    arrived: async () => arrived,
    async end() {
      egress.close();
      await server.stop(true);
    },
  };
}

function fileBench(config: { path: string } & Record<string, unknown>): Bench {
  const directory = mkdtempSync(join(tmpdir(), "file-"));
  const { kinds, egress } = kindsIn(directory);
  const folder = join(directory, "workspace/a/b");
  mkdirSync(join(folder, "directory"), { recursive: true });
  const paths = ["/etc/x", "../x", "a/../../x", "a//b", "./a", "a/", "", "a\0b", "a\\..\\b"];
  const broken = (over: Record<string, unknown>) => ({ ...config, ...over });
  const { path: _, ...pathless } = config;
  const faults: [string, unknown[]][] = [
    ["path", [7, "x".repeat(2_000), `a/${"ä".repeat(128)}`, ...paths]],
    ["format", ["csv", 1]],
    ["rotateBytes", [0, 1.5, 1e20]],
    ["rotateAgeMs", [0, 1e20]],
    ["keepFiles", [0, 1e20]],
    ["keepAgeMs", [0, 1e20]],
  ];
  return {
    kind: kinds.get("file")!,
    config,
    faulty: [
      { config: pathless, path: "/path" },
      { config: { path: "f", keepFiles: 1 }, path: "/keepFiles" },
      { config: { path: "f", keepAgeMs: 1 }, path: "/keepAgeMs" },
      { config: { path: "f", format: "parquet", rotateAgeMs: 1e6 }, path: "/rotateAgeMs" },
      { config: { path: "x".repeat(181), rotateAgeMs: 1 }, path: "/path" },
      ...faults.flatMap(([key, values]) =>
        values.map((value) => ({ config: broken({ [key]: value }), path: `/${key}` })),
      ),
    ],
    unusable: [{ config: broken({ path: "a/b/directory" }), step: "write" }],
    async arrived() {
      // Files that have ended sort by time, before the one that has not.
      const names = readdirSync(folder).filter((name) => name !== "directory");
      const read = names.sort().map((name) => eventsOf(name, readFileSync(join(folder, name))));
      return (await Promise.all(read)).flat();
    },
    async end() {
      egress.close();
      rmSync(directory, { recursive: true });
    },
  };
}

describeDestination("webhook", () => webhookBench(1));
describeDestination("webhook with batches", () => webhookBench(10));
const lines = { path: "a/b/events.jsonl" };
const shaped = { template: "{{event}}", gzip: true, oauth: {}, secret: "any" };
describeDestination("webhook with every option", () => webhookBench(1, shaped));
const around = { ...shaped, batchTemplate: '{"events": {{events}}}' };
describeDestination("webhook with every option and batches", () => webhookBench(10, around));
describeDestination("file", () => fileBench(lines));
describeDestination("file that ends at each write", () =>
  fileBench({ ...lines, rotateBytes: 1_024, rotateAgeMs: 1 }),
);
describeDestination("file of Parquet", () =>
  fileBench({ path: "a/b/events.parquet", format: "parquet", rotateAgeMs: 100 }),
);
