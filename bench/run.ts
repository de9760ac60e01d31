/** `npm run bench [NAME …]`: every benchmark, or the named ones, one after the other. */
import { boundCommand } from "../test/shared.ts";

const names = [
  "start",
  "growth",
  "parse",
  "log",
  "ingest",
  "tls",
  "latency",
  "hostile",
  "sandbox",
  "transformer",
  "egress",
  "destinations",
  "pipeline",
  "publish",
  "tenants",
  "catalog",
  "workspace-config",
  "search",
  "cluster",
  "cluster-ingest",
  "cluster-nodes",
];
const chosen = Bun.argv.length > 2 ? Bun.argv.slice(2) : names;

const unknown = chosen.find((name) => !names.includes(name));
if (unknown !== undefined)
  throw new Error(`Unknown benchmark ${unknown}; there are ${names.join(", ")}`);

for (const name of chosen) {
  const child = Bun.spawn([...boundCommand, process.execPath, `${import.meta.dir}/${name}.ts`], {
    stdio: ["ignore", "inherit", "inherit"],
  });
  if ((await child.exited) !== 0) process.exit(1);
}
