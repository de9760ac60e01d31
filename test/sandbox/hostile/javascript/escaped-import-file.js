// biome-ignore-all lint: hostile on purpose
// expect: "tried":4,"got":\[\]
import { tries } from "tries";
export const transformEvent = ({ canary: { file, directory } }) =>
  tries([
    () => import(file),
    () => import(`file://${file}`),
    () => import(`${directory}/canary.json`),
    () => process.getBuiltinModule("module").createRequire("/")(file),
  ]);
