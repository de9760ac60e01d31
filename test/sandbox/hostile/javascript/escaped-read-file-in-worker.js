// biome-ignore-all lint: hostile on purpose
// expect: "got":\[\]|crashed
import { tries } from "tries";
export const transformEvent = ({ canary: { file } }) => {
  const code = `
    const fs = process.getBuiltinModule("fs");
    try { postMessage(fs.readFileSync(${JSON.stringify(file)}, "utf8")) } catch { postMessage("") }`;
  const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
  return tries([
    () =>
      new Promise((resolve, reject) => {
        const worker = new Worker(url);
        worker.onmessage = ({ data }) => (data === "" ? reject(new Error("no")) : resolve(data));
        worker.onerror = () => reject(new Error("no"));
        setTimeout(reject, 500, new Error("late"));
      }),
  ]);
};
