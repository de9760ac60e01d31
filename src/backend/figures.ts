import { messageOf } from "../errors.ts";
import { FigureRecorder } from "../figures/figure-recorder.ts";
import { FigureTables } from "../figures/figure-tables.ts";
import { earliestNow } from "../observe/ages.ts";
import type { Pipeline } from "../pipeline/pipeline.ts";
import type { Store } from "../store/store.ts";
import type { FigureStorage, StartContext } from "./backend.ts";

/** Pause in milliseconds before the store of figures is opened again after a failure. */
const RETRY_MS = 30_000;

/**
 * Opens the store of figures in the background, with retries. Returns a function that starts to
 * record a pipeline's figures. Call `openFigures` before the pipeline is opened, because `stack`
 * closes in reverse order and must close the pipeline first.
 */
export function openFigures(
  { logger, stack }: Pick<StartContext, "logger" | "stack">,
  { open, share }: FigureStorage,
): (pipeline: Pick<Pipeline, "figures">) => FigureRecorder {
  let store: Store | undefined;
  let tables: FigureTables | undefined;
  let recorder: FigureRecorder | undefined;
  let isClosed = false;
  let timer: ReturnType<typeof setTimeout> | undefined;

  async function tryToOpen(): Promise<void> {
    try {
      store = await open();
      tables = new FigureTables(store);
    } catch (error) {
      logger.warn({ reason: messageOf(error) }, "figures cannot be opened; retrying");
      if (!isClosed) timer = setTimeout(retry, RETRY_MS);
    }
  }
  const retry = () => {
    opening = tryToOpen();
  };

  let opening = tryToOpen();
  stack.defer(async () => {
    isClosed = true;
    clearTimeout(timer);
    await opening;
    await store?.close();
  });
  stack.defer(() => recorder?.close());
  return ({ figures }) => {
    recorder = new FigureRecorder({
      tables: () => tables,
      collect: figures.minute,
      collectLag: figures.lag,
      share,
      now: Date.now,
      earliestNow,
      logger,
    });
    recorder.start();
    return recorder;
  };
}
