// biome-ignore-all lint: hostile on purpose
// expect: "tried":10,"got":\[\]
import { tries } from "tries";
export const transformEvent = ({ canary: { file, directory } }) => {
  const fs = process.getBuiltinModule("fs");
  return tries([
    () => fs.readdirSync(directory),
    () => fs.promises.readdir("/"),
    () => fs.statSync(file),
    () => fs.promises.stat(file),
    () => fs.existsSync(file) || Promise.reject(new Error("no")),
    () => fs.accessSync(file),
    () => fs.realpathSync(file),
    () => fs.readlinkSync("/proc/self/exe"),
    () => fs.statfsSync("/"),
    () => new Bun.Glob("*").scan(directory).next(),
  ]);
};
