/** What user code may call that needs nobody else: `log`, `getCredential`, `metadata`. */
(own, limits) => {
  const { parse, stringify, ownKeys, create, provide, cut, shown, TypeFault } = own;
  const { logCharsMax, metadataKeys } = limits;

  let credentials = create(null);
  let logsMax = 0;
  let logsCharsMax = 0;
  let logs = "";
  let logCount = 0;
  let metadataText = "[]";
  let metadataOf;
  let ids = create(null);
  let count = 0;

  provide("log", function log(...values) {
    if (logCount >= logsMax) return;
    let line = "Log:";
    for (let i = 0; i < values.length; i += 1) line += ` ${shown(values[i])}`;
    const json = stringify(cut(line, logCharsMax));
    if (logs.length + json.length > logsCharsMax) {
      // The lines that are kept are the first ones.
      logsMax = 0;
      return;
    }
    logs += logCount === 0 ? json : `,${json}`;
    logCount += 1;
  });

  provide("getCredential", function getCredential(key) {
    if (key === undefined || key === null) throw new TypeFault("Key should be valid and defined");
    return typeof key === "string" ? credentials[key] : undefined;
  });

  /** By the messageId that the event had when it came in; the last of equal ones wins. */
  function metadata(event) {
    if (metadataOf === undefined) {
      const list = parse(metadataText);
      metadataOf = create(null);
      for (let i = 0; i < count; i += 1) metadataOf[ids[i]] = list[i];
    }
    const known = metadataOf[event?.messageId];
    const answer = {};
    for (let i = 0; i < metadataKeys.length; i += 1) {
      answer[metadataKeys[i]] = known?.[metadataKeys[i]];
    }
    return answer;
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
    begin(metadataOfAll, lines, chars) {
      metadataText = metadataOfAll;
      metadataOf = undefined;
      logsMax = lines;
      logsCharsMax = chars;
      logs = "";
      logCount = 0;
    },
    /** messageIds of the events, by index. */
    know(messageIds, eventCount) {
      ids = messageIds;
      count = eventCount;
    },
  };
};
