import { expect } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { pino } from "pino";
import { eventRecordCodec } from "../../src/event/record.ts";
import { openLogWriter } from "../../src/log/writer.ts";
import {
  HTTP_BODY_BYTES_MAX,
  HTTP_WAITING_BYTES_PER_NETWORK_MAX,
} from "../../src/settings/limits.ts";
import { firstMissing, type Missing, missingPrograms, testWith } from "../counterpart.ts";
import { childrenOf, removeDirectory, temporaryDirectory, waitFor } from "../e2e/server.ts";
import { good } from "../egress/tls.ts";
import { fillDisk, mountDisk, mountMissing, unmountDisk } from "../small-disk.ts";
import { judge, printedRules } from "./rules.ts";
import { Scene } from "./scene.ts";

/**
 * Each alert on a real server in the trouble that it is for. A scrape a second stands for one a
 * minute: the rules look at the same figures as of a trouble that lasts longer.
 */
const INTERVAL_SECONDS = 60;
const CALM = 3;
const DISK_BYTES = 400 << 20;
/** Longest time in which guests use up the CPU time of five events on a busy machine. */
const GUESTS_MS_MAX = 500_000;

interface Trouble {
  alerts: string[];
  missing?: Missing;
  code?: string;
  flagsIn?(directory: string): string[];
  disk?: number;
  /** Brings the server into trouble, and scrapes it. */
  run(scene: Scene): Promise<void>;
}

const failing = `export function transformEvent(event) {
  // The events of its tests are others.
  if (event.event === "Bad" || event.event === "Fine") throw new Error("bad");
  return event;
}`;
const crashing = `export function transformEvent(event) {
  if (event.event === "Endless") for (;;);
  return event;
}`;

