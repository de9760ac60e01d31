import { lstat, rm } from "node:fs/promises";
import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import type { Detail } from "../../errors.ts";
import { FILE_BATCH_EVENTS_MAX, FILE_PATH_CHARS_MAX } from "../../limits.ts";
import type { DestinationKind, OpenDestination, Outgoing, Verdict } from "../destination.ts";
import { rudderstackKeys } from "../rudderstack-keys.ts";
import { testEvent } from "../test-event.ts";
import { type TestStep, TestSteps } from "../test-steps.ts";
import { beneath, openBeneath } from "./beneath.ts";
import { LineFile } from "./line-file.ts";

const FileConfig = Type.Object({
  ...rudderstackKeys,
  path: Type.String({
    minLength: 1,
    maxLength: FILE_PATH_CHARS_MAX,
    description: "Relative to the workspace's directory below `files` of the data directory",
  }),
});
type FileConfig = Static<typeof FileConfig>;

/** Appends events as JSON lines to a file below `root`, in the directory of its workspace. */
export function fileKind(root: string): DestinationKind {
  // Destinations with the same path share the file, so that their writes do not cross.
  const files = new Map<string, { file: LineFile; users: number }>();

  function use(path: string): LineFile {
    const shared = files.get(path) ?? { file: new LineFile(root, path), users: 0 };
    shared.users += 1;
    files.set(path, shared);
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
    batchSize: () => FILE_BATCH_EVENTS_MAX,
    concurrency: () => 1,
    open(config, workspaceId): OpenDestination {
      const path = `${workspaceId}/${(config as FileConfig).path}`;
      const file = use(path);
      return {
        deliver: (events, signal) => append(file, events, signal),
        close: () => leave(path),
      };
    },
    test: (config, workspaceId) => testFile(root, `${workspaceId}/${(config as FileConfig).path}`),
  };
}

async function append(
  file: LineFile,
  events: readonly Outgoing[],
  signal: AbortSignal,
): Promise<Verdict> {
  if (signal.aborted) return { kind: "retry", reason: "The delivery was stopped" };
  try {
    await file.append(events);
    return { kind: "delivered" };
  } catch (error) {
    const code = codeOf(error);
    return { kind: misplaced.has(code) ? "rejected" : "retry", reason: unwritable(code) };
  }
}

/** What is at the path is no file of ours: a symbolic link, a directory, a device. */
const misplaced = new Set(["ELOOP", "ENOTDIR", "EISDIR", "ENXIO", "EINVAL", "ENAMETOOLONG"]);

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "unknown";
}

const unwritable = (code: string) => `The file cannot be written (${code})`;

/** Writes a file of its own beside the destination's, and deletes it. */
async function testFile(root: string, path: string): Promise<TestStep[]> {
  const steps = new TestSteps();
  const probe = `${path.split("/").slice(0, -1).join("/")}/.connection-test-${crypto.randomUUID()}`;
  try {
    await beneath(root, path, async (place) => {
      const there = await lstat(place).catch(() => undefined);
      if (there?.isFile() === false) throw Object.assign(new Error(), { code: "EINVAL" });
    });
    const handle = await openBeneath(root, probe);
    try {
      await handle.write(testEvent());
      await handle.datasync();
    } finally {
      await handle.close();
    }
    steps.passed("write");
  } catch (error) {
    steps.failed("write", unwritable(codeOf(error)));
  }
  try {
    await beneath(root, probe, (place) => rm(place, { force: true }));
    if (steps.done[0]!.ok) steps.passed("clean-up");
  } catch (error) {
    if (steps.done[0]!.ok)
      steps.failed("clean-up", `The file cannot be deleted (${codeOf(error)})`);
  }
  return steps.done;
}

const expected = `Expected a relative path of at most ${FILE_PATH_CHARS_MAX} characters without . or .. as a name`;

function fileFaults(config: Record<string, unknown>): Detail[] {
  if (Value.Check(FileConfig, config) && isRelative(config.path)) return [];
  return [{ path: "/path", message: expected }];
}

function isRelative(path: string): boolean {
  return path.split("/").every((name) => {
    const known = name !== "" && name !== "." && name !== "..";
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
    return known && Buffer.byteLength(name) <= 255 && !/[\x00-\x1f\x7f\\]/.test(name);
  });
}
