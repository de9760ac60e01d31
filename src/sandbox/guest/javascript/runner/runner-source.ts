import {
  FETCH_REQUEST_CHARS_MAX,
  FETCHES_MAX,
  GUEST_ERROR_CHARS_MAX,
  GUEST_LOG_CHARS_MAX,
  GUEST_OUTPUT_CHARS_MAX,
  GUEST_OUTPUTS_MAX,
} from "../../../../settings/limits.ts";
import { GUEST_ANSWER_OUTPUTS_MAX } from "../../../guest-limits.ts";
import { metadataKeys, ownMetadataKeys, relayedMetadataKeys } from "../../../program.ts";
import { FAILED, OPEN } from "../../../protocol/guest-protocol.ts";
import network from "./host-calls.realm.js" with { type: "text" };
import outcomes from "./outcomes.realm.js" with { type: "text" };
import own from "./primordials.realm.js" with { type: "text" };
import run from "./run-events.realm.js" with { type: "text" };
import calls from "./user-functions.realm.js" with { type: "text" };

/**
 * Step of the runner, the code that calls user functions inside a program's context.
 * - `run`: runs the events
 * - `arrive`: settles the promises of host calls (functions that the server executes, such as
 *   `fetch`)
 * - `describe`: describes a thrown value
 * - `drain`: lets the ready promises continue, which every other step does at its end
 */
export type RunnerStep = "run" | "drain" | "arrive" | "describe";

/**
 * Interface to the runner. All arguments and results are strings, numbers, or objects of the
 * program's context.
 */
export interface RealmRunner {
  /** Sets the secrets that `getCredential` returns, from a JSON object of strings by name. */
  setCredentials(json: string): void;
  /**
   * Stores the function with which a module handles events: `transformEvent` or, without it,
   * `transformBatch`. Returns which of these names the module exports, separated by a comma. The
   * caller must refuse the code unless there is exactly one.
   */
  install(namespace: object): string;
  /**
   * Sets the events of the next run.
   * - `events`: JSON array of `count` events
   * - `metadata`: their metadata, as JSON made by `metadataTexts`
   * - `logs`: maximum number of lines that the run may write with `log(...)`
   * - `logChars`: maximum total size of these lines, in UTF-16 units of JSON
   */
  take(events: string, metadata: string, count: number, logs: number, logChars: number): void;
  arm(step: RunnerStep): void;
  /**
   * Stores a thrown value. The step `describe` then turns it into the JSON `[message, stack]`,
   * which `description` returns.
   */
  hold(thrown: unknown): void;
  description(): string;
  /** Number of promises that user functions have returned and that have not settled. */
  pending(): number;
  /** Index of the event whose function is running; −1 when no function is running. */
  current(): number;
  /** Time in Unix milliseconds at which the running user function was called. */
  calledAt(): number;
  /** Number of host calls that have no result yet. */
  awaited(): number;
  /**
   * Returns unsent host calls as a JSON array, at most as many as one message may contain, and
   * marks them as sent.
   */
  outgoing(): string;
  incoming(answers: string): void;
  /** Whether the run ended early because its outputs reached the size limit of one reply. */
  full(): boolean;
  /**
   * Error of the whole batch, as JSON `[message, stack]`; empty when there is none. In a batch of
   * one event, the error counts as that event's: `faults` has it, and this text is empty.
   */
  failure(): string;
  giveUp(message: string): void;
  counts(): string;
  faults(): string;
  /**
   * Returns the lines that user code wrote with `log(...)`, as a JSON array of `[text, index of the
   * event or −1, stack of the caller]`.
   */
  logs(): string;
  /**
   * Returns the outputs of the event at `index`, one line of JSON each; an empty string when there
   * are none.
   */
  outputsOf(index: number): string;
}

/**
 * Number of characters that the runner keeps of an error's message, and of its stack. It is larger
 * than `GUEST_ERROR_CHARS_MAX`, because the stack is shortened later to the frames of user code.
 */
const RAW_ERROR_CHARS_MAX = 4 * GUEST_ERROR_CHARS_MAX;

/**
 * Number of characters at the start of a `log(...)` call's stack in which the runner looks for the
 * first frame of user code.
 */
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
  failed: FAILED,
  open: OPEN,
};

/**
 * Source of a script that evaluates to a new runner, created in the context where the script runs.
 */
export const runnerSource = `"use strict";
{
  const limits = ${JSON.stringify(limits)};
  const own = (${expression(own)})(limits);
  const metadataObject = (shared, values) => ({ ${metadataMembers()} });
  const calls = (${expression(calls)})(own, limits, metadataObject);
  const network = (${expression(network)})(own, limits);
  const outcomes = (${expression(outcomes)})(own, limits);
  (${expression(run)})(own, calls, network, outcomes, limits);
}`;

/** Removes the semicolon at the end of a file, so that the text is an expression. */
function expression(text: string): string {
  return text.trim().replace(/;$/, "");
}

/**
 * Returns the source code of the members of an object literal for an event's metadata, which is ten
 * times as fast as setting the keys one by one. The code reads `values` (the event's row in the
 * JSON of `metadataTexts`) and `shared` (its shared object).
 */
function metadataMembers(): string {
  const members = [...metadataKeys, ...relayedMetadataKeys].map((key) => {
    const index = (ownMetadataKeys as readonly string[]).indexOf(key) + 1;
    return `${key}: ${index > 0 ? `values?.[${index}] ?? ` : ""}shared?.${key}`;
  });
  return members.join(", ");
}
