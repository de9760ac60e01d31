// biome-ignore-all lint: hostile on purpose
// expect: "tried":8,"got":\[\]
import { tries } from "tries";
export const transformEvent = ({ canary: { file } }) => {
  const fs = process.getBuiltinModule("fs");
  return tries([
    () => fs.readFileSync(file, "utf8"),
    () => fs.openSync(file, "r"),
    () => fs.promises.readFile(file, "utf8"),
    () => Bun.file(file).text(),
    () => Bun.file(file).bytes(),
    () => fetch(`file://${file}`).then((answer) => answer.text()),
    () =>
      new Promise((resolve, reject) =>
        fs.createReadStream(file).on("data", resolve).on("error", reject),
      ),
    () => Bun.mmap(file),
  ]);
};