const troubles: Record<string, Trouble> = {
  "a server that is stopped": {
    alerts: ["PixelmillAway"],
    async run(scene) {
      await scene.server.stop();
      await scene.watch(4);
    },
  },
  "a full disk": {
    alerts: ["PixelmillLogNotWritable"],
    missing: mountMissing,
    disk: DISK_BYTES,
    async run(scene) {
      fillDisk(scene.directory);
      await waitFor(async () => (await scene.send("Refused")) === 503 || undefined, "a 503");
      await scene.watch(20);
    },
  },
  "a disk that is nearly full of a destination's files": {
    alerts: ["PixelmillDiskNearlyFull"],
    missing: mountMissing,
    disk: DISK_BYTES,
    async run(scene) {
      mkdirSync(join(scene.data, "files"), { recursive: true });
      const { bavail, bsize } = statfsSync(scene.directory);
      const left = 0.05 * DISK_BYTES;
      writeFileSync(join(scene.data, "files", "output.jsonl"), Buffer.alloc(bavail * bsize - left));
      await scene.watch(20);
    },
  },
  "more incomplete requests of one network than may wait": {
    alerts: ["PixelmillPixelsRefused"],
    run: (scene) => sendIncomplete(scene, `/pixel/v1/track?writeKey=${scene.writeKey}`),
  },
  "more incomplete requests of SDKs than may wait": {
    alerts: ["PixelmillPixelsRefused"],
    run: (scene) => sendIncomplete(scene, "/v1/batch"),
  },
  "an SDK that sends to a disabled source": {
    alerts: [],
    async run(scene) {
      const { server } = scene;
      const disabled = { name: "Disabled", type: "http", enabled: false };
      const { source } = (await server.api("POST", "/v2/sources", disabled)).body;
      const headers = { authorization: `Basic ${btoa(`${source.writeKey}:`)}` };
      const body = JSON.stringify({ userId: "u", event: "Sent" });
      const request = { method: "POST", headers, body };
      const isRefused = async () =>
        (await fetch(`${server.dataPlane}/v1/track`, request)).status === 503 || undefined;
      await waitFor(isRefused, "an answer that refuses");
      await scene.watch(8, async () => {
        for (let count = 0; count < 20; count++) expect(await isRefused()).toBe(true);
      });
    },
  },
  "a destination that is down for longer than a quarter of an hour": {
    alerts: ["PixelmillDeliveryLate"],
    async run(scene) {
      scene.receiverStatus = 503;
      await scene.server.stop();
      await addOldEvent(scene, 16 * 60_000);
      await scene.start();
      await scene.watch(8);
    },
  },
  "a receiver that refuses all events": {
    alerts: ["PixelmillDeadLettersGrow"],
    async run(scene) {
      scene.receiverStatus = 400;
      await scene.watch(10);
    },
  },
  "code that fails for all events": {
    // The events become dead letters, too.
    alerts: ["PixelmillCodeSuspended", "PixelmillDeadLettersGrow"],
    code: failing,
    async run(scene) {
      await waitFor(async () => {
        await scene.send("Bad");
        const { body } = await scene.server.api("GET", "/v2/suspensions");
        return body.suspensions?.length > 0 || undefined;
      }, "a suspension");
      // Suspensions are short at first, and code runs between them.
      await scene.watch(22);
    },
  },
  "code that never ends for some events": {
    alerts: ["PixelmillGuestsCrash"],
    code: crashing,
    async run(scene) {
      for (let count = 0; count < 5; count++) await scene.send("Endless");
      // The time that this takes depends on the machine, so it is not scraped.
      const areGivenUp = async () => {
        const { body } = await scene.server.api("GET", "/v2/dead-letters");
        return body.deadLetters.length >= 5 || undefined;
      };
      await waitFor(areGivenUp, "five dead letters", GUESTS_MS_MAX);
      await scene.watch(3);
    },
  },
  "a log that was damaged while the server was stopped": {
    alerts: ["PixelmillEventsLost"],
    async run(scene) {
      await scene.watch(2);
      await scene.server.stop();
      damageLog(join(scene.data, "events", "0"));
      await scene.start();
      await scene.watch(6);
    },
  },
  "an ingest process that is killed again and again": {
    alerts: ["PixelmillIngestDies"],
    async run(scene) {
      await scene.watch(9, async (number) => {
        if (number % 2 !== 0) return;
        const [pid] = childrenOf(scene.server.pid, "ingest");
        if (pid !== undefined) process.kill(pid, "SIGKILL");
        const isBack = async () => (await scene.send("Back")) === 200 || undefined;
        await waitFor(isBack, "the next ingest process");
      });
    },
  },
  "backups that fail": {
    alerts: ["PixelmillBackupLate"],
    flagsIn: (directory) => [
      "--backup-every=20",
      `--backup-directory=${join(directory, "backups")}`,
    ],
    async run(scene) {
      const backups = join(scene.directory, "backups");
      rmSync(backups, { recursive: true });
      writeFileSync(backups, "no directory");
      await waitFor(async () => {
        const { body } = await scene.server.api("GET", "/ready");
        return body.warnings.join().includes("No backup for") || undefined;
      }, "a warning");
      await scene.watch(3);
    },
  },
  "a certificate that ends in a week": {
    alerts: ["PixelmillCertificateEnds"],
    missing: missingPrograms("openssl"),
    flagsIn: (directory) => tlsFlags(directory, shortCertificate),
    run: (scene) => scene.watch(8),
  },
  "a renewed certificate without its key": {
    alerts: ["PixelmillCertificateUnusable"],
    flagsIn: (directory) =>
      tlsFlags(directory, (certificate, key) => {
        writeFileSync(certificate, good.cert);
        writeFileSync(key, good.key);
      }),
    async run(scene) {
      writeFileSync(join(scene.directory, "key.pem"), "no key");
      process.kill(scene.server.pid, "SIGHUP");
      await waitFor(() => scene.server.errors().includes("TLS") || undefined, "a refused reload");
      await scene.watch(8);
    },
  },
};

testWith(missingPrograms("promtool"))("there is a trouble for each alert rule", () => {
  const tried = new Set(Object.values(troubles).flatMap(({ alerts }) => alerts));
  expect([...tried].sort()).toEqual(
    printedRules()
      .rules.map(({ alert }) => alert)
      .sort(),
  );
});

