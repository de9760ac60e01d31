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
 * A step of the runner, the code that calls user functions inside a program's context. `run` runs
 * the events, `arrive` settles the promises of host calls (`fetch` and others, which the server
 * executes), and `describe` describes a thrown value. `drain` itself does nothing: after every
 * step, promises that are ready continue.
 */
export type RunnerStep = "run" | "drain" | "arrive" | "describe";

/**
 * Interface to the runner, the code that calls user functions inside a program's context. Only
 * text, numbers and objects of that context are passed.
 */
export interface RealmRunner {
  /** Sets the secrets that `getCredential` returns: a JSON object of texts by name. */
  setCredentials(json: string): void;
  /**
   * Takes the entry point (the user's function for events) from a module namespace. Returns the
   * names of all entry points that the module exports, separated by a comma.
   */
  install(namespace: object): string;
  /**
   * Sets the events of the next run: `events` is a JSON array, `metadata` a text of `metadataJson`.
   * The run may write `logs` lines with `log(...)`, with `logChars` UTF-16 units of JSON.
   */
  take(events: string, metadata: string, count: number, logs: number, logChars: number): void;
  arm(step: RunnerStep): void;
  /**
   * Stores a thrown value. The step `describe` turns it into JSON `[message, stack]` for
   * `description`.
   */
  hold(thrown: unknown): void;
  description(): string;
  /** Number of promises of user functions that have not settled. */
  pending(): number;
  /** Index of the event whose function is running; −1 when no function is running. */
  current(): number;
  /** Clock time in ms since the epoch at which the running event's function was called. */
  calledAt(): number;
  /**
   * Number of host calls (`fetch` and others, which the server executes) that have no result yet.
   */
  awaited(): number;
  /**
   * Returns the host calls (`fetch` and others, which the server executes) that were not sent yet,
   * as a JSON array. They then count as sent.
   */
  outgoing(): string;
  incoming(answers: string): void;
  /** Whether the run ended early because its outputs reached the limit of one reply. */
  full(): boolean;
  /**
   * Error of the whole batch as JSON `[message, stack]`, when the batch has several events;
   * otherwise an empty text.
   */
  failure(): string;
  giveUp(message: string): void;
  counts(): string;
  faults(): string;
  /**
   * Lines of `log(...)` as a JSON array of `[text, index of the event or −1, stack of the caller]`.
   */
  logs(): string;
  /** Returns the outputs of an event, one line of JSON each; an empty text without outputs. */
  outputsOf(index: number): string;
}

/**
 * Number of characters of an error's message, and of its stack, that are kept until the frames of
 * the stack are parsed.
 */
const RAW_ERROR_CHARS_MAX = 4 * GUEST_ERROR_CHARS_MAX;

/** Number of characters of a stack trace that are searched for the first frame of user code. */
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
 * Source of a script that creates the runner (the code that calls user functions) in the context
 * where the script runs. The value of the script is the runner.
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

/** Removes the semicolon at the end of a file, which the formatter requires. */
function expression(text: string): string {
  return text.trim().replace(/;$/, "");
}

/**
 * Returns the members of an object literal, which is ten times as fast as setting the keys one by
 * one. `values` in the literal is an event's row of `metadataJson`, `shared` the row's object.
 */
function metadataMembers(): string {
  const members = [...metadataKeys, ...relayedMetadataKeys].map((key) => {
    const index = (ownMetadataKeys as readonly string[]).indexOf(key) + 1;
    return `${key}: ${index > 0 ? `values?.[${index}] ?? ` : ""}shared?.${key}`;
  });
  return members.join(", ");
}
