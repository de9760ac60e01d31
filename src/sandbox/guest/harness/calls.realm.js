/** What user code may call that needs nobody else: `log`, `getCredential`, `metadata`. */
(own, limits) => {
  const { parse, stringify, ownKeys, create, provide, cut, shown, TypeFault } = own;
  const { logsMax, logCharsMax, metadataKeys } = limits;

  let credentials = create(null);
  let keepLogs = false;
  let logs = "";
  let logCount = 0;
  let metadataText = "[]";
  let metadataOf;
  let ids = create(null);
  let count = 0;

  provide("log", function log(...values) {
    if (!keepLogs || logCount >= logsMax) return;
    let line = "Log:";
    for (let i = 0; i < values.length; i += 1) line += ` ${shown(values[i])}`;
    logs += `${logCount === 0 ? "" : ","}${stringify(cut(line, logCharsMax))}`;
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
    begin(metadataOfAll, withLogs) {
      metadataText = metadataOfAll;
      metadataOf = undefined;
      keepLogs = withLogs;
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
