import { expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { openInterpreter } from "../../../src/sandbox/guest/python/interpreter.ts";
import { type RestoredPython, restore } from "../../../src/sandbox/guest/python/pyodide.ts";
import { PATIENCE_MS } from "../support.ts";
import "./support.ts";

setDefaultTimeout(PATIENCE_MS);

const SNAPSHOT = join(import.meta.dir, "../../../dist/python/snapshot.zst");
const SIGINT = 2;
/** Iterations of CPython's evaluation loop between two reads of the signal source. */
const READ_ITERATIONS = 50;
/** Reads between two signals. A signal at each read would interrupt the handler of the last one. */
const GAP_READS = 2;
const TIMED_OUT = { message: "Script execution timed out." };

/** A source of signals: sends none at the first `quietReads` reads of a request, then many. */
class Signals {
  quietReads = 0;
  #reads = 0;

  begin(quietReads: number): void {
    this.#reads = 0;
    this.quietReads = quietReads;
  }

  get 0(): number {
    this.#reads += 1;
    const late = this.#reads - this.quietReads;
    return late >= 0 && late % GAP_READS === 0 ? SIGINT : 0;
  }

  set 0(_: number) {}
}

test("code that is out of time is stopped, wherever further signals interrupt the runner", async () => {
  const signals = new Signals();
  signals.begin(Number.POSITIVE_INFINITY);
  const restored = await restore(readFileSync(SNAPSHOT));
  // The interpreter's own clock would send a second signal only 10 ms after the first one.
  const signaled: RestoredPython = {
    ...restored,
    setSignalSource: () => restored.setSignalSource(signals as never),
  };
  const python = openInterpreter(signaled);
  const ask = (request: object, body: string, quietReads: number) => {
    signals.begin(quietReads);
    const reply = python.ask(
      Buffer.from(`${JSON.stringify({ exchange: 1, ...request })}\n${body}`),
    );
    return JSON.parse(Buffer.from(reply).toString().split("\n")[0]!);
  };
  const events = `[{"messageId":"a"}]`;
  const ends = [];
  for (let shift = 0; shift < READ_ITERATIONS; shift += 3) {
    // The code before the endless loop moves the iteration at which signals begin to arrive.
    const loop = `${"x = 0\n".repeat(shift)}while True: pass`;
    const library = { kind: "library", importName: "endless", code: loop, libraries: [] };
    ends.push(ask(library, "", shift * 20).error);
    const code = `def transformEvent(event, metadata):\n  ${loop.replaceAll("\n", "\n  ")}`;
    const load = { kind: "load", program: shift, name: "n", code, libraries: [], credentials: {} };
    expect(ask({ ...load, drop: [] }, "", Number.POSITIVE_INFINITY).error).toBeUndefined();
    const run = { kind: "run", program: shift, count: 1, eventsBytes: events.length };
    const limits = { logsMax: 10, logsCharsMax: 100, cpuMs: 1 };
    ends.push(ask({ ...run, ...limits }, `${events}[[{}],[[0]]]`, 200 + shift).stopped);
  }
  const expected = Array.from({ length: ends.length / 2 }, () => [
    TIMED_OUT,
    { reason: "timeout", culprit: 0 },
  ]);
  expect(ends).toEqual(expected.flat());
});
