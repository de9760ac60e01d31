// biome-ignore-all lint: hostile on purpose
// expect: "tried":3,"got":\[\]
import { tries } from "tries";
export const transformEvent = () => {
  const dns = process.getBuiltinModule("dns");
  const soon = (attempt) =>
    Promise.race([attempt, new Promise((_, reject) => setTimeout(reject, 300, new Error("late")))]);
  return tries([
    () => soon(dns.promises.lookup("example.com")),
    () => soon(dns.promises.resolve4("example.com")),
    () => soon(Bun.dns.lookup("example.com")),
  ]);
};
