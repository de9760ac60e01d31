import { lstat, rm } from "node:fs/promises";
import { InvariantError } from "../../assert.ts";
import { codeOf } from "../../errors.ts";
import { GATHERED_EVENTS_MAX } from "../../settings/limits.ts";
import type { DeliveryResult, DestinationKind, OpenDestination } from "../destination.ts";
import { parquet } from "../formats/parquet.ts";
import { testEvent } from "../test-event.ts";
import { type TestStep, TestSteps } from "../test-steps.ts";
import { batchLimitsOf, FileConfig, fileFaults } from "./config.ts";
import { JsonLinesFile } from "./json-lines-file.ts";
import { FILE_BATCH_EVENTS_MAX } from "./limits.ts";
import { deleteExpiredFiles, deletesFiles, rotatedPath, writtenName } from "./rotated-files.ts";
import { openSafely, withSafePath, writeAtomically } from "./safe-path.ts";

/**
 * Creates the kind of destination that writes events to files below `root`, in a directory for each
 * workspace. It appends events to a file of JSON lines, or writes batches of events as Parquet
 * files.
 */
export function fileKind(root: string): DestinationKind<FileConfig> {
  // Destinations with the same path share one object, so that their writes do not interleave.
  const files = new Map<string, { file: JsonLinesFile; users: number }>();

  function use(path: string): JsonLinesFile {
    const open = () => ({ file: new JsonLinesFile(root, path), users: 0 });
    const shared = files.getOrInsertComputed(path, open);
    shared.users += 1;
    return shared.file;
  }

  async function leave(path: string): Promise<void> {
    const shared = files.get(path);
    if (shared === undefined) return;
    shared.users -= 1;
    if (shared.users > 0) return;
    files.delete(path);
    await shared.file.close();
  }

  return {
    kind: "file",
    configSchema: FileConfig,
    secretKeys: [],
    validate: fileFaults,
    endpoint: ({ path }) => path,
    batchSize: ({ format }) => (format === "parquet" ? GATHERED_EVENTS_MAX : FILE_BATCH_EVENTS_MAX),
    concurrency: 1,
    batchLimits: batchLimitsOf,
    open(config, workspaceId): OpenDestination {
      const path = `${workspaceId}/${config.path}`;
      if (config.format === "parquet") return openParquet(root, path, config);
      const file = use(path);
      return {
        deliver: (events, signal) => attempt(() => file.append(events, config), signal),
        close: () => leave(path),
      };
    },
    test: ({ path }, workspaceId) => testFile(root, `${workspaceId}/${path}`),
  };
}

/**
 * Opens a destination that writes one Parquet file for each delivery. When the delivery is
 * attempted again, the new file replaces the old one.
 */
function openParquet(root: string, path: string, settings: FileConfig): OpenDestination {
  return {
    deliver: (events, signal, name = crypto.randomUUID()) =>
      attempt(async () => {
        const written = deletesFiles(settings) ? await writtenName(root, path, name) : name;
        await writeAtomically(root, rotatedPath(path, written), await parquet(events));
        await deleteExpiredFiles(root, path, settings).catch(() => {});
      }, signal),
    async close() {},
  };
}

async function attempt(write: () => Promise<void>, signal: AbortSignal): Promise<DeliveryResult> {
  if (signal.aborted) return { kind: "retry", reason: "The delivery was stopped" };
  try {
    await write();
    return { kind: "delivered" };
  } catch (error) {
    const kind = notRegular.has(codeOf(error)) ? "rejected" : "retry";
    return { kind, reason: unwritable(error) };
  }
}

/**
 * Error codes of a path that can never be a file of events: a symbolic link, a directory, a device,
 * or a name that is too long. The delivery is then rejected, not retried.
 */
const notRegular = new Set(["ELOOP", "ENOTDIR", "EISDIR", "ENXIO", "EINVAL", "ENAMETOOLONG"]);

function unwritable(error: unknown): string {
  const cause = error instanceof InvariantError ? error.message : codeOf(error) || "unknown";
  return `The file cannot be written (${cause})`;
}

/**
 * Tests a file destination: writes a temporary file to the directory of the destination's file, and
 * deletes it.
 */
async function testFile(root: string, path: string): Promise<TestStep[]> {
  const steps = new TestSteps();
  const probe = `${path.split("/").slice(0, -1).join("/")}/.connection-test-${crypto.randomUUID()}`;
  try {
    await withSafePath(root, path, async (resolved) => {
      const there = await lstat(resolved).catch(() => undefined);
      if (there?.isFile() === false) throw Object.assign(new Error(), { code: "EINVAL" });
    });
    const handle = await openSafely(root, probe);
    try {
      await handle.write(testEvent().bytes);
      await handle.datasync();
    } finally {
      await handle.close();
    }
    steps.passed("write");
  } catch (error) {
    steps.failed("write", unwritable(error));
  }
  try {
    await withSafePath(root, probe, (resolved) => rm(resolved, { force: true }));
    if (steps.done[0]!.ok) steps.passed("clean-up");
  } catch (error) {
    if (steps.done[0]!.ok)
      steps.failed("clean-up", `The file cannot be deleted (${codeOf(error)})`);
  }
  return steps.done;
}
