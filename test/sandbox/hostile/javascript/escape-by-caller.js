// biome-ignore-all lint: hostile on purpose
// expect: "callers":\[\]
export function transformEvent() {
  const callers = [];
  for (const read of [
    () => transformEvent.caller,
    () => log.caller,
    () => log.arguments,
    () => transformEvent.arguments.callee.caller,
  ]) {
    try {
      const caller = read();
      if (caller) callers.push(String(caller));
    } catch {}
  }
  return { callers };
}
