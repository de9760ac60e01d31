// biome-ignore-all lint: hostile on purpose
// expect: "tried":1,"got":\[\]|crashed
import { tries } from "tries";

const soon = (attempt) =>
  Promise.race([attempt, new Promise((_, reject) => setTimeout(reject, 300, new Error("late")))]);
export const transformEvent = ({ canary: { url } }) => {
  const opened = () =>
    new Promise((resolve, reject) => {
      const socket = new WebSocket(url.replace("http", "ws"));
      socket.onopen = resolve;
      socket.onerror = () => reject(new Error("refused"));
    });
  return tries([() => soon(opened())]);
};
