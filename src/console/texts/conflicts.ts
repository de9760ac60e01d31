/** Texts shown when another user has changed an item while this user edited it. */
export const conflictTexts = {
  title: "Changed by others meanwhile",
  explain:
    "The fields below were changed here and by another user. Choose a value for each, and save again.",
  unsavedChanges: "Unsaved changes",
  before: "Before",
  theirs: "Theirs",
  yours: "Yours",
  empty: "(empty)",
  /** Text that is shown in place of a secret. */
  secret: "(secret, not shown)",
  alsoChanged: (names: readonly string[]) =>
    `Saved together with changes by others: ${names.join(", ")}`,
  reviewAgain: "It was changed by others meanwhile. Check the current state, then try again.",
  mergeTitle: "Merge changes",
  mergeExplain:
    "The result is on the right. It has the changes of both sides, and yours where both changed the same lines.",
  overlaps: (count: number) =>
    count === 1 ? "1 place was changed by both." : `${count} places were changed by both.`,
  noOverlaps: "No place was changed by both.",
  compareWith: "Compare the result with",
  resultOfMerge: "Result of the merge",
  useResult: "Use the result",
  takeChange: "Take this change",
  takeTheirs: "Take all of theirs",
  olderBase: "Your unsaved code is based on an older revision than the one that is stored now.",
  merge: "Merge…",
};
