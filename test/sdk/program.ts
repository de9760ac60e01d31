import { packages, programs } from "./packages.ts";

/** An event as an application hands it to an SDK. */
export interface Call {
  type: "track" | "page" | "identify" | "screen" | "group" | "alias";
  userId?: string;
  [member: string]: unknown;
}

/** The outcome of an event, as the SDK reported it. */
export interface Outcome {
  sent?: true;
  /** Reason for which the SDK gave the event up. */
  failed?: string;
}

/** A client of an SDK: what an application creates with an address and a write key. */
export interface SdkClient {
  call(event: Call): void | Promise<void>;
  /** The outcomes that the SDK has reported; empty when it has no callbacks. */
  outcomes(): readonly Outcome[];
}

export interface ClientOptions {
  address: string;
  writeKey: string;
  /** Whether a browser's SDK sends events by beacons. */
  isBeacon?: boolean;
}

/** A running SDK. */
export interface SdkProgram {
  open(name: string, options: ClientOptions): SdkClient | Promise<SdkClient>;
  stop(): Promise<void>;
}

/** Starts the program of an SDK, which runs any number of clients. */
export function startProgram(command: string[]): SdkProgram {
  const child = Bun.spawn(command, {
    env: { ...process.env, SDK_PACKAGES: packages, PYTHONPATH: `${packages}/python:${programs}` },
    stdin: "pipe",
    stdout: "pipe",
    stderr: "ignore",
  });
  const outcomes = new Map<string, Outcome[]>();
  const write = (command: object) => {
    child.stdin.write(`${JSON.stringify(command)}\n`);
    child.stdin.flush();
  };
  void readLines(child.stdout, (line) => {
    // SDKs log to the standard output too.
    if (!line.startsWith('{"client":')) return;
    const { client, ...outcome } = JSON.parse(line);
    outcomes.get(client)!.push(outcome);
  });
  return {
    open(name, options) {
      const known: Outcome[] = [];
      outcomes.set(name, known);
      write({ client: name, open: options });
      return {
        call: (event) => write({ client: name, call: event }),
        outcomes: () => known,
      };
    },
    async stop() {
      child.kill("SIGKILL");
      await child.exited;
    },
  };
}

async function readLines(stream: ReadableStream<Uint8Array>, take: (line: string) => void) {
  let rest = "";
  const decoder = new TextDecoder();
  for await (const part of stream) {
    const lines = (rest + decoder.decode(part, { stream: true })).split("\n");
    rest = lines.pop()!;
    for (const line of lines) take(line);
  }
}
