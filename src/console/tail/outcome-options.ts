import { commonTexts } from "../texts/common.ts";
import { tailTexts } from "../texts/tail.ts";

/** Outcomes by which the events of a table can be filtered. */
export const outcomeOptions = [
  { value: "delivered", text: commonTexts.delivered },
  { value: "dropped", text: commonTexts.dropped },
  { value: "dead-letter", text: tailTexts.outcomeNames["dead-letter"] },
  { value: "in-flight", text: tailTexts.outcomeNames["in-flight"] },
  { value: "repeated", text: tailTexts.outcomeNames.repeated },
  { value: "not-connected", text: tailTexts.outcomeNames["not-connected"] },
] as const;
