/**
 * Defines the functions of user code that need no host call: `log`, `getCredential`, `metadata`.
 */
(own, limits, metadataObject) => {
  const { parse, stringify, ownKeys, create, provide, cut, idOf, shown, Fault, TypeFault } = own;
  const { logCharsMax, logStackCharsMax } = limits;

  let credentials = create(null);
  let logsMax = 0;
  let logsCharsMax = 0;
  let logs = "";
  let logChars = 0;
  let logCount = 0;
  /** Returns the index of the event whose function is being called; −1 at other times. */
  let current = () => -1;
  /** Metadata of the events, as `metadataTexts` of the host writes it. */
  let metadataText = "[[],[]]";
  /** For each event, the index of its object in `sharedMetadata`, and its own values. */
  let metadataRows;
  let sharedMetadata;
  /** Rows of the events that have a messageId, by that id; undefined until the first use. */
  let rowsById;
  let events = create(null);
  let ids = create(null);
  /** Events without a messageId, by index. User code may reorder the list of all events. */
  let nameless = create(null);
  let count = 0;

  provide("log", function log(...values) {
    if (logCount >= logsMax) return;
    let line = "Log:";
    for (let i = 0; i < values.length; i += 1) line += ` ${logged(values[i])}`;
    const json = stringify(cut(line, logCharsMax));
    if (logChars + json.length > logsCharsMax) {
      // The lines that are kept are the first ones.
      logsMax = 0;
      return;
    }
    const entry = `[${json},${current()},${stringify(callers())}]`;
    logs += logCount === 0 ? entry : `,${entry}`;
    logChars += json.length;
    logCount += 1;
  });

  /** Returns any value as text. Must not throw, because only some calls of `log` keep a line. */
  function logged(value) {
    try {
      return shown(value);
    } catch {
      return "(a value that cannot be shown)";
    }
  }

  /** Returns the stack of the code that has called `log`. */
  function callers() {
    const { stack } = new Fault("");
    return typeof stack === "string" ? cut(stack, logStackCharsMax) : "";
  }

  provide("getCredential", function getCredential(key) {
    if (key === undefined || key === null) throw new TypeFault("Key should be valid and defined");
    return typeof key === "string" ? credentials[key] : undefined;
  });

  /**
   * Finds the metadata of an event. The event whose function is being called has its own, unless
   * its messageId was changed. Other events are found by the messageId that they had when they
   * arrived, and the last one of several with the same messageId is returned. An event without a
   * messageId, such as a test event, is found by its object identity.
   */
  function metadata(event) {
    if (metadataRows === undefined) {
      const parsed = parse(metadataText);
      sharedMetadata = parsed[0];
      metadataRows = parsed[1];
    }
    const id = idOf(event);
    const index = current();
    const isCurrent = index >= 0 && events[index] === event && ids[index] === id;
    const row = isCurrent
      ? metadataRows[index]
      : id === undefined
        ? rowOfNameless(event)
        : rowOfId(id);
    return metadataObject(row && sharedMetadata[row[0]], row);
  }

  function rowOfNameless(event) {
    for (const index in nameless) if (nameless[index] === event) return metadataRows[index];
    return undefined;
  }

  function rowOfId(id) {
    if (rowsById === undefined) {
      rowsById = create(null);
      for (let i = 0; i < count; i += 1) {
        if (ids[i] !== undefined) rowsById[ids[i]] = metadataRows[i];
      }
    }
    return rowsById[id];
  }

  return {
    __proto__: null,
    metadata,
    logs: () => `[${logs}]`,
    setCredentials(json) {
      const given = parse(json);
      const names = ownKeys(given);
      credentials = create(null);
      for (let i = 0; i < names.length; i += 1) credentials[names[i]] = given[names[i]];
    },
    begin(metadataOfAll, lines, chars, currentEvent) {
      metadataText = metadataOfAll;
      metadataRows = undefined;
      rowsById = undefined;
      logsMax = lines;
      logsCharsMax = chars;
      logs = "";
      logChars = 0;
      logCount = 0;
      current = currentEvent;
    },
    /** Sets the events of the run and their messageIds, both by index. */
    know(messageIds, eventsOfRun, eventCount) {
      ids = messageIds;
      events = eventsOfRun;
      count = eventCount;
      nameless = create(null);
      for (let i = 0; i < count; i += 1) if (ids[i] === undefined) nameless[i] = events[i];
    },
  };
};
