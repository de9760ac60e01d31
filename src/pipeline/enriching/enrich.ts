import type { Live } from "../../catalog/live.ts";
import { type SourceSettings, settingsOfSource } from "../../catalog/source-settings.ts";
import { asBuffer, BRACE_OPEN, QUOTE, SPACE } from "../../json/bytes.ts";
import { loadText, stringText } from "../../json/json-scanner.ts";
import { ABSENT, memberSpans } from "../../json/member-names.ts";
import type { BuiltEvent } from "../model/input-event.ts";
import { botName } from "./bots.ts";

export interface EnrichingParts<Record> {
  /** Builds the event of a record, without the members that enriching adds. */
  eventOf(record: Record): BuiltEvent;
  live: Pick<Live, "sourceById" | "topology">;
  /** Returns the location of an IP address as JSON text; undefined for an unknown address. */
  place?: ((ip: string) => string | undefined) | undefined;
}

/**
 * Returns a function that builds a record's event with the `context` members that the source's
 * settings select: `geo` (location of the IP address), and `isBot` and `bot` if a bot sent the
 * event. Existing members stay unchanged. Dropped events get the members too, so that searches show
 * them.
 */
export function createEnrichedEvents<Record extends { sourceId: string }>(
  parts: EnrichingParts<Record>,
): (record: Record) => BuiltEvent {
  const { eventOf, live, place } = parts;
  /**
   * Source id → settings of the source; undefined if they neither ask for locations nor act on
   * bots.
   */
  const settings = new Map<string, SourceSettings | undefined>();
  let topology: number | undefined;

  function settingsOf(sourceId: string): SourceSettings | undefined {
    const now = live.topology();
    if (now !== topology) settings.clear();
    topology = now;
    if (settings.has(sourceId)) return settings.get(sourceId);
    const all = settingsOfSource(live.sourceById(sourceId) ?? {});
    const found = all.geoEnrichment || all.bots !== "keep" ? all : undefined;
    settings.set(sourceId, found);
    return found;
  }

  return (record) => {
    const event = eventOf(record);
    const found = settingsOf(record.sourceId);
    if (found === undefined) return event;
    return enriched(event, found.bots, found.geoEnrichment ? place : undefined);
  };
}

const inEvent = memberSpans(["context", "request_ip"]);
const CONTEXT = 0;
const REQUEST_IP = 1;
const inContext = memberSpans(["ip", "userAgent", "geo", "isBot", "bot"]);
const IP = 0;
const USER_AGENT = 1;
const GEO = 2;
const IS_BOT = 3;
const BOT = 4;

function enriched(
  event: BuiltEvent,
  bots: SourceSettings["bots"],
  place: ((ip: string) => string | undefined) | undefined,
): BuiltEvent {
  const json = asBuffer(event.json);
  const text = loadText(json);
  if (inEvent.find(text, 0) < 0) return event;
  const context = inEvent.starts[CONTEXT]!;
  const isObject = json[context] === BRACE_OPEN;
  // A context that is no object cannot have members.
  if (context !== ABSENT && !isObject) return event;
  if (isObject) inContext.find(text, context);
  else inContext.starts.fill(ABSENT);
  const has = (member: number) => inContext.starts[member] !== ABSENT;

  const added: string[] = [];
  const bot = bots === "keep" ? undefined : botName(textOf(json, inContext, USER_AGENT));
  const outcome = bot !== undefined && bots === "drop" ? { isDropped: true as const } : {};
  if (bot !== undefined && !has(IS_BOT)) added.push('"isBot":true');
  if (bot !== undefined && !has(BOT)) added.push(`"bot":${JSON.stringify({ name: bot })}`);
  if (place !== undefined && !has(GEO)) {
    const ip = textOf(json, inContext, IP) || textOf(json, inEvent, REQUEST_IP);
    const geo = ip === "" ? undefined : place(ip);
    if (geo !== undefined) added.push(`"geo":${geo}`);
  }
  if (added.length === 0) return { ...event, ...outcome };

  const end = isObject ? inEvent.ends[CONTEXT]! : json.length;
  const members = isObject ? added.join(",") : `"context":{${added.join(",")}}`;
  return { ...event, ...outcome, json: inserted(json, end - 1, members) };
}

/** Returns the string value of a member; an empty one if the member is absent or no string. */
function textOf(json: Buffer, spans: typeof inEvent, member: number): string {
  const start = spans.starts[member]!;
  return json[start] === QUOTE ? stringText(json, start, spans.ends[member]!) : "";
}

/** Returns a copy of the JSON with members added to the object whose closing brace is at `at`. */
function inserted(json: Buffer, at: number, members: string): Uint8Array {
  let before = at - 1;
  while (json[before]! <= SPACE) before--;
  const text = json[before] === BRACE_OPEN ? members : `,${members}`;
  return Buffer.concat([json.subarray(0, at), Buffer.from(text), json.subarray(at)]);
}
