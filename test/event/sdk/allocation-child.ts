import { batchBody, trackEvent } from "../../../bench/sdk-events.ts";
import { scanBody } from "../../../src/event/sdk/body.ts";
import { eventAt } from "../../../src/event/sdk/event-facts.ts";
import { loadText } from "../../../src/json/json-scanner.ts";
import { memberSpans } from "../../../src/json/member-names.ts";
import { growthOf } from "../growth.ts";

/** `BUN_JSC_useGC=0 bun allocation-child.ts WORK COUNT`: bytes of growth per operation. */
const batch = batchBody(100);
const event = Buffer.from(JSON.stringify(trackEvent(0)));
const spans = memberSpans(["type", "userId", "context"]);
const works: Record<string, () => unknown> = {
  batch() {
    const body = scanBody(batch, true);
    for (let index = 0; index < 100; index++) if (eventAt(index).problem) return "";
    return body;
  },
  event: () => spans.find(loadText(event), 0),
  /** The positive control: what the parser of the platform allocates. */
  control: () => JSON.parse(event.toString()),
};

process.stdout.write(`${await growthOf(works[process.argv[2]!]!, Number(process.argv[3]))}\n`);
