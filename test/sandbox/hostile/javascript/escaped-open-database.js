// biome-ignore-all lint: hostile on purpose
// expect: "tried":2,"got":\[\]
import { tries } from "tries";
export const transformEvent = ({ canary: { directory } }) =>
  tries([
    async () =>
      new (await import("bun:sqlite")).Database(`${directory}/db`).run("create table t(x)"),
    async () => (await import("bun:ffi")).dlopen("libc.so.6", {}).close(),
  ]);
