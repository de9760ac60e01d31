/**
 * Sends GET requests, each over a connection of its own, and prints the result in autocannon's form.
 *
 *   node bench/connection-each.mjs URL CONNECTIONS SECONDS
 */
import http from "node:http";
import https from "node:https";

const [url, connections, seconds] = process.argv.slice(2);
const { get } = url.startsWith("https:") ? https : http;
const result = { "2xx": 0, non2xx: 0, errors: 0, timeouts: 0 };
const latencies = [];
const startedAt = performance.now();
const end = startedAt + 1_000 * Number(seconds);

function request() {
  return new Promise((resolve) => {
    const sentAt = performance.now();
    get(url, { agent: false, headers: { connection: "close" } }, (response) => {
      response.resume();
      response.on("end", () => {
        result[response.statusCode === 200 ? "2xx" : "non2xx"]++;
        latencies.push(performance.now() - sentAt);
        resolve();
      });
    }).on("error", () => {
      result.errors++;
      resolve();
    });
  });
}

async function repeat() {
  while (performance.now() < end) await request();
}

await Promise.all(Array.from({ length: Number(connections) }, repeat));
latencies.sort((a, b) => a - b);
const at = (part) => Math.round(latencies[Math.floor(part * latencies.length)] ?? 0);
const duration = (performance.now() - startedAt) / 1_000;
const latency = { p50: at(0.5), p99: at(0.99) };
process.stdout.write(JSON.stringify({ ...result, duration, latency }));
