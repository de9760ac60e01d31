// biome-ignore-all lint: hostile on purpose
// expect: "tried":8,"got":\[\]
import { tries } from "tries";
export const transformEvent = () => {
  const { spawnSync, spawn, execSync, fork } = process.getBuiltinModule("child_process");
  const started = (child) =>
    new Promise((resolve, reject) =>
      child.on("spawn", () => resolve("spawned")).on("error", reject),
    );
  return tries([
    () => Bun.spawnSync(["/bin/sh", "-c", "id"]),
    () => Bun.spawn([process.execPath]),
    () => Bun.$`id`.text(),
    () => {
      const { error, stdout } = spawnSync("/bin/id");
      if (error) throw error;
      return String(stdout);
    },
    () => started(spawn("/bin/id")),
    () => execSync("id"),
    () => started(fork("/dev/null")),
    () => process.execve?.("/bin/id", ["id"], {}) ?? Promise.reject(new Error("none")),
  ]);
};
