// biome-ignore-all lint: hostile on purpose
// expect: "tried":4,"got":\[\]
import { tries } from "tries";
export const transformEvent = ({ canary: { pid } }) => {
  const fs = process.getBuiltinModule("fs");
  const inherited = Object.keys(process.env).filter((name) =>
    /CANARY|PIXELMILL|HOME|USER/.test(name),
  );
  if (inherited.length > 0) throw new Error(inherited.join());
  return tries([
    () => fs.readFileSync("/proc/self/environ", "latin1"),
    () => fs.readFileSync(`/proc/${pid}/environ`, "latin1"),
    () => fs.readFileSync(`/proc/${process.ppid}/environ`, "latin1"),
    () => fs.openSync(`/proc/${pid}/mem`, "r"),
  ]);
};
