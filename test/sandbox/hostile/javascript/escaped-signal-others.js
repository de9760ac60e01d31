// biome-ignore-all lint: hostile on purpose
// expect: "tried":5,"got":\[\]
import { tries } from "tries";
// Signal 0 asks the same permission as any other, and does no harm where a test takes the
// confinement away: -1 is every process of the machine.
export const transformEvent = ({ canary: { pid } }) =>
  tries([
    () => process.kill(pid, 0),
    () => process.kill(process.ppid, 0),
    () => process.kill(1, 0),
    () => process.kill(0, 0),
    () => process.kill(-1, 0),
  ]);
