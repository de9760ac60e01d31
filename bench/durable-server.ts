/**
 * Durable bare Bun server, the lower bound for storing pixels: writes every URL to a file before
 * the answer. Requests that arrive during a write share the next write.
 */
import { constants, mkdtempSync, rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gifAnswer, serveGif } from "./gif-server.ts";

const { O_APPEND, O_CREAT, O_DSYNC, O_WRONLY } = constants;
const directory = mkdtempSync(join(tmpdir(), "pixelmill-bench-"));
const file = await open(join(directory, "urls"), O_WRONLY | O_CREAT | O_DSYNC | O_APPEND);
// The open file keeps the space until the process exits.
rmSync(directory, { recursive: true });

let waiting = "";
let written = Promise.withResolvers<void>();
let writing = false;

function append(url: string): Promise<void> {
  waiting += `${url}\n`;
  const { promise } = written;
  if (!writing) void write();
  return promise;
}

async function write(): Promise<void> {
  writing = true;
  while (waiting !== "") {
    const { resolve } = written;
    const urls = waiting;
    waiting = "";
    written = Promise.withResolvers();
    await file.write(urls);
    resolve();
  }
  writing = false;
}

serveGif(async ({ url }) => {
  await append(url);
  return gifAnswer();
});
