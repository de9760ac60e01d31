// biome-ignore-all lint: hostile on purpose
// expect: "tried":6,"got":\[\]
import { tries } from "tries";
export const transformEvent = ({ canary: { pid } }) =>
  tries([
    () => process.kill(pid, 0),
    () => process.kill(pid, "SIGKILL"),
    () => process.kill(process.ppid, "SIGTERM"),
    () => process.kill(1, 0),
    () => process.kill(0, "SIGKILL"),
    () => process.kill(-1, "SIGKILL"),
  ]);
