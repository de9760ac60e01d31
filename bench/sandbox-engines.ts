import { getQuickJS } from "quickjs-emscripten";

/** Engine that runs one function over events, from JSON texts to JSON texts. */
export interface Engine {
  name: string;
  /** Runs the function over the events; returns how many it has run. */
  run(events: readonly string[]): Promise<number> | number;
  close(): Promise<void>;
}

const functionOf = (code: string) => code.replace("export ", "");

/** Engine that calls the function in this process. */
export function directEngine(code: string): Engine {
  const transform = new Function(`return ${functionOf(code)}`)() as (event: unknown) => unknown;
  return {
    name: "direct",
    run(events) {
      for (const event of events) keep(JSON.stringify(transform(JSON.parse(event))));
      return events.length;
    },
    async close() {},
  };
}

/** Reads a result, so that no engine can optimize the work away. */
function keep(output: string | undefined): void {
  if (output !== undefined && output.length === 0) throw new Error("Expected an output");
}

/** Engine in a worker thread, which receives batches as arrays of texts; isolates nothing. */
export function workerEngine(code: string): Engine {
  const source = `const transform = ${functionOf(code)};
    onmessage = ({ data }) =>
      postMessage(data.map((event) => JSON.stringify(transform(JSON.parse(event)))));`;
  const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  const worker = new Worker(url);
  return {
    name: "worker thread",
    run(events) {
      return new Promise((resolve) => {
        worker.onmessage = ({ data }: MessageEvent<string[]>) => resolve(data.length);
        worker.postMessage(events);
      });
    },
    async close() {
      worker.terminate();
    },
  };
}

/** Engine in WebAssembly (QuickJS): the cost of a sandbox without the operating system's help. */
export async function quickjsEngine(code: string): Promise<Engine> {
  const quickjs = await getQuickJS();
  const context = quickjs.newContext();
  const source = `const transform = ${functionOf(code)};
    (texts) => JSON.stringify(JSON.parse(texts).map((event) => JSON.stringify(transform(event))))`;
  const run = context.unwrapResult(context.evalCode(source));
  return {
    name: "quickjs-emscripten",
    run(events) {
      const texts = context.newString(`[${events.join(",")}]`);
      const result = context.unwrapResult(context.callFunction(run, context.undefined, texts));
      const outputs: string[] = JSON.parse(context.getString(result));
      for (const output of outputs) keep(output);
      texts.dispose();
      result.dispose();
      return outputs.length;
    },
    async close() {
      run.dispose();
      context.dispose();
    },
  };
}
