// biome-ignore-all lint: hostile on purpose
// expect: "tried":3,"got":\[\]|crashed
import { tries } from "tries";

const soon = (attempt) =>
  Promise.race([attempt, new Promise((_, reject) => setTimeout(reject, 300, new Error("late")))]);
export const transformEvent = ({ canary: { port } }) => {
  const net = process.getBuiltinModule("net");
  const connected = (socket) =>
    new Promise((resolve, reject) => socket.on("connect", () => resolve("in")).on("error", reject));
  return tries([
    () => soon(connected(net.connect(port, "127.0.0.1"))),
    () => soon(connected(net.connect("/run/docker.sock"))),
    () => soon(Bun.connect({ hostname: "127.0.0.1", port, socket: { data() {} } })),
  ]);
};