for (const [name, trouble] of Object.entries(troubles)) {
  testWith(firstMissing(missingPrograms("promtool"), trouble.missing))(
    `${name}: ${trouble.alerts.length === 0 ? "no alert fires" : `${trouble.alerts.join(" and ")} fires, and no other alert`}`,
    async () => {
      const directory = temporaryDirectory();
      if (trouble.disk !== undefined) mountDisk(directory, trouble.disk);
      try {
        const scene = await Scene.open(trouble, directory);
        await scene.watch(CALM);
        await trouble.run(scene);
        const { scrapes } = scene;
        await scene.close();
        const rules = printedRules();
        const intervalSeconds = INTERVAL_SECONDS;
        expect(judge(scrapes.slice(0, CALM), { rules, intervalSeconds })).toBe("");
        const expected = trouble.alerts;
        expect(judge(scrapes, { rules, intervalSeconds, expected })).toBe("");
      } finally {
        if (trouble.disk !== undefined) unmountDisk(directory);
        removeDirectory(directory);
      }
    },
    900_000,
  );
}

/** Sends more requests without their last byte than one network may have, and scrapes meanwhile. */
async function sendIncomplete(scene: Scene, target: string): Promise<void> {
  const held: Socket[] = [];
  await scene.watch(8, async (number) => {
    const all = Math.ceil(HTTP_WAITING_BYTES_PER_NETWORK_MAX / HTTP_BODY_BYTES_MAX) + 20;
    for (let count = 0; count < (number === 0 ? all : 20); count++) {
      held.push(await incompleteRequest(scene, target));
    }
  });
  for (const socket of held) socket.destroy();
}

/** Sends a pixel whose body does not come whole; resolves once it is sent or answered. */
function incompleteRequest(scene: Scene, target: string): Promise<Socket> {
  const { hostname, port } = new URL(scene.server.dataPlane);
  const socket = connect(Number(port), hostname);
  socket.on("error", () => {});
  const authorization = `Authorization: Basic ${btoa(`${scene.writeKey}:`)}\r\n`;
  const length = `Content-Length: ${HTTP_BODY_BYTES_MAX}\r\n`;
  const head = `POST ${target} HTTP/1.1\r\nHost: a\r\n${authorization}${length}\r\n`;
  return new Promise((resolve) => {
    socket.on("close", () => resolve(socket));
    socket.write(head + "x".repeat(HTTP_BODY_BYTES_MAX - 1), () => resolve(socket));
  });
}

/** Writes an event into the log of a stopped server that came `ageMs` milliseconds ago. */
async function addOldEvent({ data, sourceId, writeKey }: Scene, ageMs: number): Promise<void> {
  const log = await openLogWriter({
    directory: join(data, "events", "0"),
    codec: eventRecordCodec,
    logger: pino({ level: "silent" }),
  });
  await log.append({
    type: "track",
    receivedAt: Date.now() - ageMs,
    sourceId,
    clientAddress: "",
    messageId: crypto.getRandomValues(new Uint8Array(16)),
    query: `writeKey=${writeKey}&userId=u1&event=Old`,
  });
  await log.close();
}

/** Changes a byte in the middle of the newest block of a log. */
function damageLog(directory: string): void {
  const magic = Buffer.from([0xf5, 0x50, 0x58, 0xff]);
  for (const name of readdirSync(directory).filter((name) => name.endsWith(".segment"))) {
    const bytes = readFileSync(join(directory, name));
    const last = bytes.lastIndexOf(magic);
    if (last === -1) continue;
    bytes[last + 60]! ^= 1;
    writeFileSync(join(directory, name), bytes);
  }
}

function tlsFlags(directory: string, make: (certificate: string, key: string) => void): string[] {
  const [certificate, key] = [join(directory, "certificate.pem"), join(directory, "key.pem")];
  make(certificate, key);
  return ["--transformer-port=0", "--tls-certificate", certificate, "--tls-key", key];
}

function shortCertificate(certificate: string, key: string): void {
  Bun.spawnSync([
    ...["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"],
    ...["-nodes", "-days", "7", "-subj", "/CN=short.test", "-keyout", key, "-out", certificate],
  ]);
}
