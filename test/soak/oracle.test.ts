import { describe, expect, test } from "bun:test";
import { type Arrival, judge } from "./oracle.ts";
import { SentPixels } from "./sent-pixels.ts";

/** Twenty pixels of one user, of which all but the last are acknowledged. */
function pixels(): SentPixels {
  const sent = new SentPixels();
  for (let count = 0; count < 20; count++) {
    const number = sent.next("j1");
    if (count < 19) sent.acknowledge("j1", number);
  }
  return sent;
}
const arrival = (number: number, more: Partial<Arrival> = {}): Arrival => {
  return { user: "j1", number, messageId: `m${number}`, revision: 1, ...more };
};
/** Pixels owed to a destination with code: 7 is dropped, 13 throws. */
const whole = Array.from({ length: 19 }, (_, number) => number).filter(
  (it) => it !== 7 && it !== 13,
);
const letters = new Map([["j1:13", "transform"]]);
const faultsOf = (arrivals: Arrival[], deadLetters = letters) =>
  Object.keys(judge(pixels(), "j", true, arrivals, deadLetters).faults);

describe("soak oracle", () => {
  test("reports no fault for repeated deliveries and pixels without a response", () => {
    const arrivals = [...whole, 19, 3, 4].map((number) => arrival(number));
    expect(judge(pixels(), "j", true, arrivals, letters)).toEqual({
      ...{ owed: 19, delivered: 18, deadLetters: 1, dropped: 1, repeated: 2 },
      faults: {},
    });
  });

  test.each([
    ["lost", whole.slice(1).map((number) => arrival(number))],
    ["invented", [...whole, 20].map((number) => arrival(number))],
    ["out of order", [1, 0, ...whole.slice(2)].map((number) => arrival(number))],
    ["another messageId", [...whole.map((it) => arrival(it)), arrival(2, { messageId: "m" })]],
    ["delivered although its code does not", [...whole, 19, 7].map((it) => arrival(it))],
    [
      "older revision after a newer one",
      whole.map((number) => arrival(number, { revision: number < 5 ? 2 : 1 })),
    ],
  ])("reports the fault: %s", (fault, arrivals) => {
    expect(faultsOf(arrivals)).toContain(fault);
  });

  test("allows a pixel without a response to arrive after its successors", () => {
    const sent = pixels();
    const [unanswered, next] = [19, sent.next("j1")];
    sent.acknowledge("j1", next);
    const arrivals = [...whole, next, unanswered].map((number) => arrival(number));
    expect(judge(sent, "j", true, arrivals, letters).faults).toEqual({});
    const late = [...whole.slice(1), next, unanswered, 0].map((number) => arrival(number));
    expect(Object.keys(judge(sent, "j", true, late, letters).faults)).toEqual(["out of order"]);
  });

  test("reports a dead letter of code that does not throw", () => {
    const more = new Map([...letters, ["j1:5", "transform"]]);
    const arrivals = whole.filter((it) => it !== 5).map((number) => arrival(number));
    expect(faultsOf(arrivals, more)).toEqual(["dead letter of code that does not throw"]);
  });
});
