/**
 * Collects the outcomes of the events of the current run: outputs as lines of JSON, or an error.
 */
(own, limits) => {
  const { stringify, create, isArray, described, objectText, idOf } = own;
  const { errorCharsMax, failed, open } = limits;
  const { outputCharsMax, outputsMax, answerOutputsMax } = limits;

  let count = 0;
  let outputChars = 0;
  let outputCount = 0;
  let full = false;
  /** Error of the whole batch, as JSON `[message, stack]`; empty when there is none. */
  let failure = "";
  // Lists without a prototype: user code may have put setters on those of arrays and objects.
  /** Per event: the number of its outputs, or `failed`, or `open`. */
  let counts = create(null);
  let lines = create(null);
  /** Per event that failed: its error, as JSON `[message, stack]`. */
  let faults = create(null);

  function keep(index, json) {
    outputChars += json.length + 1;
    outputCount += 1;
    lines[index] = counts[index] > 0 ? `${lines[index]}\n${json}` : json;
    counts[index] = counts[index] > 0 ? counts[index] + 1 : 1;
  }

  function setFault(index, fault) {
    counts[index] = failed;
    lines[index] = "";
    faults[index] = fault;
  }

  function refuse(index, message) {
    setFault(index, `[${stringify(message)},""]`);
  }

  function refuseMany(index, length) {
    refuse(index, `Expected at most ${outputsMax} outputs of one event, got ${length}`);
  }

  function fail(index, thrown) {
    setFault(index, described(thrown, errorCharsMax));
  }

  /** Stores the outcome of an event: the value that `transformEvent` returned for it. */
  function accept(index, returned) {
    const before = outputChars;
    const countBefore = outputCount;
    try {
      if (returned === null || returned === undefined) counts[index] = 0;
      else if (isArray(returned)) acceptList(index, returned);
      else {
        const json = objectText(returned);
        if (json === undefined) {
          refuse(index, "returned event from transformEvent(event) is not an object");
        } else keep(index, json);
      }
    } catch (thrown) {
      fail(index, thrown);
    }
    if (counts[index] === failed) forget(before, countBefore);
    else if (outputChars > outputCharsMax || outputCount > answerOutputsMax) {
      forget(before, countBefore);
      overflow(index);
    }
  }

  function forget(charsBefore, countBefore) {
    outputChars = charsBefore;
    outputCount = countBefore;
  }

  function acceptList(index, returned) {
    const items = create(null);
    const { length } = returned;
    if (length > outputsMax) {
      refuseMany(index, length);
      return;
    }
    for (let i = 0; i < length; i += 1) {
      const json = objectText(returned[i]);
      if (json === undefined) {
        refuse(index, "returned event in events array from transformEvent(event) is not an object");
        return;
      }
      items[i] = json;
    }
    counts[index] = 0;
    for (let i = 0; i < length; i += 1) keep(index, items[i]);
  }

  /**
   * Handles outputs that exceed the limit of one reply. An event whose outputs alone are too large
   * fails. Otherwise the event stays open, and runs again for the next reply.
   */
  function overflow(index) {
    if (outputChars === 0) {
      refuse(index, `Output of one event is larger than ${outputCharsMax} characters`);
    } else {
      counts[index] = open;
      full = true;
    }
  }

  /**
   * Stores the error of the whole batch. If the batch has only one event, this event fails. Else all
   * events stay open, also those whose outputs were read before the error.
   */
  function failBatch(fault) {
    for (let i = 0; i < count; i += 1) counts[i] = open;
    if (count === 1) setFault(0, fault);
    else failure = fault;
  }

  /**
   * Stores the outcomes of all events: the value that `transformBatch` returned. An output belongs
   * to the input event with the same messageId, or else to the input event of the output before it.
   * A value that is not an object makes the input event at its index fail.
   */
  function acceptBatch(returned, ids) {
    if (!isArray(returned)) {
      failBatch(`["returned events from transformBatch(event) is not an array",""]`);
      return;
    }
    const { length } = returned;
    if (length > outputsMax * count) {
      if (count === 1) refuseMany(0, length);
      else failure = `[${stringify(`Expected at most ${outputsMax} outputs an event`)},""]`;
      return;
    }
    const items = create(null);
    for (let i = 0; i < length; i += 1) items[i] = objectText(returned[i]);
    const indexes = create(null);
    for (let i = count - 1; i >= 0; i -= 1) {
      if (ids[i] !== undefined) indexes[ids[i]] = i;
      counts[i] = 0;
    }
    let owner = 0;
    for (let i = 0; i < length; i += 1) {
      if (items[i] === undefined) {
        refuse(
          i < count ? i : owner,
          "returned event in events array from transformBatch(events) is not an object",
        );
      } else {
        owner = indexes[idOf(returned[i])] ?? owner;
        if (counts[owner] !== failed) keep(owner, items[i]);
        if (counts[owner] > outputsMax) refuseMany(owner, counts[owner]);
      }
    }
    if (outputChars <= outputCharsMax && outputCount <= answerOutputsMax) return;
    forget(0, 0);
    if (count === 1) overflow(0);
    for (let i = 0; i < count; i += 1) if (counts[i] !== failed) counts[i] = open;
    full = count > 1;
  }

  return {
    __proto__: null,
    accept,
    acceptBatch,
    failBatch: (thrown) => failBatch(described(thrown, errorCharsMax)),
    fail,
    begin(eventCount) {
      count = eventCount;
      forget(0, 0);
      full = false;
      failure = "";
      counts = create(null);
      lines = create(null);
      faults = create(null);
      for (let i = 0; i < count; i += 1) counts[i] = open;
    },
    full: () => full,
    failure: () => failure,
    /** Fails all events that have no outcome, with `message`. */
    giveUp(message) {
      for (let i = 0; i < count; i += 1) if (counts[i] === open) refuse(i, message);
    },
    counts() {
      let list = "";
      for (let i = 0; i < count; i += 1) list += i === 0 ? counts[i] : `,${counts[i]}`;
      return `[${list}]`;
    },
    faults() {
      let list = "";
      for (let i = 0; i < count; i += 1) {
        if (counts[i] === failed) list += list === "" ? faults[i] : `,${faults[i]}`;
      }
      return `[${list}]`;
    },
    /** Returns the outputs of an event, one line of JSON each; an empty text without outputs. */
    outputsOf: (index) => (counts[index] > 0 ? lines[index] : ""),
  };
};
