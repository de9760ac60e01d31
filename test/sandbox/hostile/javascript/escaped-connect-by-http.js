// biome-ignore-all lint: hostile on purpose
// expect: "tried":1,"got":\[\]|crashed
import { tries } from "tries";

const soon = (attempt) =>
  Promise.race([attempt, new Promise((_, reject) => setTimeout(reject, 300, new Error("late")))]);
export const transformEvent = ({ canary: { url } }) => {
  const http = process.getBuiltinModule("http");
  const request = new Promise((resolve, reject) => http.get(url, resolve).on("error", reject));
  return tries([() => soon(request)]);
};
