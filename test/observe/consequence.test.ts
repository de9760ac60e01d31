import { expect, test } from "bun:test";
import { joinConsequences } from "../../src/observe/consequence.ts";

test("sentences of one cause become one, with each consequence once", () => {
  const sentences = ["Disk full; no pixels", "Disk full; no backup; no pixels", "Disk full"];
  expect(joinConsequences("A disk is full", sentences)).toBe(
    "A disk is full; no pixels; no backup",
  );
  expect(joinConsequences("A disk is full", [])).toBe("A disk is full");
});
