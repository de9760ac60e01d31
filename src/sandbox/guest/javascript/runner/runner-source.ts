import {
  FETCH_REQUEST_CHARS_MAX,
  FETCHES_MAX,
  GUEST_ERROR_CHARS_MAX,
  GUEST_LOG_CHARS_MAX,
  GUEST_OUTPUT_CHARS_MAX,
  GUEST_OUTPUTS_MAX,
} from "../../../../settings/limits.ts";
import { GUEST_ANSWER_OUTPUTS_MAX } from "../../../guest-limits.ts";
import { metadataKeys } from "../../../program.ts";
import { FAILED, OPEN } from "../../../protocol/guest-protocol.ts";
import network from "./host-calls.realm.js" with { type: "text" };
import outcomes from "./outcomes.realm.js" with { type: "text" };
import own from "./primordials.realm.js" with { type: "text" };
import run from "./run-events.realm.js" with { type: "text" };
import calls from "./user-functions.realm.js" with { type: "text" };

/**
 * The steps of the runner. `drain` itself does nothing: all promises that are ready go on after
 * every step.
 */
export type RunnerStep = "run" | "drain" | "arrive" | "describe";

/**
 * The interface of the runner to the guest. It takes and returns only text, numbers and objects of
 * the realm.
 */
export interface RealmRunner {
  /** A JSON object of named secrets. */
  setCredentials(json: string): void;
  /** Takes the entry points of a module namespace and returns their names. */
  install(namespace: object): string;
  /** Sets the next run: JSON arrays of events and of their metadata. */
  take(events: string, metadata: string, count: number, logs: number, logChars: number): void;
  arm(step: RunnerStep): void;
  /** A thrown value for `describe`, which makes it JSON `[message, stack]`. */
  hold(thrown: unknown): void;
  description(): string;
  /** Number of events whose promises have not settled. */
  pending(): number;
  /** Index of the event whose function is running; −1 when none is. */
  current(): number;
  /** Number of host calls without a result. */
  awaited(): number;
  /** The host calls that were not sent yet, as a JSON array. */
  outgoing(): string;
  incoming(answers: string): void;
  /** Whether the run ended early because its output is large enough. */
  full(): boolean;
  /**
   * The error of a whole batch of several events, as JSON `[message, stack]`; empty without one.
   */
  failure(): string;
  giveUp(message: string): void;
  counts(): string;
  faults(): string;
  /** JSON of lines: `[text, index of the event or −1, stack of the caller]`. */
  logs(): string;
  outputs(): string;
}

/** Characters of an error's text that are kept before the frames of its stack are parsed. */
const RAW_ERROR_CHARS_MAX = 4 * GUEST_ERROR_CHARS_MAX;

/** Characters of a stack that are searched for the first frame of user code. */
const LOG_STACK_CHARS_MAX = 1_024;

const limits = {
  outputCharsMax: GUEST_OUTPUT_CHARS_MAX,
  outputsMax: GUEST_OUTPUTS_MAX,
  answerOutputsMax: GUEST_ANSWER_OUTPUTS_MAX,
  logCharsMax: GUEST_LOG_CHARS_MAX,
  logStackCharsMax: LOG_STACK_CHARS_MAX,
  errorCharsMax: RAW_ERROR_CHARS_MAX,
  questionsMax: FETCHES_MAX,
  questionCharsMax: FETCH_REQUEST_CHARS_MAX,
  metadataKeys,
  failed: FAILED,
  open: OPEN,
};

/** A script whose value is the runner of the context it runs in. */
export const runnerSource = `"use strict";
{
  const limits = ${JSON.stringify(limits)};
  const own = (${expression(own)})(limits);
  const calls = (${expression(calls)})(own, limits);
  const network = (${expression(network)})(own, limits);
  const outcomes = (${expression(outcomes)})(own, limits);
  (${expression(run)})(own, calls, network, outcomes, limits);
}`;

/** The files end in a semicolon, as the formatter wants it. */
function expression(text: string): string {
  return text.trim().replace(/;$/, "");
}
