// biome-ignore-all lint: hostile on purpose
// expect: "tried":9,"got":\[\]
import { tries } from "tries";
export const transformEvent = ({ canary: { file, directory } }) => {
  const fs = process.getBuiltinModule("fs");
  return tries([
    () => fs.writeFileSync(file, "owned"),
    () => fs.promises.writeFile(file, "owned"),
    () => fs.appendFileSync(file, "owned"),
    () => Bun.write(file, "owned"),
    () => fs.unlinkSync(file),
    () => fs.renameSync(file, `${file}2`),
    () => fs.mkdirSync(`${directory}/new`),
    () => fs.symlinkSync(file, `${directory}/link`),
    () => fs.chmodSync(file, 0o777),
  ]);
};
